#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Live commands as a user runs them: `stag serve` with a client, its --check and --record, and how it ends.
live_test.py STAG"""
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

from iwarp_client import Client

STAG = None


class Serve:
    """A running `stag serve` on a free port."""

    def __init__(self, *arguments, limit=None):
        def prepare():
            if limit:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        self.process = subprocess.Popen(
            [STAG, "serve", "--listen", "127.0.0.1:0", "--transport", "iwarp", "--format", "jsonl", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=prepare)
        self.port = json.loads(self.process.stdout.readline())["port"]

    def end(self, how=signal.SIGINT):
        """Status, the objects on stdout, stderr."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, [json.loads(line) for line in out.splitlines()], err


def stag(*arguments):
    done = subprocess.run([STAG, *arguments], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


class Live(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "recording.pcapng")

    def tearDown(self):
        self.folder.cleanup()

    def test_check_of_fine_traffic(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            serve = Serve("--mode", "null", "--check")
            with Client(serve.port) as client:
                self.assertEqual(len(client.call(7)), 24)
            status, lines, err = serve.end(how)
            self.assertEqual((status, err), (0, ""))
            summary = lines[-1]
            self.assertEqual((summary["type"], summary["transactions"]), ("summary", 1))
            self.assertEqual(summary["findings"]["error"], 0)

    def test_check_of_broken_traffic(self):
        serve = Serve("--mode", "null", "--check")
        with Client(serve.port) as client:
            client.call(7)
            client.send(struct.pack(">7I", 8, 1, 32, 9, 0, 0, 0))  # there is no rdma_proc 9 (RFC 8166 section 4.1)
            self.assertEqual(struct.unpack(">5I", client.receive()[:20])[3:], (4, 2))  # RDMA_ERROR, ERR_CHUNK
        status, lines, _ = serve.end()
        self.assertEqual(status, 1)
        self.assertIn("HDR-004", [line.get("rule") for line in lines if line["type"] == "finding"])

    def test_a_client_that_breaks_off(self):
        serve = Serve("--mode", "null")
        with Client(serve.port) as client:
            client.call(7)
            client.socket.sendall(b"\0\4abcd\0\0none")  # an FPDU whose CRC is wrong
            client.socket.recv(100)  # Terminate
        status, lines, err = serve.end()
        self.assertEqual((status, err), (0, ""))
        troubles = [line for line in lines if line["type"] == "trouble"]
        self.assertEqual([line["times"] for line in troubles], [1], lines)
        self.assertEqual(lines[-1]["broken"], 1)

    def test_recording_is_what_was_sent(self):
        serve = Serve("--mode", "echo", "--record", self.file)
        sizes = [0, 1, 4, 500, 900]
        with Client(serve.port) as client:
            for xid, size in enumerate(sizes, 1):
                opaque = size.to_bytes(4, "big") + bytes(range(256)) * 4
                opaque = opaque[:4 + size] + b"\0" * (-size % 4)
                reply = client.call(xid, ECHO, 1, 1, opaque)
                self.assertEqual(reply[24:], opaque)
        status, lines, err = serve.end()
        self.assertEqual((status, err), (0, ""))
        status, out, err = stag("transactions", "--format", "jsonl", self.file)
        self.assertEqual((status, err), (0, ""))
        listed = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([(t["xid"], t["call_complete"], t["reply_complete"]) for t in listed],
                         [(f"0x{xid:08x}", True, True) for xid in range(1, len(sizes) + 1)])
        self.assertEqual([t["call_bytes"] for t in listed], [40 + 4 + size + -size % 4 for size in sizes])
        self.assertEqual([t["reply_bytes"] for t in listed], [24 + 4 + size + -size % 4 for size in sizes])
        status, out, err = stag("check", self.file)
        self.assertEqual((status, err), (0, ""), out)

    def test_recording_on_a_full_disk(self):
        serve = Serve("--mode", "null", "--record", self.file, limit=20_000)
        calls = 400
        with Client(serve.port) as client:
            for xid in range(1, calls + 1):
                client.call(xid)  # all are answered
        status, lines, err = serve.end()
        self.assertEqual(status, 2)
        self.assertEqual(lines[-1]["replies"], calls)
        self.assertIn(f"cannot write {self.file}: File too large: no more is recorded", err)
        self.assertRegex(err, r"\d+ frames of the recording could not be written; \d+ are in the file")
        status, out, err = stag("transactions", "--format", "jsonl", self.file)
        self.assertEqual((status, err), (0, ""))
        self.assertGreater(out.count('"reply_complete":true'), 50)

    def test_recorded(self):
        capture = os.path.join(os.path.dirname(__file__), "../../pcaps/real/rxe-nfs3.pcap.zst")
        serve = Serve(capture, "--check")
        with Client(serve.port) as client:
            self.assertEqual(client.call(7), struct.pack(">6I", 7, 1, 0, 0, 0, 0))  # NULL: accepted, no results
            root = struct.pack(">I", 8) + bytes.fromhex("0100010000000000")
            for xid in (8, 9):  # with AUTH_SYS then, without now
                self.assertEqual(client.call(xid, procedure=19, arguments=root)[24:28], bytes(4))  # FSINFO: NFS3_OK
            refused = client.call(10, procedure=19, arguments=struct.pack(">3I", 8, 1, 2))
            self.assertEqual(refused[24:], struct.pack(">2I", 10004, 0))  # NFS3ERR_NOTSUPP, no attributes
        status, lines, err = serve.end()
        self.assertEqual((status, err), (0, ""))
        unmatched = [line for line in lines if line["type"] == "unmatched"]
        self.assertEqual([(line["text"], line["times"]) for line in unmatched],
                         [("NFSv3 FSINFO: no such Call; arguments, 12 bytes: 000000080000000100000002", 1)])
        recorded = [line for line in lines if line["type"] == "recorded"][0]
        self.assertEqual((recorded["matched"], recorded["unmatched"]), (3, 1))

    def test_replay_against_its_recording(self):
        """Every answer has the recorded status; both ends record the same traffic, and nothing is wrong with it."""
        for name in ("rxe-nfs3", "rxe-nfs4.1", "siw-nfs4.1", "siw-midstream-nfs4.1"):
            capture = os.path.join(os.path.dirname(__file__), f"../../pcaps/real/{name}.pcap.zst")
            serve = Serve(capture, "--check", "--record", self.file)
            client = os.path.join(self.folder.name, "client.pcapng")
            status, out, err = stag("replay", capture, "--to", f"127.0.0.1:{serve.port}", "--expect-match", "100",
                                    "--check", "--record", client)
            self.assertEqual(status, 0, (name, out, err))
            status, lines, err = serve.end()
            self.assertEqual((status, [line for line in lines if line["type"] == "unmatched"]), (0, []), (name, err))
            listed = []
            for file in (capture, self.file, client):
                out = stag("transactions", "--format", "jsonl", file)[1]
                listed.append([json.loads(line) for line in out.splitlines()])
            facts = ("name", "ops", "status", "call_bytes", "reply_bytes", "data_bytes", "data_sha256",
                     "reply_complete")
            played = [[tuple(map(str, map(t.get, facts))) for t in part if not t["backward"] and t["reply_complete"]]
                      for part in listed]
            self.assertEqual(played[1], played[2], name)
            self.assertGreater(len(played[1]), 20)
            # Owners of NFSv4 clients have another length.
            sent = [(t[0], t[2], t[4], t[5], t[6]) for t in played[0]]
            self.assertEqual([(t[0], t[2], t[4], t[5], t[6]) for t in played[1]], sent, name)

    def test_options_that_contradict(self):
        for arguments, why in (([], "--mode is needed"), (["--mode", "recorded"], "needs a FILE"),
                               (["x", "--mode", "echo"], "is for --mode recorded"),
                               (["/nowhere/x"], "No such file"),
                               (["x", "--export", "/tmp"], "are for --mode nfs-memory"),
                               (["--mode", "null", "--mount-port", "0"], "is for --mode nfs-memory and recorded")):
            status, out, err = stag("serve", *arguments)
            self.assertEqual((status, out), (2, ""), err)
            self.assertIn(why, err)

    def test_files_that_cannot_be(self):
        for path, why in (("/nowhere/x", "No such file or directory"), (self.folder.name, "Is a directory"),
                          ("-", "a file is needed")):
            status, out, err = stag("serve", "--mode", "null", "--record", path)
            self.assertEqual((status, out), (2, ""))
            self.assertIn(why, err)


ECHO = int(re.search(r"program (0x[0-9a-f]+)", subprocess.run([sys.argv[1], "serve", "--help"], capture_output=True,
                                                               text=True).stdout).group(1), 16)

if __name__ == "__main__":
    STAG = sys.argv.pop(1)
    unittest.main()
