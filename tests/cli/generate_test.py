#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stag generate against stag serve, on loopback: loads of every mode, both sides judged, every byte verified; wrong
options; signals.

    generate_test.py STAG
"""
import json
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import time
import unittest

import live_runs
from live_runs import STAG, await_blocked, await_connection, fine, lines, popen, stag


def generate(*arguments):
    return stag("generate", *arguments)


def serve(*arguments, **rest):
    return live_runs.serve(*arguments, "--check", **rest)


def lines_of(done):
    """The JSON lines by type; operations and troubles are lists."""
    of = {"operation": [], "trouble": []}
    for line in lines(done):
        if line["type"] in ("operation", "trouble"):
            of[line["type"]].append(line)
        else:
            of[line["type"]] = line
    return of


class Generate(unittest.TestCase):
    def fine(self, done):
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_null(self):
        with serve("--mode", "null") as server:
            done = generate("--to", server.to, "--calls", "500", "--check", "--format", "jsonl")
        self.fine(done)
        said = lines_of(done)
        self.assertEqual(said["generated"]["calls"], 500)
        self.assertEqual(said["generated"]["ok"], 500)
        self.assertEqual(said["summary"]["findings"]["error"], 0)
        self.assertGreaterEqual(said["summary"]["transactions"], 500)
        [null] = said["operation"]
        self.assertEqual(null["name"], "NULL")
        latency = null["latency_ns"]
        order = [latency[name] for name in ("min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max")]
        self.assertEqual(order, sorted(order))
        self.assertGreater(order[0], 0)

    def test_echo(self):
        with serve("--mode", "echo") as server:
            done = generate("--to", server.to, "--mode", "echo", "--size", "1-20K", "--calls", "300", "--verify", "--check",
                            "--format", "jsonl", "--position-zero", "10", "--segments", "4", "--connections", "2")
        self.fine(done)
        said = lines_of(done)
        self.assertEqual(said["generated"]["ok"], 300)
        self.assertEqual(said["generated"]["verified_bytes"] * 2, said["generated"]["bytes"])
        self.assertEqual(said["summary"]["connections"], 2)

    def test_nfs3(self):
        with serve("--mode", "nfs-memory", "--mount-port", "0") as server:
            done = generate("--to", server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--calls", "400",
                            "--mix", "read=5,write=4,getattr=1,lookup=1,readdirplus=1,null=1", "--size", "1-9K:9,64K-1M:1",
                            "--file-size", "4M", "--verify", "--check", "--format", "jsonl")
            text = generate("--to", server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--calls", "50",
                            "--sequential", "--seed", "7")
        self.fine(done)
        self.fine(text)
        said = lines_of(done)
        self.assertEqual(said["generated"]["ok"], 400)
        read = next(line for line in said["operation"] if line["name"] == "READ")
        self.assertEqual(said["generated"]["verified_bytes"], read["bytes"])
        self.assertEqual(said["summary"]["findings"]["error"], 0)
        self.assertIn("seed 7", text.stdout)
        procedures = {line["name"]: line["calls"] for line in server.lines if line["type"] == "procedure"}
        self.assertEqual(procedures["NFSv3 CREATE"], procedures["NFSv3 REMOVE"])

    def test_same_seed_same_calls(self):
        counts = []
        with serve("--mode", "nfs-memory", "--mount-port", "0") as server:
            for _ in range(2):
                done = generate("--to", server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--calls", "200",
                                "--seed", "5", "--size", "1-9K", "--format", "jsonl")
                self.fine(done)
                counts.append([(line["name"], line["calls"], line["bytes"]) for line in lines_of(done)["operation"]])
        self.assertEqual(*counts)

    def test_registration_of_every_call(self):
        """Of the handles that transactions name, none is used again, or each is used again and again."""
        handles = {}
        for when in ("once", "per-call"):
            with tempfile.TemporaryDirectory() as folder, serve("--mode", "nfs-memory", "--mount-port", "0") as server:
                file = os.path.join(folder, "load.pcapng")
                self.fine(generate("--to", server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--calls", "200",
                                   "--depth", "1", "--mix", "read=1", "--always-chunks", "--register", when,
                                   "--no-remote-invalidation", "--verify", "--record", file))
                # The ports are any: one may be another protocol's, 44818 for example.
                tcp = subprocess.run(["tshark", "-n", "-o", "tcp.try_heuristic_first:TRUE", "-r", file, "-Y",
                                      "iwarp_rdma.opcode == 0", "-T", "fields", "-e", "iwarp_ddp.stag"], capture_output=True,
                                     text=True, check=False).stdout.split()
                handles[when] = (len(tcp), len(set(tcp)))
        self.assertEqual(handles["once"][0], 200)
        self.assertLess(handles["once"][1], 10)
        self.assertEqual(*handles["per-call"])

    def test_recorded(self):
        """What --record writes, read by stag transactions, is what the report says."""
        with tempfile.TemporaryDirectory() as folder, serve("--mode", "nfs-memory", "--mount-port", "0") as server:
            file = os.path.join(folder, "load.pcapng")
            done = generate("--to", server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--calls", "200",
                            "--size", "1-9K", "--file-size", "64K", "--record", file, "--format", "jsonl")
            self.fine(done)
            transactions = lines(fine("transactions", file, "--format", "jsonl"))
        self.assertTrue(all(t["call_complete"] and t["reply_complete"] for t in transactions))
        for operation in lines_of(done)["operation"]:
            mine = [t for t in transactions if t["name"] == operation["name"]]
            filling = [t for t in mine if t["name"] == "WRITE" and t["data_bytes"] == 65536]
            self.assertEqual(len(mine) - len(filling), operation["calls"])
            if operation["name"] != "GETATTR":
                self.assertEqual(sum(t["data_bytes"] for t in mine if t not in filling), operation["bytes"])

    def test_long_data_recorded(self):
        """Long data are recorded from where they lie: both ends have recorded the same."""
        with tempfile.TemporaryDirectory() as folder:
            mine, theirs = os.path.join(folder, "client.pcapng"), os.path.join(folder, "server.pcapng")
            with serve("--mode", "nfs-memory", "--mount-port", "0", "--record", theirs) as server:
                self.fine(generate("--to", server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--calls", 200,
                                   "--mix", "read=1,write=1", "--size", "16K-1M", "--file-size", "4M", "--depth", 8,
                                   "--connections", 2, "--verify", "--record", mine))
                server.end()
            contents = []
            # Over verbs the client's recording lacks what the server does by RDMA.
            for file in (theirs, mine) if live_runs.TRANSPORT == "iwarp" else (theirs,):
                manifest = lines(fine("extract", file, "--out", file + ".files", "--format", "jsonl"))
                files = [line for line in manifest if line["type"] == "file"]
                self.assertEqual([(line["size"], line["complete"]) for line in files], 2 * [(4 << 20, True)])
                contents.append([pathlib.Path(line["path"]).read_bytes() for line in sorted(files, key=lambda f: f["name"])])
            self.assertTrue(all(content == contents[0] for content in contents))
            self.assertNotEqual(contents[0][0].count(0), 4 << 20)

    def test_threads(self):
        """Two connections on two threads, at both ends: what these check and record has every call of each, in its order."""
        with tempfile.TemporaryDirectory() as folder:
            client, theirs = os.path.join(folder, "client.pcapng"), os.path.join(folder, "server.pcapng")
            with serve("--mode", "nfs-memory", "--mount-port", "0", "--threads", 2, "--record", theirs) as server:
                done = generate("--to", server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--calls", 600,
                                "--size", "1-9K", "--file-size", "256K", "--verify", "--connections", 2, "--threads", 2,
                                "--check", "--record", client, "--format", "jsonl")
                server.end()
                self.assertEqual(server.err, "")
            self.fine(done)
            listed = [lines(fine("transactions", file, "--format", "jsonl")) for file in (client, theirs)]
            again = fine("check", theirs, "--format", "jsonl")
        rows = [{n: [(t["xid"], t["name"], t["call_form"]) for t in sorted(part, key=lambda t: t["call_frame"])
                     if t["connection"] == n] for n in (1, 2)} for part in listed]
        # The connections are numbered as each side has them, in the order in which they were made: one after the other.
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(sum(map(len, rows[1].values())), len(listed[1]))
        self.assertTrue(all(rows[1].values()))
        # An adapter does not report to the client what the server does by RDMA (replay/record/README.md).
        self.assertTrue(all(t["call_complete"] and t["reply_complete"] for t in listed[1]))
        self.assertEqual(len(listed[1]), server.of("served")[0]["calls"])
        said = lines_of(done)
        for name, count in ((line["name"], line["calls"]) for line in said["operation"]):
            self.assertGreaterEqual(sum(t["name"] == name for t in listed[1]), count)
        live, file = server.of("summary")[0], lines_of(again)["summary"]
        for summary in (live, file, said["summary"]):
            self.assertEqual((summary["connections"], summary["transactions"]), (2, len(listed[1])))
            self.assertEqual(summary["findings"]["error"], 0)
        self.assertEqual(*[{rule: counts for rule, counts in summary["outcomes"].items() if rule.startswith("HDR")}
                           for summary in (live, file)])

    def test_progress_line(self):
        """Only on a terminal, and gone at the end."""
        leader, follower = pty.openpty()
        with serve("--mode", "null") as server:
            with popen([STAG, "generate", "--to", server.to, "--rate", "100", "--duration", "1200ms"],
                                  stdout=subprocess.PIPE, stderr=follower) as client:
                client.communicate(timeout=60)
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 65536):  # it comes in pieces
                shown += part
        except OSError:  # EIO: the other side is closed, and all is read
            pass
        os.close(leader)
        shown = shown.decode()
        self.assertRegex(shown, r"\r\x1b\[K[0-9.]+ s  [0-9]+ calls/s  0\.0 MB/s  outstanding [01]  errors 0")
        self.assertTrue(shown.endswith("\r\x1b[K"))

    def test_open_loop(self):
        with serve("--mode", "null") as server:
            done = generate("--to", server.to, "--rate", "500", "--duration", "500ms", "--format", "jsonl")
        self.fine(done)
        line = lines_of(done)["generated"]
        self.assertEqual(line["calls"] + line["unsent"], 250)

    def test_failed_calls(self):
        with serve("--mode", "null") as server:
            done = generate("--to", server.to, "--calls", "5", "--program", "400000", "--format", "jsonl")
        self.assertEqual(done.returncode, 1)
        [operation] = lines_of(done)["operation"]
        self.assertEqual(operation["failures"], [{"status": "PROG_UNAVAIL", "calls": 5, "first": "NULL"}])
        self.assertEqual(operation["ok"], 0)

    def test_more_than_the_server_granted(self):
        # A server that posts as many receives as it grants ends the connection; what was sent to it is accounted for.
        options = ("--mode", "echo", "--size", "100", "--depth", "16", "--credits", "16", "--calls", "100", "--check",
                   "--format", "jsonl")
        with serve("--mode", "echo", "--credits", "4", "--delay", "20", expect=1) as server:
            done = generate("--to", server.to, "--ignore-credits", *options)
            honoured = generate("--to", server.to, *options)
        self.assertEqual(done.returncode, 1)
        said = lines_of(done)
        self.assertEqual(said["generated"]["lost"], said["operation"][0]["calls"])
        self.assertIn("no buffer available", said["trouble"][0]["text"])
        self.assertEqual(said["finding"]["rule"], "CRED-005")
        self.fine(honoured)
        self.assertEqual(lines_of(honoured)["generated"]["ok"], 100)
        self.assertLessEqual(lines_of(honoured)["generated"]["max_outstanding"], 4)
        self.assertIn("CRED-005", {line.get("rule") for line in server.lines})

    def test_server_gone(self):
        with serve("--mode", "echo", expect=-signal.SIGKILL) as server, \
                popen([STAG, "generate", "--to", server.to, "--mode", "echo", "--format", "jsonl"],
                                 stdout=subprocess.PIPE, text=True) as client:
            await_connection(server.port)
            time.sleep(0.5)
            server.end(signal.SIGKILL)
            out, _ = client.communicate(timeout=60)
            self.assertEqual(client.returncode, 1)
        said = [json.loads(line) for line in out.splitlines()]
        echo = next(line for line in said if line["type"] == "operation")
        self.assertEqual(echo["calls"], echo["ok"] + said[-1]["lost"])
        self.assertGreater(said[-1]["lost"], 0)
        self.assertEqual(said[-1]["abandoned"], 1)

    def test_signal(self):
        with serve("--mode", "nfs-memory", "--mount-port", "0") as server:
            for number in (signal.SIGINT, signal.SIGTERM):
                with popen([STAG, "generate", "--to", server.to, "--mode", "nfs3", "--mount-port",
                                       server.mount_port, "--duration", "1h", "--format", "jsonl"],
                                      stdout=subprocess.PIPE, text=True) as client:
                    await_blocked(client, number)
                    await_connection(server.port)
                    time.sleep(0.5)
                    client.send_signal(number)
                    out, _ = client.communicate(timeout=60)
                    self.assertEqual(client.returncode, 0, out)
                self.assertTrue(json.loads(out.splitlines()[-1])["interrupted"])
        procedures = {line["name"]: line["calls"] for line in server.lines if line["type"] == "procedure"}
        self.assertEqual(procedures["NFSv3 CREATE"], procedures["NFSv3 REMOVE"])

    def test_wrong_options(self):
        for arguments, words in (
                (["--mode", "null"], "--to"),
                (["--to", "x:y"], "port"),
                (["--to", ":20049"], "host is missing"),
                (["--to", ""], "--to"),
                (["--to", "x", "--mix", "read"], "no READ"),
                (["--to", "x", "--mode", "nfs3", "--mix", "read=x"], "not a mix"),
                (["--to", "x", "--mode", "nfs3", "--mix", "read=0"], "no operation"),
                (["--to", "x", "--mode", "nfs4", "--mix", "lookup"], "no LOOKUP"),
                (["--to", "x", "--size", "0"], "not a size"),
                (["--to", "x", "--size", "9K-4K"], "not a size"),
                (["--to", "x", "--duration", "soon"], "not a time"),
                (["--to", "x", "--rate", "5", "--bandwidth", "5M", "--mode", "echo"], "exclude"),
                (["--to", "x", "--bandwidth", "5M"], "the mix has none"),
                (["--to", "x", "--verify"], "nothing to --verify"),
                (["--to", "x", "--depth", "9", "--credits", "8"], "more than --credits"),
                (["--to", "x", "--threads", "2"], "1 connection"),
                (["--to", "x", "--mode", "nfs3", "--size", "1M", "--file-size", "64K"], "does not fit"),
                (["--to", "x", "--mode", "nfs3", "--handle", "abc"], "hexadecimal"),
                (["--to", "x", "--handle", "abcd"], "nfs3")):
            done = generate(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr, arguments)
            self.assertEqual(done.stdout, "", arguments)

    def test_no_server(self):
        done = generate("--to", "127.0.0.1:1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("connection refused", done.stderr)
        with serve("--mode", "nfs-memory", "--mount-port", "0") as server:
            done = generate("--to", server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--export", "/none")
            self.assertEqual(done.returncode, 2)
            self.assertIn("has no directory /none", done.stderr)
            done = generate("--to", server.to, "--mode", "nfs3", "--handle", "00" * 24)
            self.assertEqual(done.returncode, 2)
            self.assertIn("NFS3ERR_STALE", done.stderr)


if __name__ == "__main__":
    unittest.main()
