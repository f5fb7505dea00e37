# SPDX-License-Identifier: GPL-2.0-or-later
"""The program as its users meet it: exit statuses, what goes to stdout and stderr, good and bad input.

program_test.py STAG    (runs as a unittest program)
"""
import csv
import gzip
import json
import os
import pathlib
import pty
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

STAG = sys.argv.pop(1)
CAPTURE = str(pathlib.Path(__file__).parents[2] / "pcaps" / "real" / "rxe-rdma_error.pcap")
COMMANDS = ("summary", "report", "connections", "transactions", "latency", "limits", "top", "credits", "transport", "extract", "check", "scrub", "slice", "rules",
            "explain", "devices", "serve", "generate", "replay", "relay", "probe")
READERS = ("summary", "connections", "transactions", "latency", "limits", "credits", "transport", "check")


def stag(*arguments, data=None, env=None):
    return subprocess.run([STAG, *arguments], capture_output=True, input=data, timeout=120,
                          env={**os.environ, "NO_COLOR": "", **(env or {})})


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def name_of(path):
    """As results name it."""
    return b"standard input" if path == "-" else os.fsencode(path)


class Base(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)

    def file(self, name, data):
        path = self.directory / name
        path.write_bytes(data)
        return str(path)

    def status(self, done, want):
        self.assertEqual(done.returncode, want, done.stderr.decode())


class Usage(Base):
    def test_help_is_a_command_too(self):
        for words in ([], ["check"]):
            done, other = stag("help", *words), stag(*words, "--help")
            self.assertEqual((done.returncode, done.stdout), (0, other.stdout))
        for words in (["help", "chek"], ["chek", "--help"]):
            done = stag(*words)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(b"there is no command or option chek\nstag: did you mean check?", done.stderr)

    def test_help_of_every_command_has_examples(self):
        done = stag("--help")
        self.status(done, 0)
        for command in COMMANDS:
            self.assertIn(command.encode(), done.stdout)
            own = stag(command, "--help")
            self.status(own, 0)
            self.assertIn(b"Examples:", own.stdout)
            self.assertEqual(own.stderr, b"")

    def test_version(self):
        done = stag("--version")
        self.status(done, 0)
        self.assertRegex(done.stdout, rb"^stag \d+\.\d+\.\d+\n$")
        self.assertEqual(stag("check", "--version").stdout, done.stdout)

    def test_wrong_use(self):
        for arguments in ([], ["frobnicate"], ["check"], ["check", "--frobnicate", CAPTURE],
                          ["check", "--format", "xml", CAPTURE], ["check", "--fail-on", "sometimes", CAPTURE],
                          ["check", "--profile", "rfc9999", CAPTURE], ["check", "--select", "NOPE-001", CAPTURE],
                          ["transactions", "--format", "sarif", CAPTURE], ["rules", "--format", "html"], ["transactions", "--color", "mauve", CAPTURE],
                          ["transactions", "--memory", "lots", CAPTURE], ["transactions", "--memory", "10", CAPTURE],
                          ["extract", CAPTURE], ["explain"], ["rules", "surplus"]):
            with self.subTest(arguments):
                done = stag(*arguments)
                self.status(done, 2)
                self.assertEqual(done.stdout, b"")
                self.assertTrue(done.stderr.startswith(b"stag: "), done.stderr)
                self.assertNotIn(b"terminate called", done.stderr)


    def test_mistyped(self):
        for arguments, meant in ((["chekc", CAPTURE], "check"), (["transa"], "transactions"), (["--versoin"], "--version"),
                                 (["check", "--fromat", "json", CAPTURE], "--format"),
                                 (["check", "--fromat=json", CAPTURE], "--format"),
                                 (["generate", "--conections", "3"], "--connections")):
            with self.subTest(arguments):
                done = stag(*arguments)
                self.status(done, 2)
                self.assertIn(f"did you mean {meant}?\n", done.stderr.decode())
        self.assertNotIn(b"did you mean", stag("frobnicate").stderr)

    def test_nothing_shows_what_to_try_first(self):
        for command in ("stag mount.pcapng", "stag check", "stag --help"):
            self.assertIn(command.encode(), stag().stderr)

    def test_a_file_alone(self):
        done = stag(CAPTURE)
        want = stag("summary", CAPTURE)
        self.status(done, 0)
        self.assertEqual(done.stdout, want.stdout)
        self.assertIn(f"stag check {CAPTURE} ".encode(), done.stderr)
        done = stag(CAPTURE, "--format", "jsonl")
        self.assertEqual(done.stdout, stag("summary", CAPTURE, "--format", "jsonl").stdout)
        self.status(stag(str(self.directory / "missing.pcap")), 2)


