#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that make one table of the analysis grow (attacks.py), through commands that follow connections: each comes to its end, and
the memory that it took at most stays within what docs/security.md promises: --memory, a quarter more, and 20 MiB.

    growth_test.py STAG"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import attacks

STAG = None
SANITIZED = bool(os.environ.get("STAG_SANITIZED"))
FRAMES = 3000 if SANITIZED else 60000
MEMORY = 4 << 20
PROMISE = MEMORY + MEMORY // 4 + (20 << 20)


class Growth(unittest.TestCase):
    def peak(self, *arguments):
        """Bytes that the process had resident at most."""
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen([STAG, arguments[0], "--quiet", "--memory", str(MEMORY), *arguments[1:]], stdout=subprocess.DEVNULL,
                                       stderr=said)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            self.assertIn(process.returncode, (0, 1), said.read().decode())
        return usage.ru_maxrss << 10

    def attack(self, kind):
        with tempfile.TemporaryDirectory() as directory:
            capture = pathlib.Path(directory) / "capture.pcap"
            with open(capture, "wb") as out:
                attacks.write(kind, FRAMES, out)
            for command in (["connections"], ["check"], ["transport"], ["scrub", "-w", str(pathlib.Path(directory) / "scrubbed.pcapng")]):
                with self.subTest(command=command[0]):
                    peak = self.peak(*command, str(capture))
                    if not SANITIZED:  # what they take beside is a multiple
                        self.assertLessEqual(peak, PROMISE, f"{kind}: {peak / 2**20:.0f} MiB")


for name in attacks.KINDS:
    setattr(Growth, f"test_{name}", lambda self, kind=name: self.attack(kind))


if __name__ == "__main__":
    STAG = sys.argv.pop(1)
    unittest.main()
