#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that make one table of the analysis grow: an attack for each row of the table in docs/security.md.

    attacks.py KIND NUMBER > FILE.pcap       (KIND: see KINDS at the end; NUMBER: of frames, about)

Each has as many frames as it takes to pass the promised memory where the table has no cap."""
import random
import struct

import captures
from captures import (CLIENT, READ_REQUEST, SEND_FIRST, SEND_LAST, SEND_MIDDLE, SEND_ONLY, SERVER, WRITE_ONLY, begin_iwarp, begin_pair,
                      begin_roce, call, header, peer, write_list)

RDMA_NOMSG, RDMA_ERROR = 1, 4
REQ, REP, DREQ = 0x10, 0x13, 0x15


def address(number):
    return struct.pack(">I", 0x0a000000 + number % (1 << 24))


def begin_another(pcap, number):
    """The pair of queue pairs of that number: the client's address, the queue pairs that requests and answers go to."""
    source, there, here = address(number + 10), 1 << 20 | number, 1 << 21 | number
    begin_pair(pcap, source, there, here, number)
    return source, there, here


def cm(pcap, source, destination, attribute, local, remote=0, qp=0, psn=0):
    """A CM message (IBA section 12.6 to 12.8) for the IP service of port 20049."""
    body = bytearray(232)
    struct.pack_into(">II", body, 0, local, remote)
    if attribute == REQ:
        struct.pack_into(">IQ", body, 4, 0, 0x0000000001060000 | 20049)
        struct.pack_into(">I", body, 32, qp << 8)
        struct.pack_into(">I", body, 44, psn << 8)
        body[50] = 0x50
    elif attribute == REP:
        struct.pack_into(">I", body, 12, qp << 8)
        struct.pack_into(">I", body, 20, psn << 8)
    elif attribute == DREQ:
        struct.pack_into(">I", body, 8, qp << 8)
    mad = struct.pack(">BBBBIQHHI", 1, 7, 2, 3, 0, local, attribute, 0, 0) + bytes(body)
    # A datagram to the general services queue pair, whose ICRC differs from frame to frame: it is no copy.
    bth = struct.pack(">BBHII", 0x64, 0x40, 0xffff, 1, pcap.frames & 0xffffff)
    packet = bth + struct.pack(">II", 0x80010000, 1) + mad + struct.pack("<I", (pcap.frames * 2654435761 & 0xffffffff) | 1)
    pcap.ip(source, destination, 17, struct.pack(">HHHH", 50000, 4791, 8 + len(packet), 0) + packet)


def connection_requests(pcap, n):
    """Connections, their flows and their communication ids: a REQ for each."""
    for i in range(n):
        cm(pcap, address(i + 10), address(1), REQ, i + 1, qp=0x1000 + i, psn=100)