class Input(Base):
    def test_what_is_no_capture(self):
        bad = {
            "missing": str(self.directory / "missing.pcap"),
            "directory": str(self.directory),
            "empty": self.file("empty.pcap", b""),
            "text": self.file("text.pcap", b"This is not a capture, whatever its name says.\n" * 10),
            "short": self.file("short.pcap", b"\xd4\xc3\xb2\xa1\x02\x00"),
            "bad gzip": self.file("bad.pcap.gz", b"\x1f\x8b\x08\x00" + b"\xff" * 40),
        }
        for what, path in bad.items():
            for command in READERS:
                with self.subTest(what=what, command=command):
                    done = stag(command, path)
                    self.status(done, 2)
                    self.assertTrue(done.stderr.startswith(b"stag: "), done.stderr)
                    self.assertIn(os.fsencode(path), done.stderr)

    def test_the_other_files_are_read_all_the_same(self):
        done = stag("transactions", "--format", "jsonl", str(self.directory / "missing"), CAPTURE)
        self.status(done, 2)
        self.assertEqual([line["file"] for line in lines(done)], [CAPTURE] * len(lines(done)))
        self.assertGreater(len(lines(done)), 3)

    def test_a_capture_that_is_cut_off(self):
        whole = pathlib.Path(CAPTURE).read_bytes()
        all_lines = lines(stag("transactions", "--format", "jsonl", CAPTURE))
        cut = self.file("cut.pcap", whole[:-3])
        done = stag("transactions", "--format", "jsonl", cut)
        self.status(done, 2)
        self.assertIn(b"cut.pcap", done.stderr)
        self.assertGreaterEqual(len(lines(done)), len(all_lines) - 1)
        for size in range(24, len(whole), 97):
            done = stag("check", "--format", "jsonl", "--fail-on", "never", "-", data=whole[:size])
            self.assertIn(done.returncode, (0, 2))
            self.assertEqual(lines(done)[-1]["type"], "summary")

    def test_an_empty_capture_is_fine(self):
        header = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
        path = self.file("none.pcap", header)
        for command in READERS:
            done = stag(command, path)
            self.status(done, 0)
        self.assertEqual(stag("transactions", "--format", "jsonl", path).stdout, b"")
        self.assertIn(b"no RPC-over-RDMA", stag("transactions", path).stderr)
        self.assertEqual(stag("transactions", "--quiet", path).stderr, b"")

    def test_frames_of_something_else(self):
        header = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
        arp = bytes(12) + b"\x08\x06" + bytes(46)
        path = self.file("arp.pcap", header + struct.pack("<IIII", 1, 0, len(arp), len(arp)) + arp)
        done = stag("connections", path)
        self.status(done, 0)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"no RDMA connection in 1 frame", done.stderr)

    def test_standard_input_and_compression_give_the_same(self):
        data = pathlib.Path(CAPTURE).read_bytes()
        variants = [("-", data), (self.file("c.pcap.gz", gzip.compress(data)), None), ("-", gzip.compress(data))]
        if zstd := shutil.which("zstd"):
            packed = subprocess.run([zstd, "-q", "-c"], input=data, capture_output=True, check=True).stdout
            variants += [(self.file("c.pcap.zst", packed), None), ("-", packed)]
        for command in ("connections", "transactions"):
            for format in ("text", "jsonl"):
                want = stag(command, "--format", format, CAPTURE)
                self.status(want, 0)
                for path, stdin in variants:
                    done = stag(command, "--format", format, path, data=stdin)
                    self.status(done, 0)
                    self.assertEqual(done.stdout.replace(name_of(path), b"FILE"), want.stdout.replace(CAPTURE.encode(), b"FILE"))


