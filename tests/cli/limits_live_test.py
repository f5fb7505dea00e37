# SPDX-License-Identifier: GPL-2.0-or-later
"""What limits a connection, and where the time goes, where that is known beforehand: software iWARP on loopback, recorded.

limits_live_test.py STAG    (runs as a unittest program)
"""
import pathlib
import statistics
import tempfile
import unittest

from live_runs import Running, fine, lines, relay, stag

DELAY = 150  # ms: more than the median of anything else here, on a busy machine, too
OTHERS = ("to_first_read", "pull", "push", "finish")


class Live(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name) / "recorded.pcapng"

    def load(self, to, *arguments):
        fine("generate", "--to", to, "--mode", "null", "--transport", "iwarp", "--seed", 1, *arguments)

    def verdict(self):
        """Of the one connection, whose parts add up."""
        found, = lines(stag("limits", "--format", "jsonl", self.path))
        parts = [found[part + "_us"] for part in ("idle", "credit_limited", "recovery", "moving_data", "server")]
        self.assertAlmostEqual(sum(parts), found["span_us"], places=3)
        return found

    def test_one_credit(self):
        with Running("serve", "--mode", "null", "--credits", 1, "--delay", 30, "--record", self.path) as server:
            self.load(server.to, "--depth", 8, "--calls", 40)
        self.assertEqual(self.verdict()["verdict"], "credit_limited")
        self.assertIn("never grants more than one credit", stag("limits", self.path).stdout)
        (told,) = lines(stag("summary", "--format", "jsonl", self.path))
        self.assertIn("Connection 1: the server grants one credit: one Call at a time.", [wrong["text"] for wrong in told["wrong"]])

    def test_a_slow_server(self):
        with Running("serve", "--mode", "null", "--delay", DELAY, "--record", self.path) as server:
            self.load(server.to, "--depth", 2, "--credits", 32, "--calls", 20)
        found = self.verdict()
        self.assertEqual(found["verdict"], "server")
        self.assertGreater(found["server_us"], found["span_us"] * 0.9)

    def test_a_client_with_little_to_do(self):
        with Running("serve", "--mode", "null", "--record", self.path) as server:
            self.load(server.to, "--rate", 10, "--calls", 20)
        found = self.verdict()
        self.assertEqual(found["verdict"], "idle")
        rows = lines(stag("top", "--format", "jsonl", "--interval", "1s", self.path))
        total = [row for row in rows if row["type"] == "top_total"]
        self.assertEqual(sum(row["calls"] for row in total), 20)
        self.assertLess(sum(row["calls_per_s"] for row in total), 15)

    def test_a_delay_of_the_relay_is_the_clients_service_time_and_not_the_servers(self):
        with Running("serve", "--mode", "nfs-memory", "--mount-port", "0") as server:
            with relay(server.to, "--record", self.path, "--fault", f"delay:{DELAY}ms@READ") as between:
                fine("generate", "--to", between.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--transport", "iwarp",
                     "--depth", 1, "--calls", 24, "--size", "64K", "--mix", "read=50,write=50", "--file-size", "256K", "--seed", 1)
        phases = {}
        for rpc in lines(stag("transactions", "--format", "jsonl", self.path)):
            if rpc["name"] in ("READ", "WRITE") and rpc["rtt_us"] is not None:
                phases.setdefault((rpc["connection"], rpc["name"]), []).append(rpc["phases_us"])
        self.assertEqual(len(phases), 4)
        ((slow, _),) = [key for key, found in phases.items() if min(p["service"] for p in found) > DELAY * 900]
        for key, found in phases.items():  # a machine that is busy may make one RPC wait anywhere, but not half of them
            for phase in OTHERS if key == (slow, "READ") else ("service", *OTHERS):
                self.assertLess(statistics.median(p[phase] or 0 for p in found), DELAY * 500, (key, phase))


if __name__ == "__main__":
    unittest.main()
