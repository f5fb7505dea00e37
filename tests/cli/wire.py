# SPDX-License-Identifier: GPL-2.0-or-later
"""RPC-over-RDMA in a capture, read with nothing of Stag's: pcap files with Ethernet and IPv4, RoCEv2 (IBA chapter 9) and
iWARP without markers (RFC 5044, 5041, 5040), RPC-over-RDMA version 1 headers (RFC 8166 section 4). For captures without
losses: what was captured twice counts once, with its first frame.

    Capture(path).sends        frame of the last packet -> Send
    Capture(path).operations   RDMA Reads and Writes in order of their first packets
"""
import dataclasses
import pathlib
import struct
import subprocess


def load(path):
    data = pathlib.Path(path).read_bytes()
    return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout if str(path).endswith(".zst") else data


def records(data):
    """(nanoseconds, bytes) of each record of a pcap file."""
    magic, = struct.unpack_from("<I", data)
    unit = {0xa1b23c4d: 1, 0xa1b2c3d4: 1000}[magic]
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, captured, _ = struct.unpack_from("<IIII", data, at)
        yield seconds * 10**9 + fraction * unit, data[at + 16:at + 16 + captured]
        at += 16 + captured


@dataclasses.dataclass
class Send:
    source: bytes
    frame: int
    head: bytes  # the first packet or segment: holds the transport header

    def chunks(self):
        """Handles of the Read list, and of the Write list and the Reply chunk; none where they run off the end."""
        try:
            return self._chunks()
        except struct.error:
            return [], []

    def _chunks(self):
        reads, writes, at = [], [], 16
        word = lambda i: struct.unpack_from(">I", self.head, i)[0]
        if word(4) != 1 or word(12) not in (0, 1):  # version 1: RDMA_MSG, RDMA_NOMSG
            return reads, writes
        while word(at):
            reads.append(word(at + 8))
            at += 24
        at += 4
        while word(at):
            count = word(at + 4)
            writes += [word(at + 8 + 16 * i) for i in range(count)]
            at += 8 + 16 * count
        at += 4
        if word(at):
            writes += [word(at + 8 + 16 * i) for i in range(word(at + 4))]
        return reads, writes


@dataclasses.dataclass
class Operation:
    kind: str  # "read", "write"
    source: bytes  # who asks or writes
    handle: int
    first: int  # frames: of the request or first packet ...
    last: int = 0  # ... and the last packet of the response or of the Write


class Capture:
    def __init__(self, path):
        self.times = [0]
        self.sends, self.operations = {}, []
        self._open, self._reads, self._seen, self._streams = {}, {}, set(), {}
        for time, packet in records(load(path)):
            self.times.append(time)
            frame = len(self.times) - 1
            if packet[12:14] != b"\x08\x00":
                continue
            ip = packet[14:14 + struct.unpack_from(">H", packet, 16)[0]]
            body = ip[(ip[0] & 15) * 4:]
            if ip[9] == 17 and body[2:4] == b"\x12\xb7":
                self._roce(frame, ip[12:16], ip[16:20], body[8:])
            elif ip[9] == 6:
                self._tcp(frame, ip[12:16], ip[16:20], body)

    def _roce(self, frame, source, destination, packet):
        opcode, pad = packet[0], packet[1] >> 4 & 3
        queue_pair, psn = (int.from_bytes(packet[i:i + 3], "big") for i in (5, 9))
        if opcode >= 0x18 or (source, queue_pair, psn, opcode in range(0x0d, 0x12)) in self._seen:
            return  # not RC, or a copy
        if opcode != 0x11:
            self._seen.add((source, queue_pair, psn, opcode in range(0x0d, 0x12)))
        data = packet[12:len(packet) - 4 - pad]
        flow = (source, queue_pair)
        if opcode in (0x00, 0x04, 0x17):  # SEND First, Only, Only with Invalidate
            self._open[flow] = data[4:] if opcode == 0x17 else data
        if opcode in (0x02, 0x04, 0x16, 0x17):
            self.sends[frame] = Send(source, frame, self._open[flow])
        if opcode in (0x06, 0x0a):  # RDMA WRITE First, Only
            self._open[flow, "write"] = Operation("write", source, struct.unpack_from(">I", data, 8)[0], frame)
            self.operations.append(self._open[flow, "write"])
        if opcode in (0x08, 0x0a):
            self._open[flow, "write"].last = frame
        if opcode == 0x0c:  # RDMA READ Request
            handle, length = struct.unpack_from(">II", data, 8)
            self.operations.append(Operation("read", source, handle, frame))
            self._reads.setdefault((source, destination), []).append((psn, length, self.operations[-1]))
        if opcode in (0x0f, 0x10):  # RDMA READ Response Last, Only: of the request whose PSNs it ends
            waiting = self._reads[destination, source]
            ends = [w for w in waiting if w[2].last == 0 and any(
                psn == (w[0] + max(1, -(-w[1] // mtu)) - 1) & 0xffffff for mtu in (1024, 2048, 4096))]
            ends[0][2].last = frame

    def _tcp(self, frame, source, destination, segment):
        ports = segment[:4]
        sequence, = struct.unpack_from(">I", segment, 4)
        data = segment[(segment[12] >> 4) * 4:]
        stream = self._streams.setdefault((source, ports), {"next": None, "bytes": b"", "frames": [], "mpa": True})
        if segment[13] & 2:
            stream["next"] = sequence + 1 & 0xffffffff
        if not data or stream["next"] is None or sequence != stream["next"]:
            return  # nothing, or a copy
        stream["next"] = sequence + len(data) & 0xffffffff
        stream["bytes"] += data
        stream["frames"] += [frame] * len(data)
        while True:
            have = stream["bytes"]
            if stream["mpa"]:
                if len(have) < 20:
                    return
                size = 20 + struct.unpack_from(">H", have, 18)[0]
            else:
                if len(have) < 2:
                    return
                length, = struct.unpack_from(">H", have)
                size = (2 + length + 3) // 4 * 4 + 4
            if len(have) < size:
                return
            if not stream["mpa"] and length:
                self._ddp(source, ports, have[2:2 + length], stream["frames"][0], stream["frames"][size - 1])
            stream["mpa"] = False
            stream["bytes"], stream["frames"] = have[size:], stream["frames"][size:]

    def _ddp(self, source, ports, segment, first, last):
        tagged, is_last, opcode = segment[0] & 0x80, segment[0] & 0x40, segment[1] & 15
        peer, flow = ports[2:] + ports[:2], (source, ports)
        if opcode == 0:  # RDMA Write
            if flow not in self._open:
                self._open[flow] = Operation("write", source, struct.unpack_from(">I", segment, 2)[0], first)
                self.operations.append(self._open[flow])
            if is_last:
                self._open.pop(flow).last = last
        elif opcode == 1:  # RDMA Read Request
            sink, at, length, handle = struct.unpack_from(">IQII", segment, 18)
            self.operations.append(Operation("read", source, handle, first))
            self._reads.setdefault(ports, []).append(self.operations[-1])
        elif opcode == 2 and tagged:  # RDMA Read Response: in order of the requests
            if is_last:
                self._reads[peer].pop(0).last = last
        elif 3 <= opcode <= 6:
            if (flow, "send") not in self._open:
                self._open[flow, "send"] = segment[18:]
            if is_last:
                self.sends[last] = Send(source, last, self._open.pop((flow, "send")))
