#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The live commands over verbs between processes, on the device of tests/null_verbs (README.md there): relays, faults, and
the handles of each call. STAG_TEST_NULL_VERBS names its library. null_verbs_test.py STAG"""
import os
import subprocess
import tempfile
import unittest

from live_runs import REAL, fine, lines, relay, serve, stag


def fields(file, name):
    done = subprocess.run(["tshark", "-n", "-r", file, "-Y", name, "-T", "fields", "-e", name], capture_output=True,
                          text=True, check=True)
    return done.stdout.split()


class NullVerbs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = os.path.join(self.folder.name, "recording.pcapng")

    def test_through_a_relay(self):
        loads = {"null": ["--mode", "null", "--calls", "300"],
                 "echo": ["--mode", "echo", "--calls", "200", "--size", "1-20K", "--verify", "--position-zero", "20"],
                 "nfs-memory": ["--mode", "nfs3", "--calls", "200", "--size", "1-64K", "--verify", "--segments", "3"]}
        for mode, load in loads.items():
            mount = ["--mount-port", "0"] if mode == "nfs-memory" else []
            others = ["--to-server", "1024/1024", "--to-client", "8192/4096/R"]
            for terms in [[]] if mode == "null" else [[], others]:
                with self.subTest(mode=mode, terms=terms), serve("--mode", mode, *mount, "--check") as server, \
                        relay(server.to, "--check", *terms) as middle:
                    last = ["--mount-port", server.mount_port] if mount else []
                    fine("generate", "--to", middle.to, "--check", "--seed", 7, *load, *last)
                    middle.end()
                    self.assertEqual((middle.status, middle.err), (0, ""))
                    server.end()
                    direction = middle.of("direction", direction="forward")[0]
                    self.assertEqual(middle.summary()["calls"], server.of("served")[0]["calls"])
                    self.assertEqual((direction["caller"]["errors"], direction["in_flight"]), (0, 0))

    def test_a_capture_replayed(self):
        for name in ("rxe-nfs3.pcap.zst", "siw-nfs4.1.pcap.zst"):
            with self.subTest(name), serve(REAL / name, "--check", "--record", self.file) as server:
                fine("replay", REAL / name, "--to", server.to, "--expect-match", "100", "--check")
                server.end()
                self.assertEqual(server.of("unmatched"), [])
                fine("check", self.file)

    def test_handles_of_every_call(self):
        """By memory windows: with remote invalidation and without it, no call has the handle of the one before."""
        for when, more in (("once", ["--no-remote-invalidation"]), ("per-call", ["--no-remote-invalidation"]),
                           ("per-call", []), ("once", [])):
            with self.subTest(when=when, more=more):
                with serve("--mode", "nfs-memory", "--mount-port", "0", "--check", "--record", self.file) as server:
                    fine("generate", "--to", server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--calls", 200,
                         "--depth", 1, "--mix", "read=1", "--always-chunks", "--register", when, "--verify", *more)
                self.assertEqual(server.err, "")
                written, invalidated = fields(self.file, "infiniband.reth.r_key"), fields(self.file, "infiniband.ieth")
                agreed = lines(fine("connections", "--format", "jsonl", self.file))[0]["remote_invalidation"]
                self.assertEqual(agreed, not more)
                self.assertEqual(invalidated == [], bool(more))
                writes = [key for n, key in enumerate(written) if n == 0 or key != written[n - 1]]
                self.assertGreaterEqual(len(written), 200)
                if when == "once" and more:
                    self.assertLess(len(set(written)), 30)
                else:
                    self.assertGreaterEqual(len(writes), 200)

    def test_a_recording_of_a_client_is_no_evidence_against_the_server(self):
        """It lacks what the server's adapter did by RDMA, and says so: nothing of that is taken for missing."""
        with serve("--mode", "nfs-memory", "--mount-port", "0") as server:
            fine("generate", "--to", server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--calls", 200,
                 "--always-chunks", "--verify", "--record", self.file)
        tshark = subprocess.run(["tshark", "-n", "-r", self.file, "-Y", "frame.comment", "-T", "fields", "-e", "frame.number",
                                 "-e", "frame.comment"], capture_output=True, text=True, check=True)
        self.assertEqual(len(tshark.stdout.splitlines()), 1)
        self.assertIn("RDMA by the passive side", tshark.stdout)
        checked = lines(fine("check", "--format", "jsonl", self.file))
        self.assertEqual([line for line in checked if line.get("severity") == "error"], [])
        # Without the comment, as a capture of the wire, it is: READs without Writes, Read lists that nobody pulls.
        plain = self.file + ".pcap"
        subprocess.run(["tshark", "-r", self.file, "-F", "nsecpcap", "-w", plain], capture_output=True, check=True)
        done = stag("check", "--format", "jsonl", plain)
        self.assertEqual(done.returncode, 1)
        self.assertLessEqual({"RDLIST-007", "WRLIST-009"}, {line.get("rule") for line in lines(done)})

    def test_faults(self):
        """Whatever ends a connection, on either side: both say so, and every call is answered on a later one."""
        says = {"rnr": "no receive posted (RNR)", "protection": "the peer's memory may not be accessed so",
                "silence": "not acknowledged by the peer in time", "disconnect": "the peer disconnected"}
        for what, text in says.items():
            fault = {"STAG_NULL_FAULT": what + "@30"}
            for side in ("server", "client"):
                with self.subTest(what=what, side=side):
                    with serve("--mode", "null", variables=fault if side == "server" else None) as server:
                        done = stag("generate", "--to", server.to, "--calls", 100, "--depth", 4, "--reconnect", 20,
                                    "--format", "jsonl", **(fault if side == "client" else {}))
                    self.assertEqual((done.returncode, server.err), (0, ""), done.stdout + done.stderr)
                    [generated] = [line for line in lines(done) if line["type"] == "generated"]
                    self.assertEqual((generated["calls"], generated["ok"]), (100, 100))
                    troubles = [line["text"] for line in
                                (server.of("trouble") if side == "server" else lines(done)) if line["type"] == "trouble"]
                    if what != "disconnect" or side == "client":
                        self.assertTrue(any(text in trouble for trouble in troubles), troubles)

    def test_the_device_goes(self):
        with serve("--mode", "null", variables={"STAG_NULL_FAULT": "removal@30"}, expect=2) as server:
            done = stag("generate", "--to", server.to, "--calls", 100)
            server.wait()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("the RDMA device was removed", server.err)


unittest.main()
