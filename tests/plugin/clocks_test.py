# SPDX-License-Identifier: GPL-2.0-or-later
"""The times that the plugin shows of captures with two clocks, held against `stag transactions`. The captures are made of real
ones: what one side sent is stamped with seconds since boot.

clocks_test.py PLUGIN WIRESHARK_VERSION STAG CAPTURES"""
import decimal
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from tshark import Wireshark

sys.path.append(str(pathlib.Path(__file__).parents[1] / "cli"))
import wire  # noqa: E402

PLUGIN, VERSION, STAG, CAPTURES = sys.argv[1:5]
APART = 1_795_402_956_428_774_082  # ns
PHASES = ["to_first_read", "pull", "service", "push", "finish"]
FIELDS = ["frame.number", "rpcrdma.role", "rpcrdma.sent_in", "rpcrdma.two_clocks", "rpc.time", "rpcrdma.time",
          *(f"rpcrdma.phase.{phase}" for phase in PHASES)]
TIMES = FIELDS[4:]


class Clocks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wireshark = Wireshark(PLUGIN, VERSION, os.environ.get("STAG_PLUGIN_PRELOAD"))
        cls.addClassCleanup(cls.wireshark.close)
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory())

    def made(self, name, clock, shift):
        """The path of the capture with `shift(source address, ns, number)` as its times."""
        data = wire.load(pathlib.Path(CAPTURES) / name)
        out = [data[:24]]
        for number, (ns, packet) in enumerate(wire.records(data), 1):
            ns = shift(packet[26:30], ns, number)
            out.append(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(packet)) + packet)
        path = pathlib.Path(self.directory) / f"{clock}-{name.partition('.')[0]}.pcap"
        path.write_bytes(b"".join(out))
        return path

    def two(self, name, address):
        first = next(wire.records(wire.load(pathlib.Path(CAPTURES) / name)))[0]
        to_day = APART + 56 * 10**9 - first  # seconds since boot: 56 when the capture began
        return self.made(name, f"two-{address[3]}", lambda source, ns, _: ns + to_day - (APART if source == address else 0))

    def shown(self, path, *options):
        """Of each frame with the Send of one Reply or error: what FIELDS are, by frame; and how many notes there are."""
        rows = [dict(zip(FIELDS, row)) for row in self.wireshark.fields(path, "rpcrdma", *FIELDS, options=options)]
        for row in rows:
            for name in TIMES:
                for time in row[name]:
                    self.assertTrue(0 <= decimal.Decimal(time) < 60, (row, name))
        frames = {int(row["frame.number"][0]): row for row in rows
                  if len(row["rpcrdma.role"]) == 1 and not row["rpcrdma.sent_in"]}
        return frames, sum(len(row["rpcrdma.two_clocks"]) for row in rows)

    def listed(self, path):
        """What `stag transactions` says: the times in seconds, by frame of the Reply."""
        done = subprocess.run([STAG, "transactions", "--format", "jsonl", str(path)], capture_output=True, check=True)
        times = {}
        for line in done.stdout.splitlines():
            line = json.loads(line, parse_float=decimal.Decimal)
            if line["reply_frame"] is None:
                continue
            us = [line["rtt_us"], *(line["phases_us"][phase] if line["phases_us"] else None for phase in PHASES)]
            times[line["reply_frame"]] = [None if value is None else decimal.Decimal(value) / 1_000_000 for value in us]
        return times

    def times(self, row):
        return [decimal.Decimal(row[name][0]) if row[name] else None for name in TIMES[1:]]

    def test_two_passes_show_what_stag_transactions_says(self):
        for name in ("rxe-nfs4.1.pcap.zst", "siw-nfs4.1.pcap.zst"):
            for address in (b"\x0a\0\0\1", b"\x0a\0\0\2"):
                with self.subTest(capture=name, address=address):
                    path = self.two(name, address)
                    listed = self.listed(path)
                    frames, notes = self.shown(path, "-2")
                    self.assertEqual(notes, 1)
                    compared = [frame for frame in listed if frame in frames and frames[frame]["rpcrdma.role"] != ["1"]]
                    self.assertGreater(len(compared), len(listed) * 3 // 4)
                    for frame in compared:
                        self.assertEqual(self.times(frames[frame]), listed[frame], frame)
                        if frames[frame]["rpc.time"]:
                            self.assertEqual(decimal.Decimal(frames[frame]["rpc.time"][0]), listed[frame][0], frame)

    def test_one_pass_shows_no_times_across_clocks_before_they_are_told(self):
        path = self.two("rxe-nfs4.1.pcap.zst", b"\x0a\0\0\1")
        frames, notes = self.shown(path)
        self.assertEqual(notes, 1)
        listed = self.listed(path)
        for frame, row in frames.items():
            for shown, known in zip(self.times(row), listed.get(frame, [None] * 6)):
                self.assertIn(shown, (None, known))

    def test_a_pause_and_a_clock_that_is_set_are_one_clock(self):
        for clock, step in (("pause", 86400 * 10**9), ("set", -86400 * 10**9)):
            with self.subTest(clock):
                path = self.made("rxe-nfs4.1.pcap.zst", clock, lambda _, ns, number: ns + (step if number > 200 else 0))
                listed = {frame: times for frame, times in self.listed(path).items() if not times[0] or times[0] < 60}
                for options in ([], ["-2"]):
                    rows = [dict(zip(FIELDS, row)) for row in
                            self.wireshark.fields(path, "rpcrdma", *FIELDS, options=options)]
                    self.assertFalse(any(row["rpcrdma.two_clocks"] for row in rows))
                    compared = 0
                    for row in rows:
                        times = listed.get(int(row["frame.number"][0]))
                        if times and row["rpcrdma.role"] == ["2"] and not row["rpcrdma.sent_in"]:
                            self.assertEqual(self.times(row), times, row)
                            compared += 1
                    self.assertGreater(compared, 50)

    def test_ordinary_captures_have_one(self):
        for name in ("rxe-nfs4.1.pcap.zst", "siw-nfs4.1.pcap.zst"):
            rows = self.wireshark.fields(pathlib.Path(CAPTURES) / name, "rpcrdma.two_clocks", "frame.number", options=["-2"])
            self.assertEqual(rows, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
