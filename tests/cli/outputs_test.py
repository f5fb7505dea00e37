# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that commands write: never over one that they read, by whatever name; whole or not at all; nothing is left behind
by a command that fails or is interrupted; and nothing that a capture or a path says drives the terminal.

outputs_test.py STAG    (runs as a unittest program)
"""
import csv
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

STAG = sys.argv.pop(1)
REAL = pathlib.Path(__file__).parents[2] / "pcaps" / "real"
CAPTURE = (REAL / "rxe-rdma_error.pcap").read_bytes()
LARGE = REAL / "siw-nfs4.1.pcap.zst"
NFS3 = REAL / "rxe-nfs3.pcap.zst"

# Options that name a file: what a command reads (FILE: its captures), and what it writes. IN and OUT stand for the files.
READS = {("latency", "--against"), ("check", "--suppress"), ("check", "--baseline"), ("summary", "--suppress"),
         ("summary", "--baseline"), ("report", "--suppress"), ("report", "--baseline"), ("scrub", "--key"),
         ("capture", "--scrub"), ("serve", "--keytab"), ("serve", "--export"), ("probe", "--keytab"), ("probe", "--compare")}
WRITES = {("summary", "--output"), ("report", "--output"), ("connections", "--output"), ("transactions", "--output"),
          ("credits", "--svg"), ("credits", "--output"), ("transport", "--output"), ("transport", "--svg"),
          ("latency", "--svg"), ("latency", "--output"), ("limits", "--output"), ("top", "--output"), ("extract", "--out"),
          ("check", "--output"), ("check", "--write-baseline"), ("scrub", "--write"), ("capture", "--write"),
          ("slice", "--write"), ("serve", "--record"), ("generate", "--record"), ("replay", "--record"),
          ("relay", "--record"), ("probe", "--record"), ("schema", "--output")}
SLICE = ["slice", "IN", "--frames", "1-", "-w", "OUT"]
# One command for each of WRITES that also reads; extract writes into a directory, and has tests of its own.
COMMANDS = [["summary", "IN", "-o", "OUT"], ["report", "IN", "-o", "OUT"], ["connections", "IN", "-o", "OUT"],
            ["transactions", "IN", "-o", "OUT"], ["credits", "IN", "-o", "OUT"], ["credits", "IN", "--svg", "OUT"],
            ["transport", "IN", "-o", "OUT"], ["transport", "IN", "--svg", "OUT"], ["latency", "IN", "-o", "OUT"],
            ["latency", "IN", "--svg", "OUT"], ["limits", "IN", "-o", "OUT"], ["top", "IN", "-o", "OUT"],
            ["check", "IN", "-o", "OUT"], ["check", "IN", "--write-baseline", "OUT"], ["scrub", "IN", "-w", "OUT"], SLICE,
            ["replay", "IN", "--to", "127.0.0.1:1", "--record", "OUT"],
            ["serve", "--listen", "127.0.0.1:0", "--once", "--record", "OUT", "IN"]]
# The same file by way of another option that reads.
OTHERS = [["latency", "x.pcap", "--against", "IN", "-o", "OUT"], ["latency", "x.pcap", "--against", "IN", "--svg", "OUT"],
          ["check", "x.pcap", "--baseline", "IN", "--write-baseline", "OUT"],
          ["check", "x.pcap", "--suppress", "IN", "-o", "OUT"], ["check", "x.pcap", "IN", "-o", "OUT"],
          ["scrub", "x.pcap", "--key", "IN", "-w", "OUT"], ["scrub", "x.pcap", "IN", "-w", "OUT"],
          ["slice", "x.pcap", "IN", "--merge", "-w", "OUT"], ["capture", "-i", "lo", "--scrub", "IN", "-w", "OUT"],
          ["serve", "--mode", "nfs-memory", "--keytab", "IN", "--record", "OUT"],
          ["probe", "127.0.0.1:1", "--keytab", "IN", "--record", "OUT"]]


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def block(kind, body):
    length = 12 + len(body) + -len(body) % 4
    return struct.pack("<II", kind, length) + body + bytes(-len(body) % 4) + struct.pack("<I", length)


class Base(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)
        self.file("x.pcap", CAPTURE)

    def file(self, name, data):
        path = self.directory / name
        path.write_bytes(data)
        return path

    def run_stag(self, *arguments, status=0, **more):
        more = {"cwd": self.directory, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **more}
        done = subprocess.run([STAG, *map(str, arguments)], stderr=subprocess.PIPE, timeout=120,
                              env={**os.environ, "NO_COLOR": "1"}, **more)
        if status is not None:
            self.assertEqual(done.returncode, status, (arguments, done.stderr))
        return done

    def names(self):
        return sorted(os.listdir(self.directory))


class NotOverInputs(Base):
    def test_every_option_that_names_a_file_is_known_here(self):
        help_of_all = self.run_stag("--help").stdout.decode()
        found = set()
        for command in set(re.findall(r"(?m)^  ([a-z]+) ", help_of_all)) - {"stag"}:
            text = self.run_stag(command, "--help").stdout.decode()
            for names in re.findall(r"(?m)^ +((?:-\w,)?--[a-z-]+(?:,--[a-z-]+)*) (?:FILE|OUT|DIR|KEY)\b", text):
                found.add((command, next(name for name in names.split(",") if name.startswith("--"))))
        self.assertEqual(found, READS | WRITES)

    def names_of(self, path):
        """Other names of a file, and how to give it as standard input."""
        os.link(path, self.directory / "hard")
        os.symlink(path.name, self.directory / "soft")
        os.symlink("soft", self.directory / "softer")
        (self.directory / "sub").mkdir()
        return [path, path.name, "./" + path.name, "sub/../" + path.name, "hard", "soft", "softer"]

    def refused(self, template, given, out, path, **more):
        arguments = [{"IN": given, "OUT": out}.get(word, word) for word in template]
        done = self.run_stag(*arguments, status=2, **more)
        self.assertIn(b"the command reads", done.stderr, arguments)
        self.assertEqual(path.read_bytes(), CAPTURE, arguments)

    def test_by_any_name(self):
        path = self.file("in.pcap", CAPTURE)
        for out in self.names_of(path):
            for template in COMMANDS[:4] + COMMANDS[-4:-1] if out != path else COMMANDS + OTHERS:
                self.refused(template, "in.pcap", out, path)
        self.assertEqual(self.names(), ["hard", "in.pcap", "soft", "softer", "sub", "x.pcap"])

    def test_standard_input(self):
        path = self.file("in.pcap", CAPTURE)
        for given in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            for template in (["check", "IN", "-o", "OUT"], ["scrub", "IN", "-w", "OUT"], SLICE):
                with path.open("rb") as stdin:
                    self.refused(template, given, "in.pcap", path, stdin=stdin)

    def test_standard_output(self):
        path = self.file("in.pcap", CAPTURE)
        for template in (["check", "in.pcap"], ["check", "in.pcap", "-o", "/dev/stdout"], ["scrub", "in.pcap", "-w", "-"],
                         ["slice", "in.pcap", "--frames", "1-", "-w", "-"]):
            with path.open("ab") as stdout:  # stag check in.pcap >> in.pcap
                self.refused(template, "", "", path, stdout=stdout)

    def test_a_key_that_is_made(self):
        done = self.run_stag("scrub", "x.pcap", "--key", "new", "-w", "new", status=2)
        self.assertIn(b"the command reads it", done.stderr)

    def test_two_results_in_one_file(self):
        for out in ("out", "./out"):
            done = self.run_stag("check", "x.pcap", "-o", "out", "--write-baseline", out, status=2)
            self.assertIn(b"two results", done.stderr)
        self.run_stag("credits", "x.pcap", "-o", "/dev/null", "--svg", "/dev/null")
        self.assertEqual(self.names(), ["x.pcap"])


class WholeOrNot(Base):
    def test_what_is_replaced(self):
        old = self.file("old", b"old")
        old.chmod(0o640)
        os.link(old, self.directory / "other")
        os.symlink("old", self.directory / "link")
        self.run_stag("check", "x.pcap", "-o", "link", status=1)
        self.assertTrue((self.directory / "link").is_symlink())
        self.assertEqual(stat.S_IMODE(old.stat().st_mode), 0o640)
        self.assertEqual(old.read_bytes(), self.run_stag("check", "x.pcap", status=1).stdout)
        self.assertEqual((self.directory / "other").read_bytes(), b"old")  # nothing is written in place

    def test_pipes_and_devices(self):
        want = self.run_stag("check", "x.pcap", status=1).stdout
        for out in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            self.assertEqual(self.run_stag("check", "x.pcap", "-o", out, status=1).stdout, want)
        self.run_stag("check", "x.pcap", "-o", "/dev/null", status=1)
        os.mkfifo(self.directory / "fifo")
        for template, good in ((["check", "x.pcap", "-o", "fifo"], 1), (["scrub", "x.pcap", "-w", "fifo"], 0),
                               (["slice", "x.pcap", "--frames", "1-", "-w", "fifo"], 0)):
            writer = subprocess.Popen([STAG, *template], cwd=self.directory, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            self.assertTrue((self.directory / "fifo").read_bytes())
            self.assertEqual(writer.wait(120), good)
        with (self.directory / "out").open("wb") as stdout:  # behind what is there already
            stdout.write(b"before ")
            stdout.flush()
            self.run_stag("check", "x.pcap", "-o", "/dev/stdout", status=1, stdout=stdout)
        self.assertEqual((self.directory / "out").read_bytes(), b"before " + want)
        self.assertEqual(self.names(), ["fifo", "out", "x.pcap"])

    def test_a_full_disk(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        errors = self.file("errors.pcap", CAPTURE)
        templates = [["report", "IN", "-o", "OUT"], ["transactions", "IN", "-o", "OUT"], ["credits", "IN", "--svg", "OUT"],
                     ["latency", "IN", "--svg", "OUT"], ["transport", "IN", "--svg", "OUT"],
                     ["check", str(errors), "--write-baseline", "OUT"], ["scrub", "IN", "-w", "OUT"],
                     ["slice", "IN", "--frames", "1-", "-w", "OUT"]]
        for template in templates:
            for name in ("old", "new", "new.zst"):
                old = self.file("old", b"old")
                arguments = [{"IN": LARGE, "OUT": name}.get(word, word) for word in template]
                done = self.run_stag(*arguments, status=2, preexec_fn=limited)
                self.assertRegex(done.stderr, rb"cannot write [^\n]*: File too large", arguments)
                self.assertEqual((self.names(), old.read_bytes()), (["errors.pcap", "old", "x.pcap"], b"old"), arguments)
            done = self.run_stag(*[{"IN": LARGE, "OUT": "/dev/full"}.get(word, word) for word in template], status=2)
            self.assertIn(b"No space left on device", done.stderr)

    def test_what_cannot_be_written(self):
        for template in COMMANDS[:-2]:
            done = self.run_stag(*[{"IN": "x.pcap", "OUT": "none/out"}.get(word, word) for word in template], status=2)
            self.assertIn(b"cannot write none/out: No such file or directory", done.stderr)
            self.run_stag(*[{"IN": "x.pcap", "OUT": self.directory}.get(word, word) for word in template], status=2)
        self.assertEqual(self.names(), ["x.pcap"])

    def test_a_command_in_trouble_leaves_the_old_file(self):
        old = self.file("old", b"old")
        for template in (["transactions", "none", "-o", "old"], ["scrub", "none", "-w", "old"],
                         ["slice", "none", "--frames", "1", "-w", "old"], ["slice", "x.pcap", "--xid", "0xffffffff", "-w", "old"],
                         ["check", "none", "--write-baseline", "old"], ["check", "--baseline", "none", "x.pcap", "-o", "old"]):
            self.run_stag(*template, status=None)
            self.assertEqual((self.names(), old.read_bytes()), (["old", "x.pcap"], b"old"), template)


class Interrupted(Base):
    def test_nothing_is_left_behind(self):
        # More than a pipe holds: when it is written, the command has made its output and reads.
        packed = subprocess.run([STAG, "slice", LARGE, "--frames", "1-", "-w", "-"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, check=True).stdout
        (self.directory / "x.pcap").unlink()
        self.assertGreater(len(packed), 4 << 16)
        for template in (["scrub", "-", "-w", "out.pcap"], ["scrub", "-", "-w", "out.pcapng.zst"], ["scrub", "-", "-w", "-"],
                         ["check", "-", "-o", "out"], ["report", "-", "-o", "out"], ["transactions", "-", "-o", "out"],
                         ["slice", "-", "--frames", "1-", "-w", "out"], ["extract", "-", "--out", "files/deep"]):
            for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                process = subprocess.Popen([STAG, *template], cwd=self.directory, stdin=subprocess.PIPE,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                           env={**os.environ, "TMPDIR": str(self.directory)},
                                           preexec_fn=lambda: signal.signal(ending, signal.SIG_DFL))
                process.stdin.write(packed[:-1])
                process.stdin.flush()
                process.send_signal(ending)
                self.assertEqual(process.wait(120), -ending, template)
                process.stdin.close()
                self.assertEqual(self.names(), [], template)


class Extract(Base):
    def names_below(self, path):
        return sorted(name for name in os.listdir(self.directory / path))

    def test_no_link_below_the_directory_is_followed(self):
        shutil.copy(LARGE, self.directory / "y.pcap.zst")
        (self.directory / "victim").mkdir()
        (self.directory / "files").mkdir()
        os.symlink("../victim", self.directory / "files" / "y.pcap.zst")
        done = self.run_stag("extract", "x.pcap", "y.pcap.zst", "--out", "files", "--force", status=2)
        self.assertIn(b"files/y.pcap.zst is a link, which is not followed", done.stderr)
        self.assertEqual(self.names_below("victim"), [])

    def test_a_directory_in_the_way(self):
        first = lines(self.run_stag("extract", LARGE, "--out", "files", "--format", "jsonl"))
        names = [line["path"].split("/")[1] for line in first if line["path"]]
        self.assertGreater(len(names), 1)
        shutil.rmtree(self.directory / "files")
        for name in names:
            (self.directory / "files" / name / "full").mkdir(parents=True)
        again = lines(self.run_stag("extract", LARGE, "--out", "files", "--force", "--format", "jsonl"))
        for line, name in zip((line for line in again if line["path"]), names):
            self.assertEqual(line["path"], f"files/{name}~2")
            self.assertTrue((self.directory / line["path"]).is_file())
        self.assertEqual(self.names_below("files"), sorted(names + [name + "~2" for name in names]))

    def test_a_capture_in_the_directory_is_not_replaced(self):
        first = lines(self.run_stag("extract", LARGE, "--out", "files", "--format", "jsonl"))
        path = next(line["path"] for line in first if line["path"])
        shutil.copy(LARGE, self.directory / path)
        self.run_stag("extract", path, "--out", "files", "--force")
        self.assertEqual((self.directory / path).read_bytes(), LARGE.read_bytes())
        self.assertTrue((self.directory / (path + "~2")).is_file())


    def test_what_is_chosen_is_extracted(self):
        whole = lines(self.run_stag("extract", NFS3, "--out", "whole", "--format", "jsonl"))
        reads = [t for t in lines(self.run_stag("transactions", NFS3, "--format", "jsonl"))
                 if t["name"] == "READ" and t["data_bytes"]]
        self.assertEqual(sum(t["data_bytes"] for t in reads), sum(file["read_bytes"] for file in whole))
        self.assertGreater(len(reads), len(whole))
        for n, options in enumerate((["--xid", reads[-1]["xid"]], ["--frames", f"{reads[-1]['reply_frame']}-"])):
            (file,) = lines(self.run_stag("extract", NFS3, "--out", f"part{n}", "--format", "jsonl", *options))
            ((begin, end),) = file["read"]
            self.assertEqual(end - begin, reads[-1]["data_bytes"])
            of = next(other for other in whole if other["name"] == file["name"])
            self.assertGreater(of["read_bytes"], file["read_bytes"])
            self.assertEqual(file["holes"], [[0, begin]])
            want = (self.directory / of["path"]).read_bytes()
            self.assertEqual((self.directory / file["path"]).read_bytes(), bytes(begin) + want[begin:end])
        everything = lines(self.run_stag("extract", NFS3, "--out", "reads", "--format", "jsonl", "--procedure", "read"))
        self.assertEqual([{**file, "path": 0} for file in everything], [{**file, "path": 0} for file in whole])
        for n, options in enumerate((["--procedure", "WRITE"], ["--connection", "9"], ["--client", "10.0.0.1"])):
            done = self.run_stag("extract", NFS3, "--out", f"none{n}", "--format", "jsonl", *options)
            self.assertEqual((done.stdout, self.names_below(f"none{n}")), (b"", []))
            self.assertIn(b"no such NFS READ or WRITE", done.stderr)

    def test_formats_and_order(self):
        def extract(*options):
            return self.run_stag("extract", NFS3, "--out", "files", "--force", *options).stdout.decode()
        files = [json.loads(line) for line in extract("--format", "jsonl").splitlines()]
        self.assertEqual(json.loads(extract("--format", "json")), files)
        rows = list(csv.DictReader(extract("--format", "csv").splitlines()))
        self.assertEqual([(row["file"], row["path"], row["handle"], int(row["size"]), row["complete"]) for row in rows],
                         [(str(NFS3), file["path"], file["handle"], file["size"], str(file["complete"]).lower())
                          for file in files])
        self.assertEqual([row["read"] for row in rows],
                         [";".join(f"{begin}-{end}" for begin, end in file["read"]) for file in files])
        largest = sorted(files, key=lambda file: -file["size"])[:2]
        table = extract("--format", "table", "--sort", "size", "--limit", "2").splitlines()
        self.assertEqual([row.split()[0] for row in table], ["path"] + [file["path"] for file in largest])
        text = extract("--sort", "size", "--limit", "2").splitlines()
        self.assertEqual([row.split()[-1] for row in text], ["file"] + [file["name"] for file in largest])


class Terminal(Base):
    # An escape sequence; C1 controls in UTF-8, and as a byte; a change of direction; what is not UTF-8.
    NAME = b"a\x1b]0;title\x07b\xc2\x9bc\x9bd\xe2\x80\xaee\xffn\xc3\xa4.pcap"

    def harmless(self, data, what):
        for bad in (b"\x1b", b"\x07", b"\xc2\x9b", b"\x9b", b"\xe2\x80\xae", b"\xff"):
            self.assertNotIn(bad, data, what)
        data.decode()

    def test_names_of_captures(self):
        path = os.path.join(os.fsencode(self.directory), self.NAME)
        with open(path, "wb") as out:
            out.write(CAPTURE)
        shown = "a?]0;title?b?c?d?e?n\u00e4.pcap"
        for command in ("summary", "report", "connections", "transactions", "latency", "limits", "top", "credits", "transport", "check"):
            for more in ((), ("x.pcap",)):
                done = subprocess.run([STAG, command, path, *more], cwd=self.directory, capture_output=True, timeout=120)
                self.harmless(done.stdout + done.stderr, command)
                if more and command not in ("report", "check", "latency"):
                    self.assertIn(shown, done.stdout.decode(), command)
        for arguments in ([b"slice", path, b"--frames", b"1-", b"-w", self.NAME + b"1"],
                          [b"scrub", path, b"-w", self.NAME + b"2"], [b"extract", path, b"x.pcap", b"--out", self.NAME + b"3"],
                          [b"check", self.NAME + b"none"], [self.NAME + b"none"], [b"check", b"x.pcap", b"--" + self.NAME],
                          [b"check", path, b"-o", self.NAME + b"/none"], [b"scrub", path, b"-w", path],
                          [b"slice", path, b"--xid", self.NAME, b"-w", b"out"]):
            done = subprocess.run([STAG, *arguments], cwd=self.directory, capture_output=True, timeout=120)
            self.harmless(done.stdout + done.stderr, arguments)
            self.assertIn(b"a?]0;title?b", done.stdout + done.stderr, arguments)

    def test_json_is_valid_and_harmless(self):
        path = os.path.join(os.fsencode(self.directory), self.NAME)
        with open(path, "wb") as out:
            out.write(CAPTURE)
        for command in ("summary", "connections", "transactions", "check"):
            done = subprocess.run([STAG, command, "--format", "jsonl", path, "x.pcap"], cwd=self.directory,
                                  capture_output=True, timeout=120)
            self.harmless(done.stdout, command)
            names = {line.get("file") for line in lines(done)}
            self.assertTrue(any(name and name.endswith("a\x1b]0;title\x07b\x9bc\ufffdd\u202ee\ufffdn\u00e4.pcap")
                                for name in names), (command, names))


class OtherBlocks(Base):
    """Custom and journal blocks are no frames, but Wireshark numbers them as such (draft-ietf-opsawg-pcapng)."""
    CUSTOM, NOT_COPIED, JOURNAL = 0xbad, 0x40000bad, 9
    SECRET = b"SECRETSECRETSECRET"

    def setUp(self):
        super().setUp()
        self.frames = []
        at = 24
        while at < len(CAPTURE):
            size = struct.unpack_from("<I", CAPTURE, at + 8)[0]
            self.frames.append((struct.unpack_from("<II", CAPTURE, at), CAPTURE[at + 16:at + 16 + size]))
            at += 16 + size
        self.nanoseconds = CAPTURE[:4] == b"\x4d\x3c\xb2\xa1"

    def capture(self, name, blocks):
        """The frames as pcapng, with blocks before frames: number -> (type, body)."""
        out = block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1))
        resolution = struct.pack("<HHB3x", 9, 1, 9) if self.nanoseconds else b""
        out += block(1, struct.pack("<HHI", 1, 0, 0) + resolution)
        for number, ((seconds, part), frame) in enumerate(self.frames, 1):
            for kind, body in blocks.get(number, ()):
                out += block(kind, body)
            time = seconds * (10**9 if self.nanoseconds else 10**6) + part
            out += block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xffffffff, len(frame), len(frame)) + frame)
        return self.file(name, out)

    def types(self, data):
        found, at = [], 0
        while at < len(data):
            kind, length = struct.unpack_from("<II", data, at)
            found.append((kind, data[at + 8:at + length - 4]))
            at += length
        return found

    def numbers(self, path):
        found = lines(self.run_stag("transactions", "--format", "jsonl", path, status=None))
        return [(line["call_frame"], line["reply_frame"]) for line in found]

    def test_slice_carries_what_may_be_copied(self):
        body = struct.pack("<I", 4711) + self.SECRET
        blocks = {1: [(self.CUSTOM, body)], 4: [(self.JOURNAL, self.SECRET)], 6: [(self.NOT_COPIED, body)]}
        path = self.capture("in.pcapng", blocks)
        for out in ("out.pcapng", "-"):
            done = self.run_stag("slice", path, "--frames", "1-", "-w", out)
            data = done.stdout if out == "-" else (self.directory / out).read_bytes()
            found = self.types(data)
            frames = [kind for kind, _ in found if kind in (6, self.CUSTOM, self.JOURNAL, self.NOT_COPIED)]
            self.assertEqual(frames, [self.CUSTOM, 6, 6, 6, self.JOURNAL] + [6] * (len(self.frames) - 3))
            self.assertEqual([content for kind, content in found if kind in (self.CUSTOM, self.JOURNAL)],
                             [body + bytes(-len(body) % 4), self.SECRET + bytes(-len(self.SECRET) % 4)])
        said = self.run_stag("slice", path, "--frames", "1-", "-w", "out.pcapng").stderr
        self.assertIn(b"1 custom block left out", said)
        for more in (["--frames", "2-3"], ["--merge"], ["--snap", "headers"], ["--connection", "1"]):
            self.run_stag("slice", path, *more, "-w", "out.pcapng")

    def test_scrub_empties_them_and_numbers_stay(self):
        body = struct.pack("<I", 4711) + self.SECRET
        blocks = {1: [(self.NOT_COPIED, body)], 4: [(self.CUSTOM, body), (self.JOURNAL, self.SECRET)]}
        path = self.capture("in.pcapng", blocks)
        for out in ("out.pcapng", "out.pcap", "out.pcapng.zst"):
            done = self.run_stag("scrub", path, "-w", out)
            self.assertIn(b"; 3 custom or journal blocks emptied", done.stderr)
            self.assertEqual(self.numbers(out), self.numbers(path), out)
            if not out.endswith(".zst"):
                self.assertNotIn(b"SECRET", (self.directory / out).read_bytes())
        done = self.run_stag("scrub", path, "-w", "out.pcapng", "--format", "jsonl")
        self.assertEqual(lines(done)[0]["blocks"], 3)
        self.assertEqual(lines(done)[0]["frames"], len(self.frames))

    def test_nothing_but_blocks(self):
        self.frames = []
        path = self.file("in.pcapng", block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1)) +
                         block(self.CUSTOM, struct.pack("<I", 1)) * 3)
        for out in ("out.pcapng", "out.pcap", "out.pcap.zst"):
            self.run_stag("scrub", path, "-w", out)
            self.assertIn("3 frames", self.run_stag("summary", out).stdout.decode())
        self.run_stag("slice", path, "--frames", "1-", "-w", "out.pcapng")
        self.assertIn("3 frames", self.run_stag("summary", "out.pcapng").stdout.decode())


if __name__ == "__main__":
    unittest.main()
