# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures whose times are as far away as a file can say: every reading command ends in order, no duration is negative, and no
arithmetic overflows (builds with the sanitizer of undefined behaviour say so). 146 years from 1970 is as far as times go.

far_times_test.py STAG    (runs as a unittest program)
"""
import itertools
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import wire

STAG = os.path.abspath(sys.argv.pop(1))
REAL = pathlib.Path(__file__).resolve().parents[2] / "pcaps" / "real"
LONGEST = 2**63 - 2  # ns: between two times

COMMANDS = [[command, *options] for command, options in itertools.product(
    ("transactions", "connections", "latency", "check", "transport", "limits", "credits", "top", "summary"), ([], ["--format", "jsonl"]))]
COMMANDS += [["report"], ["check", "--format", "html"], ["latency", "--by", "connection", "--against", "{file}"],
             ["latency", "--svg", "out.svg"], ["transport", "--svg", "out.svg", "--episodes", "all"], ["credits", "--svg", "out.svg"],
             ["top", "--interval", "1ms"], ["top", "--interval", "100000h"], ["check", "--clocks", "align"], ["check", "--clocks", "null"],
             ["check", "--jobs", "3"], ["slice", "--time", "1s..2s", "-w", "out.pcapng"],
             ["slice", "--time", "2026-01-01 00:00..2199-01-01 00:00", "-w", "out.pcapng"], ["scrub", "-w", "out.pcapng"],
             ["extract", "--force", "--out", "files"]]

# Times of frame `i` as the file has them, 64 bits.
TIMES = {
    "from one end to the other": lambda i: (2**64 - 1) * (i % 2),
    "over all of it": lambda i: i * (2**64 // 600),
    "about 2262": lambda i: 2**63 - 300 + i,
    "at the end": lambda i: 2**64 - 600 + i,
    "at the beginning": lambda i: i,
    "back and forth over 2116": lambda i: 2**62 + (i * 7919 % 601 - 300) * 10**9,
}
# if_tsresol and if_tsoffset of two interfaces, to which frames belong in turn.
INTERFACES = {
    "nanoseconds": [(9, 0), (9, 0)],
    "offsets": [(9, 2**63 - 1), (9, -2**63)],
    "offsets of a century": [(9, -3_200_000_000), (9, 3_200_000_000)],
    "resolutions": [(0, 0), (0x80, 0)],
    "finest": [(127, 0), (0xff, 0)],
}


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def pcapng(packets, times, interfaces):
    out = [block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1))]
    for resolution, offset in interfaces:
        out.append(block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHBxxx", 9, 1, resolution) +
                         struct.pack("<HHq", 14, 8, offset) + struct.pack("<I", 0)))
    for i, packet in enumerate(packets):
        time = times(i) & 2**64 - 1
        out.append(block(6, struct.pack("<IIIII", i // 3 % 2, time >> 32, time & 0xffffffff, len(packet), len(packet)) + packet))
    return b"".join(out)


def pcap(packets, seconds):
    return struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 1 << 18, 1) + b"".join(
        struct.pack("<IIII", seconds(i), 0xffffffff, len(packet), len(packet)) + packet for i, packet in enumerate(packets))


class FarTimes(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.home = pathlib.Path(directory.name)
        names = ["rxe-nfs3.pcap.zst", "siw-nfs4.1.pcap.zst"]
        self.packets = {name: [packet for _, packet in wire.records(wire.load(REAL / name))][:600] for name in names}
        if os.environ.get("STAG_SANITIZED"):
            self.packets = {name: packets[:200] for name, packets in self.packets.items()}

    def expect_order(self, data, commands):
        (self.home / "far.pcapng").write_bytes(data)
        for command in commands:
            words = [word.replace("{file}", "far.pcapng") for word in command]
            done = subprocess.run([STAG, *words, "far.pcapng"], cwd=self.home, capture_output=True, timeout=300)
            said = done.stderr.decode()
            with self.subTest(command=command):
                # A time before 1970 cannot be stored in a file: that is said.
                self.assertIn(done.returncode, (0, 1, 2) if command[0] in ("slice", "scrub") else (0, 1), said)
                self.assertNotIn("runtime error", said)
                if command == ["transactions", "--format", "jsonl"]:
                    for line in done.stdout.splitlines():
                        found = json.loads(line)
                        for ns in [found["rtt_us"], *(found["phases_us"] or {}).values()]:
                            self.assertTrue(ns is None or 0 <= ns <= LONGEST / 1000, line)

    def test_pcapng(self):
        for name, packets in self.packets.items():
            for times in TIMES:
                with self.subTest(name, times=times):
                    self.expect_order(pcapng(packets, TIMES[times], INTERFACES["nanoseconds"]), COMMANDS)
            for interfaces in INTERFACES:
                with self.subTest(name, interfaces=interfaces):
                    self.expect_order(pcapng(packets, TIMES["over all of it"], INTERFACES[interfaces]), COMMANDS[:18:2])

    def test_pcap(self):
        for name, packets in self.packets.items():
            with self.subTest(name):
                self.expect_order(pcap(packets, lambda i: 0xffffffff * (i % 2)), COMMANDS)
                self.expect_order(pcap(packets, lambda i: 0xffffffff), COMMANDS[:18])


if __name__ == "__main__":
    unittest.main()
