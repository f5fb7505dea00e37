# SPDX-License-Identifier: GPL-2.0-or-later
"""Capture files as others write them: blocks and link types that mean nothing to stag, padding, frames without times, ERF, and
formats that it does not read.

files_test.py STAG
"""
import collections
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import wrap

STAG = sys.argv.pop(1)
HERE = pathlib.Path(__file__).parent
RECORDS = list(wrap.read(HERE.parent.parent / "pcaps" / "real" / "rxe-rdma_error.pcap"))
SECTION, INTERFACE, SIMPLE, NAMES, STATISTICS, PACKET, JOURNAL, SECRETS = 0x0a0d0d0a, 1, 3, 4, 5, 6, 9, 10
CUSTOM, CUSTOM_NOT_COPIED, NOT_COPIED, SYSDIG, UNKNOWN = 0xbad, 0x40000bad, 0x40000bac, 0x204, 0x1234
JOURNAL_TEXT = b"MESSAGE=something happened here\n_PID=1\n"


class File:
    """A pcapng file; `order`: < or >."""

    def __init__(self, order="<"):
        self.order, self.data = order, b""
        self.block(SECTION, self.pack("IHHq", 0x1a2b3c4d, 1, 0, -1))

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def block(self, kind, body, count_padding=True):
        padding = bytes(-len(body) % 4)
        length = 12 + len(body) + (len(padding) if count_padding else 0)
        self.data += self.pack("II", kind, length) + body + padding + self.pack("I", length)
        return self

    def options(self, *options):
        out = b""
        for code, value in options:
            out += self.pack("HH", code, len(value)) + value + bytes(-len(value) % 4)
        return out + bytes(4)

    def interface(self, link=1, *options):
        return self.block(INTERFACE, self.pack("HHI", link, 0, 0) + (self.options(*options) if options else b""))

    def packet(self, interface, units, data, wire=None, *options, count_padding=True):
        head = self.pack("IIIII", interface, units >> 32, units & 0xffffffff, len(data), wire or len(data))
        more = bytes(-len(data) % 4) + self.options(*options) if options else b""
        return self.block(PACKET, head + data + more, count_padding)


