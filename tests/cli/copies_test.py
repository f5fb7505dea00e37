# SPDX-License-Identifier: GPL-2.0-or-later
"""A real capture in which each packet stands twice gives what it gives without the copies.

copies_test.py STAG CAPTURE
"""
import collections
import json
import unittest

import wrap
from rewritten import CAPTURE, Rewritten

DELAY = 3_000  # ns
AGAIN = ("retransmitted_packets", "retransmitted_segments", "repeated_responses", "timeouts", "go_back_n", "out_of_order",
         "lost_from_capture", "rnr_stall_us", "zero_windows", "changed_retransmissions")
FRAMES = ("call_frame", "reply_frame", "frame", "proven_frame")


def routed(frame):
    """As behind a router: other MAC addresses, time to live one less, congestion experienced, where ECN is in use."""
    data = bytearray(frame.data)
    data[:12] = wrap.MAC
    if data[12:14] == b"\x08\x00" and len(data) >= 34:
        data[22] -= 1
        if data[15] & 3:
            data[15] |= 3
        data[24:26] = b"\0\0"
        data[24:26] = wrap.checksum(bytes(data[14:34])).to_bytes(2, "big")
    elif data[12:14] == b"\x86\xdd":
        data[21] -= 1
    return wrap.Frame(bytes(data), frame.wire, frame.number)


def followed(data):
    """Whether it is a RoCE or TCP packet that Stag follows."""
    if data[12:14] == b"\x08\x00":
        protocol, ports = data[23], data[36:38]
    elif data[12:14] == b"\x86\xdd":
        protocol, ports = data[20], data[56:58]
    else:
        return False
    return protocol == 6 or (protocol == 17 and ports == b"\x12\xb7")


class Copies(Rewritten):
    @classmethod
    def results(cls, *options):
        out = []
        for command in ("transactions", "check", "transport"):
            done = cls.run_stag(command, "--format", "jsonl", *options)
            out.append((done.returncode, [json.loads(line) for line in done.stdout.splitlines()]))
        return out

    def both(self, first, second):
        """Writes each packet as `first` and, a little later, as `second` makes it. Returns the numbers of the first copies."""
        made, numbers, late = [], {}, collections.deque()
        for number, (ns, packet, wire_length) in enumerate(self.records, 1):
            while late and late[0][0] <= ns:
                made.append(late.popleft())
            frame = wrap.Frame(packet, wire_length, number)
            one, two = first(frame) or frame, second(frame) or frame
            made.append((ns, one.data, one.wire))
            numbers[number] = len(made)
            late.append((ns + DELAY, two.data, two.wire))
        made.extend(late)
        wrap.write(self.home / "capture.pcap", made)
        return numbers

    def translated(self, numbers):
        """What was expected, with the frames' new numbers."""
        out = []
        for status, lines in json.loads(json.dumps(self.expected)):
            for line in lines:
                for name in FRAMES:
                    if line.get(name):
                        line[name] = numbers[line[name]]
                if "related_frames" in line:
                    line["related_frames"] = [numbers[frame] for frame in line["related_frames"]]
                if line["type"] == "summary":
                    line["frames"] *= 2
            out.append((status, lines))
        return out

    def expect_the_same(self, first, second, copies):
        expected = self.translated(self.both(first, second))
        for (status, lines), (was_status, was) in zip(self.results(), expected, strict=True):
            self.assertEqual(status, was_status)
            self.assertEqual(self.without_texts(lines), self.without_texts(was))
        last = json.loads(self.run_stag("connections", "--all", "--format", "jsonl").stdout.splitlines()[-1])
        self.assertEqual((last["type"], last["copies"]), ("summary", copies))
        self.assertIn(f"{copies} cop", self.run_stag("connections", "--all").stdout.decode().splitlines()[-1])

    @staticmethod
    def without_texts(lines):
        """Messages name frames, too."""
        return [{name: value for name, value in line.items() if name != "message"} for line in lines]

    def count(self):
        return sum(followed(data) for _, data, _ in self.records)

    def test_routed(self):
        self.expect_the_same(lambda f: f, routed, self.count())

    def test_tagged(self):
        self.expect_the_same(wrap.vlan([(0x8100, 7)]), wrap.vlan([(0x8100, 8)]), self.count())

    def test_mirrored_in_a_tunnel(self):
        self.expect_the_same(lambda f: f, wrap.WRAPPERS["erspan-2"], self.count())
        self.expect_the_same(wrap.WRAPPERS["vxlan-over-ipv6"], routed, self.count())

    def test_the_same_way(self):
        """Copies that agree in all are told by the identification that the sender counts up: Linux does, but in IPv6 there is none.
        The first packets of each host show no mirror yet."""
        counted = sum(self.is_counted(data) for _, data, _ in self.records)
        expected = self.translated(self.both(lambda f: f, lambda f: f))
        results = self.results()
        summaries = [line for line in map(json.loads, self.run_stag("connections", "--all", "--format", "jsonl").stdout.splitlines())
                     if line["type"] == "summary"]
        copies = summaries[0]["copies"] if summaries else 0
        self.assertLessEqual(copies, counted)
        self.assertGreaterEqual(copies, counted - 24)
        # RPCs are the same however it is, and findings.
        self.assertEqual(self.without_frames(results[0][1]), self.without_frames(expected[0][1]))
        if counted == self.count():
            self.assertEqual(self.without_frames(results[2][1], ("packets", "segments", "bytes", *AGAIN)),
                             self.without_frames(expected[2][1], ("packets", "segments", "bytes", *AGAIN)))
            for now, was in zip(results[2][1], expected[2][1], strict=True):
                for name in AGAIN:
                    if name != "rnr_stall_us":
                        self.assertLessEqual(abs((now.get(name) or 0) - (was.get(name) or 0)), 12, name)

    @staticmethod
    def is_counted(data):
        return followed(data) and data[12:14] == b"\x08\x00" and data[18:20] != b"\0\0"

    @staticmethod
    def without_frames(lines, others=()):
        return [{name: value for name, value in line.items() if name not in FRAMES + ("related_frames", "rtt_us", "phases_us") + others}
                for line in lines]

    def test_jobs(self):
        self.both(lambda f: f, routed)
        self.assertEqual(self.results("--jobs", "3"), self.results())

    def test_kept(self):
        self.both(lambda f: f, routed)
        for line in self.run_stag("connections", "--all", "--format", "jsonl", "--copies", "keep").stdout.splitlines():
            self.assertNotEqual(json.loads(line)["type"], "summary")
        again = [line.get("retransmitted_packets", line.get("retransmitted_segments"))
                 for line in self.results("--copies", "keep")[2][1] if line["type"] == "transport"]
        was = [line.get("retransmitted_packets", line.get("retransmitted_segments"))
               for line in self.expected[2][1] if line["type"] == "transport"]
        self.assertEqual([a > b for a, b in zip(again, was, strict=True)], [line.get("packets", line.get("segments")) > 0
                         for line in self.expected[2][1] if line["type"] == "transport"])


if __name__ == "__main__":
    unittest.main()
