#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Man pages of stag and of each of its commands, from their --help, by help2man.

    man_pages.py HELP2MAN STAG DIRECTORY"""
import gzip
import os
import pathlib
import re
import subprocess
import sys


def main(help2man, stag, directory):
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    # help2man names pages by the words of the command.
    environment = {**os.environ, "PATH": f"{os.path.dirname(stag)}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    listed = subprocess.run([stag, "--help"], check=True, capture_output=True, text=True).stdout
    commands = re.findall(r"(?m)^  ([a-z]+) +(\S.*)$", listed.split("Subcommands:\n")[1].split("\n\n")[0])
    version = subprocess.run([stag, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    for words, summary in [("stag", "RPC-over-RDMA in captures and on live connections")] + [
            (f"stag {name}", summary) for name, summary in commands]:
        page = subprocess.run([help2man, "--no-info", "--no-discard-stderr", f"--name={summary}", f"--version-string={version}",
                               "--source=Stag " + version, "--manual=Stag", words],
                              check=True, capture_output=True, text=True, env=environment).stdout
        name = words.replace(" ", "-")
        page = page.replace('.TH STAG "1"', f'.TH {name.upper()} "1"', 1)
        (directory / f"{name}.1.gz").write_bytes(gzip.compress(page.encode(), mtime=0))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