def request_for_a_held_packet(pcap, n):
    """Connections until memory is used up; then a REQ whose queue pair has a packet that does not fit it, so that a connection is
    made while another is set up."""
    for i in range(n // 2):
        cm(pcap, address(i + 10), address(1), REQ, i + 1, qp=0x1000 + i, psn=100)
        if i % 16 == 15:
            a, b = address(200000 + 2 * i), address(200001 + 2 * i)
            pcap.roce(a, b, SEND_ONLY, 0x777, 5000, bytes(32))
            cm(pcap, b, a, REQ, 900000 + i, qp=0x777, psn=9000)


def disconnect_requests(pcap, n):
    """Connections that wait for their end: a REQ and a DREQ for each."""
    for i in range(n // 2):
        cm(pcap, address(i + 10), address(1), REQ, i + 1, qp=0x1000 + i, psn=100)
        cm(pcap, address(i + 10), address(1), DREQ, i + 1, 7, qp=3)


def names_of_one_connection(pcap, n):
    """Communication ids of a connection that stays: DREQs of one queue pair, each with two that are new."""
    begin_roce(pcap)
    for i in range(n):
        cm(pcap, CLIENT, SERVER, DREQ, 2 * i + 1, 2 * i + 2, qp=17)


def replies_alone(pcap, n):
    """REPs whose REQs were not captured, each of the same queue pair."""
    for i in range(n):
        cm(pcap, address(1), address(i + 10), REP, i + 1, i + 7, qp=9, psn=5)


def packets_without_partner(pcap, n):
    """Packets that are held until their flow finds its opposite: as many of each as are held."""
    for i in range(n):
        pcap.roce(address(i // 200 + 10), SERVER, SEND_ONLY, 0x1000 + i // 200, i % 200, header(i) + call(i, arguments=bytes(900)))


def packets_that_wait(pcap, n):
    """Packets behind a missing one, on very many connections."""
    for i in range(n // 12):
        source, qp, _ = begin_another(pcap, i)
        for k in range(10):
            pcap.roce(source, SERVER, SEND_ONLY, qp, 2 + k, header(k) + call(k, arguments=bytes(1000)))


def sends_without_end(pcap, n):
    """Sends of many packets, none of which has a last one."""
    for i in range(n // 20):
        source, qp, _ = begin_another(pcap, i)
        for k in range(18):
            pcap.roce(source, SERVER, SEND_MIDDLE if k else SEND_FIRST, qp, 1 + k, bytes(1024))


def reads_unanswered(pcap, n):
    """RDMA Reads that no response completes, 200 on each connection."""
    for i in range(n // 202):
        source, _, back = begin_another(pcap, i)
        for k in range(200):
            pcap.roce(SERVER, source, READ_REQUEST, back, k, struct.pack(">QII", k << 12, k, 64))


def notifications(pcap, n):
    """Congestion notifications for flows without partner."""
    cnp = 0x81
    for i in range(n):
        source, qp = address(i // 100 + 10), 0x1000 + i // 100
        if i % 100 == 0:
            pcap.roce(source, SERVER, SEND_ONLY, qp, 0, header(i) + call(i))
        else:
            pcap.roce(source, SERVER, cnp, qp, 0, bytes(16) + struct.pack(">I", i))


def tcp_segments_that_wait(pcap, n):
    """Segments behind a missing one, on very many iWARP connections."""
    for i in range(n // 24):
        source, port = peer(i)
        begin_iwarp(pcap, source, port)
        for k in range(20):
            pcap.tcp(source, SERVER, (port, 20049), 2000 + 1100 * k, 1 + len(captures.REPLY), captures.PSH_ACK, bytes(1000))


def tcp_fpdus_without_end(pcap, n):
    """The beginning of an FPDU of 32 KiB on each connection."""
    for i in range(n // 24):
        source, port = peer(i)
        begin_iwarp(pcap, source, port)
        stream = struct.pack(">HBBIIII", 32000, 0x41, 0x43, 0, 0, 1, 0) + bytes(20000)
        for k in range(0, 20000, 1000):
            pcap.tcp(source, SERVER, (port, 20049), 1 + len(captures.REQUEST) + k, 1 + len(captures.REPLY), captures.PSH_ACK,
                     stream[k:k + 1000])


def tcp_reads_unanswered(pcap, n):
    """RDMA Read Requests of iWARP that are never answered, 400 on each connection."""
    for i in range(n // 24):
        source, port = peer(i)
        begin_iwarp(pcap, source, port)
        at = 1 + len(captures.REPLY)
        for k in range(20):
            part = b""
            for m in range(20):
                number = 20 * k + m
                ulpdu = struct.pack(">BBIIII", 0x41, 0x41, 0, 1, number + 1, 0) + struct.pack(">IQIIQ", 5, number, 64, 6, number)
                part += struct.pack(">H", len(ulpdu)) + ulpdu + bytes(-(len(ulpdu) + 2) % 4 + 4)
            pcap.tcp(SERVER, source, (20049, port), at, 1 + len(captures.REQUEST), captures.PSH_ACK, part)
            at += len(part)


def send(pcap, qp, psn, message, source=CLIENT, destination=SERVER, size=4096):
    """A Send of as many packets as it takes; the next PSN."""
    parts = [message[k:k + size] for k in range(0, len(message), size)]
    for k, part in enumerate(parts):
        opcode = SEND_ONLY if len(parts) == 1 else SEND_FIRST if k == 0 else SEND_LAST if k == len(parts) - 1 else SEND_MIDDLE
        pcap.roce(source, destination, opcode, qp, psn, part)
        psn += 1
    return psn


def answer(xid):
    return header(xid) + struct.pack(">IIIIII", xid, 1, 0, 0, 0, 0)


def storage_of_large_calls(pcap, n):
    """Small Calls that stay outstanding, each of which may get the storage that a large one left."""
    begin_roce(pcap)
    to_server, to_client = 1, 1
    for i in range(n // 50):
        to_server = send(pcap, 17, to_server, header(i + 10) + call(i + 10))
        segments = write_list([(k, 4096, k << 12) for k in range(12000)])
        to_server = send(pcap, 17, to_server, header(1 << 31 | i, writes=segments) + call(1 << 31 | i))
        to_client = send(pcap, 18, to_client, answer(1 << 31 | i), SERVER, CLIENT)


def storage_of_idle_connections(pcap, n):
    """A Call of many segments on each connection, which is answered."""
    for i in range(n // 10):
        source, qp, back = begin_another(pcap, i)
        pcap.roce(SERVER, source, SEND_ONLY, back, 0, answer(i))
        segments = write_list([(k, 4096, k << 12) for k in range(1200)])
        send(pcap, qp, 1, header(1 << 31 | i, writes=segments) + call(1 << 31 | i), source)
        pcap.roce(SERVER, source, SEND_ONLY, back, 1, answer(1 << 31 | i))


def bytes_of_writes(pcap, n):
    """Reply chunks that are filled for Calls that are never answered."""
    begin_roce(pcap)
    for i in range(n // 2):
        chunk = struct.pack(">II", 1, 1) + struct.pack(">IIQ", i + 1, 1 << 20, 0)
        pcap.roce(CLIENT, SERVER, SEND_ONLY, 17, 1 + i, header(i + 10, reply=chunk) + call(i + 10))
        pcap.roce(SERVER, CLIENT, WRITE_ONLY, 18, 1 + i, struct.pack(">QII", 0, i + 1, 1400) + bytes(1400))


def holes_of_writes(pcap, n):
    """A byte far into each Reply chunk, so that the bytes in front of it are a hole."""
    begin_roce(pcap)
    for i in range(n // 2):
        chunk = struct.pack(">II", 1, 1) + struct.pack(">IIQ", i + 1, 1 << 30, 0)
        pcap.roce(CLIENT, SERVER, SEND_ONLY, 17, 1 + i, header(i + 10, reply=chunk) + call(i + 10))
        pcap.roce(SERVER, CLIENT, WRITE_ONLY, 18, 1 + i, struct.pack(">QII", 1 << 19, i + 1, 8) + bytes(8))


def ranges_of_segments(pcap, n):
    """Writes without order into many segments: a range for each."""
    begin_roce(pcap)
    segments = 64
    pcap.roce(CLIENT, SERVER, SEND_ONLY, 17, 1, header(2, writes=write_list([(k + 1, 1 << 30, 0) for k in range(segments)])) + call(2))
    for i in range(n):
        place = (i // segments * 2654435761) % (1 << 25) * 16
        pcap.roce(SERVER, CLIENT, WRITE_ONLY, 18, 1 + i, struct.pack(">QII", place, i % segments + 1, 8) + bytes(8))


def early_replies(pcap, n):
    """A long Reply on each connection that was set up, before the Call that it answers."""
    for i in range(n // 24):
        source = address(i + 10)
        cm(pcap, source, SERVER, REQ, i + 1, qp=0x1000 + i, psn=1)
        cm(pcap, SERVER, source, REP, i + 1, i + 1, qp=0x900000 + i, psn=1)
        pcap.roce(source, SERVER, SEND_ONLY, 0x900000 + i, 1, header(1) + call(1), acknowledge=True)
        send(pcap, 0x1000 + i, 1, answer(77) + bytes(18000), SERVER, source, 1024)


def operations_of_compounds(pcap, n):
    """COMPOUNDs of 200 operations that are never answered."""
    begin_roce(pcap)
    for i in range(n):
        operations = struct.pack(">I", 10) * 200  # GETFH
        compound = call(i + 10)[:12] + struct.pack(">III", 100003, 4, 1) + bytes(16) + struct.pack(">III", 0, 0, 200) + operations
        pcap.roce(CLIENT, SERVER, SEND_ONLY, 17, 1 + i, header(i + 10) + compound)


def calls_of_each_connection(pcap, n):
    """Calls that are never answered, 500 on each connection, with a chunk each: what rules remember of them."""
    for i in range(n // 502):
        source, qp, _ = begin_another(pcap, i)
        for k in range(500):
            pcap.roce(source, SERVER, SEND_ONLY, qp, 1 + k, header(k + 10, writes=write_list([(k, 4096, 0)])) + call(k + 10))


def findings_that_wait(pcap, n):
    """RDMA Writes to memory that nobody offered: each a finding that waits until the side is heard again."""
    for i in range(n // 302):
        source, _, back = begin_another(pcap, i)
        for k in range(300):
            pcap.roce(SERVER, source, WRITE_ONLY, back, k, struct.pack(">QII", 1 << 40, 5000 + k, 8) + bytes(8))


def credits_overrun(pcap, n):
    """Calls far over the grant, 500 on each connection."""
    for i in range(n // 503):
        source, qp, back = begin_another(pcap, i)
        one = struct.pack(">IIII", i, 1, 1, 0) + bytes(12) + struct.pack(">IIIIII", i, 1, 0, 0, 0, 0)
        pcap.roce(SERVER, source, SEND_ONLY, back, 0, one)
        for k in range(500):
            pcap.roce(source, SERVER, SEND_ONLY, qp, 1 + k, header(k + 10) + call(k + 10))


def errors_for_everything(pcap, n):
    """RDMA_ERRORs and Replies that nobody asked for."""
    begin_roce(pcap)
    for i in range(n):
        pcap.roce(SERVER, CLIENT, SEND_ONLY, 18, 1 + i, struct.pack(">IIIII", i, 1, 32, RDMA_ERROR, 2) if i % 2 else answer(i))


def bucket_65536_packets_old(pcap, n):
    """No packet falls into a bucket of the memory of copies for 65,536 of them; then two do (whatever NUMBER is)."""
    mask, odd, bucket, silent, before = (1 << 64) - 1, 0x9e3779b97f4a7c15, 17, 64511, random.Random(1)

    def place(packet):
        key = (int.from_bytes(packet[4:12], "big") << 8 & mask) * odd & mask
        return (key ^ int.from_bytes(packet[-4:], "little")) >> 51

    def packet(psn, inside):
        while True:
            made = struct.pack(">BBHII", SEND_ONLY, 0x40, 0xffff, before.getrandbits(24), psn & 0xffffff) + struct.pack("<I", before.getrandbits(32))
            if (place(made) == bucket) == inside:
                return made

    for i in range(1, max(n, silent) + 3):
        made = packet(i, silent < i <= silent + 2)
        pcap.ip(CLIENT, SERVER, 17, struct.pack(">HHHH", 50000, 4791, 8 + len(made), 0) + made)


KINDS = {function.__name__: function for function in (
    connection_requests, request_for_a_held_packet, disconnect_requests, names_of_one_connection, replies_alone, packets_without_partner,
    packets_that_wait, sends_without_end, reads_unanswered, notifications, tcp_segments_that_wait, tcp_fpdus_without_end,
    tcp_reads_unanswered, storage_of_large_calls, storage_of_idle_connections, bytes_of_writes, holes_of_writes, ranges_of_segments,
    early_replies, operations_of_compounds, calls_of_each_connection, findings_that_wait, credits_overrun, errors_for_everything,
    bucket_65536_packets_old)}


def write(kind, number, out):
    """How many frames they were."""
    return captures.write(kind, number, out, KINDS)


if __name__ == "__main__":
    captures.main(__doc__, KINDS)
