#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that are made to cost, through every command that reads one: it comes to its end, within the memory that it was
given, and what it prints is whole. How the time grows with the capture: tests/bench/hostile.py.

    hostile_test.py STAG"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

import captures

STAG = None
CAP = 64 << 20      # --memory
BESIDE = 48 << 20   # the program itself, buffers of files, and a quarter of --memory for packets that wait
THREADS = 48 << 20  # two threads: stacks, and what is on the way to them
PACKETS = 1000 if os.environ.get("STAG_SANITIZED") else 10000


class Hostile(unittest.TestCase):
    def run_on(self, capture, *arguments, beside=BESIDE):
        """The lines that it printed. It gets no more memory than the cap and what it needs beside."""
        def bound():
            if not os.environ.get("STAG_SANITIZED"):  # sanitizers take terabytes of address space
                resource.setrlimit(resource.RLIMIT_DATA, (CAP + beside, CAP + beside))
        done = subprocess.run([STAG, arguments[0], "--quiet", "--memory", str(CAP), *arguments[1:], capture], capture_output=True,
                              text=True, check=False, preexec_fn=bound)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout.splitlines()

    def test_every_kind(self):
        with tempfile.TemporaryDirectory() as directory:
            capture = pathlib.Path(directory) / "capture.pcap"
            for kind in captures.KINDS:
                with self.subTest(kind), open(capture, "wb") as out:
                    frames = captures.write(kind, PACKETS, out)
                    out.close()
                    checked = [json.loads(line) for line in self.run_on(capture, "check", "--format", "jsonl")]
                    self.assertEqual(checked[-1]["type"], "summary")
                    self.assertEqual(checked[-1]["frames"], frames)
                    for command in (["transactions", "--format", "jsonl"], ["connections", "--format", "jsonl"], ["credits"],
                                    ["latency", "--by", "file"], ["limits"], ["transport"], ["summary"],
                                    ["report"], ["top", "--by", "file", "--format", "jsonl"]):
                        self.run_on(capture, *command)
                    shared = self.run_on(capture, "check", "--format", "jsonl", "--jobs", "2", beside=BESIDE + THREADS)
                    self.assertEqual(json.loads(shared[-1])["frames"], frames)
                    for command in (["report"], ["top", "--by", "file"]):
                        self.run_on(capture, *command, "--jobs", "2", beside=BESIDE + THREADS)
                    self.run_on(capture, "extract", "--out", str(pathlib.Path(directory) / kind))
                    for selector in (["--slowest", "5"], ["--connection", "1"], ["--frames", "500-600"], ["--snap", "headers"]):
                        self.run_on(capture, "slice", "-w", str(pathlib.Path(directory) / "slice.pcapng"), *selector)
                    self.run_on(capture, "scrub", "-w", str(pathlib.Path(directory) / "scrubbed.pcapng"))

    def test_what_is_dropped_is_said(self):
        with tempfile.TemporaryDirectory() as directory:
            capture = pathlib.Path(directory) / "capture.pcap"
            with open(capture, "wb") as out:
                captures.write("never_answered", 70000, out)
            done = subprocess.run([STAG, "transactions", "--memory", "8M", "--format", "jsonl", capture], capture_output=True,
                                  text=True, check=False)
            self.assertIn("the memory cap was reached", done.stderr)
            self.assertEqual(len(done.stdout.splitlines()), 70001, "every Call is listed all the same")

    def test_a_lack_of_memory_is_reported(self):
        """Whichever thread meets it. Sanitizers end a program that lacks memory themselves."""
        if os.environ.get("STAG_SANITIZED"):
            return
        with tempfile.TemporaryDirectory() as directory:
            capture = pathlib.Path(directory) / "capture.pcap"
            with open(capture, "wb") as out:
                captures.write("never_answered", 70000, out)
            for jobs in ("1", "2"):
                messages = set()
                for limit in range(16 << 20, 80 << 20, 8 << 20):
                    done = subprocess.run([STAG, "check", "--quiet", "--memory", "1G", "--jobs", jobs, capture], text=True,
                                          capture_output=True, check=False, timeout=120,
                                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
                    self.assertIn(done.returncode, (0, 1, 2), done.stderr)
                    if done.returncode == 2:
                        messages.add(done.stderr)
                self.assertIn("stag: out of memory; try a smaller --memory\n", messages, jobs)


if __name__ == "__main__":
    STAG = sys.argv.pop(1)
    unittest.main()
