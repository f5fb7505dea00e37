# SPDX-License-Identifier: GPL-2.0-or-later
"""What one odd frame says ends with it: a real capture in which an odd frame stands first, behind 5,000 others, or last gives
what it gives with an ordinary frame of something else in its place.

odd_frame_test.py STAG CAPTURE
"""
import re
import struct
import unittest

import wrap
from rewritten import Rewritten

COMMANDS = ("transactions", "connections", "latency", "check", "transport", "limits")
ARP = bytes.fromhex("ffffffffffff 020202020202 0806 0001 0800 0604 0001 020202020202 0a000001 000000000000 0a000002")
MILLISECOND, MONTH = 10**6, 30 * 24 * 3600 * 10**9
BEHIND = 5000
ETHERNET, USER = 0, 1  # the numbers of the interfaces


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def frame(ns, data, wire_length=None, interface=ETHERNET):
    ns &= 2**64 - 1
    return block(6, struct.pack("<IIIII", interface, ns >> 32, ns & 0xffffffff, len(data),
                                len(data) if wire_length is None else wire_length) + data)


def interface(link):
    """With times in nanoseconds."""
    return block(1, struct.pack("<HHI", link, 0, 0) + struct.pack("<HHBxxx", 9, 1, 9) + struct.pack("<I", 0))


HEAD = block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1)) + interface(1) + interface(147)

# Odd frames, from the time that one there would have and a frame of the capture's.
ODD = {
    "second clock": lambda ns, other: frame(ns + MONTH, ARP),
    "the end of all time": lambda ns, other: frame(2**64 - 1, ARP),
    "2262": lambda ns, other: frame(2**63 - 1, ARP),
    "1677": lambda ns, other: frame(2**63, ARP),
    "1970": lambda ns, other: frame(0, ARP),
    "no time": lambda ns, other: block(3, struct.pack("<I", len(ARP)) + ARP),
    "another link type": lambda ns, other: frame(ns, other, interface=USER),
    "zero length": lambda ns, other: frame(ns, b""),
    "nothing captured": lambda ns, other: frame(ns, b"", 1514),
    "cut in its IP header": lambda ns, other: frame(ns, other[:20], len(other)),
    "cut in its next header": lambda ns, other: frame(ns, other[:37], len(other)),
    "a custom block": lambda ns, other: block(0xbad, struct.pack("<I", 32473) + b"odd"),
    "a journal entry": lambda ns, other: block(9, b"__REALTIME_TIMESTAMP=1\n"),
}
# Those that are no frames.
UNKNOWN = block(0x77, bytes(40)) + block(5, struct.pack("<IQ", USER, 2**64 - 1))


class OddFrame(Rewritten):
    @classmethod
    def results(cls):
        """But for times since the first frame, which may be the odd one, and what was not looked into, which it is."""
        return [(done.returncode, re.sub(rb'"(reply_)?time_s":[^,}]+|(?m:^\{"type":"summary".*"not_looked_into".*\n)', b"", done.stdout))
                for done in (cls.run_stag(c, "--format", "jsonl") for c in COMMANDS)]

    @staticmethod
    def without_ends(results):
        """A connection that is open when the capture ends lasts until its last frame, whatever that is."""
        return [(status, re.sub(rb'"last_time":"[^"]*"', b'"last_time":""', out)) for status, out in results]

    def padded(self, early=()):
        """Blocks and times of the capture, behind frames of something else, so that the 5,000th is in the midst of the traffic.
        `early`: those of them that a second clock stamps."""
        count = max(BEHIND - len(self.records) // 2, 0)
        begin = self.records[0][0] - (count + 1) * MILLISECOND
        blocks = [(begin + i * MILLISECOND, frame(begin + i * MILLISECOND + (MONTH if i in early else 0), ARP)) for i in range(count)]
        return blocks + [(ns, frame(ns, data, wire_length)) for ns, data, wire_length in self.records]

    def given(self, blocks, place, one):
        """The results with `one` in front of the block of that number."""
        with open(self.home / "capture.pcap", "wb") as out:
            out.write(HEAD + b"".join([b for _, b in blocks[:place]] + [one] + [b for _, b in blocks[place:]]))
        return self.results()

    def expect_nothing_else(self, blocks, place, odd):
        ns = blocks[min(place, len(blocks) - 1)][0] + (1 if place == len(blocks) else -1)
        other = max((data for _, data, _ in self.records[:200]), key=len)
        results = self.without_ends if place == len(blocks) else list
        expected = results(self.given(blocks, place, frame(ns, ARP)))
        for name in odd:
            with self.subTest(odd=name, place=place):
                self.assertTrue(results(self.given(blocks, place, ODD[name](ns, other))) == expected)

    def test_first(self):
        self.expect_nothing_else(self.padded(), 0, ODD)

    def test_in_the_midst(self):
        self.expect_nothing_else(self.padded(), BEHIND, ODD)

    def test_last(self):
        blocks = self.padded()
        self.expect_nothing_else(blocks, len(blocks), ODD)

    def test_second_clock_known_early(self):
        blocks = self.padded(early=(3, 5, 7, 9))
        self.expect_nothing_else(blocks, BEHIND, ("second clock", "another link type", "a custom block"))

    def test_no_frame(self):
        blocks = self.padded()
        expected = self.given(blocks, 0, b"")
        for place in (0, BEHIND, len(blocks)):
            with self.subTest(place=place):
                self.assertEqual(self.given(blocks, place, UNKNOWN), expected)

    def test_padding_changes_frame_numbers_alone(self):
        """Of the first frame on: as many RPCs, connections and findings."""
        lines = [out.count(b"\n") for _, out in self.given(self.padded(), 0, b"")]
        self.assertEqual(lines, [out.count(b"\n") for _, out in self.expected])


if __name__ == "__main__":
    unittest.main()
