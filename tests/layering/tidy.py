#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""clang-tidy on the sources of the tree, those that changed last first.

    tidy.py [--changed] [--seconds N] [--jobs N] BUILD

BUILD has compile_commands.json: a command for each unit, which is a source or some that are compiled together. --changed: only
units with a source that differs from the last release, which is the last tag v* (all where there is none). --seconds: begins
with no further unit after that time; the last line, which is BUILD/tidy.txt, too, has how many sources were left out. Exit
status 1: findings.

The analyzer follows the paths through each function of the project but those of tests, which stand in macros and take it longest;
it would pass over what is included. It gives a function up after 40,000 states, which takes a third of the time of its own
limit."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANALYZER = ("-analyzer-opt-analyze-headers", "-analyzer-config", "max-nodes=40000")


def git(*words):
    """What git prints, or None."""
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def units(build):
    """The sources of each unit of the tree, as paths from the root, by the unit's file; not what the build makes."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        unit = pathlib.Path(entry["directory"], entry["file"])
        together = re.findall(r'^#include "(/.*)"', unit.read_text(), re.MULTILINE) if unit.parent.name == "Unity" else [unit]
        sources = {os.path.relpath(source, ROOT) for source in together}
        sources = {path for path in sources if not path.startswith(("build/", ".."))}
        if sources:
            found[str(unit)] = sources
    return found


def command(sources):
    """clang-tidy for a unit of these sources, but for the build directory and the unit's file."""
    checks = "-bugprone-suspicious-include"  # sources that are compiled together are included
    if all(path.startswith("tests/") for path in sources):  # a unit is in the build directory, which has no .clang-tidy
        checks += "," + yaml.safe_load((ROOT / "tests/.clang-tidy").read_text())["Checks"]
        return ["clang-tidy", "-quiet", f"--checks={checks},-clang-analyzer-*"]
    return ["clang-tidy", "-quiet", f"--checks={checks}",
            *(word for argument in ANALYZER for word in ("--extra-arg=-Xclang", f"--extra-arg={argument}"))]


def newest_first(found):
    order = list(dict.fromkeys((git("log", "--format=", "--name-only", "-n", "400") or "").split("\n")))
    rank = {path: number for number, path in enumerate(order)}
    return sorted(found, key=lambda unit: min((rank.get(path, len(rank)), path) for path in found[unit]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("build", type=pathlib.Path)
    arguments = parser.parse_args()

    found = units(arguments.build)
    if arguments.changed:
        release = git("describe", "--tags", "--match", "v*", "--abbrev=0")
        print(f"Changed since {release}." if release else "There is no release yet: all sources.")
        if release:
            changed = set(git("diff", "--name-only", release, "--").split("\n"))
            changed |= set(git("ls-files", "--others", "--exclude-standard").split("\n"))  # new, not yet added
            found = {unit: sources for unit, sources in found.items() if sources & changed}
    begin = time.monotonic()

    def look(unit):
        if time.monotonic() - begin > arguments.seconds:
            return unit, None, ""
        done = subprocess.run([*command(found[unit]), "-p", arguments.build, unit], cwd=ROOT, capture_output=True, text=True)
        return unit, done.returncode, done.stdout + ("" if done.returncode == 0 else done.stderr)

    findings = left_out = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for unit, status, said in pool.map(look, newest_first(found)):
            if status is None:
                left_out += len(found[unit])
            elif status != 0:
                findings += 1
                print(f"{', '.join(sorted(found[unit]))}:\n{said}", flush=True)
    looked_at = sum(len(sources) for sources in found.values()) - left_out
    last = f"clang-tidy: {looked_at} sources, {findings or 'no'} units of them with findings"
    if left_out:
        last += f"; time was up before {left_out} others, which ./dev lint looks at"
    print(last)
    (arguments.build / "tidy.txt").write_text(last + "\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
