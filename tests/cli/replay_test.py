# SPDX-License-Identifier: GPL-2.0-or-later
"""stag replay as a user runs it: --dry-run on every capture held against `stag transactions`, and live on loopback.

The live tests need no recording of ours to be right: a capture of a kernel's client is played against `stag serve --mode
nfs-memory` and recorded; that recording is played again against another server with the same files, whose handles, verifiers
and cookies are others. What the second server answers must be what the first one did.

replay_test.py STAG    (runs as a unittest program)
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from live_runs import REAL, Running, STAG, lines, popen, stag

SANITIZED = bool(os.environ.get("STAG_SANITIZED"))

FURTHER = pathlib.Path(__file__).parents[3] / "shared" / "captures"  # larger ones, used where they are
NFS3 = str(REAL / "rxe-nfs3.pcap.zst")
SESSIONS = str(REAL / "rxe-nfs4.1.pcap.zst")


class Server(Running):
    """stag serve; `root`: what stag replay needs for the root of NFSv3."""

    def __init__(self, mode, *arguments, **rest):
        self.mount = ["--mount-port", 0] if mode == "nfs-memory" else []
        super().__init__("serve", "--mode", mode, "--quiet", *self.mount, *arguments, **rest)

    def __enter__(self):
        super().__enter__()
        self.root = ["--export", "/", "--mount-port", self.mount_port] if self.mount else []
        return self


class Base(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)

    def exported(self):
        """A directory with what the client of the capture looked for."""
        root = self.directory / "export"
        done = stag("extract", NFS3, "--out", root)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("bigdir", "ext"):
            (root / name).mkdir(exist_ok=True)
            for i in range(200):
                (root / name / f"file-{i:03}").write_bytes(bytes([i]) * i)
        (root / "link900").symlink_to("t" * 900)
        return root


class DryRun(Base):
    # Every Call of the clients is either to be sent or refused, and refused only when it is not whole.
    def test_says_what_every_call_comes_to(self):
        for capture in sorted(REAL.glob("*.pcap*")):
            with self.subTest(capture.name):
                calls = [t for t in lines(stag("transactions", "--format", "jsonl", capture)) if not t["backward"]]
                done = stag("replay", "--dry-run", "--format", "jsonl", capture)
                if not calls:
                    self.assertEqual(done.returncode, 2)
                    self.assertIn("no RPC-over-RDMA", done.stderr)
                    continue
                self.assertEqual(done.returncode, 0, done.stderr)
                plan = [line for line in lines(done) if line["type"] == "call"]
                self.assertEqual([(c["frame"], c["xid"], c["connection"]) for c in plan],
                                 [(t["call_frame"], t["xid"], t["connection"]) for t in calls])
                for call, transaction in zip(plan, calls):
                    self.assertEqual(call["send"], transaction["call_complete"] and transaction["call_form"] is not None)
                    self.assertEqual(call["reason"] is None, call["send"])
                    if call["send"]:
                        self.assertEqual(call["bytes"], transaction["call_bytes"])

    def test_text_tells_the_same(self):
        done = stag("replay", "--dry-run", NFS3)
        self.assertEqual(done.returncode, 0)
        self.assertIn("457 calls to send on 1 connection, 0 cannot be sent", done.stdout)
        # The root is all that a recording from the mount on does not give.
        self.assertIn("1 file handle that no earlier reply gives", done.stdout)
        self.assertIn("root: the file handle of frame 31, 0100010000000000", done.stdout)

    def test_selection(self):
        done = stag("replay", "--dry-run", "--format", "jsonl", NFS3, "--select", "procedure=READ,LOOKUP", "--select",
                    "frame=1-200")
        calls = [line for line in lines(done) if line["type"] == "call"]
        self.assertEqual({c["name"] for c in calls}, {"NFSv3 LOOKUP"})
        self.assertTrue(all(c["frame"] <= 200 for c in calls))


class BadOptions(Base):
    def test_are_told(self):
        for arguments, part in [
                ([], "FILE"), ([NFS3], "--to"), ([NFS3, "--to", "x:99999"], "--to"),
                ([NFS3, "--to", "x", "--speed", "2"], "--timing recorded"),
                ([NFS3, "--dry-run", "--select", "xid=3"], "frame="),
                ([NFS3, "--dry-run", "--select", "frame=9-3"], "frame=9-3"),
                ([NFS3, "--to", "x", "--root-handle", "abc"], "hexadecimal"),
                ([NFS3, "--to", "x", "--duration", "soon"], "250ms"),
                ([NFS3, "--to", "127.0.0.1:1", "--recorded-root", "00"], "--export"),
                ([NFS3, "--to", "x", "--export", "/", "--root-handle", "00"], "one of them"),
                ([NFS3, "--to", "x", "--mount-port", "5"], "--export"),
                ([NFS3, "--to", "127.0.0.1:1", "--recorded-root", "00", "--root-handle", "00"], "--recorded-root"),
                ([SESSIONS, "--to", "127.0.0.1:1", "--root-handle", "00"], "NFSv3"),
                ([NFS3, "--to", "x", "--expect-match", "101"], "--expect-match"),
                (["/no/such/file", "--dry-run"], "/no/such/file")]:
            with self.subTest(" ".join(arguments)):
                done = stag("replay", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(part, done.stderr)

    def test_nobody_there(self):
        with socket.socket() as taken:  # bound, and nobody listens
            taken.bind(("127.0.0.1", 0))
            done = stag("replay", NFS3, "--to", f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("127.0.0.1", done.stderr)


class Live(Base):
    def replay(self, server, capture, *arguments, status=0):
        done = stag("replay", capture, "--to", server.to, "--format", "jsonl", *server.root, *arguments)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout[-2000:])
        return lines(done)

    def test_another_server_with_the_same_files(self):
        first, second = self.directory / "first.pcapng", self.directory / "second.pcapng"
        export = self.exported()
        nfs = ["--select", "program=NFS"]
        with Server("nfs-memory", "--export", export) as server:
            said = self.replay(server, NFS3, *nfs, "--record", first, "--check")
            self.assertEqual([line for line in said if line["type"] == "finding" and line["severity"] == "error"], [])
            total = next(line for line in said if line["type"] == "replayed")
            self.assertEqual(total["sent"], 33)
            self.assertEqual(total["answered"], 33)
            strange = total["unknown_values"]  # of files that are in the capture only
        with Server("nfs-memory", "--export", export) as server:
            said = self.replay(server, first, "--record", second, "--expect-match", 100)
        total = next(line for line in said if line["type"] == "replayed")
        self.assertEqual((total["sent"], total["matched"], total["unknown_values"]), (33, 33, strange))
        self.assertLess(strange, 8)
        self.assertEqual([line for line in said if line["type"] in ("difference", "trouble")], [])

        def seen(capture):
            return [(t["name"], t["call_form"], t["reply_form"], t["status"], t["data_bytes"], t["data_sha256"],
                     t["read_chunks"], t["write_chunks"], t["reply_chunk"])
                    for t in lines(stag("transactions", "--format", "jsonl", capture))]

        self.assertEqual(seen(first), seen(second))
        read = [line for line in seen(first) if line[0] == "READ"]
        self.assertEqual(len(read), 5)
        self.assertTrue(all(line[3] == 0 and line[4] > 0 for line in read), "the files were found and read")

    # stag serve finds the recorded call by itself, so what is sent must be what was recorded, and what comes back, too.
    def test_every_capture_against_its_own_answers(self):
        played = 0
        for capture in sorted([*REAL.glob("*.pcap*"), *FURTHER.glob("*.pcap*")]):
            recorded = [t for t in lines(stag("transactions", "--format", "jsonl", capture))
                        if not t["backward"] and t["call_complete"] and t["call_form"] is not None]
            if not recorded:
                continue
            with self.subTest(capture.name):
                played += 1
                again = self.directory / (capture.name + ".pcapng")
                with Server("recorded", capture) as server:
                    said = self.replay(server, capture, "--check", "--record", again, "--expect-match", 100)
                total = next(line for line in said if line["type"] == "replayed")
                answers = sum(t["reply_frame"] is not None for t in recorded)
                self.assertEqual((total["sent"], total["answered"]), (len(recorded), len(recorded)))
                self.assertEqual((total["compared"], total["matched"]), (answers, answers))
                self.assertEqual(total["identical"], sum(t["reply_complete"] for t in recorded))
                self.assertEqual([line["rule"] for line in said if line.get("severity") == "error"], [])
                # The recording of it all, analysed.
                names = ("name", "ops", "call_form", "status", "data_bytes", "data_sha256", "reply_bytes")
                sent = [t for t in lines(stag("transactions", "--format", "jsonl", again)) if not t["backward"]]
                self.assertEqual(len(sent), len(recorded))
                for live, old in zip(sent, recorded):
                    self.assertEqual([live[name] for name in names], [old[name] for name in names], old["call_frame"])
        self.assertGreaterEqual(played, 6)

    def test_without_the_root_all_is_refused_and_told(self):
        with Server("nfs-memory") as server:
            server.root = []
            said = self.replay(server, NFS3, "--select", "procedure=GETATTR", "--expect-match", 50, status=1)
        differences = [line for line in said if line["type"] == "difference"]
        self.assertEqual(len(differences), 10)
        self.assertEqual(differences[0]["recorded"], "NFS3_OK")
        self.assertEqual(differences[0]["live"], "NFS3ERR_BADHANDLE")

    def test_clients_and_loops_play_everything_each(self):
        with Server("nfs-memory", "--export", self.exported()) as server:
            said = self.replay(server, NFS3, "--select", "program=NFS", "--connections", 3, "--loop", 2)
        total = next(line for line in said if line["type"] == "replayed")
        self.assertEqual((total["sent"], total["answered"], total["connections"], total["loops"]), (198, 198, 6, 6))

    def test_recorded_times(self):
        calls = [t for t in lines(stag("replay", "--dry-run", "--format", "jsonl", NFS3)) if t["type"] == "call"]
        few = [c["frame"] for c in calls[:10]]
        times = self.times(NFS3)
        span = times[few[-1]] - times[few[0]]
        with Server("nfs-memory") as server:
            said = self.replay(server, NFS3, "--select", f"frame=1-{few[-1]}", "--timing", "recorded")
        total = next(line for line in said if line["type"] == "replayed")
        self.assertEqual(total["sent"], 10)
        self.assertGreaterEqual(total["seconds"], span)

    @staticmethod
    def times(capture):
        """Seconds of each frame, by `stag credits`, which tells the time of every Call."""
        at = {}
        for line in lines(stag("credits", "--format", "jsonl", capture)):
            if line.get("event") == "call":
                stamp = line["time"]
                hours, minutes, seconds = stamp[stamp.index("T") + 1:-1].split(":")
                at[line["frame"]] = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        return at

    def test_a_rate(self):
        with Server("null") as server:
            said = self.replay(server, NFS3, "--select", "frame=1-60", "--rate", 20)
        total = next(line for line in said if line["type"] == "replayed")
        self.assertGreaterEqual(total["seconds"], (total["sent"] - 1) / 20)

    def test_a_duration_ends_it(self):
        for seconds in (0.3, 3, 30):  # on a busy machine the first may be over too early
            with Server("null") as server:
                said = self.replay(server, NFS3, "--select", "procedure=NULL", "--duration", f"{seconds:g}s")
            total = next(line for line in said if line["type"] == "replayed")
            self.assertTrue(total["stopped"])
            if total["loops"] > 1:
                break
        self.assertGreater(total["loops"], 1)
        self.assertEqual(total["sent"], total["answered"])

    def test_interrupted(self):
        with Server("null") as server:
            for _ in range(50):  # a signal that comes before the set-up is done ends it with nothing done
                process = popen([STAG, "replay", NFS3, "--to", server.to, "--rate", "0.5", "--format", "jsonl"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                while process.poll() is None and not self.connected(process.pid):
                    pass
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=120)
                if (process.returncode, err) != (2, "stag: interrupted\n"):
                    break
        self.assertEqual(process.returncode, 0, err)
        total = json.loads(out.splitlines()[-1])
        self.assertTrue(total["stopped"])
        self.assertLess(total["sent"], 457)
        self.assertEqual(total["sent"], total["answered"])

    @staticmethod
    def connected(pid):
        """Whether the process has a socket by now."""
        try:
            return any("socket" in os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
        except FileNotFoundError:  # one was closed meanwhile
            return False

    # The accounts: every Call is sent or not, and every sent one ends once.
    def test_the_account_when_the_server_goes(self):
        with Server("null", "--delay", 20, expect=-signal.SIGKILL) as server:
            process = popen([STAG, "replay", NFS3, "--to", server.to, "--format", "jsonl"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while process.poll() is None and not self.connected(process.pid):
                pass
            server.end(signal.SIGKILL)
            out, err = process.communicate(timeout=120)
        if process.returncode == 2:  # it had not connected yet
            self.assertIn("127.0.0.1", err)
            return
        self.assertEqual(process.returncode, 1)
        said = [json.loads(line) for line in out.splitlines()]
        total = next(line for line in said if line["type"] == "replayed")
        self.assertEqual(total["sent"] + total["not_sent"], 457)
        self.assertEqual(total["sent"], total["answered"] + total["lost"] + total["timed_out"])
        self.assertTrue([line for line in said if line["type"] == "trouble"])


class Streams(Base):
    """A recording is played while it is read: what it takes in memory does not grow with the file."""

    def recorded(self, calls):
        """NULL Calls, eight at a time."""
        capture = self.directory / f"{calls}.pcapng"
        with Server("null") as server:
            done = stag("generate", "--to", server.to, "--calls", calls, "--depth", 8, "--threads", 1, "--record", capture)
            self.assertEqual(done.returncode, 0, done.stderr)
        return capture

    def total(self, out, sent):
        total = json.loads(out.splitlines()[-1])
        self.assertEqual((total["sent"], total["matched"]), (sent, sent))
        return total

    def test_memory_is_flat(self):
        most = {}
        few, many = (2_000, 12_000) if SANITIZED else (20_000, 120_000)
        for calls in (few, many):
            capture = self.recorded(calls)
            with Server("null") as server:
                process = popen([STAG, "replay", capture, "--to", server.to, "--format", "jsonl", "--memory", "16M"],
                                stdout=subprocess.PIPE, text=True)
                out = process.stdout.read()
                process.stdout.close()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            self.total(out, calls)
            most[calls] = usage.ru_maxrss
        # 100 thousand Calls take 40 MB when they are all there at once. Sanitizers keep what was freed for a while.
        if not SANITIZED:
            self.assertLess(most[many], most[few] + 8000, "KiB")

    def test_begins_before_the_recording_is_read(self):
        calls = 10_000 if SANITIZED else 50_000
        capture, again = self.recorded(calls), self.directory / "again.pcapng"
        whole = capture.read_bytes()
        with Server("null") as server:
            process = popen([STAG, "replay", "-", "--to", server.to, "--format", "jsonl", "--record", again],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            process.stdin.write(whole[:len(whole) // 2])
            process.stdin.flush()
            while process.poll() is None and not (again.exists() and again.stat().st_size > 100_000):
                time.sleep(0.01)
            self.assertIsNone(process.poll(), "it plays, and waits for the rest")
            out, _ = process.communicate(whole[len(whole) // 2:])
            self.assertEqual(process.returncode, 0)
        self.total(out, calls)

    def test_loops_read_the_file_again(self):
        capture = self.recorded(5000)
        for memory in ("256M", "2M"):
            with Server("null") as server:
                done = stag("replay", capture, "--to", server.to, "--format", "jsonl", "--memory", memory, "--loop", 3,
                            "--connections", 2)
            self.assertEqual(done.returncode, 0, done.stderr)
            total = self.total(done.stdout, 30_000)
            self.assertEqual((total["loops"], total["connections"]), (6, 6))

    def test_standard_input_is_read_once(self):
        capture = self.recorded(5000)
        for memory, status in (("256M", 0), ("2M", 2)):
            with Server("null") as server, open(capture, "rb") as file:
                process = popen([STAG, "replay", "-", "--to", server.to, "--format", "jsonl", "--memory", memory,
                                 "--loop", "2"], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                out, err = process.communicate()
            self.assertEqual(process.returncode, status, err)
            if status == 0:
                self.total(out, 10_000)
            else:
                self.assertIn("standard input cannot be read twice", err)


if __name__ == "__main__":
    unittest.main()
