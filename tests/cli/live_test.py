#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Live commands as a user runs them: `stag serve` with a client, its --check and --record, and how it ends.
live_test.py STAG"""
import os
import re
import resource
import signal
import struct
import tempfile
import threading
import unittest

from iwarp_client import Client
from live_runs import REAL, fine, lines, serve, stag

ECHO = int(re.search(r"program (0x[0-9a-f]+)", fine("serve", "--help").stdout).group(1), 16)


def with_small_files(limit):
    """For a process to come: it cannot write more than so many bytes to a file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


class Live(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "recording.pcapng")

    def tearDown(self):
        self.folder.cleanup()

    def test_check_of_fine_traffic(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            with serve("--mode", "null", "--check") as server:
                with Client(server.port) as client:
                    self.assertEqual(len(client.call(7)), 24)
                server.end(how)
            self.assertEqual(server.err, "")
            summary = server.lines[-1]
            self.assertEqual((summary["type"], summary["transactions"]), ("summary", 1))
            self.assertEqual(summary["findings"]["error"], 0)

    def test_check_of_broken_traffic(self):
        with serve("--mode", "null", "--check", expect=1) as server, Client(server.port) as client:
            client.call(7)
            client.send(struct.pack(">7I", 8, 1, 32, 9, 0, 0, 0))  # there is no rdma_proc 9 (RFC 8166 section 4.1)
            self.assertEqual(struct.unpack(">5I", client.receive()[:20])[3:], (4, 2))  # RDMA_ERROR, ERR_CHUNK
        self.assertIn("HDR-004", [line["rule"] for line in server.of("finding")])

    def test_a_client_that_breaks_off(self):
        with serve("--mode", "null") as server, Client(server.port) as client:
            client.call(7)
            client.socket.sendall(b"\0\4abcd\0\0none")  # an FPDU whose CRC is wrong
            client.socket.recv(100)  # Terminate
        self.assertEqual(server.err, "")
        self.assertEqual([line["times"] for line in server.of("trouble")], [1], server.lines)
        self.assertEqual(server.lines[-1]["broken"], 1)

    def test_recording_is_what_was_sent(self):
        sizes = [0, 1, 4, 500, 900]
        with serve("--mode", "echo", "--record", self.file) as server, Client(server.port) as client:
            for xid, size in enumerate(sizes, 1):
                opaque = size.to_bytes(4, "big") + bytes(range(256)) * 4
                opaque = opaque[:4 + size] + b"\0" * (-size % 4)
                reply = client.call(xid, ECHO, 1, 1, opaque)
                self.assertEqual(reply[24:], opaque)
        self.assertEqual(server.err, "")
        done = fine("transactions", "--format", "jsonl", self.file)
        self.assertEqual(done.stderr, "")
        listed = lines(done)
        self.assertEqual([(t["xid"], t["call_complete"], t["reply_complete"]) for t in listed],
                         [(f"0x{xid:08x}", True, True) for xid in range(1, len(sizes) + 1)])
        self.assertEqual([t["call_bytes"] for t in listed], [40 + 4 + size + -size % 4 for size in sizes])
        self.assertEqual([t["reply_bytes"] for t in listed], [24 + 4 + size + -size % 4 for size in sizes])
        self.assertEqual(fine("check", self.file).stderr, "")

    def test_recording_on_a_full_disk(self):
        calls = 400
        with serve("--mode", "null", "--record", self.file, expect=2, prepare=lambda: with_small_files(20_000)) as server, \
                Client(server.port) as client:
            for xid in range(1, calls + 1):
                client.call(xid)  # all are answered
        self.assertEqual(server.lines[-1]["replies"], calls)
        self.assertIn(f"cannot write {self.file}: File too large: until it can be written again, what happens is not recorded", server.err)
        self.assertRegex(server.err, r"\d+ frames of the recording could not be written; \d+ are in the file")
        done = fine("transactions", "--format", "jsonl", self.file)
        self.assertEqual(done.stderr, "")
        self.assertGreater(done.stdout.count('"reply_complete":true'), 50)

    def test_recording_on_a_disk_that_is_full_for_a_while(self):
        limit, hard = 300_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        with serve("--mode", "null", "--record", self.file, expect=2) as server, Client(server.port) as client:
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (limit, hard))
            xid = 0

            def call_while(condition):
                nonlocal xid
                while condition():
                    xid += 1
                    client.call(xid)
            words = []
            reader = threading.Thread(target=lambda: words.append(server.process.stderr.readline()))
            reader.start()
            call_while(reader.is_alive)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
            call_while(lambda: os.path.getsize(self.file) <= limit)
            client.call(xid + 1)
        self.assertRegex(words[0], "File too large: until it can be written again, what happens is not recorded")
        self.assertRegex(server.err, r"\d+ frames? of the recording could not be written; \d+ are in the file")
        listed = [t["xid"] for t in lines(stag("transactions", "--format", "jsonl", self.file)) if t["reply_complete"]]
        self.assertEqual((listed[0], listed[-1]), ("0x00000001", f"0x{xid + 1:08x}"))
        self.assertLess(len(listed), xid)

    def test_recorded(self):
        with serve(REAL / "rxe-nfs3.pcap.zst", "--check") as server, Client(server.port) as client:
            self.assertEqual(client.call(7), struct.pack(">6I", 7, 1, 0, 0, 0, 0))  # NULL: accepted, no results
            root = struct.pack(">I", 8) + bytes.fromhex("0100010000000000")
            for xid in (8, 9):  # with AUTH_SYS then, without now
                self.assertEqual(client.call(xid, procedure=19, arguments=root)[24:28], bytes(4))  # FSINFO: NFS3_OK
            refused = client.call(10, procedure=19, arguments=struct.pack(">3I", 8, 1, 2))
            self.assertEqual(refused[24:], struct.pack(">2I", 10004, 0))  # NFS3ERR_NOTSUPP, no attributes
        self.assertEqual(server.err, "")
        self.assertEqual([(line["text"], line["times"]) for line in server.of("unmatched")],
                         [("NFSv3 FSINFO: no such Call; arguments, 12 bytes: 000000080000000100000002", 1)])
        recorded = server.of("recorded")[0]
        self.assertEqual((recorded["matched"], recorded["unmatched"]), (3, 1))

    def test_replay_against_its_recording(self):
        """Every answer has the recorded status; both ends record the same traffic, and nothing is wrong with it."""
        for name in ("rxe-nfs3", "rxe-nfs4.1", "siw-nfs4.1", "siw-midstream-nfs4.1"):
            capture = REAL / f"{name}.pcap.zst"
            client = os.path.join(self.folder.name, "client.pcapng")
            with serve(capture, "--check", "--record", self.file) as server:
                fine("replay", capture, "--to", server.to, "--expect-match", "100", "--check", "--record", client)
            self.assertEqual(server.of("unmatched"), [], name)
            listed = [lines(stag("transactions", "--format", "jsonl", file)) for file in (capture, self.file, client)]
            facts = ("name", "ops", "status", "call_bytes", "reply_bytes", "data_bytes", "data_sha256",
                     "reply_complete")
            played = [[tuple(map(str, map(t.get, facts))) for t in part if not t["backward"] and t["reply_complete"]]
                      for part in listed]
            self.assertEqual(played[1], played[2], name)
            self.assertGreater(len(played[1]), 20)
            # Owners of NFSv4 clients have another length.
            sent = [(t[0], t[2], t[4], t[5], t[6]) for t in played[0]]
            self.assertEqual([(t[0], t[2], t[4], t[5], t[6]) for t in played[1]], sent, name)

    def test_threads(self):
        """In every mode, connections on several threads, with all their calls in the account; all are checked and
        recorded when that is wanted, and the recording is checked with the same result."""
        for mode, program in ((["--mode", "null"], 100003), (["--mode", "echo"], ECHO),
                              (["--mode", "nfs-memory"], 100003), ([REAL / "rxe-nfs3.pcap.zst"], 100003)):
            for watch in ([], ["--check", "--record", self.file]):
                with self.subTest(mode=mode, watch=watch), serve(*mode, "--threads", 3, *watch,
                                                                 expect=1 if watch else 0) as server:
                    clients = [Client(server.port) for _ in range(5)]
                    for xid in range(4):
                        for client in clients:
                            self.assertEqual(client.call(xid, program, 1 if program == ECHO else 3),
                                             struct.pack(">6I", xid, 1, 0, 0, 0, 0))
                    for xid, client in enumerate(clients, 4):
                        client.send(struct.pack(">7I", xid, 1, 32, 9, 0, 0, 0))  # there is no rdma_proc 9
                        self.assertEqual(struct.unpack(">5I", client.receive()[:20])[3:], (4, 2))  # ERR_CHUNK
                    for client in clients:
                        client.socket.close()
                    server.end()
                    self.assertEqual(server.err, "")
                    served = server.of("served")[0]
                    self.assertEqual((served["connections"], served["calls"], served["replies"]), (5, 20, 20))
                    self.assertEqual(served["err_chunk"], 5)
                    self.assertEqual(sum(line["calls"] for line in server.of("procedure")), 20)
                    if not watch:
                        continue
                    listed = lines(fine("transactions", "--format", "jsonl", self.file))
                    answered = [(t["connection"], t["xid"]) for t in listed if t["reply_complete"]]
                    self.assertEqual(sorted(answered), [(c, f"0x{x:08x}") for c in range(1, 6) for x in range(4)])
                    again = stag("check", "--format", "jsonl", self.file)
                    self.assertEqual((again.returncode, again.stderr), (1, ""))
                    found = [sorted((line["connection"], line["rule"], line["xid"], line["severity"], line["certainty"],
                                     line["message"]) for line in part if line["type"] == "finding")
                             for part in (server.lines, lines(again))]
                    self.assertEqual(found[0], found[1])
                    self.assertEqual([line[:3] for line in found[0] if line[1] == "HDR-004"],
                                     [(n, "HDR-004", f"0x{n + 3:08x}") for n in range(1, 6)])

    def test_options_that_contradict(self):
        for arguments, why in (([], "--mode is needed"), (["--mode", "recorded"], "needs a FILE"),
                               (["x", "--mode", "echo"], "is for --mode recorded"),
                               (["/nowhere/x"], "No such file"),
                               (["x", "--export", "/tmp"], "are for --mode nfs-memory"),
                               (["--mode", "null", "--mount-port", "0"], "is for --mode nfs-memory and recorded")):
            done = stag("serve", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(why, done.stderr)

    def test_files_that_cannot_be(self):
        for path, why in (("/nowhere/x", "No such file or directory"), (self.folder.name, "Is a directory"),
                          ("-", "a file is needed")):
            done = stag("serve", "--mode", "null", "--record", path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main()
