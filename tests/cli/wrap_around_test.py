# SPDX-License-Identifier: GPL-2.0-or-later
"""A real capture whose packet and sequence numbers begin anew in the midst of it gives what it gives otherwise.

wrap_around_test.py STAG CAPTURE
"""
import struct
import unittest
import zlib

import wrap
from rewritten import Rewritten

COMMANDS = ("transactions", "connections", "check", "transport", "credits", "limits", "latency")
ETHERNET, IPV4, UDP, BTH, DETH, MAD = 14, 20, 8, 12, 8, 24
TCP, ROCE = 6, 17
RESPONSES = range(0x0d, 0x14)  # read responses, acknowledgements
PORT = 20049


def kind(data):
    """TCP or ROCE, of IPv4 without options in Ethernet; else None."""
    if data[12:15] != b"\x08\x00\x45" or len(data) < ETHERNET + IPV4 + UDP + BTH:
        return None
    if data[23] == TCP:
        return TCP
    return ROCE if data[23] == ROCE and data[36:38] == b"\x12\xb7" else None


def psn(data):
    return int.from_bytes(data[51:54], "big")


def requester(data):
    """Whose requests the PSN of a RoCE packet counts."""
    return data[30:34] if data[42] in RESPONSES else data[26:30]


def icrc(data):
    """IBA section 7.8.1, RoCEv2 annex A17.3.3."""
    head = bytearray(b"\xff" * 8 + data[ETHERNET:ETHERNET + IPV4 + UDP + BTH])
    for at in (9, 16, 18, 19, 34, 35, 40):  # TOS, TTL, checksums, FECN and BECN
        head[at] = 0xff
    return struct.pack("<I", zlib.crc32(bytes(head) + data[ETHERNET + IPV4 + UDP + BTH:-4]))


def moved_checksum(checksum, before, after):
    """RFC 1624."""
    total = ~checksum & 0xffff
    for old, new in zip(struct.iter_unpack(">H", before), struct.iter_unpack(">H", after)):
        total += (~old[0] & 0xffff) + new[0]
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def captured(pcapng):
    """The captured length of each packet."""
    data, at = pcapng.read_bytes(), 0
    while at < len(data):
        kind_of_block, length = struct.unpack_from("<II", data, at)
        if kind_of_block == 6:
            yield struct.unpack_from("<I", data, at + 20)[0]
        at += length


class WrapAround(Rewritten):
    @classmethod
    def results(cls):
        """What commands print, also of the scrubbed capture; and which bytes stay where payload is cut off."""
        out = [(done.returncode, done.stdout) for done in (cls.run_stag(c, "--format", "jsonl") for c in COMMANDS)]
        (cls.home / "site.key").write_text("11" * 32 + "\n")
        cls.run_stag("scrub", "--key", "site.key", "-w", "scrubbed.pcap")
        cls.run_stag("slice", "--snap", "headers", "-w", "sliced.pcapng")
        (cls.home / "capture.pcap").rename(cls.home / "whole.pcap")
        (cls.home / "scrubbed.pcap").rename(cls.home / "capture.pcap")
        out += [(done.returncode, done.stdout) for done in (cls.run_stag(c, "--format", "jsonl") for c in ("transactions", "check"))]
        (cls.home / "whole.pcap").rename(cls.home / "capture.pcap")
        return out + [list(captured(cls.home / "sliced.pcapng"))]

    def tcp_distances(self):
        """For each sender what makes its numbers begin anew in the midst of what it sends, in a segment."""
        sent = {}
        for _, data, _ in self.records:
            if kind(data) == TCP and PORT in struct.unpack_from(">HH", data, 34):
                sent.setdefault(data[26:30], []).append(int.from_bytes(data[38:42], "big"))
        return {sender: -numbers[len(numbers) // 2] - 30 for sender, numbers in sent.items()}

    def moved_tcp(self, data, distances):
        out = bytearray(data)
        fields = [(38, data[26:30])] + ([(42, data[30:34])] if data[47] & 0x10 else [])
        for at, sender in fields:
            number = int.from_bytes(data[at:at + 4], "big") + distances.get(sender, 0)
            out[at:at + 4] = struct.pack(">I", number & 0xffffffff)
        at, end = 54, 34 + (data[46] >> 4) * 4
        while at < end and out[at] != 0:  # selective acknowledgements (RFC 2018)
            if out[at] == 5:
                for edge in range(at + 2, at + out[at + 1], 4):
                    number = int.from_bytes(out[edge:edge + 4], "big") + distances.get(data[30:34], 0)
                    out[edge:edge + 4] = struct.pack(">I", number & 0xffffffff)
            at += 1 if out[at] == 1 else out[at + 1]
        size = end - 34 & ~1
        checksum = moved_checksum(int.from_bytes(data[50:52], "big"), data[34:34 + size], bytes(out[34:34 + size]))
        out[50:52] = struct.pack(">H", checksum)
        return bytes(out)

    def psn_distances(self):
        sent = {}
        for _, data, _ in self.records:
            if kind(data) == ROCE and data[42] < 0x18 and data[42] not in RESPONSES:
                sent.setdefault(data[26:30], []).append(psn(data))
        return {sender: -numbers[len(numbers) // 2] - 1 for sender, numbers in sent.items()}

    def moved_roce(self, data, wire_length, distances):
        out, mad = bytearray(data), ETHERNET + IPV4 + UDP + BTH + DETH
        if data[42] < 0x18:
            out[51:54] = (psn(data) + distances.get(requester(data), 0) & 0xffffff).to_bytes(3, "big")
        elif data[42] == 0x64 and data[47:50] == b"\0\0\1":
            # REQ and REP (IBA sections 12.6.5, 12.6.8): the PSN at which their receiver begins.
            at = mad + MAD + {0x10: 44, 0x13: 20}.get(int.from_bytes(data[mad + 16:mad + 18], "big"), len(data))
            if at + 3 <= len(data):
                number = int.from_bytes(data[at:at + 3], "big") + distances.get(data[30:34], 0)
                out[at:at + 3] = (number & 0xffffff).to_bytes(3, "big")
        if len(data) == wire_length and data[-4:] == icrc(data):
            out[-4:] = icrc(bytes(out))
        return bytes(out)

    def test_numbers_begin_anew(self):
        tcp, psns = self.tcp_distances(), self.psn_distances()
        moved, wraps = [], 0
        for ns, data, wire_length in self.records:
            made = data
            if kind(data) == TCP and PORT in struct.unpack_from(">HH", data, 34):
                made = self.moved_tcp(data, tcp)
            elif kind(data) == ROCE:
                made = self.moved_roce(data, wire_length, psns)
            wraps += made != data
            moved.append((ns, made, wire_length))
        self.assertGreater(wraps, 0)
        wrap.write(self.home / "capture.pcap", moved)
        for which, (got, expected) in enumerate(zip(self.results(), self.expected, strict=True)):
            self.assertTrue(got == expected, [*COMMANDS, "transactions, scrubbed", "check, scrubbed", "sliced"][which])


if __name__ == "__main__":
    unittest.main()
