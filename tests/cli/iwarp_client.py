# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of RPC-over-RDMA on software iWARP that is independent of stag's own: MPA revision 1 with CRC32C (RFC 5044),
DDP and RDMAP Sends (RFC 5041, RFC 5040), RPC-over-RDMA messages without chunks (RFC 8166). For tests of live commands."""
import socket
import struct

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


class Client:
    def __init__(self, port, private_data=b""):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        request = b"MPA ID Req Frame" + struct.pack(">BBH", 0x40, 1, len(private_data)) + private_data
        self.socket.sendall(request)
        key, _, revision, length = struct.unpack(">16sBBH", self.take(20))
        assert (key, revision) == (b"MPA ID Rep Frame", 1), (key, revision)
        self.private_data = self.take(length)
        self.sequence = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def take(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            assert part, "the server ended the connection"
            data += part
        return data

    def send(self, message):
        """One RDMA Send."""
        self.sequence += 1
        ulpdu = struct.pack(">BBIIII", 0x41, 0x43, 0, 0, self.sequence, 0) + message
        fpdu = struct.pack(">H", len(ulpdu)) + ulpdu
        fpdu += b"\0" * (-len(fpdu) % 4)
        self.socket.sendall(fpdu + struct.pack("<I", crc32c(fpdu)))

    def receive(self):
        """The payload of one Send in one FPDU."""
        head = self.take(2)
        length = struct.unpack(">H", head)[0]
        rest = self.take(length + -(length + 2) % 4)
        assert struct.unpack("<I", self.take(4))[0] == crc32c(head + rest), "CRC"
        assert rest[1] & 15 in (3, 4, 5, 6), "not a Send"
        return rest[18:length]

    def ask(self, xid, program=100003, version=3, procedure=0, arguments=b""):
        """An RPC Call without chunks and with AUTH_NONE."""
        header = struct.pack(">7I", xid, 1, 32, 0, 0, 0, 0)
        self.send(header + struct.pack(">10I", xid, 0, 2, program, version, procedure, 0, 0, 0, 0) + arguments)

    def call(self, xid, *rest, **named):
        """As ask; the RPC Reply."""
        self.ask(xid, *rest, **named)
        reply = self.receive()
        assert struct.unpack(">I", reply[:4])[0] == xid
        return reply[28:]
