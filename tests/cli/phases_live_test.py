# SPDX-License-Identifier: GPL-2.0-or-later
"""A delay on the way shows in one phase, and in no other: software iWARP on loopback, through a proxy that holds back one
kind of FPDU (RFC 5044, 5041, 5040), recorded at the end at which that phase is seen. The proxy shares no code with Stag.

phases_live_test.py STAG    (runs as a unittest program)
"""
import pathlib
import socket
import statistics
import struct
import tempfile
import threading
import time
import unittest

from live_runs import Running, fine, lines, stag

DELAY = 150  # ms: more than the median of anything else here, on a busy machine, too
PHASES = ("to_first_read", "pull", "service", "push", "finish")
WRITE, READ_REQUEST, READ_RESPONSE = 0, 1, 2  # RFC 5040 section 4.3; 3 to 6 are Sends


class Proxy:
    """Passes one TCP connection on. `held(opcode, last, before)` says of an FPDU of the server (or, with `of_client`, the
    client) whether it waits: the opcode, whether the FPDU ends its message, the opcode of the FPDU before."""

    def __init__(self, port, held, of_client=False):
        self.port, self.held, self.of_client = port, held, of_client
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.to = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.count = 0
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join(timeout=120)
        self.listener.close()

    def run(self):
        with self.listener.accept()[0] as client, socket.create_connection(("127.0.0.1", self.port)) as server:
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ways = [(client, server, self.of_client), (server, client, not self.of_client)]
            threads = [threading.Thread(target=self.forward, args=way, daemon=True) for way in ways]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def forward(self, source, to, looks):
        try:
            with source.makefile("rb") as stream:
                if looks:
                    self.forward_units(stream, to)
                while data := stream.read1(65536):
                    to.sendall(data)
        except OSError:
            pass
        try:
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def forward_units(self, stream, to):
        head = stream.read(20)  # RFC 5044 section 7.1: key, flags, revision, length of the private data
        size, = struct.unpack(">H", head[18:20])
        assert not head[16] & 0x80, "markers"
        to.sendall(head + stream.read(size))
        before = None
        while length := stream.read(2):
            ulpdu, = struct.unpack(">H", length)
            unit = stream.read(ulpdu + (-(2 + ulpdu) % 4) + 4)
            opcode, last = unit[1] & 15, bool(unit[0] & 0x40)
            if self.held(opcode, last, before):
                self.count += 1
                time.sleep(DELAY / 1000)
            to.sendall(length + unit)
            before = opcode


class PhasesLive(unittest.TestCase):
    def phases(self, procedure, held, of_client=False):
        """Medians of the phases of READ or WRITE: at the client, or where its FPDUs wait, at the server."""
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = pathlib.Path(directory.name) / "recorded.pcapng"
        record = ["--record", path]
        with Running("serve", "--mode", "nfs-memory", "--mount-port", "0", *(record if of_client else [])) as server:
            with Proxy(server.port, held, of_client) as proxy:
                fine("generate", "--to", proxy.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--transport", "iwarp",
                     "--connections", 1, "--depth", 1, "--calls", 16, "--size", "64K", "--mix", f"{procedure.lower()}=100",
                     "--file-size", "256K", "--seed", 1, *([] if of_client else record))
        self.assertGreater(proxy.count, 15)
        rpcs = [rpc["phases_us"] for rpc in lines(stag("transactions", "--format", "jsonl", path)) if rpc["name"] == procedure]
        self.assertGreaterEqual(len(rpcs), 16)
        return {phase: statistics.median(rpc[phase] for rpc in rpcs) for phase in PHASES if rpcs[0][phase] is not None}

    def only(self, slow, procedure, held, of_client=False):
        found = self.phases(procedure, held, of_client)
        # A machine that is busy may make one RPC wait anywhere, but not half of them.
        for phase, median in found.items():
            if phase == slow:
                self.assertGreater(median, DELAY * 900, found)
            else:
                self.assertLess(median, DELAY * 500, found)
        self.assertIn(slow, found)

    def test_a_read_request_that_waits_is_the_time_to_the_first_read(self):
        self.only("to_first_read", "WRITE", lambda opcode, last, before: opcode == READ_REQUEST)

    def test_a_read_response_that_waits_is_the_pull(self):
        self.only("pull", "WRITE", lambda opcode, last, before: opcode == READ_RESPONSE and last, of_client=True)

    def test_a_first_write_that_waits_is_service(self):
        self.only("service", "READ", lambda opcode, last, before: opcode == WRITE and before != WRITE)

    def test_a_last_write_that_waits_is_the_push(self):
        self.only("push", "READ", lambda opcode, last, before: opcode == WRITE and last)

    def test_a_reply_that_waits_behind_its_writes_is_the_finish(self):
        self.only("finish", "READ", lambda opcode, last, before: opcode > READ_RESPONSE and before == WRITE)


if __name__ == "__main__":
    unittest.main()