class Results(Base):
    def test_transactions_with_errors(self):
        found = {line["xid"]: line for line in lines(stag("transactions", "--format", "jsonl", CAPTURE))}
        self.assertEqual(found["0x00001001"]["reply_form"], "short")
        errors = [line for line in found.values() if line["reply_form"] == "error"]
        self.assertGreaterEqual(len(errors), 2)
        for line in errors:
            self.assertFalse(line["reply_complete"])
            self.assertIsNotNone(line["reply_frame"])
            for key in ("reply_bytes", "reply_sha256", "status"):
                self.assertIsNone(line[key])
        text = stag("transactions", CAPTURE).stdout
        self.assertIn(b"RDMA_ERROR ERR_VERS", text)
        self.assertIn(b"RDMA_ERROR ERR_CHUNK", text)

    def test_connections(self):
        (line,) = lines(stag("connections", "--format", "jsonl", CAPTURE))
        self.assertEqual(line["fabric"], "RoCEv2")
        self.assertEqual(line["client"]["address"], "10.0.0.2")
        self.assertEqual(line["server"]["address"], "10.0.0.1")
        self.assertEqual(line["service_port"], 20049)
        self.assertGreaterEqual(line["errors"], 2)
        self.assertEqual(list(line)[-1], "transport")
        for told in lines(stag("transport", "--format", "jsonl", CAPTURE)):
            side = {"c2s": "client", "s2c": "server"}[told["direction"]]
            self.assertEqual(line["transport"][side],
                             {k: v for k, v in told.items() if k not in ("type", "file", "connection", "time", "time_s", "direction", "fabric")})

    def test_several_files_each_on_its_own(self):
        for command in (each for each in READERS if each != "latency"):  # which takes them together
            extra = ["--fail-on", "never"] if command == "check" else []
            one = lines(stag(command, "--format", "jsonl", *extra, CAPTURE))
            done = stag(command, "--format", "jsonl", *extra, CAPTURE, CAPTURE)
            self.status(done, 0)
            two = lines(done)
            if command == "check":  # one summary, over all files
                self.assertEqual(two.pop()["frames"], 2 * one.pop()["frames"])
            self.assertEqual(two[:len(one)], two[len(one):])
            self.assertEqual([line.get("file") for line in two], [CAPTURE] * len(two))
        text = stag("transactions", CAPTURE, CAPTURE).stdout
        self.assertEqual(text.count(f"== {CAPTURE} ==".encode()), 2)

    def test_colours(self):
        for command in READERS:
            done = stag(command, "--color", "always", CAPTURE)
            self.assertIn(b"\x1b[", done.stdout)
            for arguments in (["--color", "never"], [], ["--format", "jsonl", "--color", "always"]):
                self.assertNotIn(b"\x1b[", stag(command, *arguments, CAPTURE).stdout)

    def test_colours_on_a_terminal(self):
        for env, coloured in (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False)):
            master, slave = pty.openpty()
            environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | env
            child = subprocess.Popen([STAG, "connections", CAPTURE], stdout=slave, stderr=subprocess.DEVNULL, env=environment)
            os.close(slave)
            text = b""
            try:
                while piece := os.read(master, 65536):
                    text += piece
            except OSError:  # the terminal has no writer any more
                pass
            os.close(master)
            child.wait()
            self.assertEqual(b"\x1b[" in text, coloured)

    def test_a_closed_pipe_ends_quietly(self):
        for command in READERS + ("rules",):
            read, write = os.pipe()
            os.close(read)
            arguments = [] if command == "rules" else [CAPTURE]
            done = subprocess.run([STAG, command, *arguments], stdout=write, stderr=subprocess.PIPE)
            os.close(write)
            self.assertEqual(done.stderr, b"")
            self.assertIn(done.returncode, (0, 1))

    def test_output_goes_to_a_file(self):
        path = self.directory / "results"
        for command in ("transactions", "check"):
            with self.subTest(command=command):
                path.write_bytes(b"what was there before, and is longer than what comes\n" * 100000)
                done, to_file = stag(command, CAPTURE), stag(command, "--output", str(path), CAPTURE)
                self.assertEqual((to_file.returncode, to_file.stdout), (done.returncode, b""))
                self.assertEqual(path.read_bytes(), done.stdout)
        done = stag("check", "-o", str(self.directory / "missing" / "results"), CAPTURE)
        self.status(done, 2)
        self.assertTrue(done.stderr.startswith(b"stag: cannot write "), done.stderr)

    def test_a_full_disk_is_told(self):
        if not os.path.exists("/dev/full"):
            self.fail("/dev/full is missing")
        for command in READERS + ("rules",):
            arguments = [] if command == "rules" else [CAPTURE]
            with open("/dev/full", "wb") as full:
                done = subprocess.run([STAG, command, *arguments], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"No space left", done.stderr)


class Devices(Base):
    def test_software_iwarp_is_always_there(self):
        done = stag("devices", "--format", "jsonl")
        self.status(done, 0)
        found = lines(done)
        self.assertEqual([t["type"] for t in found], ["transport"] * len(found))
        self.assertEqual(list(found[0]), ["type", "name", "kind", "state", "netdev", "usable", "reason", "auto"])
        self.assertEqual((found[0]["name"], found[0]["usable"]), ("iwarp", True))
        self.assertEqual(sum(t["auto"] for t in found), 1)
        text = stag("devices")
        self.status(text, 0)
        taken = next(t["name"] for t in found if t["auto"])
        self.assertIn(f"auto takes {taken}: ".encode(), text.stdout)
        for transport in found:
            self.assertIn(transport["name"].encode(), text.stdout)


