# SPDX-License-Identifier: GPL-2.0-or-later
"""RPC-over-RDMA over RoCEv2 as a capture file, with nothing of Stag's: the Sends of one connection, joined in its midst,
each acknowledged (IBA chapter 9, RFC 8166 section 4, RFC 5531, RFC 8881).

    wire = Roce()
    wire.call(xid, words...)      and wire.reply: the client's or the server's Send; returns its frame
    wire.save(path, without={3})  a pcap file, without some frames
"""
import struct
import zlib

NFS, CALLBACK = 100003, 0x40000000
SECOND = 10**9


def words(*numbers):
    return struct.pack(f">{len(numbers)}I", *numbers)


def opaque(data):
    return words(len(data)) + data + bytes(-len(data) % 4)


class Roce:
    CLIENT, SERVER = 0, 1

    def __init__(self, first=1):
        """`first`: the last byte of the client's address."""
        self.frames, self.now = [], 1_700_000_000 * SECOND
        self.ends = [bytes([10, 0, 0, first]), bytes([10, 0, 0, 200])]
        self.psn = [1000, 500_000]

    def wait(self, seconds):
        self.now += int(seconds * SECOND)

    def _put(self, side, opcode, psn, body):
        bth = bytes([opcode, 0x40, 0xff, 0xff, 0]) + (0x200 - side).to_bytes(3, "big") + bytes(1) + psn.to_bytes(3, "big")
        packet = bth + body
        udp = struct.pack(">HHHH", 50_000, 4791, 12 + len(packet), 0)
        head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 32 + len(packet), len(self.frames), 0x4000, 64, 17, 0, self.ends[side],
                           self.ends[1 - side])
        masked = bytearray(head + udp + packet)  # IBA 7.8.1 and A17.3.3: what routers change counts as ones
        for at in (1, 8, 10, 11, 26, 27, 32):
            masked[at] = 0xff
        icrc = struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked)))
        self.now += 1000
        self.frames.append((self.now, b"\x02" * 6 + b"\x04" * 6 + b"\x08\x00" + head + udp + packet + icrc))
        return len(self.frames)

    def send(self, side, message):
        frame = self._put(side, 4, self.psn[side], message)
        self._put(1 - side, 0x11, self.psn[side], words(0x1f000001))  # ACK
        self.psn[side] += 1
        return frame

    def call(self, xid, *body, program=NFS, version=4, procedure=1, side=CLIENT):
        rpc = words(xid, 0, 2, program, version, procedure, 0, 0, 0, 0) + b"".join(body)
        return self.send(side, words(xid, 1, 32, 0, 0, 0, 0) + rpc)

    def reply(self, xid, *body, side=SERVER):
        rpc = words(xid, 1, 0, 0, 0, 0) + b"".join(body)
        return self.send(side, words(xid, 1, 32, 0, 0, 0, 0) + rpc)

    def compound(self, xid, operations, results, status=0, side=CLIENT, **times):
        """A COMPOUND of NFSv4.2, of the server: of CB_COMPOUND; its Reply comes 1 ms later, unless `results` is None.
        Returns the frames of both."""
        back = side == self.SERVER
        head = [opaque(b""), words(2)] + ([words(0)] if back else [])
        asked = self.call(xid, *head, words(len(operations)), *operations, side=side,
                          program=CALLBACK if back else NFS, version=1 if back else 4)
        if results is None:
            return asked, 0
        self.wait(times.get("took", 0.001))
        return asked, self.reply(xid, words(status), opaque(b""), words(len(results)), *results, side=1 - side)

    def save(self, path, without=()):
        with open(path, "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262_144, 1))
            for number, (time, data) in enumerate(self.frames, 1):
                if number not in without:
                    file.write(struct.pack("<IIII", time // SECOND, time % SECOND, len(data), len(data)) + data)


# Operations of NFSv4 and their results.
SESSION = bytes(range(16))


def sequence(slot_sequence):
    return words(53) + SESSION + words(slot_sequence, 0, 0, 0)


def sequence_result(slot_sequence, flags=0):
    return words(53, 0) + SESSION + words(slot_sequence, 0, 7, 7, flags)


def cb_sequence(slot_sequence):
    return words(11) + SESSION + words(slot_sequence, 0, 0, 0, 0)


def cb_sequence_result(slot_sequence):
    return words(11, 0) + SESSION + words(slot_sequence, 0, 0, 0)


def putfh(handle=b"file"):
    return words(22) + opaque(handle)


PUTFH_RESULT = words(22, 0)
