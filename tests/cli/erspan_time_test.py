# SPDX-License-Identifier: GPL-2.0-or-later
"""Times of ERSPAN type III in place of those of the capture: a real capture is mirrored, and its frames arrive late, each by
another delay; with --time erspan the round-trip times are those of the real one.

erspan_time_test.py STAG CAPTURE
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import wrap

STAG, CAPTURE = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:]
ROUND = 1 << 32


def header(flags, stamp, subheader=b""):
    return bytes.fromhex("1000 22eb 00000007 2064 1005") + struct.pack(">IHH", stamp, 0, flags) + subheader


def hundred_ns(ns):
    """Granularity 100 ns; the count goes round in the middle of the capture."""
    return header(0x0002, (ns // 100 + ROUND - 3_000_000) % ROUND)


def ieee1588(ns):
    """Seconds in the platform specific subheader of kind 7."""
    return header(0x0005, ns % 10**9, struct.pack(">II", 7 << 26, ns // 10**9))


def wide(ns):
    """Units of 100 ns with the upper half in the subheader of kind 3."""
    count = ns // 100 + ROUND - 3_000_000
    return header(0x0003, count % ROUND, struct.pack(">II", 3 << 26, count // ROUND))


def custom(ns):
    """A granularity that nobody but the user knows."""
    return header(0x0006, ns // 1000 % ROUND)


class ErspanTime(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.records = list(wrap.read(CAPTURE))
        cls.expected = [line["rtt_us"] for line in cls.transactions(CAPTURE)[0]]

    @classmethod
    def transactions(cls, path, *options):
        done = subprocess.run([STAG, "transactions", "--format", "jsonl", *options, path], capture_output=True, timeout=600)
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()

    def mirrored(self, head, bare=lambda number: False):
        """The round-trip times with the switch's time, and with the capture's; what is said with the former."""
        made, first = [], self.records[0][0]
        for number, (ns, packet, wire_length) in enumerate(self.records):
            frame = wrap.Frame(packet, wire_length, number)
            if not bare(number):
                frame = frame.behind(head(ns - first + 17), wrap.over_ip4(47))
            made.append((ns + number * 7919 % 300_000, frame.data, frame.wire))
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "mirror.pcap"
            wrap.write(path, made)
            switch, said = self.transactions(path, "--time", "erspan")
            return [line["rtt_us"] for line in switch], [line["rtt_us"] for line in self.transactions(path)[0]], said

    def test_times(self):
        for head in (hundred_ns, ieee1588, wide):
            with self.subTest(head=head.__name__):
                switch, capture, said = self.mirrored(head)
                for got, expected in zip(switch, self.expected, strict=True):
                    self.assertAlmostEqual(got, expected, delta=0.101)
                self.assertNotEqual(capture, self.expected)
                self.assertIn(f"{len(self.records)} of {len(self.records)} frames have the time that ERSPAN gives them", said)

    def test_unknown_units_are_not_used(self):
        switch, capture, said = self.mirrored(custom)
        self.assertEqual(switch, capture)
        self.assertIn(f"0 of {len(self.records)} frames have the time that ERSPAN gives them", said)

    def test_frames_without_keep_their_time(self):
        _, _, said = self.mirrored(hundred_ns, bare=lambda number: number % 2 == 1)
        self.assertIn(f"{(len(self.records) + 1) // 2} of {len(self.records)} frames have the time that ERSPAN gives them", said)


if __name__ == "__main__":
    unittest.main()
