# SPDX-License-Identifier: GPL-2.0-or-later
"""A real capture in which each packet stands twice gives what it gives without the copies.

copies_test.py STAG CAPTURE
"""
import json
import random
import unittest

import wrap
from rewritten import CAPTURE, Rewritten

DELAY = 3_000  # ns
FRAMES = ("call_frame", "reply_frame", "delivered_frame", "frame", "proven_frame")


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


def is_reset(packet):
    """A TCP segment with RST, in Ethernet and IPv4."""
    return packet[12:14] == b"\x08\x00" and packet[23] == 6 and packet[14 + (packet[14] & 15) * 4 + 13] & 4 != 0


class Copies(Rewritten):
    @classmethod
    def results(cls, *options):
        out = []
        for command in ("transactions", "check", "transport"):
            done = cls.run_stag(command, "--format", "jsonl", *options)
            out.append((done.returncode, [json.loads(line) for line in done.stdout.splitlines()]))
        return out

    def both(self, first, second, delay=lambda _: DELAY, records=None):
        """Writes each packet as `first` and, a little later, as `second` makes it. Returns the numbers of the first copies."""
        made = []
        for number, (ns, packet, wire_length) in enumerate(records or self.records, 1):
            frame = wrap.Frame(packet, wire_length, number)
            one, two = first(frame) or frame, second(frame) or frame
            made.append((ns, number, one))
            made.append((ns + delay(number), -number, two))
        if self.in_order():
            made.sort(key=lambda copy: copy[0])
        wrap.write(self.home / "capture.pcap", [(ns, frame.data, frame.wire) for ns, _, frame in made])
        return {number: place for place, (_, number, _) in enumerate(made, 1) if number > 0}

    def in_order(self):
        """Whether the capture has one clock."""
        return all(a[0] <= b[0] for a, b in zip(self.records, self.records[1:]))

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

    def expect_the_same(self, first, second, copies, *others, unlike=0):
        """`unlike`: so many may count as sent again: nothing tells them from it, and nothing comes of them."""
        expected = self.translated(self.both(first, second, *others))
        for (status, lines), (was_status, was) in zip(self.results(), expected, strict=True):
            self.assertEqual(status, was_status)
            self.assertEqual(self.without_texts(lines), self.without_texts(was))
        last = json.loads(self.run_stag("connections", "--all", "--format", "jsonl").stdout.splitlines()[-1])
        self.assertEqual(last["type"], "summary")
        self.assertTrue(copies - unlike <= last["copies"] <= copies, (last, copies, unlike))
        self.assertIn(f"{last['copies']} cop", self.run_stag("connections", "--all").stdout.decode().splitlines()[-1])

    @staticmethod
    def without_texts(lines):
        """Messages name frames, too."""
        return [{name: value for name, value in line.items() if name != "message"} for line in lines]

    def count(self):
        return sum(followed(data) for _, data, _ in self.records)

    def alone(self):
        """Resets, which nothing tells from the next one, and one packet of 500."""
        return sum(is_reset(data) for _, data, _ in self.records) + self.count() // 500

    def test_routed(self):
        self.expect_the_same(lambda f: f, routed, self.count())

    def test_tagged(self):
        self.expect_the_same(wrap.vlan([(0x8100, 7)]), wrap.vlan([(0x8100, 8)]), self.count())

    def test_mirrored_in_a_tunnel(self):
        self.expect_the_same(lambda f: f, wrap.WRAPPERS["erspan-2"], self.count())
        self.expect_the_same(wrap.WRAPPERS["vxlan-over-ipv6"], routed, self.count())

    def test_the_same_way(self):
        """Copies that agree in all."""
        for delay in (200, 1_000, 10_000, 100_000, 400_000):
            with self.subTest(delay=delay):
                self.expect_the_same(lambda f: f, lambda f: f, self.count(), lambda _, delay=delay: delay, unlike=self.alone())
        rng = random.Random(1)
        self.expect_the_same(lambda f: f, lambda f: f, self.count(), lambda _: rng.randint(1_000, 20_000), unlike=self.alone())

    def test_without_identification(self):
        """As adapters send that write RoCEv2 and iWARP in hardware."""
        records = [(ns, wrap.without_identification(data), wire_length) for ns, data, wire_length in self.records]
        wrap.write(self.home / "capture.pcap", records)
        self.assertEqual([[self.without_texts(lines) for _, lines in self.results()]],
                         [[self.without_texts(lines) for _, lines in self.expected]])
        for delay in (200, 1_000, 10_000, 100_000, 400_000):
            with self.subTest(delay=delay):
                self.expect_the_same(lambda f: f, lambda f: f, self.count(), lambda _, delay=delay: delay, records, unlike=self.alone())
        rng = random.Random(1)
        self.expect_the_same(lambda f: f, lambda f: f, self.count(), lambda _: rng.randint(1_000, 20_000), records, unlike=self.alone())

    def test_some_packets(self):
        """A mirror that drops some: where that leaves open what was sent again, the capture is blamed, and nobody else."""
        rng = random.Random(1)
        made = []
        for ns, data, wire_length in self.records:
            data = wrap.without_identification(data)
            made.append((ns, data, wire_length))
            if rng.random() < 0.6:
                made.append((ns + 400_000, data, wire_length))
        if self.in_order():
            made.sort(key=lambda copy: copy[0])
        wrap.write(self.home / "capture.pcap", self.records)
        before = self.summary()["wrong"]
        wrap.write(self.home / "capture.pcap", made)
        summary = self.summary()
        unclear = [wrong for wrong in summary["wrong"] if wrong["kind"] == "captured_twice"]
        self.assertEqual([(wrong["blames"], wrong["connection"]) for wrong in unclear],
                         [("capture", None)] if "unclear_copies" in summary else [])
        self.assertEqual({(wrong["kind"], wrong["blames"]) for wrong in summary["wrong"] if wrong not in unclear},
                         {(wrong["kind"], wrong["blames"]) for wrong in before})
        if "rxe-loss" in CAPTURE:
            self.assertIn(f"of {summary['unclear_copies']} more packet", unclear[0]["text"])
            self.assertLess(unclear[0]["frame"], summary["frames"])

    def summary(self):
        return json.loads(self.run_stag("summary", "--format", "jsonl").stdout)

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
