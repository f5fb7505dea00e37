#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns the style and the script of the HTML report into C++, with the hashes by which its Content-Security-Policy lets
exactly them run.

embed.py STYLE SCRIPT OUTPUT
"""
import base64
import hashlib
import json
import pathlib
import sys


def literal(text):
    # JSON's escapes of printable ASCII are C++'s.
    return "\n    ".join(json.dumps(line) for line in text.splitlines(keepends=True)) or '""'


def main():
    style, script, output = map(pathlib.Path, sys.argv[1:])
    lines = ["// Made by conformance/report/page/embed.py.", '#include "conformance/report/page/page.h"', "",
             "namespace stag::conformance {", ""]
    for name, path in (("Style", style), ("Script", script)):
        text = path.read_text(encoding="ascii")
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        lines += [f"const std::string_view kPage{name} =\n    {literal(text)};",
                  f'const std::string_view kPage{name}Hash = "sha256-{digest}";', ""]
    lines += ["}  // namespace stag::conformance", ""]
    output.write_text("\n".join(lines))


main()
