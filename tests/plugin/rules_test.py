# SPDX-License-Identifier: GPL-2.0-or-later
"""The evidence of every rule through Wireshark with the plugin: it finds what `stag check` finds, at the same frames.

rules_test.py PLUGIN WIRESHARK_VERSION STAG DIRECTORY

DIRECTORY: pcaps/rules, with the captures of a rule in a folder each. What must be found in them is asserted of stag itself elsewhere
(tests/evidence); findings of one pass and two are compared on other captures."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

from tshark import Wireshark, values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin")
    parser.add_argument("version", help="of Wireshark, like 4.0")
    parser.add_argument("stag")
    parser.add_argument("directory")
    options = parser.parse_args()
    problems, total, beside = [], 0, 0
    with (Wireshark(options.plugin, options.version, os.environ.get("STAG_PLUGIN_PRELOAD")) as wireshark,
          wireshark.sharkd() as sharkd):  # which looks again at what it has loaded, as Wireshark does
        for capture in sorted(pathlib.Path(options.directory).glob("*/*.pcap")):
            name = f"{capture.parent.name}-{capture.name}"
            done = subprocess.run([options.stag, "check", "--format", "jsonl", "--fail-on", "never", capture],
                                  capture_output=True, text=True, check=True)
            findings = [line for line in map(json.loads, done.stdout.splitlines()) if line["type"] == "finding"]
            expected = collections.Counter((line["frame"], line["rule"]) for line in findings)
            total += len(findings)
            beside += sum(not line["connection"] for line in findings)
            copy = wireshark.directory / "captures" / name
            copy.write_bytes(capture.read_bytes())
            copy.chmod(0o644)
            sharkd.load(copy)
            shown = collections.Counter()
            for number, tree in sharkd.trees("rpcrdma.finding"):
                shown.update((number, rule) for rule in values(tree, "rpcrdma.finding"))
            if shown != expected:
                problems.append(f"{name}: not shown {dict(expected - shown)}, shown too much {dict(shown - expected)}")
    if not total or not beside:
        problems.append("the captures lack findings, or such beside the connections")
    print("\n".join(problems) or "fine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
