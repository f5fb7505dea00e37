#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""clang-tidy on the sources of the tree, those that changed last first.

    tidy.py [--changed] [--seconds N] [--jobs N] BUILD

BUILD has compile_commands.json, with a command for each source. --changed: only sources that differ from the last release, which
is the last tag v* (all where there is none). --seconds: begins with no further source after that time; the last line, which is
BUILD/tidy.txt, too, has how many were left out. Exit status 1: findings."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def git(*words):
    """What git prints, or None."""
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def newest_first(paths):
    order = list(dict.fromkeys((git("log", "--format=", "--name-only", "-n", "400") or "").split("\n")))
    rank = {path: number for number, path in enumerate(order)}
    return sorted(paths, key=lambda path: (rank.get(path, len(rank)), path))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("build", type=pathlib.Path)
    arguments = parser.parse_args()

    commands = json.loads((arguments.build / "compile_commands.json").read_text())
    sources = {os.path.relpath(command["file"], ROOT) for command in commands}
    sources = {path for path in sources if not path.startswith(("build/", ".."))}  # not what the build makes
    if arguments.changed:
        release = git("describe", "--tags", "--match", "v*", "--abbrev=0")
        print(f"Changed since {release}." if release else "There is no release yet: all sources.")
        if release:
            changed = set(git("diff", "--name-only", release, "--").split("\n"))
            changed |= set(git("ls-files", "--others", "--exclude-standard").split("\n"))  # new, not yet added
            sources &= changed
    begin = time.monotonic()

    def look(path):
        if time.monotonic() - begin > arguments.seconds:
            return None
        done = subprocess.run(["clang-tidy", "-quiet", "-p", arguments.build, path], cwd=ROOT, capture_output=True, text=True)
        return path, done.returncode, done.stdout + ("" if done.returncode == 0 else done.stderr)

    findings = left_out = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(look, newest_first(sources)):
            if result is None:
                left_out += 1
            elif result[1] != 0:
                findings += 1
                print(f"{result[0]}:\n{result[2]}", flush=True)
    last = f"clang-tidy: {len(sources) - left_out} sources, {findings} with findings"
    if left_out:
        last += f"; time was up before {left_out} others, which ./dev lint looks at"
    print(last)
    (arguments.build / "tidy.txt").write_text(last + "\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
