#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stag relay between stag generate or stag replay and stag serve, on loopback: everything arrives, both sides are judged
and recorded, and either side goes.

    relay_test.py STAG
"""
import collections
import os
import select
import signal
import socket
import subprocess
import tempfile
import unittest

from iwarp_client import Client
from live_runs import REAL, STAG, TRANSPORT, connections, established, fine, lines, popen, relay, serve, stag, taken, wait_for


class Relay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "both.pcapng")

    def transactions(self):
        """Those of the recording, by connection; what is alike on both sides of each."""
        keys = ("xid", "backward", "program", "version", "procedure", "call_bytes", "reply_bytes", "call_sha256",
                "reply_sha256", "data_sha256", "call_complete", "reply_complete", "status")
        connections = collections.defaultdict(list)
        for t in lines(fine("transactions", "--format", "jsonl", self.file)):
            connections[t["connection"]].append(tuple(t[key] for key in keys))
        return {number: sorted(map(str, listed)) for number, listed in connections.items()}

    def both_alike(self):
        """Each connection of the recording has another with the same RPCs."""
        listed = sorted(self.transactions().values())
        self.assertGreaterEqual(len(listed), 2)
        self.assertEqual(len(listed) % 2, 0)
        for i in range(0, len(listed), 2):
            self.assertEqual(listed[i], listed[i + 1])
        fine("check", self.file)
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
                    load += ["--mount-port", server.mount_port]
                with relay(server.to, "--check", "--record", self.file) as middle:
                    fine("generate", "--to", middle.to, "--check", "--seed", "7", *load)
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
                    fine("generate", "--to", middle.to, "--mode", "echo", "--calls", 200, "--size", "1-9K",
                                   "--verify", "--check", "--seed", 3)
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
                    fine("replay", capture, "--to", middle.to, "--expect-match", "100", "--check")
                    middle.end()
                    self.assertEqual((middle.status, middle.err), (0, ""))
                    self.both_alike()

    def test_several_clients(self):
        with serve("--mode", "echo") as server, relay(server.to, "--check", "--max-connections", 3) as middle:
            clients = [popen([STAG, "generate", "--to", middle.to, "--mode", "echo", "--calls", "300", "--verify"],
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
            fine("generate", "--to", middle.to, "--calls", 10)
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
            with socket.create_connection(("127.0.0.1", middle.port), timeout=120) as second:
                second.sendall(b"MPA ID Req Frame" + bytes([0x40, 1, 0, 0]))
                wait_for(lambda: len(connections(server.port)) == 4)  # both ends of two
                first.ask(1)
                self.assertEqual(first.receive()[16:20].hex(), "00000002")  # by the relay itself
                self.assertEqual(select.select([second], [], [], 0)[0], [])  # which still waits for the server
                server.process.send_signal(signal.SIGCONT)
                self.assertEqual(second.recv(16), b"MPA ID Rep Frame")
                middle.end()
            self.assertEqual(middle.summary()["connections"], 2)

    def test_ended_while_the_server_does_not_answer(self):
        with serve("--mode", "null") as server, relay(server.to) as middle:
            server.process.send_signal(signal.SIGSTOP)
            with socket.create_connection(("127.0.0.1", middle.port), timeout=120) as client:
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
                client.ask(1)
                client.ask(2)
                wait_for(lambda: taken(middle.port) and taken(server.port))
                server.end(signal.SIGKILL)
                self.assertEqual(client.socket.recv(100), b"")  # the relay ends the connection
            middle.end()
            summary = middle.summary()
            self.assertEqual((summary["calls"], summary["replies"], summary["in_flight"]), (2, 0, 2))

    def test_the_client_dies(self):
        with serve("--mode", "null", "--delay", "60000") as server, relay(server.to) as middle:
            with Client(middle.port) as client:
                client.ask(1)
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
                    client.ask(1)
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

    def test_text(self):
        with serve("--mode", "null") as server:
            process = popen([STAG, "relay", "--listen", "127.0.0.1:0", "--to", server.to, "--once"],
                                       stdout=subprocess.PIPE, text=True)
            first = process.stdout.readline()
            self.assertRegex(first, rf"listening on 127.0.0.1:\d+ by {TRANSPORT} for {server.to}\n")
            fine("generate", "--to", first.split()[2], "--calls", 20)
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


if __name__ == "__main__":
    unittest.main()
