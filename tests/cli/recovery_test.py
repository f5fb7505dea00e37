# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets that were sent again: round trips, phases with recovery, limits and spurious retransmissions of two simulated peers, of
whose packets one copy was lost, delayed or doubled before or behind the point of capture (recovery/: what is right, by
the simulator).

recovery_test.py STAG    (runs as a unittest program)
"""
import json
import pathlib
import subprocess
import sys
import unittest

STAG = sys.argv.pop(1)
CASES = pathlib.Path(__file__).parent / "recovery"
REAL = pathlib.Path(__file__).parents[2] / "pcaps" / "real"
NEAR = 0.06  # microseconds


def rows(command, *arguments):
    done = subprocess.run([STAG, command, "--format", "jsonl", *map(str, arguments)], capture_output=True, timeout=300, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def same(one, other):
    """Whether two values are the same, numbers but for rounding."""
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and abs(one - other) < NEAR
    return one == other


def agrees(expected, actual):
    """Whether the members that both have are the same."""
    return all(same(value, actual[name]) for name, value in expected.items() if name in actual)


class Cases(unittest.TestCase):
    def each(self):
        for path in sorted(CASES.glob("*.json")):
            with self.subTest(path.stem):
                yield path.with_suffix(".pcap"), json.loads(path.read_text())

    def test_round_trips_and_phases(self):
        for capture, right in self.each():
            by_call = {row["call_frame"]: row for row in rows("transactions", capture)}
            self.assertEqual(len(by_call), len(right["rpcs"]))
            for rpc in right["rpcs"]:
                row = by_call[rpc["call_frame"]]
                self.assertEqual(row["reply_frame"], rpc["reply_frame"])
                self.assertEqual(row.get("delivered_frame", row["reply_frame"]), rpc["delivered_frame"])
                self.assertTrue(same(row["rtt_us"], rpc["rtt_us"]), (row, rpc))
                self.assertTrue(any(row["phases_us"] == phases if phases is None else agrees(phases, row["phases_us"])
                                    for phases in rpc["any"]), (row, rpc))

    def test_limits(self):
        for capture, right in self.each():
            for row, expected in zip(rows("limits", capture), right["limits"], strict=True):
                self.assertTrue(any(agrees(one, row) for one in expected["variants"]), (row, expected))

    def test_spurious_retransmissions(self):
        for capture, right in self.each():
            expected = {one["direction"]: one["spurious"] for one in right["spurious"]}
            found = {row["direction"]: row["spurious_retransmissions"] for row in rows("transport", capture)}
            self.assertEqual(found, expected)

    def test_any_number_of_jobs(self):
        for capture, _ in self.each():
            for command in ("transactions", "limits", "transport", "latency", "connections"):
                self.assertEqual(rows(command, capture), rows(command, "--jobs", 3, capture))

    def test_phases_are_the_round_trip(self):
        for capture in [*CASES.glob("*.pcap"), *REAL.glob("*loss*")]:
            for row in rows("transactions", capture):
                if row["phases_complete"]:
                    self.assertAlmostEqual(sum(ns or 0 for ns in row["phases_us"].values()), row["rtt_us"], delta=0.01)

    def test_slowest(self):
        row = next(one for one in rows("latency", "--slowest", 1, CASES / "04-reply-lost-behind.pcap") if one["type"] == "slowest")
        self.assertEqual(row["phase"], "recovery")
        self.assertTrue(same(row["phases_us"]["recovery"], 2200025.6), row)
        self.assertEqual([(wait["frame"], wait["cause"]) for wait in row["waits"]], [(17, "timer")])


unittest.main()
