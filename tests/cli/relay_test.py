#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stag relay between stag generate or stag replay and stag serve, on loopback: everything arrives, both sides are judged
and recorded, either side goes; and every fault.

    relay_test.py STAG
"""
import collections
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from iwarp_client import Client

STAG = None
REAL = pathlib.Path(__file__).parents[2] / "pcaps" / "real"


def stag(*arguments):
    return subprocess.run([STAG, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


class Running:
    """stag serve or stag relay on a free port, until the end of the block; then `status`, `lines`, `err`."""

    def __init__(self, *arguments, expect=0):
        self.arguments, self.expect = map(str, arguments), expect

    def __enter__(self):
        self.process = subprocess.Popen([STAG, *self.arguments, "--listen", "127.0.0.1:0", "--transport", "iwarp",
                                         "--format", "jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.listening = json.loads(self.process.stdout.readline())
        self.port = self.listening["port"]
        self.to = f"127.0.0.1:{self.port}"
        return self

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.wait()

    def wait(self):
        out, self.err = self.process.communicate(timeout=60)
        self.lines = [json.loads(line) for line in out.splitlines()]
        self.status = self.process.returncode

    def __exit__(self, kind, *_):
        if self.process.returncode is None:
            self.end()
        assert kind or self.status == self.expect, (self.status, self.lines, self.err)

    def of(self, kind, **conditions):
        return [line for line in self.lines
                if line["type"] == kind and all(line[key] == value for key, value in conditions.items())]

    def summary(self):
        return self.of("relayed")[0]


def serve(*arguments, **rest):
    return Running("serve", *arguments, **rest)


def relay(to, *arguments, **rest):
    return Running("relay", "--to", to, *arguments, **rest)


class Relay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "both.pcapng")

    def fine(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def transactions(self):
        """Those of the recording, by connection; what is alike on both sides of each."""
        keys = ("xid", "backward", "program", "version", "procedure", "call_bytes", "reply_bytes", "call_sha256",
                "reply_sha256", "data_sha256", "call_complete", "reply_complete", "status")
        connections = collections.defaultdict(list)
        for t in lines(self.fine(stag("transactions", "--format", "jsonl", self.file))):
            connections[t["connection"]].append(tuple(t[key] for key in keys))
        return {number: sorted(map(str, listed)) for number, listed in connections.items()}

    def both_alike(self):
        """Each connection of the recording has another with the same RPCs."""
        listed = sorted(self.transactions().values())
        self.assertGreaterEqual(len(listed), 2)
        self.assertEqual(len(listed) % 2, 0)
        for i in range(0, len(listed), 2):
            self.assertEqual(listed[i], listed[i + 1])
        self.fine(stag("check", self.file))
        return listed

    def test_null_echo_and_files(self):
        loads = {
            "null": ["--mode", "null", "--calls", "500"],
            "echo": ["--mode", "echo", "--calls", "300", "--size", "1-20K", "--verify", "--position-zero", "20"],
            "nfs-memory": ["--mode", "nfs3", "--calls", "400", "--size", "1-64K", "--verify", "--segments", "3", "--mix",
                           "read=40,write=30,readdirplus=10,getattr=10,lookup=10"],
        }
        for mode, load in loads.items():
            mount = ["--mount-port", "0"] if mode == "nfs-memory" else []
            with self.subTest(mode), serve("--mode", mode, *mount, "--check") as server:
                if mount:
                    load += ["--mount-port", server.listening["mount_port"]]
                with relay(server.to, "--check", "--record", self.file) as middle:
                    self.fine(stag("generate", "--to", middle.to, "--check", "--seed", "7", *load))
                    middle.end()
                    self.assertEqual((middle.status, middle.err), (0, ""))
                    server.end()
                    served = server.of("served")[0]
                    direction = middle.of("direction", direction="forward")[0]
                    for side in ("caller", "answerer"):
                        self.assertEqual(direction[side]["calls"], served["calls"])
                        self.assertEqual(direction[side]["replies"], served["replies"])
                        self.assertEqual(direction[side]["errors"], 0)
                    self.assertEqual(direction["answerer"], direction["caller"])
                    self.assertEqual(direction["in_flight"], 0)
                    self.assertEqual(middle.summary()["calls"], served["calls"])
                    self.assertEqual([line["ended"] for line in middle.of("side")], [1, 1])
                    self.assertEqual(len(self.both_alike()[0]), served["calls"])

    def test_other_thresholds_on_each_side(self):
        """Messages that are inline on one side and Long on the other; data intact, and nothing wrong on either side."""
        terms = [("1024/1024", "4096/4096"), ("4096/4096/R", "1024/1024"), ("none", "8192/8192/R"), ("pass", "none"),
                 ("65536/65536", "2048/16384")]
        for to_server, to_client in terms:
            with self.subTest(to_server=to_server, to_client=to_client), serve("--mode", "echo", "--check") as server:
                with relay(server.to, "--check", "--record", self.file, "--to-server", to_server, "--to-client", to_client,
                           "--credits", 5) as middle:
                    self.fine(stag("generate", "--to", middle.to, "--mode", "echo", "--calls", 200, "--size", "1-9K",
                                   "--verify", "--check", "--seed", 3))
                    middle.end()
                    self.assertEqual(middle.err, "")
                    self.both_alike()
                    for connection in lines(stag("connections", "--format", "jsonl", self.file)):
                        credits = connection["credits"]["forward"]
                        if connection["server"]["port"] == middle.port:
                            self.assertEqual(credits["granted"]["max"], 5)
                        else:
                            self.assertEqual(credits["requested"]["max"], 5)
                        self.assertLessEqual(credits["max_outstanding"], 5)

    def test_captures_replayed(self):
        for name in ("rxe-nfs3.pcap.zst", "rxe-nfs4.1.pcap.zst", "siw-nfs4.1.pcap.zst", "siw-rdma_error.pcap"):
            capture = REAL / name
            with self.subTest(name), serve(capture, "--check") as server:
                with relay(server.to, "--check", "-w", self.file) as middle:
                    self.fine(stag("replay", capture, "--to", middle.to, "--expect-match", "100", "--check"))
                    middle.end()
                    self.assertEqual((middle.status, middle.err), (0, ""))
                    self.both_alike()

    def test_several_clients(self):
        with serve("--mode", "echo") as server, relay(server.to, "--check", "--max-connections", 3) as middle:
            clients = [subprocess.Popen([STAG, "generate", "--to", middle.to, "--mode", "echo", "--calls", "300", "--verify"],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(3)]
            for client in clients:
                out, _ = client.communicate(timeout=60)
                self.assertEqual(client.returncode, 0, out)
            held = [Client(middle.port) for _ in range(3)]
            refused = stag("generate", "--to", middle.to, "--calls", 1)
            self.assertEqual(refused.returncode, 2, refused.stdout)
            for client in held:
                client.socket.close()
            middle.end()
            self.assertIn("is rejected: there are enough", middle.err)
            summary = middle.summary()
            self.assertEqual((summary["connections"], summary["rejected"], summary["calls"]), (6, 1, 900))

    def test_once(self):
        with serve("--mode", "null") as server, relay(server.to, "--once") as middle:
            self.fine(stag("generate", "--to", middle.to, "--calls", 10))
            middle.wait()
            self.assertEqual(middle.summary()["replies"], 10)

    def test_no_server(self):
        with socket.socket() as nobody:  # the port is taken, and nothing listens there
            nobody.bind(("127.0.0.1", 0))
            to = "127.0.0.1:%d" % nobody.getsockname()[1]
            with relay(to) as middle:
                self.assertEqual(stag("generate", "--to", middle.to, "--calls", 1).returncode, 2)
                middle.end()
                self.assertRegex(middle.err, r"client 127.0.0.1:\d+ is rejected: no connection to the server: " + to +
                                 ": nothing listens there")
                self.assertEqual(middle.summary()["rejected"], 1)
                self.assertEqual(middle.of("trouble")[0]["times"], 1)

    def test_a_server_that_does_not_answer_keeps_nobody_waiting(self):
        with serve("--mode", "null") as server, relay(server.to, "--fault", "error:ERR_CHUNK@any") as middle, \
                Client(middle.port) as first:
            server.process.send_signal(signal.SIGSTOP)
            with socket.create_connection(("127.0.0.1", middle.port), timeout=20) as second:
                second.sendall(b"MPA ID Req Frame" + bytes([0x40, 1, 0, 0]))
                wait_for(lambda: len(connections(server.port)) == 4)  # both ends of two
                first.send(call(1))
                self.assertEqual(first.receive()[16:20].hex(), "00000002")  # by the relay itself
                self.assertEqual(select.select([second], [], [], 0)[0], [])  # which still waits for the server
                server.process.send_signal(signal.SIGCONT)
                self.assertEqual(second.recv(16), b"MPA ID Rep Frame")
                middle.end()
            self.assertEqual(middle.summary()["connections"], 2)

    def test_ended_while_the_server_does_not_answer(self):
        with serve("--mode", "null") as server, relay(server.to) as middle:
            server.process.send_signal(signal.SIGSTOP)
            with socket.create_connection(("127.0.0.1", middle.port), timeout=20) as client:
                client.sendall(b"MPA ID Req Frame" + bytes([0x40, 1, 0, 0]))
                wait_for(lambda: len(connections(server.port)) == 2)
                middle.process.send_signal(signal.SIGINT)
                answer = client.recv(20)
                self.assertEqual((answer[:16], answer[16] & 0x20), (b"MPA ID Rep Frame", 0x20))  # rejected
                server.process.send_signal(signal.SIGCONT)
                middle.wait()
            self.assertEqual((middle.summary()["connections"], middle.summary()["rejected"]), (0, 1))

    def test_the_server_dies(self):
        with serve("--mode", "null", "--delay", "60000", expect=-signal.SIGKILL) as server, relay(server.to) as middle:
            with Client(middle.port) as client:
                client.send(call(1))
                client.send(call(2))
                wait_for(lambda: taken(middle.port) and taken(server.port))
                server.end(signal.SIGKILL)
                self.assertEqual(client.socket.recv(100), b"")  # the relay ends the connection
            middle.end()
            summary = middle.summary()
            self.assertEqual((summary["calls"], summary["replies"], summary["in_flight"]), (2, 0, 2))

    def test_the_client_dies(self):
        with serve("--mode", "null", "--delay", "60000") as server, relay(server.to) as middle:
            with Client(middle.port) as client:
                client.send(call(1))
                wait_for(lambda: taken(middle.port) and taken(server.port))
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # RST
            wait_for(lambda: not established(server.port))
            middle.end()
            self.assertEqual(middle.summary()["in_flight"], 1)
            self.assertRegex(middle.err, r"client 127.0.0.1:\d+: the connection with it broke: ")
            self.assertEqual(middle.of("side", side="client")[0]["broken"], 1)
            self.assertEqual(middle.of("side", side="server")[0]["ended"], 1)

    def test_signals_with_calls_under_way(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            with serve("--mode", "null", "--delay", "60000") as server, relay(server.to, "--check") as middle:
                with Client(middle.port) as client:
                    client.send(call(1))
                    wait_for(lambda: taken(middle.port) and taken(server.port))
                    middle.process.send_signal(how)
                    self.assertEqual(client.socket.recv(100), b"")
                    client.socket.close()
                    middle.wait()
                self.assertEqual(middle.summary()["in_flight"], 1)

    def test_findings(self):
        """A client that breaks rules: found on its side, and the exit status says so."""
        with serve("--mode", "null") as server, relay(server.to, "--check", expect=1) as middle:
            with Client(middle.port) as client:
                client.call(7)
                client.send(bytes.fromhex("00000008" "00000001" "00000020" "00000009" "000000000000000000000000"))
                self.assertEqual(client.receive()[12:20].hex(), "0000000400000002")  # RDMA_ERROR, ERR_CHUNK
            middle.end()
            self.assertIn("HDR-004", [line["rule"] for line in middle.of("finding")])
            self.assertEqual(middle.summary()["errors"], 1)

    def fault(self, rule, expect=0, more=()):
        """A relay with one fault in front of a server that knows NULL."""
        server = serve("--mode", "null")
        server.__enter__()
        self.addCleanup(server.__exit__, None)
        return relay(server.to, "--fault", rule, *more, expect=expect)

    def injected(self, middle, calls, injected):
        line = middle.of("fault")[0]
        self.assertEqual((line["calls"], line["injected"]), (calls, injected))

    def test_faults_that_keep_the_answer_back(self):
        for rule, at_server in (("drop@NULL", 0), ("drop-reply@NULL", 1)):
            with self.subTest(rule), self.fault(rule) as middle, Client(middle.port) as client:
                client.send(call(1, procedure=1))  # is not meant: GETATTR
                self.assertEqual(client.receive()[:4].hex(), "00000001")
                client.send(call(2))
                client.socket.settimeout(0.2)
                self.assertRaises(TimeoutError, client.socket.recv, 1)
                client.socket.close()
                middle.end()
                self.injected(middle, 1, 1)
                direction = middle.of("direction")[0]
                self.assertEqual((direction["caller"]["calls"], direction["answerer"]["calls"]), (2, 1 + at_server))
                self.assertEqual(direction["caller"]["replies"], 1)

    def test_faults_that_change_the_answer(self):
        words = lambda message: [int.from_bytes(message[i:i + 4], "big") for i in range(0, 20, 4)]
        with self.fault("error:ERR_VERS@any") as middle, Client(middle.port) as client:
            client.send(call(7))
            answer = words(client.receive())
            self.assertEqual((answer[0], answer[3], answer[4]), (7, 4, 1))  # RDMA_ERROR, ERR_VERS
            client.socket.close()
        with self.fault("credit:3@any") as middle, Client(middle.port) as client:
            client.send(call(7))
            self.assertEqual(words(client.receive())[2], 3)
            client.socket.close()
        with self.fault("corrupt-xid@any", expect=1, more=["--check"]) as middle, Client(middle.port) as client:
            client.send(call(7))
            answer = client.receive()
            self.assertNotEqual(words(answer)[0], 7)
            self.assertEqual(answer[28:32].hex(), "00000007")
            client.socket.close()
            middle.end()
            self.assertTrue(middle.of("finding"), middle.lines)
        with self.fault("delay:150ms@any") as middle, Client(middle.port) as client:
            before = time.monotonic()
            client.call(7)
            self.assertGreaterEqual(time.monotonic() - before, 0.15)
            client.socket.close()
            middle.end()
            self.assertGreaterEqual(middle.of("direction")[0]["reply_rest_ns"]["max"], 149_000_000)

    def test_a_fault_that_disconnects(self):
        with self.fault("disconnect@NULL") as middle, Client(middle.port) as client:
            client.send(call(7))
            self.assertEqual(client.socket.recv(100), b"")
            client.socket.close()
            wait_for(lambda: not established(middle.port))
            middle.end()
            self.assertEqual(middle.summary()["in_flight"], 1)
            self.assertEqual([line["ended"] for line in middle.of("side")], [1, 1])

    def test_lost_calls_go_before_those_that_wait_for_their_range(self):
        """All calls write the same block, so each waits for the one before, also when that was lost."""
        with serve("--mode", "nfs-memory", "--mount-port", "0") as server, \
                relay(server.to, "--fault", "disconnect@WRITE/5") as middle:
            done = lines(self.fine(stag(
                "generate", "--to", middle.to, "--mode", "nfs3", "--mount-port", server.listening["mount_port"], "--mix",
                "write=100", "--file-size", "4K", "--size", "4K", "--depth", 4, "--calls", 100, "--reconnect", 100, "--verify",
                "--format", "jsonl")))
            middle.end()
            generated = done[-1]
            hits = middle.of("fault")[0]["injected"]
            self.assertGreater(hits, 0)
            self.assertEqual((generated["calls"], generated["ok"], generated["lost"]), (100, 100, 0))
            self.assertEqual((generated["resent"], generated["reconnects"]), (hits, hits))

    def test_faults_in_chunks(self):
        with serve("--mode", "echo") as server, relay(server.to, "--fault", "bad-handle@0x20020049:1") as middle:
            done = stag("generate", "--to", middle.to, "--mode", "echo", "--size", "9000", "--calls", 5)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            middle.end()
            self.assertIn("the connection to the server broke: ", middle.err)
            self.assertGreaterEqual(middle.of("fault")[0]["injected"], 1)
        with serve("--mode", "echo") as server, relay(server.to, "--fault", "short-chunk@any/50", "--check") as middle:
            done = stag("generate", "--to", middle.to, "--mode", "echo", "--size", "9000", "--calls", 100)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            middle.end()
            fault, summary = middle.of("fault")[0], middle.summary()
            self.assertEqual(summary["errors"], fault["injected"])  # the server says that it does not fit: ERR_CHUNK
            self.assertTrue(20 <= fault["injected"] <= 80, fault)
            self.assertEqual(summary["replies"], 100 - fault["injected"])

    def test_faults_are_the_same_with_the_same_seed(self):
        def hit(seed):
            with self.fault("error:ERR_CHUNK@NULL/30", more=["--seed", seed]) as middle, Client(middle.port) as client:
                out = []
                for xid in range(100):
                    client.send(call(xid))
                    if client.receive()[12:16] == b"\0\0\0\4":
                        out.append(xid)
                client.socket.close()
                middle.end()
                self.injected(middle, 100, len(out))
            return out

        first = hit(7)
        self.assertTrue(10 <= len(first) <= 50, first)
        self.assertEqual(first, hit(7))
        self.assertNotEqual(first, hit(8))

    def test_text(self):
        with serve("--mode", "null") as server:
            process = subprocess.Popen([STAG, "relay", "--listen", "127.0.0.1:0", "--to", server.to, "--once"],
                                       stdout=subprocess.PIPE, text=True)
            first = process.stdout.readline()
            self.assertRegex(first, rf"listening on 127.0.0.1:\d+ by iwarp for {server.to}\n")
            self.fine(stag("generate", "--to", first.split()[2], "--calls", 20))
            out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)
            self.assertRegex(out, r"client side: 1 connection: 1 ended in order, 0 broken\n"
                                  r"server side: 1 connection: 1 ended in order, 0 broken\n")
            self.assertRegex(out, r"\nclient side +20 +1.2 KiB +20 +480 B +0\nserver side +20 +1.2 KiB +20 +480 B +0\n")
            self.assertRegex(out, r"\nrested in the relay +min .*\ncalls .*\nanswers ")

    def test_wrong_options(self):
        wrong = [
            [],
            ["--to", "127.0.0.1:99999"],
            ["--to", "127.0.0.1", "--to-server", "512/1024"],
            ["--to", "127.0.0.1", "--to-client", "all"],
            ["--to", "127.0.0.1", "--credits", "0"],
            ["--to", "127.0.0.1", "--fault", "drop"],
            ["--to", "127.0.0.1", "--fault", "drop@REED/5"],
            ["--to", "127.0.0.1", "--fault", "drop@READ/0"],
            ["--to", "127.0.0.1", "--max-message", "1K"],
            ["--to", "127.0.0.1", "--memory", "1K"],
            ["--to", "127.0.0.1", "--listen", "nowhere.invalid:1"],
            ["--to", "127.0.0.1", "--transport", "none"],
            ["--to", "127.0.0.1", "--record", "/nowhere/file"],
        ]
        for arguments in wrong:
            done = stag("relay", *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("stag: ", done.stderr)
            self.assertNotIn("terminate", done.stderr)


def call(xid, procedure=0):
    """RPC-over-RDMA message with a procedure of NFSv3, without arguments."""
    header = [xid, 1, 32, 0, 0, 0, 0]
    return b"".join(word.to_bytes(4, "big") for word in header + [xid, 0, 2, 100003, 3, procedure, 0, 0, 0, 0])


def connections(port):
    """Of the established ones to the port, at both ends: the bytes that wait in the kernel, in either direction."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split()[1:5] for line in table.readlines()[1:]]
    number = f":{port:04X}"
    return [queues for local, remote, state, queues in rows if state == "01" and number in (local[-5:], remote[-5:])]


def established(port):
    return connections(port) != []


def taken(port):
    """Whether all that was sent to the port, and by it, has been read."""
    return all(queues == "00000000:00000000" for queues in connections(port))


def wait_for(condition):
    for _ in range(2000):
        if condition():
            return
        select.select([], [], [], 0.005)
    raise AssertionError("it does not come to that")


if __name__ == "__main__":
    STAG = os.path.abspath(sys.argv.pop(1))
    unittest.main()
