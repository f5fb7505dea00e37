#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Live commands with peers that mean harm, on loopback: `stag serve` and `stag relay` go on serving others, and `stag generate`,
`stag replay` and `stag probe` come to an end and say why. What a single connection can do is in tests/replay/endpoint/hostile_test.cc.

    peers_test.py STAG CAPTURE"""
import fcntl
import json
import os
import random
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

STAG = CAPTURE = None
SANITIZED = os.environ.get("STAG_SANITIZED") not in (None, "", "OFF")
FREE_ID = 64321  # of no user, it is hoped
# A client that connects as often as it can and says nothing.
FLOOD = """import os, socket
held = []
try:
    while True:
        held.append(socket.create_connection((os.environ["ADDR"], int(os.environ["PORT"]))))
except OSError:
    held[0].recv(1)
"""
REQUEST = b"MPA ID Req Frame" + struct.pack(">BBH", 0, 1, 0)
REPLY = b"MPA ID Rep Frame" + struct.pack(">BBH", 0, 1, 0)


def fpdu(ulpdu):
    frame = struct.pack(">H", len(ulpdu)) + ulpdu
    return frame + bytes(-len(frame) % 4 + 4)


def send_segment(number, payload):
    return fpdu(struct.pack(">BBIIII", 0x41, 0x43, 0, 0, number, 0) + payload)


def call(xid, credits=32):
    """NULL of NFSv3, inline."""
    return struct.pack(">4I12x10I", xid, 1, credits, 0, xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0)


def long_call(xid, length):
    """RDMA_NOMSG: all of the Call is in a Read chunk."""
    return struct.pack(">4IIIIIQ12x", xid, 1, 32, 1, 1, 0, 7, length, 0)


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


class Live:
    """A live command on loopback, by itself, until the end of the block; then `status`, `lines` and `err`."""

    def __init__(self, *arguments, prepare=None, expect=0):
        self.arguments, self.prepare, self.expect = arguments, prepare, expect

    def __enter__(self):
        program = os.open(STAG, os.O_RDONLY)  # another user may not find it by its name
        self.process = subprocess.Popen([STAG, *self.arguments, "--listen", "127.0.0.1:0", "--transport", "iwarp", "--no-crc",
                                         "--format", "jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=self.prepare, executable=f"/proc/self/fd/{program}", pass_fds=[program])
        os.close(program)
        self.listening = json.loads(self.process.stdout.readline())
        self.port = self.listening["port"]
        return self

    def of(self, kind):
        return [line for line in self.lines if line["type"] == kind]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def most_memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s*(\d+)", status.read())[1]) << 10

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, self.err = self.process.communicate(timeout=60)
        self.lines = [json.loads(line) for line in out.splitlines()]
        self.status = self.process.returncode

    def __exit__(self, kind, *_):
        if self.process.returncode is None:
            self.end()
        assert kind or self.status == self.expect, (self.status, self.lines[-3:], self.err)


class Peer:
    """A client without manners, on a connection of its own, when it is accepted."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.sendall(REQUEST)
        self.sequence = 0

    def take(self, size):
        """So many bytes; fewer: there are no more."""
        taken = b""
        while len(taken) < size:
            part = self.socket.recv(size - len(taken))
            if not part:
                break
            taken += part
        return taken

    def accepted(self):
        try:
            reply = self.take(len(REPLY))
            if reply[:16] != REPLY[:16] or reply[16] & 0x20:  # or it is rejected
                return False
            self.take(struct.unpack(">H", reply[18:])[0])  # private data
            return True
        except OSError:
            return False

    def send(self, *messages):
        out = b""
        for message in messages:
            self.sequence += 1
            out += send_segment(self.sequence, message)
        self.socket.sendall(out)

    def receive(self):
        """The next FPDU, without its head; empty: there will be none."""
        try:
            head = self.take(2)
            if len(head) < 2:
                return b""
            length = struct.unpack(">H", head)[0]
            return self.take(length + -(length + 2) % 4 + 4)[:length]
        except ConnectionError:
            return b""

    def null(self, xid=1):
        """Whether a NULL is answered."""
        try:
            self.send(call(xid))
        except OSError:
            return False
        return self.receive()[18:22] == struct.pack(">I", xid)

    def close(self):
        self.socket.close()


