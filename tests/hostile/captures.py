#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that are made to cost: very many connections, counts and handles, or nothing that ever completes.

    captures.py KIND NUMBER > FILE.pcap       (KIND: see KINDS at the end; NUMBER: of connections, calls or packets)

Checksums are not computed, and RoCE queue pairs have no set-up by CM: Stag follows them all the same."""
import random
import struct
import sys

CLIENT, SERVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY, WRITE_ONLY, READ_REQUEST, ACKNOWLEDGE = 0, 1, 2, 4, 10, 12, 17
SYN, SYN_ACK, PSH_ACK = 0x02, 0x12, 0x18


class Pcap:
    """A row of frames, a microsecond apart."""

    def __init__(self, out):
        self.out, self.frames = out, 0
        out.write(struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))

    def ip(self, source, destination, protocol, payload):
        self.frames += 1
        packet = struct.pack(">6s6sHBBHHHBBH4s4s", b"\2\0\0\0\0\2", b"\2\0\0\0\0\1", 0x0800, 0x45, 0, 20 + len(payload), 0, 0, 64,
                             protocol, 0, source, destination) + payload
        seconds, micro = divmod(self.frames, 1000000)
        self.out.write(struct.pack("<IIII", seconds, micro, len(packet), len(packet)) + packet)

    def fragment(self, number):
        destination = struct.pack(">I", 0x0b000000 + (number >> 16))
        self.frames += 1
        packet = struct.pack(">6s6sHBBHHHBBH4s4s", b"\2\0\0\0\0\2", b"\2\0\0\0\0\1", 0x0800, 0x45, 0, 1500, number & 0xffff, 0x2000,
                             64, 17, 0, CLIENT, destination) + bytes(1480)
        self.out.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)

    def roce(self, source, destination, opcode, queue_pair, psn, payload, acknowledge=False):
        bth = struct.pack(">BBHII", opcode, 0x40, 0xffff, queue_pair, acknowledge << 31 | psn & 0xffffff)
        packet = bth + payload + bytes(4)
        self.ip(source, destination, 17, struct.pack(">HHHH", 50000, 4791, 8 + len(packet), 0) + packet)

    def tcp(self, source, destination, ports, sequence, acknowledged, flags, payload=b""):
        self.ip(source, destination, 6, struct.pack(">HHIIBBHHH", *ports, sequence & 0xffffffff, acknowledged & 0xffffffff, 0x50,
                                                    flags, 65535, 0, 0) + payload)


def header(xid, reads=bytes(4), writes=bytes(4), reply=bytes(4)):
    return struct.pack(">IIII", xid, 1, 32, 0) + reads + writes + reply


def write_list(segments):
    """One chunk of (handle, length, offset)."""
    return struct.pack(">II", 1, len(segments)) + b"".join(struct.pack(">IIQ", *s) for s in segments) + bytes(4)


def call(xid, procedure=0, arguments=b""):
    return struct.pack(">IIIIII", xid, 0, 2, 100003, 3, procedure) + bytes(16) + arguments


def begin_pair(pcap, source, there, here, xid):
    """A queue pair at the server and one at the client, known by a Call that was acknowledged."""
    pcap.roce(source, SERVER, SEND_ONLY, there, 0, header(xid) + call(xid), acknowledge=True)
    pcap.roce(SERVER, source, ACKNOWLEDGE, here, 0, struct.pack(">I", 0x1f000001))


def begin_roce(pcap):
    """A queue pair each way, known by a Call that was answered: 17 at the server, 18 at the client."""
    begin_pair(pcap, CLIENT, 17, 18, 1)
    pcap.roce(SERVER, CLIENT, SEND_ONLY, 18, 0, header(1) + struct.pack(">IIIIII", 1, 1, 0, 0, 0, 0))


def mpa(name):
    private = struct.pack(">IBBBB", 0xf6ab0e18, 1, 0, 3, 3)
    return name + struct.pack(">BBH", 0, 1, len(private)) + private


REQUEST, REPLY = mpa(b"MPA ID Req Frame"), mpa(b"MPA ID Rep Frame")


def begin_iwarp(pcap, source=CLIENT, port=1024):
    to, back = (port, 20049), (20049, port)
    pcap.tcp(source, SERVER, to, 0, 0, SYN)
    pcap.tcp(SERVER, source, back, 0, 1, SYN_ACK)
    pcap.tcp(source, SERVER, to, 1, 1, PSH_ACK, REQUEST)
    pcap.tcp(SERVER, source, back, 1, 1 + len(REQUEST), PSH_ACK, REPLY)


def peer(number):
    """An address and a port for each number."""
    return struct.pack(">I", 0x0a000010 + (number >> 14)), 1024 + (number & 0x3fff)


def iwarp_connections(pcap, n):
    for i in range(n):
        source, port = peer(i)
        begin_iwarp(pcap, source, port)
        ulpdu = struct.pack(">BBIIII", 0x41, 0x43, 0, 0, 1, 0) + header(i) + call(i)
        fpdu = struct.pack(">H", len(ulpdu)) + ulpdu
        pcap.tcp(source, SERVER, (port, 20049), 1 + len(REQUEST), 1 + len(REPLY), PSH_ACK, fpdu + bytes(-len(fpdu) % 4 + 4))


def syns(pcap, n):
    for i in range(n):
        source, port = peer(i)
        pcap.tcp(source, SERVER, (port, 20049), 0, 0, SYN)


def queue_pairs_one_way(pcap, n):
    for i in range(n):
        pcap.roce(CLIENT, SERVER, SEND_ONLY, i & 0xffffff, 0, header(i) + call(i))


def queue_pairs(pcap, n):
    for i in range(n):
        source, _ = peer(i << 4)
        begin_pair(pcap, source, 1 << 20 | i, 1 << 21 | i, i)
        pcap.roce(SERVER, source, SEND_ONLY, 1 << 21 | i, 0, header(i) + struct.pack(">IIIIII", i, 1, 0, 0, 0, 0))


def calls(pcap, n, make):
    begin_roce(pcap)
    for i in range(1, n + 1):
        pcap.roce(CLIENT, SERVER, SEND_ONLY, 17, i, make(i))


def never_answered(pcap, n):
    calls(pcap, n, lambda i: header(i + 1) + call(i + 1, arguments=bytes(400)))


def procedures(pcap, n):
    """Calls that are answered, each of a procedure of its own."""
    begin_roce(pcap)
    for i in range(1, n + 1):
        pcap.roce(CLIENT, SERVER, SEND_ONLY, 17, i, header(i + 1) + call(i + 1, procedure=1000 + i))
        pcap.roce(SERVER, CLIENT, SEND_ONLY, 18, i, header(i + 1) + struct.pack(">IIIIII", i + 1, 1, 0, 0, 0, 0))


def one_xid(pcap, n):
    calls(pcap, n, lambda i: header(5) + call(5))


def large_chunks(pcap, n):
    calls(pcap, n, lambda i: header(i + 1, writes=write_list([(i * 30 + k, 0xffffffff, k << 33) for k in range(30)])) + call(i + 1))


def one_handle(pcap, n):
    """All memory under one handle, and Writes under it that go nowhere."""
    begin_roce(pcap)
    writes = write_list([(77, 4096, 0)] * 20)
    for i in range(1, n + 1):
        pcap.roce(CLIENT, SERVER, SEND_ONLY, 17, i, header(i + 1, writes=writes) + call(i + 1))
        pcap.roce(SERVER, CLIENT, WRITE_ONLY, 18, i, struct.pack(">QII", 1 << 40, 77, 8) + bytes(8))


def reads_without_end(pcap, n):
    begin_roce(pcap)
    psn = 0
    for i in range(1, n + 1):
        reads = struct.pack(">IIIIQI", 1, 40, i, 0xffffff00, 0, 0)
        pcap.roce(CLIENT, SERVER, SEND_ONLY, 17, i, header(i + 1, reads=reads) + call(i + 1, 7, bytes(100)))
        psn += 1
        pcap.roce(SERVER, CLIENT, READ_REQUEST, 18, psn, struct.pack(">QII", 0, i, 0xffffff00))
        psn += 0xffffff00 // 4096


def many_segments(pcap, n):
    """12,000 in each Call, so that it takes 48 packets."""
    begin_roce(pcap)
    psn = 0
    for i in range(1, n // 48 + 1):
        message = header(i + 1, writes=write_list([(k, 4096, k << 12) for k in range(12000)])) + call(i + 1)
        parts = [message[k:k + 4096] for k in range(0, len(message), 4096)]
        for k, part in enumerate(parts):
            psn += 1
            pcap.roce(CLIENT, SERVER, SEND_FIRST if k == 0 else SEND_LAST if part is parts[-1] else SEND_MIDDLE, 17, psn, part)


def scattered_writes(pcap, n):
    begin_roce(pcap)
    pcap.roce(CLIENT, SERVER, SEND_ONLY, 17, 1, header(2, writes=write_list([(77, 0xffffffff, 0)])) + call(2))
    places = random.Random(1)
    for i in range(n):
        pcap.roce(SERVER, CLIENT, WRITE_ONLY, 18, 1 + i, struct.pack(">QII", places.randrange(1 << 28) * 16, 77, 8) + bytes(8))


def every_second_lost(pcap, n):
    begin_roce(pcap)
    for i in range(n):
        pcap.roce(CLIENT, SERVER, SEND_ONLY, 17, 2 + 2 * i, header(i + 2) + call(i + 2))


def any_psn(pcap, n):
    begin_roce(pcap)
    places = random.Random(1)
    for i in range(n):
        pcap.roce(CLIENT, SERVER, SEND_ONLY, 17, places.randrange(1 << 24), header(i + 2) + call(i + 2))


def fragments(pcap, n):
    for i in range(n):
        pcap.fragment(i)


def tcp_holes(pcap, n):
    begin_iwarp(pcap)
    for i in range(n):
        pcap.tcp(CLIENT, SERVER, (1024, 20049), 100 + 2000 * i, 1 + len(REPLY), PSH_ACK, bytes(1000))


def any_sequence(pcap, n):
    begin_iwarp(pcap)
    places = random.Random(1)
    for _ in range(n):
        pcap.tcp(CLIENT, SERVER, (1024, 20049), places.randrange(1 << 31), 1 + len(REPLY), PSH_ACK, bytes(100))


KINDS = {function.__name__: function for function in (
    iwarp_connections, syns, queue_pairs, queue_pairs_one_way, never_answered, procedures, one_xid, large_chunks, one_handle,
    reads_without_end, many_segments, scattered_writes, every_second_lost, any_psn, fragments, tcp_holes, any_sequence)}


def write(kind, number, out, kinds=None):
    """How many frames they were."""
    pcap = Pcap(out)
    (kinds or KINDS)[kind](pcap, number)
    return pcap.frames


def main(usage, kinds):
    """A program that writes captures of these kinds."""
    if len(sys.argv) != 3 or sys.argv[1] not in kinds:
        sys.exit(usage + "\n\nKINDS: " + " ".join(kinds))
    write(sys.argv[1], int(sys.argv[2]), sys.stdout.buffer, kinds)


if __name__ == "__main__":
    main(__doc__, KINDS)
