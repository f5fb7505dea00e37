#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stag relay --fault between a client and stag serve, on loopback: every fault, how often, and that it is the same again.

    relay_faults_test.py STAG
"""
import time
import unittest

from iwarp_client import Client
from live_runs import established, fine, lines, relay, serve, stag, wait_for


class Faults(unittest.TestCase):
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
                client.ask(1, procedure=1)  # is not meant: GETATTR
                self.assertEqual(client.receive()[:4].hex(), "00000001")
                client.ask(2)
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
            client.ask(7)
            answer = words(client.receive())
            self.assertEqual((answer[0], answer[3], answer[4]), (7, 4, 1))  # RDMA_ERROR, ERR_VERS
            client.socket.close()
        with self.fault("credit:3@any") as middle, Client(middle.port) as client:
            client.ask(7)
            self.assertEqual(words(client.receive())[2], 3)
            client.socket.close()
        with self.fault("corrupt-xid@any", expect=1, more=["--check"]) as middle, Client(middle.port) as client:
            client.ask(7)
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

    def test_the_file_of_probes_is_removed_at_another_try(self):
        """stag probe, when the answer to its first REMOVE does not come: the second finds no file, or removes it."""
        for kind in ("drop", "drop-reply"):
            with self.subTest(kind), serve("--mode", "nfs-memory", "--mount-port", "0") as server, \
                    relay(server.to, "--fault", f"{kind}@REMOVE/50", "--seed", 4) as middle:
                fine("probe", middle.to, "--export", "/", "--mount-port", server.mount_port, "--select", "rpc.null", "--timeout",
                     "500ms")
                middle.end()
                line = middle.of("fault")[0]
                self.assertGreater(line["injected"], 0)
                self.assertEqual(line["calls"], line["injected"] + 1)

    def test_a_fault_that_disconnects(self):
        with self.fault("disconnect@NULL") as middle, Client(middle.port) as client:
            client.ask(7)
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
            done = lines(fine(
                "generate", "--to", middle.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--mix",
                "write=100", "--file-size", "4K", "--size", "4K", "--depth", 4, "--calls", 100, "--reconnect", 100, "--verify",
                "--format", "jsonl"))
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
                    client.ask(xid)
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


if __name__ == "__main__":
    unittest.main()
