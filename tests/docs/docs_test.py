#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of the documents: each console block is run, and prints what it shows.

    docs_test.py STAG DOCUMENT

A block's commands ("$ ...") run in one shell, in an empty folder that has `pcaps`, with `stag` in the path. What
stands below a command must be in its output, line by line and in that order; "..." stands for any lines, or for the rest of one."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?ms)^( *)```console\n(.*?)^ *```$")
MARK = "--- end of a command ---"


def commands_of(block):
    """(command, shown lines) in order."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def matches(shown, line):
    return line.startswith(shown[:-3].rstrip()) if shown.endswith("...") and shown != "..." else line.rstrip() == shown.rstrip()


def wrong(shown, printed):
    """The first shown line that is not there, or what was printed and not shown; None: all is well."""
    at, free = 0, False
    for want in shown:
        if want == "...":
            free = True
            continue
        here = next((i for i in range(at, len(printed)) if matches(want, printed[i])), None)
        if here is None or (not free and here != at):
            return want
        at, free = here + 1, False
    return None if free or at == len(printed) else f"(not shown) {printed[at]}"


def main(stag, document):
    text = pathlib.Path(document).read_text()
    count = 0
    with tempfile.TemporaryDirectory() as directory:
        os.symlink(ROOT / "pcaps", f"{directory}/pcaps")
        environment = {**os.environ, "PATH": f"{os.path.dirname(os.path.abspath(stag))}:{os.environ['PATH']}", "NO_COLOR": "1"}
        for indent, block in BLOCK.findall(text):
            commands = commands_of(textwrap.dedent(block))
            # A command in the background says where it listens: wait for that.
            lines = ["set -m"]
            for number, (command, _) in enumerate(commands):
                if command.endswith(" &"):
                    log = f"background.{count + number}"  # of this command alone: blocks share the folder
                    lines.append(f"{command[:-2]} > {log} & until grep -qs listening {log}; do sleep 0.05; done")
                else:
                    lines.append(command)
                lines.append(f"status=$?; echo; echo '{MARK}' $status")
            # Not as the shell's input: some commands would read it.
            done = subprocess.run(["bash", "-c", "\n".join(lines)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  cwd=directory, env=environment, timeout=120)
            outputs = re.split(rf"\n{MARK} (\d+)\n", done.stdout)
            if len(outputs) != 2 * len(commands) + 1:
                sys.exit(f"{document}: the shell ended early:\n{done.stdout}{done.stderr}")
            for (command, shown), output, status in zip(commands, outputs[::2], outputs[1::2]):
                count += 1
                trouble = wrong(shown, output.splitlines())
                if trouble or int(status) > 1:
                    sys.exit(f"{document}: $ {command}\nstatus {status}; differs at: {trouble}\n{output}\n{done.stderr}")
    if count == 0:
        sys.exit(f"{document}: no commands")
    print(f"{count} commands")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