def blocks(data):
    """(type, body) of a little-endian file."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at + 8:at + length - 4]
        at += length


def described(order="<"):
    """Two interfaces with everything that one may have, and other blocks around the packets; the second interface's link type is
    unknown."""
    file = File(order)
    file.interface(1, (1, b"a comment"), (2, b"ens1f0"), (3, b"an adapter"), (8, file.pack("Q", 10**11)), (9, b"\x06"), (11, b"\0port 4791"),
                   (12, b"Linux"), (14, file.pack("q", 3600)), (15, b"mlx5"))
    file.interface(147, (2, b"odd0"))
    file.block(NAMES, file.pack("HH", 1, 8) + bytes([10, 0, 0, 1]) + b"srv\0" + bytes(4))
    for number, (ns, data, wire) in enumerate(RECORDS):
        if number == 3:
            file.block(SECRETS, file.pack("II", 0x544c534b, 12) + b"CLIENT_RANDO")
            file.block(CUSTOM, file.pack("I", 4711) + b"ABCD").block(CUSTOM_NOT_COPIED, file.pack("I", 4711) + b"EFGH")
            file.block(NOT_COPIED, b"IJKL").block(JOURNAL, JOURNAL_TEXT).block(UNKNOWN, b"MNOP").block(SYSDIG, bytes(40))
        if number == 5:
            file.packet(1, ns // 1000, b"ODDODD1", 9)
        file.packet(0, ns // 1000 - 3600 * 10**6, data, wire, (2, file.pack("I", 1)), (1, b"of a frame"))
    for interface in 0, 1:
        file.block(STATISTICS, file.pack("III", interface, 5, 6) + file.options((2, file.pack("II", 1, 2)), (4, file.pack("Q", 1000)),
                                                                               (5, file.pack("Q", 3))))
    return file.data


class Files(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = pathlib.Path(self.folder.name)
        wrap.write(self.home / "capture.pcap", RECORDS)
        self.expected = self.rpcs("capture.pcap")
        self.assertEqual(len(self.expected), 5)

    def stag(self, *arguments, status=0):
        done = subprocess.run([STAG, *arguments], cwd=self.home, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def put(self, name, data):
        (self.home / name).write_bytes(data)
        return name

    def rpcs(self, name):
        lines = [json.loads(line) for line in self.stag("transactions", "--format", "jsonl", name).stdout.splitlines()]
        return [{key: value for key, value in line.items() if key != "file" and "frame" not in key} for line in lines]

    def kinds(self, name):
        return collections.Counter(kind for kind, _ in blocks((self.home / name).read_bytes()))

    def test_a_slice_carries_all(self):
        little = list(blocks(described("<")))
        for order in "<", ">":
            for compressed in "", ".zst":
                with self.subTest(order=order, compressed=compressed):
                    source = self.put("in.pcapng", described(order))
                    done = self.stag("slice", source, "--frames", "1-", "-w", "out.pcapng" + compressed)
                    self.assertIn("2 custom blocks left out", done.stderr)
                    if compressed:
                        subprocess.run(["zstd", "-dqf", "out.pcapng.zst"], cwd=self.home, check=True)
                    of_slice = list(blocks((self.home / "out.pcapng").read_bytes()))
                    copied = INTERFACE, NAMES, STATISTICS, SECRETS
                    self.assertEqual([block for block in of_slice if block[0] in copied], [block for block in little if block[0] in copied])
                    # Their contents are nobody's business.
                    opaque = [JOURNAL, UNKNOWN, SYSDIG, CUSTOM]
                    self.assertEqual([(kind, body) for kind, body in of_slice if kind in opaque],
                                     [(kind, body) for kind, body in little if kind in opaque])
                    packets = [body[:20] for kind, body in of_slice if kind == PACKET]
                    self.assertEqual(packets, [body[:20] for kind, body in little if kind == PACKET])
                    flags = struct.pack("<HHI", 2, 4, 1)
                    self.assertEqual(sum(flags in body for kind, body in of_slice if kind == PACKET), len(RECORDS))
                    self.assertFalse({CUSTOM_NOT_COPIED, NOT_COPIED} & {kind for kind, _ in of_slice})
                    self.assertEqual(self.rpcs("out.pcapng")[0]["rtt_us"], self.rpcs(source)[0]["rtt_us"])

    def test_merging_keeps_interfaces_apart(self):
        for name in "a.pcapng", "b.pcapng":
            self.put(name, described())
        self.stag("slice", "--merge", "a.pcapng", "b.pcapng", "-w", "out.pcapng")
        kinds = self.kinds("out.pcapng")
        self.assertEqual((kinds[INTERFACE], kinds[NAMES], kinds[STATISTICS], kinds[UNKNOWN]), (4, 2, 4, 2))
        named = [struct.unpack_from("<I", body)[0] for kind, body in blocks((self.home / "out.pcapng").read_bytes()) if kind == STATISTICS]
        self.assertEqual(sorted(named), [0, 1, 2, 3])

    def test_scrub_empties_or_leaves_out(self):
        source = self.put("in.pcapng", described())
        for out in "out.pcapng", "out.pcapng.zst":
            done = self.stag("scrub", source, "-w", out)
            self.assertIn("4 custom or journal blocks emptied; 1 frame of a link type that is not known emptied; 6 blocks of names, secrets, "
                          "statistics or unknown things left out", done.stderr)
            self.assertEqual(len(self.rpcs(out)), 5)
        data = (self.home / "out.pcapng").read_bytes()
        for secret in b"ens1f0", b"odd0", b"adapter", b"srv", b"CLIENT", b"ABCD", b"EFGH", b"IJKL", b"MNOP", b"MESSAGE", b"ODD", b"of a frame":
            self.assertNotIn(secret, data)
        kinds = self.kinds("out.pcapng")
        self.assertEqual((kinds[INTERFACE], kinds[PACKET], kinds[CUSTOM]), (2, len(RECORDS) + 1, 4))

    def test_frames_are_counted_as_wireshark_counts(self):
        source = self.put("in.pcapng", described())
        shown = subprocess.run(["tshark", "-n", "-r", source], cwd=self.home, capture_output=True, text=True, check=True, timeout=120)
        first = json.loads(self.stag("summary", "--format", "jsonl", source).stdout.splitlines()[0])
        self.assertEqual(first["frames"], len(shown.stdout.splitlines()))

    def test_lengths_without_padding(self):
        for order in "<", ">":
            file = File(order)
            file.interface(1, (9, b"\x09"))
            for ns, data, wire in RECORDS:
                file.packet(0, ns, data, wire, count_padding=False)
            self.assertEqual(self.rpcs(self.put("in.pcapng", file.data)), self.expected)

    def test_frames_without_times(self):
        file = File()
        file.interface()
        for _, data, _ in RECORDS:
            file.block(SIMPLE, file.pack("I", len(data)) + data)
        source = self.put("in.pcapng", file.data)
        self.stag("slice", source, "--frames", "1-", "-w", "slice.pcapng")
        self.stag("scrub", source, "-w", "scrub.pcapng")
        self.stag("scrub", source, "-w", "scrub.pcapng.zst")
        for name in source, "slice.pcapng", "scrub.pcapng", "scrub.pcapng.zst":
            rpcs = self.rpcs(name)
            self.assertEqual([rpc["xid"] for rpc in rpcs], [rpc["xid"] for rpc in self.expected])
            for rpc in rpcs:
                self.assertEqual([rpc[key] for key in ("time", "time_s", "reply_time", "reply_time_s", "rtt_us", "phases_us")], [None] * 6)
            (limits,) = [json.loads(line) for line in self.stag("limits", "--format", "jsonl", name).stdout.splitlines()]
            self.assertEqual((limits["span_us"], limits["verdict"]), (0, "unknown"))
            self.assertIn("have no times", self.stag("limits", name).stdout)
            for command in "summary", "connections":
                text = self.stag(command, name).stdout
                self.assertNotIn("0ns", text)
                self.assertNotIn("1970", text)

    def erf(self, extensions=0, kind=2):
        out = b""
        for ns, data, wire in RECORDS:
            packet = bytes(2) + data if kind == 2 else data[14:]
            more = b"".join(bytes([0x80 if i < extensions - 1 else 0]) + bytes(7) for i in range(extensions))
            record = more + packet
            record += bytes(-len(record) % 8)
            out += struct.pack("<II", (ns % 10**9 << 32) // 10**9 + 1, ns // 10**9)
            out += struct.pack(">BBHHH", kind | (0x80 if extensions else 0), 4, 16 + len(record), 0, wire if kind == 2 else wire - 14) + record
            out += struct.pack("<II", 0, 0) + struct.pack(">BBHHH", 48, 4, 24, 0, 0) + bytes(8)  # padding
        return out

    def test_erf(self):
        for extensions, kind in (0, 2), (1, 2), (3, 2), (0, 22):
            with self.subTest(extensions=extensions, kind=kind):
                source = self.put("in.erf", self.erf(extensions, kind))
                self.assertEqual([rpc["xid"] for rpc in self.rpcs(source)], [rpc["xid"] for rpc in self.expected])
                for ours, theirs in zip(self.rpcs(source), self.expected):
                    self.assertAlmostEqual(ours["rtt_us"], theirs["rtt_us"], delta=0.01)
                self.stag("slice", source, "--frames", "1-", "-w", "slice.pcapng")
                self.assertEqual(self.rpcs("slice.pcapng"), self.rpcs(source))
        whole = self.erf()
        done = self.stag("transactions", self.put("cut.erf", whole[:-40]), status=2)
        self.assertIn("file is cut off in frame", done.stderr)

    def test_other_formats_name_the_tool(self):
        for start, tool in ((b"\xfd7zXZ\0", "xz -dc"), (b"BZh91AY", "bzip2 -dc"), (b"\x04\x22\x4d\x18", "lz4 -dc"), (b"snoop\0\0\0", "editcap"),
                            (b"RTSS\1\1", "editcap"), (b"GMBU\0\2", "editcap"), (b"PK\3\4", "unzip"), (b"what is this", "editcap")):
            for size in 0, 300:
                done = self.stag("summary", self.put("in.bin", start + bytes(size)), status=2)
                self.assertIn(tool, done.stderr.splitlines()[0])

    def test_text_is_no_erf(self):
        done = self.stag("summary", self.put("in.txt", b"0123456789 this is a text of several words.\n" * 2000), status=2)
        self.assertIn("is not a pcap, pcapng or ERF capture", done.stderr)


if __name__ == "__main__":
    unittest.main()