def connected(port):
    """One that is accepted, after some time."""
    for _ in range(200):
        peer = Peer(port)
        if peer.accepted():
            return peer
        peer.close()
        threading.Event().wait(0.05)
    raise AssertionError("nobody is accepted any more")


class Exhaustion(unittest.TestCase):
    """What many peers together can take."""

    # Long Calls of which all is sent but the last byte: what comes of them has to be kept.
    def hold(self, port, length, calls):
        peer = connected(port)
        peer.send(*(long_call(xid, length) for xid in range(1, calls + 1)))
        return peer

    def answer_all_but_the_end(self, peer, most, first=True):
        """Answers the first Read that is asked for; of `most` bytes. The next has to wait for its end."""
        ulpdu = peer.receive()
        self.assertEqual(ulpdu[1] & 15, 1, "an RDMA Read Request")
        sink, offset, length = struct.unpack(">IQI", ulpdu[18:34])
        self.assertEqual(length, most)
        if not first:
            return
        for at in range(0, length - 1, 32768):
            part = bytes(min(32768, length - 1 - at))
            peer.socket.sendall(fpdu(struct.pack(">BBIQ", 0x81, 0x42, sink, offset + at) + part))

    def chunks_of_all(self, program, *more):
        limit, length = 16 << 20, 4 << 20
        with Live(program, *more, "--chunk-memory", str(limit)) as server:
            before = server.most_memory()
            peers = [self.hold(server.port, length, 60) for _ in range(12)]
            for peer in peers[:3]:  # one has half of the memory, the others a quarter
                self.answer_all_but_the_end(peer, length)
            self.answer_all_but_the_end(peers[0], length, first=False)
            other = connected(server.port)
            self.assertTrue(other.null())
            for peer in peers[3:]:
                peer.socket.setblocking(False)
                with self.assertRaises(BlockingIOError):  # it is asked for nothing: there is no memory for it
                    peer.socket.recv(1)
            self.assertTrue(other.null())
            if not SANITIZED:
                self.assertLess(server.most_memory() - before, limit + len(peers) * (2 << 20))
            for peer in peers[:3]:
                peer.close()
            peers[3].socket.settimeout(60)
            self.answer_all_but_the_end(peers[3], length)
            for peer in peers:
                peer.close()
            self.assertTrue(other.null())
            other.close()

    def test_chunks_of_all_connections(self):
        for mode in ("null", "echo", "nfs-memory"):
            with self.subTest(mode):
                self.chunks_of_all("serve", "--mode", mode)

    def test_chunks_of_all_connections_of_a_relay(self):
        with Live("serve", "--mode", "null") as server:
            self.chunks_of_all("relay", "--to", f"127.0.0.1:{server.port}")

    def test_a_flood_of_mounts(self):
        with Live("serve", "--mode", "nfs-memory", "--mount-port", "0") as server:
            records = struct.pack(">11I", 0x80000028, 7, 0, 2, 100005, 3, 0, 0, 0, 0, 0) * 2000
            floods = [socket.create_connection(("127.0.0.1", server.listening["mount_port"])) for _ in range(2)]

            def pour(flood):
                try:
                    while True:
                        flood.sendall(records)
                except OSError:
                    pass
            threads = [threading.Thread(target=pour, args=[flood], daemon=True) for flood in floods]
            threads += [threading.Thread(target=drain, args=[flood], daemon=True) for flood in floods]
            for thread in threads:
                thread.start()
            peer = connected(server.port)
            self.assertTrue(all(peer.null(xid) for xid in range(20)))
            server.end()  # by a signal, as they go on
            peer.close()
            for flood in floods:
                flood.close()
            for thread in threads:
                thread.join()
        self.assertEqual(server.of("served")[0]["replies"], 20)

    def test_findings_that_nobody_reads(self):
        """Of a connection a hundred are printed; more than a pipe holds is dropped, and a signal ends the command."""
        def small(server):
            fcntl.fcntl(server.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        with Live("serve", "--mode", "null", "--check") as server:
            peer = connected(server.port)
            for xid in range(250):
                peer.send(call(xid, credits=0))  # RFC 8166 section 3.3: more than that
                peer.receive()
            peer.close()
        rules = [line["rule"] for line in server.of("finding")]
        self.assertEqual(max(map(rules.count, rules)), 100)
        self.assertGreaterEqual(server.of("summary")[0]["findings"]["note"], 250)
        self.assertIn("150 findings are counted and not printed", server.err)
        with Live("serve", "--mode", "null", "--check", expect=2) as server:
            small(server)
            for _ in range(80):
                peer = connected(server.port)
                peer.send(*(call(xid, credits=0) for xid in range(40)))
                peer.null(99)
                peer.close()
            peer = connected(server.port)
            self.assertTrue(peer.null())
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(timeout=60)
            peer.close()
            server.err, server.status, server.lines = server.process.stderr.read(), server.process.returncode, []
            server.process.stdout.close()
            server.process.stderr.close()
        self.assertIn("nobody reads them", server.err)
        self.assertRegex(server.err, r"\d+ findings could not be printed")

    def test_the_peer_does_not_choose_the_exit_status(self):
        with tempfile.TemporaryDirectory() as folder, \
                Live("serve", "--mode", "null", "--record", os.path.join(folder, "x.pcapng")) as server:
            peer = connected(server.port)
            self.assertTrue(peer.null())
            peer.send(long_call(2, 1000))
            sink, offset = struct.unpack(">IQ", peer.receive()[18:30])
            # A Read Response of other bytes than the next: no frame of a recording can show it.
            peer.socket.sendall(fpdu(struct.pack(">BBIQ", 0x81, 0x42, sink, offset + 4) + bytes(100)))
            drain(peer.socket)
            peer.close()

    def test_a_recording_is_compressed_by_name(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "x.pcapng.zst")
            with Live("serve", "--mode", "null", "--record", name) as server:
                peer = connected(server.port)
                self.assertTrue(peer.null())
                peer.close()
            with open(name, "rb") as file:
                self.assertEqual(file.read(4), b"\x28\xb5\x2f\xfd")
            done = subprocess.run([STAG, "transactions", "--format", "jsonl", name], capture_output=True, text=True, timeout=60,
                                  check=True)
            self.assertEqual(len(done.stdout.splitlines()), 1)

    def idle_ones_give_way(self, *command):
        with Live(*command, "--max-connections", "8") as server:
            idle = [connected(server.port) for _ in range(8)]
            self.assertTrue(all(peer.null() for peer in idle))
            peer = connected(server.port)
            self.assertTrue(peer.null())
            # Which was idle for longest may be another than the first where threads take turns on a busy machine.
            ended, _, _ = select.select([each.socket for each in idle], [], [], 120)
            self.assertTrue(ended, "an idle connection gives way")
            self.assertEqual(ended[0].recv(1), b"")
            for connection in [*idle, peer]:
                connection.close()
        return server

    def test_idle_connections_give_way(self):
        for threads in ("1", "3"):
            served = self.idle_ones_give_way("serve", "--mode", "null", "--threads", threads).of("served")[0]
            self.assertGreaterEqual(served["dismissed"], 1)
        with Live("serve", "--mode", "null") as server:
            relayed = self.idle_ones_give_way("relay", "--to", f"127.0.0.1:{server.port}").of("relayed")[0]
            self.assertGreaterEqual(relayed["dismissed"], 1)

    def await_words(self, server, served, words):
        """Until the command says so; who was there before is served."""
        said = ""
        while words not in said:
            self.assertTrue(served.null())
            said += server.process.stderr.readline()
        self.assertTrue(served.null())

    def recovers(self, server, served, peers):
        """Once they have gone, others are served again."""
        self.assertTrue(served.null())
        for peer in peers:
            peer.close()
        peer = connected(server.port)
        self.assertTrue(peer.null())
        peer.close()
        served.close()

    def in_front_of_a_server(self, check):
        """The same of `stag serve`, and of `stag relay` before one."""
        check("serve", "--mode", "null")
        with Live("serve", "--mode", "null") as server:
            check("relay", "--to", f"127.0.0.1:{server.port}")

    # The commands have no more than that many descriptors.
    def without_descriptors(self, *command):
        with Live(*command, prepare=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))) as server:
            served = connected(server.port)
            peers = [Peer(server.port) for _ in range(60)]
            self.await_words(server, served, "Too many open files")
            self.recovers(server, served, peers)

    def test_without_descriptors(self):
        self.in_front_of_a_server(self.without_descriptors)

    def test_the_limit_of_descriptors_is_raised(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        with Live("serve", "--mode", "null", prepare=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, most))) as server:
            with open(f"/proc/{server.process.pid}/limits", encoding="ascii") as limits:
                self.assertEqual(int(re.search(r"Max open files\s+(\d+)", limits.read())[1]), most)

    # So much address space is left to them (a thread takes 8 MiB of it, as well).
    def without_memory(self, *command):
        with Live(*command) as server:
            served = connected(server.port)
            self.assertTrue(served.null())
            with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as statm:
                size = int(statm.read().split()[0]) * resource.getpagesize() + (12 << 20)
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, (size, size))
            peers = []
            for _ in range(150):
                peers.append(Peer(server.port))
                self.assertTrue(served.null())
            for peer in peers[:3]:  # the first of them may be there
                peer.socket.settimeout(5)
                if peer.accepted():
                    peer.send(*(long_call(xid, 4 << 20) for xid in range(8)))
            self.recovers(server, served, peers)

    def test_without_memory(self):
        if SANITIZED:
            return  # a sanitizer takes all of the address space
        self.in_front_of_a_server(self.without_memory)

    def test_without_threads(self):
        """A relay connects to its server, and --check looks at the traffic, on a thread each. Root may have any number."""
        def another_user():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(FREE_ID, FREE_ID, FREE_ID)
                os.setresuid(FREE_ID, FREE_ID, FREE_ID)

        def no_more_threads(server, most=1):
            child = os.fork()
            if child == 0:  # nobody else may do that, perhaps
                try:
                    another_user()
                    resource.prlimit(server.process.pid, resource.RLIMIT_NPROC, (most, resource.getrlimit(resource.RLIMIT_NPROC)[1]))
                    os._exit(0)
                finally:
                    os._exit(1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
        with Live("serve", "--mode", "null") as server, \
                Live("relay", "--to", f"127.0.0.1:{server.port}", prepare=another_user) as relay:
            served = connected(relay.port)
            no_more_threads(relay)
            waiting = Peer(relay.port)
            self.await_words(relay, served, "cannot accept connections: no thread to connect to the server")
            no_more_threads(relay, resource.getrlimit(resource.RLIMIT_NPROC)[0])
            self.recovers(relay, served, [waiting])
        with Live("serve", "--mode", "null", "--check", prepare=another_user, expect=2) as server:
            no_more_threads(server)
            self.recovers(server, connected(server.port), [])
            no_more_threads(server, resource.getrlimit(resource.RLIMIT_NPROC)[0])  # a sanitizer needs one at the end
        self.assertIn("not all of the traffic was checked", server.err)

    def test_a_probe_of_a_client_without_descriptors(self):
        """What it cannot tell is inconclusive, and the next probe is as if nothing had been."""
        with tempfile.TemporaryDirectory() as folder:
            flood = os.path.join(folder, "flood")
            with open(flood, "w", encoding="ascii") as file:
                file.write(FLOOD)
            command = (f'if [ $PROBE = error.chunk ]; then exec {sys.executable} {flood}; fi; exec {STAG} generate --to $ADDR:$PORT --transport '
                       "iwarp --no-crc --mode null --calls 20 --depth 2 --quiet")
            done = subprocess.run([STAG, "probe", "--listen", "127.0.0.1:0", "--client-command", command, "--transport", "iwarp",
                                   "--no-crc", "--settle", "5ms", "--select", "error.chunk,answer.twice", "--format", "jsonl"],
                                  capture_output=True, text=True, timeout=120, check=False,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
        probes = {line["id"]: line for line in map(json.loads, done.stdout.splitlines()) if line["type"] == "probe"}
        self.assertEqual(probes["error.chunk"]["verdict"], "inconclusive", done.stdout + done.stderr)
        self.assertIn("Too many open files", probes["error.chunk"]["why"])
        self.assertEqual(probes["answer.twice"]["verdict"], "passed", done.stdout + done.stderr)


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
