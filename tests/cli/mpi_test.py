#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""--mpi under the real mpirun: reports of several ranks are those of one process, byte for byte; and so are complaints and
exit statuses.

    mpi_test.py STAG
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from live_runs import REAL, STAG, serve

CAPTURES = [str(path) for path in sorted(REAL.glob("*.pcap*"))]
NTH = 2 if os.environ.get("STAG_TEST_ALL") else 4  # of the captures
CASES = [str(path) for path in sorted((REAL.parent / "cases").glob("*.pcap"))[:12]]
FORMATS = ["text", "jsonl", "json", "sarif", "junit", "html"]
# More ranks than processors, and nothing of the machine but itself.
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader", "--mca", "pml", "ob1"]
if os.geteuid() == 0:
    MPIRUN.append("--allow-run-as-root")


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, timeout=300, check=False)


def complaints(done):
    """What stag says on stderr; the launcher has its own lines about exit statuses."""
    return [line for line in done.stderr.splitlines() if line.startswith(b"stag: ")]


class Mpi(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)

    def same(self, ranks, *arguments):
        """Runs it with and without; what it gave without."""
        alone = run(STAG, *arguments)
        team = run(*MPIRUN, "-n", ranks, STAG, *arguments, "--mpi")
        self.assertEqual((team.returncode, complaints(team)), (alone.returncode, complaints(alone)), team.stderr)
        # A report names its command line.
        written = team.stdout.replace(b" --mpi", b"") if arguments[0] == "report" else team.stdout
        self.assertTrue(written == alone.stdout, arguments)
        return alone

    def damaged(self):
        path = self.directory / "cut.pcap"
        path.write_bytes(pathlib.Path(CASES[0]).read_bytes()[:-3])
        return path

    def test_every_format(self):
        for number, name in enumerate(FORMATS):
            with self.subTest(format=name):
                done = self.same(2 + number % 3, "check", "--format", name, *CAPTURES[::NTH], *CASES)
                self.assertEqual(done.returncode, 1)
                self.assertGreater(len(done.stdout), 4000)

    def test_files_that_cannot_be_read(self):
        for name in ("text", "json", "html"):
            with self.subTest(format=name):
                done = self.same(3, "check", "--format", name, CAPTURES[0], self.directory / "missing.pcap", CASES[1], self.damaged(),
                                 CASES[2])
                self.assertEqual((done.returncode, len(complaints(done))), (2, 2))
        done = self.same(2, "check", self.directory / "missing.pcap")
        self.assertEqual((done.returncode, done.stdout), (2, b""))

    def test_more_ranks_than_files(self):
        self.same(4, "check", CASES[0])

    def test_fail_on(self):
        path = str(REAL / "siw-reject.pcap")
        self.same(2, "check", "--fail-on", "note", path, path)
        self.assertEqual(self.same(3, "check", "--fail-on", "never", *CASES).returncode, 0)

    def test_acceptance(self):
        known, suppress, written = (self.directory / name for name in ("known.jsonl", "accepted.jsonl", "written.jsonl"))
        self.assertEqual(run(STAG, "check", "--write-baseline", known, *CASES).returncode, 0)
        self.assertEqual(self.same(3, "check", "--write-baseline", written, *CASES).returncode, 0)
        self.assertEqual(written.read_bytes(), known.read_bytes())
        half = b"".join(known.read_bytes().splitlines(keepends=True)[::2])
        known.write_bytes(half + b'{"fingerprint":"0123456789abcdef","rule":"HDR-001","message":"never comes"}\n')
        suppress.write_text('{"rule":"PVT-006","reason":"Linux"}\n{"rule":"CCP","reason":"unused"}\n')
        for name in ("text", "html"):
            done = self.same(3, "check", "--format", name, "--baseline", known, "--suppress", suppress, *CASES, *CAPTURES)
            self.assertEqual(len([line for line in complaints(done) if b"nothing was judged" not in line]), 2)
        # Nothing is written when a capture cannot be read; a list that cannot be read is said once.
        self.same(2, "check", "--write-baseline", self.directory / "none.jsonl", *CASES, self.damaged())
        self.assertFalse((self.directory / "none.jsonl").exists())
        self.assertEqual(len(complaints(self.same(3, "check", "--baseline", self.directory / "none.jsonl", *CASES))), 1)

    def test_transactions(self):
        for ranks, name in ((2, "text"), (4, "jsonl")):
            with self.subTest(format=name):
                done = self.same(ranks, "transactions", "--format", name, *CAPTURES[::NTH], self.directory / "missing", *CASES, self.damaged())
                self.assertEqual(done.returncode, 2)
                self.assertGreater(len(done.stdout), 20000)
        self.same(2, "transactions", "--color", "always", *CASES)
        lines = self.directory / "lines.txt"
        done = run(*MPIRUN, "-n", 2, STAG, "transactions", "--mpi", "--output", lines, *CASES)
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertEqual(lines.read_bytes(), run(STAG, "transactions", *CASES).stdout)
        self.same(2, "transactions", "--quiet", CAPTURES[0])

    def test_transport(self):
        for name in ("text", "jsonl"):
            done = self.same(3, "transport", "--format", name, *CAPTURES[::NTH], self.directory / "missing", *CASES, self.damaged())
            self.assertEqual(done.returncode, 2)

    def test_what_a_capture_is_about(self):
        files = [*CAPTURES[::NTH], self.directory / "missing", *CASES, self.damaged()]
        for command in (["connections"], ["connections", "--format", "jsonl"], ["credits"], ["credits", "--format", "jsonl"],
                        ["limits", "--format", "jsonl"], ["top", "--interval", "50ms"], ["top", "--once", "--format", "jsonl"]):
            with self.subTest(command=command):
                done = self.same(3, *command, *files)
                self.assertEqual(done.returncode, 2)
                self.assertGreater(len(done.stdout), 2000)
        # The blocks that are asked for end with the first file.
        blocks = self.same(2, "top", "--interval", "1ms", "--count", "3", *CAPTURES[:3]).stdout
        self.assertEqual(blocks.count(b"outstanding, p50"), 3)
        picture = run(*MPIRUN, "-n", 2, STAG, "credits", "--mpi", "--svg", self.directory / "credits.svg", CASES[0])
        self.assertEqual((picture.returncode, len(complaints(picture))), (2, 1))
        self.assertFalse((self.directory / "credits.svg").exists())

    def test_report(self):
        files = [*CAPTURES[::NTH], self.directory / "missing", *CASES, self.damaged()]
        done = self.same(3, "report", *files)
        self.assertEqual((done.returncode, len(complaints(done))), (2, 2))
        self.assertEqual(done.stdout.count(b"<details class=\"panel\" open><summary>Credits over time"), 4)
        self.same(2, "report", "--quiet", "--select", "PVT", "--title", "two", CAPTURES[0], self.damaged())
        page = self.directory / "page.html"
        done = run(*MPIRUN, "-n", 2, STAG, "report", "--mpi", "--output", page, *CASES[:3])
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertIn(b"</html>", page.read_bytes())

    def test_latency(self):
        against = CAPTURES[1]
        for command in (["--slowest", "50"], ["--by", "connection", "--format", "jsonl"], ["--by", "file", "--format", "csv"],
                        ["--by", "connection", "--against", against], ["--by", "size", "--against", against, "--fail-on-slower", "0%"]):
            with self.subTest(command=command):
                done = self.same(3, "latency", *command, *CAPTURES[::NTH], *CASES)
                self.assertGreater(len(done.stdout), 500)
        self.same(2, "latency", CASES[0], self.directory / "missing", CAPTURES[0], self.damaged())
        self.assertEqual(self.same(3, "latency", CAPTURES[0], "--against", self.directory / "missing").returncode, 2)
        pictures = [self.directory / name for name in ("alone.svg", "team.svg")]
        run(STAG, "latency", "--svg", pictures[0], *CAPTURES[:3], "--against", against)
        run(*MPIRUN, "-n", 3, STAG, "latency", "--mpi", "--svg", pictures[1], *CAPTURES[:3], "--against", against)
        self.assertEqual(pictures[0].read_bytes(), pictures[1].read_bytes())
        done = run(*MPIRUN, "-n", 2, STAG, "latency", "--mpi", CASES[0], "--against", "-")
        self.assertEqual((done.returncode, done.stdout, len(complaints(done))), (2, b"", 1))

    def generate(self, ranks, server, *arguments):
        done = run(*MPIRUN, "-n", ranks, STAG, "generate", "--mpi", "--to", server, "--format", "jsonl", *arguments)
        return done, [json.loads(line) for line in done.stdout.splitlines()]

    def test_generate(self):
        with serve("--mode", "echo") as server:
            done, lines = self.generate(3, server.to, "--mode", "echo", "--size", "1-9000", "--calls", 200, "--connections", 2, "--verify",
                                        "--record", self.directory / "load.pcapng")
        self.assertEqual((done.returncode, complaints(done)), (0, []))
        [operation, generated] = lines
        self.assertEqual((generated["ranks"], generated["connections"], generated["calls"], generated["ok"]), (3, 6, 600, 600))
        self.assertEqual((operation["calls"], generated["wrong"], generated["lost"]), (600, 0, 0))
        self.assertEqual((server.lines[-1]["connections"], server.lines[-1]["calls"]), (6, 600))
        # Each rank recorded its own, which differ: seeds of their own.
        recorded = sorted(self.directory.glob("load.*.pcapng"))
        self.assertEqual([path.name for path in recorded], ["load.0.pcapng", "load.1.pcapng", "load.2.pcapng"])
        sent = []
        for path in recorded:
            rpcs = [json.loads(line) for line in run(STAG, "transactions", "--format", "jsonl", path).stdout.splitlines()]
            self.assertEqual(len(rpcs), 200)
            sent.append([rpc["call_bytes"] for rpc in rpcs])
        self.assertEqual(len(set(map(tuple, sent))), 3)

    def test_generate_in_files(self):
        with serve("--mode", "nfs-memory", "--mount-port", "0") as server:
            done, lines = self.generate(2, server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--calls", 100, "--seed", 7,
                                        "--verify")
        self.assertEqual((done.returncode, complaints(done)), (0, []))
        self.assertEqual((lines[-1]["calls"], lines[-1]["seed"]), (200, 7))

    def test_generate_in_trouble(self):
        done, lines = self.generate(2, "127.0.0.1:1", "--calls", 5)
        self.assertEqual((done.returncode, lines, len(complaints(done))), (2, [], 1), done.stderr)
        done, _ = self.generate(2, "127.0.0.1:1", "--calls", 5, "--check")
        self.assertEqual((done.returncode, len(complaints(done))), (2, 1))

    def test_replay(self):
        capture = REAL / "rxe-nfs3.pcap.zst"
        with serve("--mode", "null") as server:
            arguments = ["--to", server.to, "--select", "frame=1-300", "--format", "jsonl", capture]
            alone = run(STAG, "replay", *arguments)
            done = run(*MPIRUN, "-n", 3, STAG, "replay", "--mpi", "--connections", 2, *arguments)
        one, six = ([json.loads(line) for line in each.stdout.splitlines()][-1] for each in (alone, done))
        self.assertEqual((done.returncode, complaints(done)), (alone.returncode, complaints(alone)))
        self.assertGreater(one["sent"], 10)
        self.assertEqual(six["ranks"], 3)
        for name in ("sent", "answered", "lost", "not_sent", "compared", "matched", "connections", "loops"):
            self.assertEqual(six[name], 6 * one[name], name)
        self.assertEqual(server.lines[-1]["calls"], one["answered"] + six["answered"])
        clients = {line["client"] for line in map(json.loads, done.stdout.splitlines()) if line["type"] == "difference"}
        self.assertEqual(clients, {1, 2, 3, 4, 5, 6})

    def test_replay_in_trouble(self):
        for arguments in (["--dry-run", CASES[0]], ["--to", "127.0.0.1:1", "-"], ["--quiet", "--to", "127.0.0.1:1", CASES[0]],
                          ["--to", "127.0.0.1:1", self.directory / "missing"]):
            done = run(*MPIRUN, "-n", 2, STAG, "replay", "--mpi", *arguments)
            self.assertEqual((done.returncode, done.stdout, len(complaints(done))), (2, b"", 1), done.stderr)

    def test_a_team_of_one(self):
        alone = run(STAG, "check", *CASES)
        team = run(STAG, "check", "--mpi", *CASES)
        self.assertEqual((team.returncode, team.stdout), (alone.returncode, alone.stdout))

    def test_standard_input_is_refused(self):
        done = run(*MPIRUN, "-n", 3, STAG, "check", "--mpi", CASES[0], "-")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertEqual(complaints(done), [b"stag: --mpi reads files that every rank can open: standard input (-) is not one"])

    def test_without_the_module(self):
        program = self.directory / "stag"
        shutil.copy(STAG, program)  # which looks for the module beside itself
        done = run(program, "check", "--mpi", CASES[0])
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"the package stag-mpi", done.stderr)


if __name__ == "__main__":
    unittest.main()