class Lists(Base):
    """Lists that are of no capture."""

    def test_formats(self):
        for command in (["rules"], ["explain", "WRLIST"], ["explain", "wrlist-001"], ["devices"]):
            with self.subTest(command):
                found = lines(stag(*command, "--format", "jsonl"))
                self.assertEqual(json.loads(stag(*command, "--format", "json").stdout), found)
                rows = list(csv.DictReader(stag(*command, "--format", "csv").stdout.decode().splitlines()))
                self.assertEqual([list(row) for row in rows], [list(one)[1:] for one in found])  # but for the type
                for row, one in zip(rows, found):
                    for name, value in one.items():
                        if isinstance(value, str) and name != "type" and value.isprintable():
                            self.assertEqual(row[name], value)
                table = stag(*command, "--format", "table").stdout.decode().splitlines()
                self.assertEqual([row.split()[0] for row in table[1:]], [one.get("id", one.get("name")) for one in found])

    def test_order_and_limit(self):
        rules = lines(stag("rules", "--format", "jsonl"))
        want = [rule["id"] for rule in sorted(rules, key=lambda rule: rule["title"])[:3]]
        self.assertEqual([rule["id"] for rule in lines(stag("rules", "--format", "jsonl", "--sort", "title", "--limit", "3"))],
                         want)
        for style in ("text", "table"):
            table = stag("rules", "--format", style, "--sort", "title", "--limit", "3").stdout.decode().splitlines()
            self.assertEqual([row.split()[0] for row in table[1:4]], want)
        names = [device["name"] for device in lines(stag("devices", "--format", "jsonl", "--sort", "name:desc"))]
        self.assertEqual(names, sorted(names, reverse=True))
        self.assertEqual(len(stag("devices", "--limit", "1").stdout.splitlines()), 2)  # and the line of auto

    def test_what_capture_has_for_its_list_only(self):
        for options in (["--format", "csv"], ["--sort", "name"], ["--limit", "1"], ["--wide"]):
            done = stag("capture", "-i", "lo", "-w", str(self.directory / "x.pcapng"), *options)
            self.status(done, 2)
            self.assertIn(b"are for --list", done.stderr)


class Check(Base):
    def test_lines_and_summary(self):
        done = stag("check", "--format", "jsonl", "--fail-on", "never", CAPTURE)
        self.status(done, 0)
        *findings, summary = lines(done)
        self.assertEqual(list(summary), ["type", "frames", "connections", "transactions", "findings", "rules_checked",
                                         "rules_not_exercised", "incomplete", "judged", "outcomes", "suppressed"])
        self.assertEqual(list(summary["findings"]), ["error", "warning", "note"])
        for severity, count in summary["findings"].items():
            self.assertEqual(count, sum(finding["severity"] == severity for finding in findings))
        for finding in findings:
            self.assertEqual(list(finding), ["type", "rule", "severity", "certainty", "file", "frame",
                                             "proven_frame", "time", "time_s", "connection",
                                             "direction", "xid", "transaction", "message", "spec", "related_frames", "see_also",
                                             "fingerprint", "profile", "expected", "actual", "rpc"])
            self.assertEqual(finding["file"], CAPTURE)
        frames = [finding["proven_frame"] for finding in findings]
        self.assertEqual(frames, sorted(frames))

    def test_exit_status_follows_fail_on(self):
        *findings, summary = lines(stag("check", "--format", "jsonl", "--fail-on", "never", CAPTURE))
        counts = summary["findings"]
        for level, names in (("error", ["error"]), ("warning", ["error", "warning"]), ("note", list(counts))):
            want = 1 if sum(counts[name] for name in names) else 0
            self.status(stag("check", "--fail-on", level, CAPTURE), want)
        self.status(stag("check", CAPTURE), 1 if counts["error"] else 0)

    def test_select_takes_no_file(self):
        self.status(stag("check", "--select", "HDR,XID-001", "--ignore", "hdr-008", "--fail-on", "never", CAPTURE), 0)
        self.status(stag("check", "--fail-on", "never", "--select", "HDR", "--select", "XID", CAPTURE), 0)
        summary = lines(stag("check", "--format", "jsonl", "--fail-on", "never", "--select", "HDR,XID-001", "--ignore",
                             "hdr-008", CAPTURE))[-1]
        rules = summary["rules_checked"] + summary["rules_not_exercised"]
        self.assertIn("XID-001", rules)
        self.assertNotIn("XID-002", rules)
        self.assertNotIn("HDR-008", rules)

    def test_select_and_ignore(self):
        summary = lines(stag("check", "--format", "jsonl", "--select", "HDR", "--fail-on", "never", CAPTURE))[-1]
        rules = summary["rules_checked"] + summary["rules_not_exercised"]
        self.assertTrue(rules and all(rule.startswith("HDR-") for rule in rules))
        summary = lines(stag("check", "--format", "jsonl", "--ignore", "HDR", "--fail-on", "never", CAPTURE))[-1]
        rules = summary["rules_checked"] + summary["rules_not_exercised"]
        self.assertTrue(rules and not any(rule.startswith("HDR-") for rule in rules))


