#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What takes how long, as a Markdown table, from the times that `./dev demo`, `./dev test` and `./dev lint` leave.

    times.py TIMES.tsv                  prints the table
    times.py --write FILE TIMES.tsv     writes it into FILE, between the lines BEGIN and END below

TIMES.tsv has a step a line: name, seconds on the clock, seconds of processor time, parallel jobs, outcome."""
import pathlib
import sys

BEGIN, END = "<!-- times: ./dev times -->", "<!-- end of times -->"


def table(lines):
    rows = [line.split("\t") for line in lines]
    jobs = sorted({row[3] for row in rows})
    text = f"| step | on the clock, {' or '.join(jobs)} jobs | processor time |\n|---|---|---|\n"
    totals = {}  # of each command
    for name, clock, processor, _, outcome in rows:
        text += f"| {name}{'' if outcome == 'passed' else f' ({outcome})'} | {minutes(clock)} | {minutes(processor)} |\n"
        total = totals.setdefault(name.partition(":")[0], [0, 0])
        total[0] += int(clock)
        total[1] += int(processor)
    for command, (clock, processor) in totals.items():
        text += f"| all of `./dev {command}` | {minutes(clock)} | {minutes(processor)} |\n"
    return text


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def main(arguments):
    file = None
    if arguments[:1] == ["--write"]:
        file, arguments = pathlib.Path(arguments[1]), arguments[2:]
    lines = pathlib.Path(arguments[0]).read_text(encoding="utf-8").splitlines()
    if not file:
        print(table(lines), end="")
        return 0
    before, begin, rest = file.read_text(encoding="utf-8").partition(BEGIN + "\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        print(f"{file} has no lines {BEGIN} and {END}", file=sys.stderr)
        return 1
    file.write_text(before + begin + table(lines) + end + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
