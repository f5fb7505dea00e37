# SPDX-License-Identifier: GPL-2.0-or-later
"""A capture with two clocks, made of a real one: what one side sent is stamped with seconds since boot. The times that come out
are held against those of the real one.

clocks_test.py STAG    (runs as a unittest program)
"""
import decimal
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

import wire

STAG = sys.argv.pop(1)
REAL = pathlib.Path(__file__).parents[2] / "pcaps" / "real"
APART = 1_795_402_956_428_774_082  # ns


def run(*arguments, input=None):
    return subprocess.run([STAG, *map(str, arguments)], capture_output=True, timeout=300, input=input)


def lines(done):
    return [json.loads(line, parse_float=decimal.Decimal) for line in done.stdout.splitlines()]


class Clocks(unittest.TestCase):
    def made(self, name, shift):
        """The path of the capture with `shift(source address, ns, number)` as its times."""
        data = wire.load(REAL / name)
        out = [data[:24]]
        for number, (ns, packet) in enumerate(wire.records(data), 1):
            ns = shift(packet[26:30], ns, number)
            out.append(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(packet)) + packet)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = pathlib.Path(directory.name) / "two.pcap"
        path.write_bytes(b"".join(out))
        return path

    def two(self, name, address, apart=APART):
        first = next(wire.records(wire.load(REAL / name)))[0]
        # Seconds since boot: 56 when the capture began, `apart` behind the other clock.
        to_day = apart + 56 * 10**9 - first
        return self.made(name, lambda source, ns, number: ns + to_day - (apart if source == address else 0))

    def test_times_are_aligned_to_within_what_is_said(self):
        for name in ("rxe-nfs4.1.pcap.zst", "siw-nfs4.1.pcap.zst", "rxe-midstream-nfs3.pcap.zst"):
            whole = lines(run("transactions", "--format", "jsonl", REAL / name))
            for address in (b"\x0a\0\0\1", b"\x0a\0\0\2"):
                with self.subTest(capture=name, address=address):
                    done = run("transactions", "--format", "jsonl", self.two(name, address))
                    said = re.findall(r"two clocks: .* (\d+)\.(\d{9}) s behind the other, known to within ([0-9.]+)(ns|us); "
                                      r"their times are aligned", done.stderr.decode())
                    self.assertEqual(len(said), 1, done.stderr.decode())
                    seconds, nanoseconds, within, unit = said[0]
                    # PutDuration rounds to three digits.
                    within = decimal.Decimal(within) * {"ns": 1, "us": 1000}[unit] * decimal.Decimal("1.01") + 1
                    self.assertLessEqual(abs(int(seconds) * 10**9 + int(nanoseconds) - APART), within)
                    aligned = lines(done)
                    self.assertEqual(len(aligned), len(whole))
                    for one, other in zip(aligned, whole):
                        self.assertEqual(one["reply_frame"], other["reply_frame"])
                        if other["rtt_us"] is not None:
                            self.assertGreaterEqual(one["rtt_us"], 0)
                            self.assertLessEqual(abs(one["rtt_us"] - other["rtt_us"]) * 1000, within)

    def test_the_same_from_standard_input_and_in_threads(self):
        path = self.two("rxe-nfs4.1.pcap.zst", b"\x0a\0\0\1")
        whole = run("transactions", "--format", "jsonl", path)
        self.assertEqual(run("transactions", "--format", "jsonl", "-", input=path.read_bytes()).stdout.replace(b"standard input", bytes(path)), whole.stdout)
        self.assertEqual(run("transactions", "--format", "jsonl", "--jobs", "3", path).stdout, whole.stdout)
        self.assertEqual(run("transactions", "--format", "jsonl", "--clocks", "align", path).stdout, whole.stdout)

    def test_no_times_across_clocks(self):
        path = self.two("rxe-nfs4.1.pcap.zst", b"\x0a\0\0\1")
        done = run("transactions", "--format", "jsonl", "--clocks", "null", path)
        self.assertIn(b"times between the two are left out", done.stderr)
        found = lines(done)
        self.assertGreater(len(found), 50)
        for line in found:
            self.assertEqual((line["rtt_us"], line["phases_us"], line["phases_complete"]), (None, None, False))
            self.assertEqual(line["call_complete"], True)

    def test_nothing_shows_how_far_they_are_apart(self):
        # Only what the one side sent is acknowledged: 40 frames without any of the other's.
        data = wire.load(REAL / "rxe-nfs4.1.pcap.zst")
        path = self.two("rxe-nfs4.1.pcap.zst", b"\x0a\0\0\1")
        out, opcodes = [data[:24]], {b"\x0a\0\0\2": range(0, 0x18)}
        for ns, packet in wire.records(path.read_bytes()):
            if packet[23] == 17 and (packet[42] != 0x11 or packet[26:30] == b"\x0a\0\0\1"):
                out.append(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(packet)) + packet)
            if len(out) == 40:
                break
        done = run("transactions", "--format", "jsonl", "-", input=b"".join(out))
        self.assertIn(b"two clocks", done.stderr)
        for line in lines(done):
            self.assertTrue(line["rtt_us"] is None or line["rtt_us"] >= 0)

    def test_a_clock_that_is_set_is_one_clock(self):
        for step in (-86400 * 10**9, 86400 * 10**9):
            path = self.made("rxe-nfs4.1.pcap.zst", lambda source, ns, number: ns + (step if number > 200 else 0))
            done = run("transactions", "--format", "jsonl", path)
            self.assertNotIn(b"two clocks", done.stderr)
            self.assertTrue(all(line["rtt_us"] is None or line["rtt_us"] >= 0 for line in lines(done)))

    def test_ordinary_captures_have_one(self):
        for path in REAL.glob("*.pcap*"):
            self.assertNotIn(b"two clocks", run("connections", path).stderr)


if __name__ == "__main__":
    unittest.main()
