# SPDX-License-Identifier: GPL-2.0-or-later
"""A real capture whose IP packets, or those of the tunnel that it is in, are fragmented: the RPCs of the whole packets.

fragments_test.py STAG
"""
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import wrap

STAG = sys.argv.pop(1)
REAL = pathlib.Path(__file__).parent.parent.parent / "pcaps" / "real"


def fragments4(frame, size, number):
    header, total = (frame[14] & 15) * 4, int.from_bytes(frame[16:18], "big")
    body = frame[14 + header:14 + total]
    for at in range(0, len(body), size):
        part = body[at:at + size]
        head = bytearray(frame[14:14 + header])
        struct.pack_into(">HHHBxH", head, 2, header + len(part), number & 0xffff, (0x2000 if at + size < len(body) else 0) | at // 8, head[8], 0)
        head[9:10] = frame[23:24]
        struct.pack_into(">H", head, 10, wrap.checksum(bytes(head)))
        yield frame[:14] + bytes(head) + part


def fragments6(frame, size, number):
    body = frame[54:54 + int.from_bytes(frame[18:20], "big")]
    for at in range(0, len(body), size):
        part = body[at:at + size]
        more = at + size < len(body)
        yield frame[:18] + struct.pack(">HB", 8 + len(part), 44) + frame[21:54] + struct.pack(">BxHI", frame[20], at | more, number) + part


def fragments(frame, size, number):
    return fragments6(frame, size, number) if frame[12:14] == b"\x86\xdd" else fragments4(frame, size, number)


class Fragments(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = pathlib.Path(self.folder.name)

    def stag(self, *arguments):
        return subprocess.run([STAG, *arguments, "capture.pcap"], cwd=self.home, capture_output=True, text=True, timeout=300)

    def rpcs(self, records, *arguments):
        wrap.write(self.home / "capture.pcap", records)
        done = self.stag("transactions", "--format", "jsonl", *arguments)
        self.assertEqual(done.stderr, "")
        return [{key: value for key, value in json.loads(line).items() if "frame" not in key} for line in done.stdout.splitlines()]

    def test_each(self):
        draw = random.Random(7)
        tunnels = None, "vxlan", "vxlan-over-ipv6", "gre", "mpls-in-udp"
        for capture in "rxe-nfs3.pcap.zst", "siw-nfs4.1.pcap.zst":
            records = list(wrap.read(REAL / capture))
            expected = self.rpcs(records)
            self.assertGreater(len(expected), 40)
            for tunnel in tunnels:
                for shuffled in False, True:
                    with self.subTest(capture=capture, tunnel=tunnel, shuffled=shuffled):
                        made = []
                        for number, (ns, data, size) in enumerate(records, 1):
                            frame = wrap.Frame(data, size, number)
                            if tunnel:
                                frame = wrap.WRAPPERS[tunnel](frame)
                            parts = list(fragments(frame.data, 512, number)) if len(frame.data) == frame.wire else [frame.data]
                            if shuffled:
                                draw.shuffle(parts)
                            made += [(ns, part, len(part)) for part in parts]
                        self.assertGreater(len(made), len(records))
                        self.assertEqual(self.rpcs(made), expected)
                        self.assertEqual(self.rpcs(made, "--jobs", "2"), expected)

    def test_what_is_missing_is_said(self):
        records = list(wrap.read(REAL / "rxe-nfs3.pcap.zst"))
        made = [(ns, part, len(part)) for number, (ns, data, size) in enumerate(records, 1)
                for part in list(fragments(data, 16, number))[1:]]
        wrap.write(self.home / "capture.pcap", made)
        self.assertIn(f"{len(made)} frames not looked into: IP fragments without the first {len(made)}", self.stag("summary").stdout)

    def test_a_slice_has_all_fragments_of_its_packets(self):
        for tunnel in None, "vxlan":
            with self.subTest(tunnel=tunnel):
                made = []
                for number, (ns, data, size) in enumerate(wrap.read(REAL / "rxe-nfs3.pcap.zst"), 1):
                    frame = wrap.Frame(data, size, number)
                    if tunnel:
                        frame = wrap.WRAPPERS[tunnel](frame)
                    parts = reversed(list(fragments(frame.data, 512, number)))
                    made += [(ns, part, len(part)) for part in parts]
                whole = self.rpcs(made)
                wanted = max(whole, key=lambda rpc: rpc["call_bytes"] + rpc["reply_bytes"])
                done = self.stag("slice", "--xid", wanted["xid"], "-w", "slice.pcapng")
                self.assertEqual(done.returncode, 0, done.stderr)
                (self.home / "slice.pcapng").rename(self.home / "capture.pcap")
                rpcs = [json.loads(line) for line in self.stag("transactions", "--format", "jsonl").stdout.splitlines()]
                found = next(rpc for rpc in rpcs if rpc["xid"] == wanted["xid"])
                for member in "procedure", "call_sha256", "reply_sha256", "rtt_us", "phases_us":
                    self.assertEqual(found.get(member), wanted.get(member), member)
                frames = int(subprocess.run(["capinfos", "-Mrc", self.home / "capture.pcap"], capture_output=True,
                                            text=True).stdout.split()[-1])
                self.assertLess(frames, len(made) / 4)


if __name__ == "__main__":
    unittest.main()
