# SPDX-License-Identifier: GPL-2.0-or-later
"""stag latency --against with live recordings: 50 us added to the server are told apart, in `service`, and nothing is where
nothing was added. Software iWARP on loopback; twenty seeds with STAG_TEST_ALL (./dev test --all), else two.

Two recordings that are made one after the other differ by more than 50 us on a busy machine, as --against then rightly says.
So the Calls of one connection are dealt out by chance: a relay, as which the server answers, delays half of them, which its
seed decides, and each half becomes a capture of its own (stag slice). What else the machine does meets both halves alike.
Which Calls these are a run tells that delays none, and grants those seven credits; its halves are those without a difference.

against_live_test.py STAG    (runs as a unittest program)
"""
import os
import pathlib
import tempfile
import unittest

from live_runs import Running, fine, lines, relay, stag

SEEDS = range(1, 21 if os.environ.get("STAG_TEST_ALL") and not os.environ.get("STAG_SANITIZED") else 3)
CALLS = 1200
GRANT = 7  # is no other's


class Against(unittest.TestCase):
    def recorded(self, fault, seed, name):
        """Of the connection of the client: the recording, its number, and its RPCs in order."""
        path = self.directory / name
        with Running("serve", "--mode", "null") as server:
            with relay(server.to, "--record", path, "--fault", f"{fault}@any/50", "--seed", seed) as between:
                fine("generate", "--to", between.to, "--mode", "null", "--transport", "iwarp", "--depth", 1, "--calls", CALLS,
                     "--seed", seed)
        ports = {line["connection"]: line["server"]["port"] for line in lines(stag("connections", "--format", "jsonl", path))}
        number, = [connection for connection, port in ports.items() if port == between.port]
        rpcs = [rpc for rpc in lines(stag("transactions", "--format", "jsonl", path)) if rpc["connection"] == number]
        self.assertEqual(len(rpcs), CALLS)
        return path, number, [rpc["xid"] for rpc in rpcs]

    def granted(self, path, number):
        return [line["granted"] for line in lines(stag("credits", "--format", "jsonl", path))
                if line["type"] == "credits" and line["event"] == "reply" and line["connection"] == number]

    def verdicts(self, path, number, xids, hit):
        """Of the Calls that are hit against the others, by phase."""
        parts = []
        for which in (True, False):
            part = self.directory / f"{path.stem}-{which}.pcapng"
            chosen = ",".join(xid for xid, is_hit in zip(xids, hit) if is_hit == which)
            fine("slice", path, "--connection", number, "--xid", chosen, "-w", part)
            parts.append(part)
        found = lines(stag("latency", "--format", "jsonl", parts[0], "--against", parts[1]))
        return {line["phase"]: line["verdict"] for line in found if "verdict" in line}

    def test_every_seed(self):
        for seed in SEEDS:
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as directory:
                self.directory = pathlib.Path(directory)
                path, number, xids = self.recorded(f"credit:{GRANT}", seed, "nothing.pcapng")
                hit = [granted == GRANT for granted in self.granted(path, number)]
                self.assertEqual(len(hit), CALLS)
                self.assertTrue(CALLS * 0.4 < sum(hit) < CALLS * 0.6, sum(hit))
                self.assertEqual(set(self.verdicts(path, number, xids, hit).values()), {"no difference"})
                path, number, xids = self.recorded("delay:50us", seed, "delayed.pcapng")
                self.assertEqual(self.verdicts(path, number, xids, hit), {"rtt": "slower", "service": "slower"})


if __name__ == "__main__":
    unittest.main()