class Catalogue(Base):
    def test_rules(self):
        done = stag("rules", "--format", "jsonl")
        self.status(done, 0)
        self.assertEqual(len(lines(done)), 240)
        text = stag("rules").stdout
        self.assertIn(b"RDLIST-003", text)

    def test_explain(self):
        done = stag("explain", "rdlist-003")
        self.status(done, 0)
        self.assertIn(b"RDLIST-003", done.stdout)
        (line,) = lines(stag("explain", "--format", "jsonl", "rdlist-003"))
        self.assertEqual(line["id"], "RDLIST-003")
        self.assertGreater(len(line["example_bytes"].splitlines()), 4)

    def test_explain_a_group(self):
        done = stag("explain", "frame")
        self.status(done, 0)
        for rule in (b"FRAME-001", b"FRAME-002", b"2 rules"):
            self.assertIn(rule, done.stdout)
        self.assertEqual([line["id"] for line in lines(stag("explain", "--format", "jsonl", "frame"))],
                         ["FRAME-001", "FRAME-002"])

    def test_explain_what_does_not_exist(self):
        done = stag("explain", "RDLIST-03")
        self.status(done, 2)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"RDLIST-003", done.stderr)
        self.assertIn(b"did you mean WRLIST?", stag("explain", "WRLST").stderr)


class Extract(Base):
    def test_refuses_a_directory_with_something_in_it(self):
        self.file("mine", b"mine")
        done = stag("extract", CAPTURE, "--out", str(self.directory))
        self.status(done, 2)
        self.assertIn(b"--force", done.stderr)
        self.status(stag("extract", CAPTURE, "--out", str(self.directory), "--force"), 0)
        self.assertEqual((self.directory / "mine").read_bytes(), b"mine")

    def test_refuses_what_is_no_directory(self):
        done = stag("extract", CAPTURE, "--out", self.file("file", b""))
        self.status(done, 2)
        self.assertIn(b"Not a directory", done.stderr)


class Serve(Base):
    def test_listens_until_it_is_told_to_end(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([STAG, "serve", "--mode", "nfs-memory", "--listen", "127.0.0.1:0", "--mount-port", "0",
                                   "--file", "data=1M", "--check", "--transport", "iwarp", "--format", "jsonl"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
                listening = json.loads(server.stdout.readline())
                self.assertEqual((listening["type"], listening["mode"]), ("listening", "nfs-memory"))
                with socket.create_connection(("127.0.0.1", listening["mount_port"])) as mount:
                    call = struct.pack(">11I", 0x80000028, 5, 0, 2, 100005, 3, 0, 0, 0, 0, 0)
                    mount.sendall(call)
                    self.assertEqual(mount.recv(100), struct.pack(">7I", 0x80000018, 5, 1, 0, 0, 0, 0))
                taken = stag("serve", "--mode", "null", "--listen", f"127.0.0.1:{listening['port']}")
                self.status(taken, 2)
                self.assertIn(b"in use", taken.stderr)
                server.send_signal(signal_number)
                out, err = server.communicate(timeout=60)
                self.assertEqual((server.returncode, err), (0, b""))
                self.assertEqual([json.loads(line)["type"] for line in out.splitlines()], ["served", "summary"])

    def test_what_cannot_be(self):
        for arguments in (["null", "--file", "a=1"], ["recorded"], ["nfs-memory", "--memory", "1M", "--file", "a=2M"],
                          ["nfs-memory", "--export", str(self.directory / "none")], ["echo", "--listen", "[::1"],
                          ["echo", "--transport", "nonesuch7"]):
            done = stag("serve", "--mode", *arguments)
            self.status(done, 2)
            self.assertEqual(done.stdout, b"")
            self.assertTrue(done.stderr.startswith(b"stag: "), done.stderr)


if __name__ == "__main__":
    unittest.main()
