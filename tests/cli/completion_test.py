#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stag completion, in the shells that it is for: what they offer.

    completion_test.py STAG"""
import os
import re
import subprocess
import sys
import tempfile
import unittest


def run(*command, text=None, check=True):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=check, timeout=60)


def script(shell):
    return run(STAG, "completion", shell).stdout


def commands():
    """As the program's help lists them."""
    listed = run(STAG, "--help").stdout.split("Subcommands:\n")[1].split("\n\n")[0]
    return re.findall(r"(?m)^  ([a-z]+) ", listed)


def options(command):
    declared = run(STAG, command, "--help").stdout.split("Options:\n")[1].split("\n\n")[0]
    return sorted(name for line in re.findall(r"(?m)^  (-\S+)", declared) for name in line.split(","))


class Completion(unittest.TestCase):
    def bash(self, *words):
        line = " ".join(f"'{word}'" for word in words)
        ask = f"{script('bash')}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n_stag\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        return sorted(run("bash", text=ask).stdout.split())

    def test_bash(self):
        self.assertEqual(self.bash("stag", ""), sorted([*commands(), "--help", "--version"]))
        self.assertEqual(self.bash("stag", "trans"), ["transactions", "transport"])
        self.assertEqual(self.bash("stag", "check", "--prof"), ["--profile"])
        self.assertEqual(self.bash("stag", "check", "--profile", ""), ["auto", "rfc5666", "rfc5666bis", "rfc8166"])
        self.assertEqual(self.bash("stag", "check", "--profile", "rfc5"), ["rfc5666", "rfc5666bis"])
        self.assertEqual(self.bash("stag", "probe", "--select", "header.ver"), ["header.version"])
        self.assertIn("chunk", self.bash("stag", "probe", "--ignore", "chunk"))
        self.assertEqual(self.bash("stag", "probe", "--select", "rfc8797-5"), ["rfc8797-5", "rfc8797-5.1", "rfc8797-5.2"])
        self.assertEqual(self.bash("stag", "probe", "--explain", "rfc8797"), [])
        self.assertEqual(self.bash("stag", "check", "moun"), [])  # files: the shell's own
        for command in commands():
            self.assertEqual(self.bash("stag", command, "-"), options(command), command)

    def test_fish(self):
        with tempfile.NamedTemporaryFile("w", suffix=".fish") as file:
            file.write(script("fish"))
            file.flush()

            def ask(line):
                env = {**os.environ, "HOME": tempfile.gettempdir(), "XDG_CONFIG_HOME": tempfile.gettempdir()}
                done = subprocess.run(["fish", "--no-config", "-c", f"source {file.name}; complete -C '{line}'"], capture_output=True,
                                      text=True, check=True, timeout=60, env=env)
                return sorted(entry.split("\t")[0] for entry in done.stdout.splitlines())

            self.assertEqual(ask("stag transa"), ["transactions"])
            self.assertEqual(ask("stag check --profile "), ["auto", "rfc5666", "rfc5666bis", "rfc8166"])
            self.assertEqual(ask("stag check --prof"), ["--profile"])

    def test_zsh(self):
        text = script("zsh")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            run("zsh", "-f", "-n", file.name)
        for command in commands():
            part = text.split(f"\n  {command})\n")[1].split("\n    ;;\n")[0]
            self.assertEqual(sorted(re.findall(r"'\*(-[^\[]+)\[", part)), options(command), command)

    def test_refused(self):
        for arguments in [[], ["tcsh"]]:
            done = run(STAG, "completion", *arguments, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))


if __name__ == "__main__":
    STAG = sys.argv.pop(1)
    unittest.main()
