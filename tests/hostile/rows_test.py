#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of very many connections through the commands that have a row for each: memory stays within what is promised
(--memory, a quarter as much again, and 20 MiB), no row is lost without a word, and threads change nothing.

    rows_test.py STAG"""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

import captures

STAG = None
SANITIZED = bool(os.environ.get("STAG_SANITIZED"))  # sanitizers take terabytes of address space
MANY = 4000 if SANITIZED else 40000


def make(directory, kind, number):
    capture = pathlib.Path(directory) / f"{kind}.pcap"
    with open(capture, "wb") as out:
        captures.write(kind, number, out)
    return str(capture)


def left_out(stderr, what):
    """How many of what the messages say that they were left out."""
    return sum(int(n.replace(",", "")) for n in re.findall(rf"([\d,]+) {what}s? left out", stderr))


class Rows(unittest.TestCase):
    def run_on(self, capture, memory, *arguments, bounded=True):
        limit = memory + memory // 4 + (20 << 20)

        def bound():
            if bounded and not SANITIZED:
                resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        done = subprocess.run([STAG, arguments[0], "--memory", str(memory), *arguments[1:], capture], capture_output=True, text=True,
                              check=False, preexec_fn=bound)
        self.assertIn(done.returncode, (0, 1), f"{arguments}: {done.stderr}")
        return done.stdout, done.stderr

    def test_memory_is_what_was_promised(self):
        memory = 2 << 20
        with tempfile.TemporaryDirectory() as directory:
            for kind in ("queue_pairs_one_way", "queue_pairs"):
                number = MANY if kind == "queue_pairs_one_way" else MANY // 3
                capture = make(directory, kind, number)
                for command in (["transport", "--format", "jsonl"], ["connections", "--format", "jsonl"], ["limits", "--format", "jsonl"]):
                    with self.subTest(command=command, kind=kind):
                        out, said = self.run_on(capture, memory, *command)
                        rows = [json.loads(line)["connection"] for line in out.splitlines()]
                        self.assertEqual(len(set(rows)) + left_out(said, "connection"), number)
                        if "out of order" not in said:
                            self.assertEqual(rows, sorted(rows))
                for command in (["transport"], ["limits"], ["credits"], ["top"]):
                    with self.subTest(command=command, kind=kind):
                        self.run_on(capture, memory, *command)
                with self.subTest("summary", kind=kind):
                    out, said = self.run_on(capture, memory, "summary", "--format", "jsonl")
                    summary = json.loads(out)
                    self.assertEqual(summary["connections"], number)
                    self.assertIn("the memory cap was reached", said)
                    if kind == "queue_pairs_one_way":  # each has an unanswered Call
                        told = sum(one["connection_count"] for one in summary["wrong"] if one["severity"] == "trouble")
                        self.assertEqual(told + summary.get("wrong_left_out", 0), number)
                with self.subTest("report", kind=kind):
                    out, said = self.run_on(capture, memory, "report")
                    self.assertIn("</html>", out)

    def test_rows_of_latency(self):
        """More procedures than a table has room for."""
        memory, number = 2 << 20, MANY // 4
        with tempfile.TemporaryDirectory() as directory:
            capture = make(directory, "procedures", number)
            out, said = self.run_on(capture, memory, "latency", "--format", "jsonl")
            rows = [json.loads(line) for line in out.splitlines()]
            counts = [row["count"] for row in rows if row.get("phase", "rtt") == "rtt"]
            self.assertEqual(sum(counts) + left_out(said, r"RPCs of more than \d+ key"), number + 1)
            self.assertIn("--memory raises the cap", said)
            self.assertLess(len(counts), number // 2)
            for command in ("summary", "report"):
                _, said = self.run_on(capture, memory, command)
                self.assertIn("RPCs left out of latencies", said)

    def test_threads_change_nothing(self):
        """With so little memory that rows are given up, left out and compared in part."""
        with tempfile.TemporaryDirectory() as directory:
            for kind in ("queue_pairs", "iwarp_connections"):
                capture = make(directory, kind, 3000)
                for command in ("transport", "connections", "limits", "summary", "credits"):
                    with self.subTest(command=command, kind=kind):
                        # Every Call is answered or of a proven connection: the memory of Sessions, which is divided among
                        # threads, suffices.
                        alone = self.run_on(capture, 8 << 20, command, bounded=False)
                        shared = self.run_on(capture, 8 << 20, command, "--jobs", "2", bounded=False)
                        self.assertEqual(shared, alone)


if __name__ == "__main__":
    STAG = sys.argv.pop(1)
    unittest.main()
