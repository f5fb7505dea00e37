#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Live commands with peers that mean harm, on loopback: `stag serve` and `stag relay` go on serving others, and `stag generate`,
`stag replay` and `stag probe` come to an end and say why. What a single connection can do is in tests/replay/endpoint/hostile_test.cc.

    peers_test.py STAG CAPTURE"""
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import unittest

STAG = CAPTURE = None
REQUEST = b"MPA ID Req Frame" + struct.pack(">BBH", 0, 1, 0)
REPLY = b"MPA ID Rep Frame" + struct.pack(">BBH", 0, 1, 0)


def fpdu(ulpdu):
    frame = struct.pack(">H", len(ulpdu)) + ulpdu
    return frame + bytes(-len(frame) % 4 + 4)


def send_segment(number, payload):
    return fpdu(struct.pack(">BBIIII", 0x41, 0x43, 0, 0, number, 0) + payload)


def terminate():
    return fpdu(struct.pack(">BBIIII", 0x41, 0x46, 0, 2, 1, 0) + struct.pack(">I", 0))


def nonsense(source):
    """What follows a good beginning."""
    return source.choice([
        lambda: source.randbytes(3000),
        lambda: send_segment(1, source.randbytes(source.randrange(1, 1000))),
        lambda: send_segment(source.randrange(1 << 32), bytes(28)),
        lambda: fpdu(struct.pack(">BBIQ", 0xc1, 0x40, source.randrange(1 << 32), source.randrange(1 << 40)) + bytes(500)),
        lambda: send_segment(1, struct.pack(">IIII", 1, 1, 1 << 31, 1)          # a Read chunk of 4 GiB, without end
                             + struct.pack(">IIIIQ", 1, 0, 7, 0xffffffff, 0) * 40),
        lambda: terminate() * 100,
    ])()


class Serving:
    def __enter__(self):
        self.process = subprocess.Popen([STAG, "serve", "--mode", "nfs-memory", "--listen", "127.0.0.1:0", "--mount-port", "0", "--file",
                                         "f=1M", "--transport", "iwarp", "--format", "jsonl", "--quiet"], stdout=subprocess.PIPE, text=True)
        listening = json.loads(self.process.stdout.readline())
        self.port, self.mount_port = listening["port"], str(listening["mount_port"])
        return self

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=120)

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=60)
        self.served = json.loads(out.splitlines()[-1])
        assert self.process.returncode == 0, out


class Relaying(Serving):
    """The same behind `stag relay`."""

    def __enter__(self):
        super().__enter__()
        self.relay = subprocess.Popen([STAG, "relay", "--listen", "127.0.0.1:0", "--to", f"127.0.0.1:{self.port}", "--transport", "iwarp",
                                       "--format", "jsonl", "--quiet"], stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.relay.stdout.readline())["port"]
        return self

    def __exit__(self, *_):
        self.relay.send_signal(signal.SIGTERM)
        out, _ = self.relay.communicate(timeout=60)
        super().__exit__()
        assert self.relay.returncode == 0, out


def drain(connection):
    """Until the peer hangs up; True when it did."""
    try:
        while connection.recv(1 << 16):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


class Servers(unittest.TestCase):
    KIND = Serving

    def work(self, server):
        done = subprocess.run([STAG, "generate", "--to", f"127.0.0.1:{server.port}", "--transport", "iwarp", "--mode", "nfs3",
                               "--mount-port", server.mount_port, "--calls", "300", "--file-size", "256K", "--verify"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_other_clients_are_served(self):
        source = random.Random(3)
        with self.KIND() as server:
            silent = [server.connect() for _ in range(60)]  # and never a word
            half = [server.connect() for _ in range(30)]
            for connection in half:
                connection.sendall(REQUEST[:source.randrange(1, len(REQUEST))])
            for _ in range(60):
                with server.connect() as connection:
                    connection.sendall(source.randbytes(source.randrange(1, 500)))
            self.work(server)
            for _ in range(120):
                with server.connect() as connection:
                    connection.sendall(REQUEST)
                    connection.recv(len(REPLY), socket.MSG_WAITALL)
                    try:
                        connection.sendall(nonsense(source))
                        connection.shutdown(socket.SHUT_WR)
                    except OSError:
                        pass  # it hung up already
                    self.assertTrue(drain(connection), "an ended connection is not ended")
            self.work(server)
            for connection in silent + half:
                connection.close()
            self.work(server)

    # Clients that connect, ask, and are gone before the answer.
    def test_clients_that_go(self):
        call = struct.pack(">IIII", 5, 1, 32, 0) + bytes(12) + struct.pack(">IIIIII", 5, 0, 2, 100003, 3, 0) + bytes(16)
        with self.KIND() as server:
            for _ in range(200):
                with server.connect() as connection:
                    connection.sendall(REQUEST + send_segment(1, call) + send_segment(2, call))
            self.work(server)


class Relays(Servers):
    KIND = Relaying


class Clients(unittest.TestCase):
    """A server of which each connection does the same."""

    def against(self, behaviour, *command):
        listener = socket.create_server(("127.0.0.1", 0))
        stop = threading.Event()

        def serve():
            while not stop.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(10)
                    try:
                        behaviour(connection)
                        drain(connection)
                    except OSError:
                        pass
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        server = f"127.0.0.1:{listener.getsockname()[1]}"
        to = [server] if command[0] == "probe" else ["--to", server]
        try:
            done = subprocess.run([STAG, *command, *to, "--transport", "iwarp", "--no-crc",
                                   "--timeout", "2s"], capture_output=True, text=True, timeout=60, check=False)
        finally:
            stop.set()
            listener.close()
        self.assertIn(done.returncode, (1, 2), done.stdout)
        self.assertNotEqual(done.stdout + done.stderr, "")
        return done

    def each(self, behaviour, words):
        for command in (["generate", "--mode", "null", "--calls", "10"], ["replay", CAPTURE], ["probe"]):
            with self.subTest(command[0]):
                done = self.against(behaviour, *command)
                self.assertRegex(done.stdout + done.stderr, words)

    def test_no_mpa(self):
        self.each(lambda c: c.sendall(b"220 mail.example.org ESMTP\r\n" * 20), "MPA")

    def test_hangs_up(self):
        def behave(connection):
            connection.recv(20)
            connection.shutdown(socket.SHUT_RDWR)
        self.each(behave, "did not answer the MPA request")

    def test_sends_nonsense(self):
        def behave(connection):
            connection.recv(20)
            connection.sendall(REPLY)
            connection.sendall(random.Random(1).randbytes(5000))
        self.each(behave, "the peer|FPDU|connection")

    def test_never_answers(self):
        def behave(connection):
            connection.recv(20)
            connection.sendall(REPLY)
        self.each(behave, "no answer|lost|timed out|nothing in")

    def test_answers_what_was_not_asked(self):
        def behave(connection):
            connection.recv(20)
            connection.sendall(REPLY)
            connection.recv(4096)
            reply = struct.pack(">IIII", 0x5ca1ab1e, 1, 32, 0) + bytes(12) + struct.pack(">IIIIII", 0x5ca1ab1e, 1, 0, 0, 0, 0)
            connection.sendall(b"".join(send_segment(i + 1, reply) for i in range(16)))
        self.each(behave, "no answer|lost|timed out|no receive|refused|more|no RPC-over-RDMA server")

    def test_writes_and_invalidates_what_it_was_not_offered(self):
        def write(connection):
            connection.recv(20)
            connection.sendall(REPLY)
            connection.recv(4096)
            connection.sendall(fpdu(struct.pack(">BBIQ", 0xc1, 0x40, 0xdeadbeef, 0x1000) + bytes(500)))

        def invalidate(connection):
            connection.recv(20)
            connection.sendall(REPLY)
            connection.recv(4096)
            connection.sendall(fpdu(struct.pack(">BBIIII", 0x41, 0x44, 0xdeadbeef, 0, 1, 0) + bytes(28)))
        self.each(write, "writes 500 bytes at handle 0xdeadbeef")
        self.each(invalidate, "invalidates handle 0xdeadbeef")


if __name__ == "__main__":
    STAG, CAPTURE = os.path.abspath(sys.argv[1]), sys.argv[2]
    del sys.argv[1:3]
    unittest.main()
