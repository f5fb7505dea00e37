#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stag probe against stag serve, on loopback: every mode, every format, the recording; wrong options; servers that are
none, and one that dies.

    probe_test.py STAG
"""
import csv
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from live_runs import REAL, STAG, TRANSPORT, lines, popen, serve, stag

QUICK = ("--transport", TRANSPORT, "--settle", "5ms", "--timeout", "5s")


def probe(*arguments):
    return stag("probe", *QUICK, *arguments)


def lines_of(done):
    """The server, the probes by id, the summary."""
    server, *probes, summary = lines(done)
    return server, {line["id"]: line for line in probes}, summary


class Probe(unittest.TestCase):
    def status(self, done, status):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)

    def complains(self, done, text):
        self.status(done, 2)
        self.assertEqual(done.stdout, "")
        self.assertIn(text, done.stderr)

    def test_every_mode_passes(self):
        known = len(lines(stag("probe", "--list", "--format", "jsonl")))
        for mode, program in (("null", 100003), ("echo", 0x20020049), ("nfs-memory", 100003)):
            with serve("--mode", mode) as server:
                done = probe(server.to, "--format", "jsonl")
            self.status(done, 0)
            self.assertEqual(done.stderr, "")
            begin, probes, summary = lines_of(done)
            self.assertEqual((begin["to"], begin["transport"], begin["program"]), (server.to, TRANSPORT, program))
            self.assertTrue(begin["program_known"])
            self.assertEqual(summary["probes"], known)
            self.assertEqual(len(probes), known)
            self.assertEqual((summary["failed"], summary["not_run"]), (0, 0))
            self.assertEqual(sum(summary[v] for v in ("passed", "inconclusive", "skipped")), known)
            for line in probes.values():
                self.assertIn(line["verdict"], ("passed", "inconclusive", "skipped"))
                self.assertEqual(line["why"] is None, line["verdict"] == "passed")

    def test_a_recording_passes(self):
        """A server that answers from a capture, with the commonest program, and what it says of Calls that are not in it."""
        with serve(REAL / "rxe-nfs3.pcap.zst") as server:
            done = probe(server.to, "--format", "jsonl")
        self.status(done, 0)
        begin, _, summary = lines_of(done)
        self.assertEqual((begin["program"], begin["version"], begin["program_known"]), (100003, 3, True))
        self.assertGreater(summary["passed"], 50)

    def test_export(self):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "probe.pcapng")
            with serve("--mode", "nfs-memory", "--mount-port", "0") as server:
                done = probe(server.to, "--export", "/", "--mount-port", server.mount_port, "--record", recording,
                             "--format", "jsonl", "--dangerous",
                             ",".join(line["id"] for line in lines(stag("probe", "--list", "--format", "jsonl")) if line["danger"]))
                self.status(done, 0)
                _, probes, summary = lines_of(done)
                # There is no NFSv4 in it, and no key table.
                without = {line["id"] for line in probes.values() if line["verdict"] == "skipped"}
                self.assertEqual({name.split(".")[0] for name in without}, {"session", "nfs4", "callback", "gss"})
                self.assertEqual(summary["passed"] + len(without), summary["probes"], done.stdout)
                # What was recorded shows the WRITEs, and the wrong headers of the probes and none of the server.
                rows = lines(stag("transactions", "--format", "jsonl", recording))
                self.assertGreater(sum(row.get("name") == "WRITE" for row in rows), 100)
                findings = lines(stag("check", "--format", "jsonl", recording))
                errors = [f for f in findings if f["type"] == "finding" and f["severity"] == "error"]
                self.assertIn("HDR-004", {f["rule"] for f in errors})
                self.assertEqual([f for f in errors if f["direction"] == "s2c"], [])
                # Nothing is left there.
                refused = probe(server.to, "--export", "/nothing", "--mount-port", server.mount_port)
                self.complains(refused, "has no directory /nothing")

    def test_text(self):
        with serve("--mode", "null") as server:
            done = probe(server.to, "--select", "header,xid.again,nfs3.read", "--ignore", "header.short")
            quiet = probe(server.to, "--select", "header", "--quiet")
        self.status(done, 0)
        text = done.stdout.splitlines()
        self.assertEqual(text[0], f"{server.to} by {TRANSPORT}: NFS version 3")
        self.assertIn("passed       header.version                Another version gets ERR_VERS", text)
        self.assertIn("passed       xid.again ", done.stdout)
        self.assertNotIn("header.short", done.stdout)
        self.assertIn("skipped      nfs3.read ", done.stdout)
        self.assertIn("             because   an NFSv3 export is needed: give --export", text)
        self.assertRegex(text[-1], r"^13 probes: 12 passed, 0 failed, 0 inconclusive, 1 skipped; \d+\.\d s$")
        self.status(quiet, 0)
        self.assertEqual(quiet.stdout, "")

    def test_a_dangerous_probe(self):
        with serve("--mode", "null") as server:
            kept = probe(server.to, "--select", "chunk.empty-segments", "--format", "jsonl")
            run = probe(server.to, "--select", "rpc.null", "--dangerous", "chunk.empty-segments", "--format", "jsonl")
        [line] = lines_of(kept)[1].values()
        self.assertEqual(line["verdict"], "skipped")
        self.assertIn("it can harm a server: Linux 6.1 loses a thread", line["why"])
        self.assertEqual({line["id"]: line["verdict"] for line in lines_of(run)[1].values()},
                         {"rpc.null": "passed", "chunk.empty-segments": "passed"})

    def test_junit(self):
        with serve("--mode", "null") as server:
            done = probe(server.to, "--select", "rpc,chunk.long-reply", "--format", "junit")
        self.status(done, 0)
        suite = xml.etree.ElementTree.fromstring(done.stdout).find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("9", "0", "2"))
        cases = {case.get("name").split()[0]: case for case in suite.findall("testcase")}
        self.assertEqual(cases["rpc.null"].get("classname"), "rpc")
        self.assertTrue(cases["chunk.long-reply"].find("skipped").get("message").startswith("skipped: a Call with"))

    def test_rows(self):
        """json, csv and table have what jsonl has: of a run, and of the catalogue."""
        select = ("--select", "header,nfs3.read")
        with serve("--mode", "null") as server:
            document = json.loads(probe(server.to, *select, "--format", "json").stdout)
            table = probe(server.to, *select, "--format", "table").stdout.splitlines()
            cells = list(csv.DictReader(probe(server.to, *select, "--format", "csv").stdout.splitlines()))
            chosen = probe(server.to, *select, "--sort", "id:desc", "--limit", "2", "--format", "jsonl")
            text = probe(server.to, *select, "--sort", "id:desc", "--limit", "2").stdout.splitlines()
        begin, *probes, summary = document
        self.assertEqual((begin["type"], summary["type"], summary["probes"]), ("server", "summary", len(probes)))
        ids = [row["id"] for row in probes]
        self.assertIn("nfs3.read", ids)
        self.assertEqual([(row["id"], row["title"], row["verdict"]) for row in probes],
                         [(row["id"], row["title"], row["verdict"]) for row in cells])
        self.assertEqual([line.split()[0] for line in table], ["probe", *ids])
        _, *two, summary = lines(chosen)
        self.assertEqual([row["id"] for row in two], sorted(ids, reverse=True)[:2])
        self.assertEqual(summary["probes"], len(ids))
        self.assertEqual([line.split()[1] for line in text if line.startswith(("passed", "skipped"))], sorted(ids, reverse=True)[:2])
        listed = lines(stag("probe", "--list", *select, "--format", "jsonl"))
        self.assertEqual(json.loads(stag("probe", "--list", *select, "--format", "json").stdout), listed)
        cells = csv.DictReader(stag("probe", "--list", *select, "--format", "csv").stdout.splitlines())
        self.assertEqual([{**row, "rules": ";".join(row["rules"]), "spec": ";".join(row["spec"]), "danger": row["danger"] or ""}
                          for row in listed], [{"type": "probe", **row} for row in cells])
        self.complains(probe("host", "--format", "html", "--sort", "id"), "are for lists, not for --format junit and html")
        self.complains(stag("probe", "--list", "--sort", "verdict"), "verdict is no member of the rows")

    def test_a_program_that_is_not_there(self):
        with serve("--mode", "null") as server:
            done = probe(server.to, "--program", "536870912", "--select", "rpc", "--format", "jsonl")
        self.status(done, 0)
        begin, probes, _ = lines_of(done)
        self.assertEqual((begin["program"], begin["program_known"]), (536870912, False))
        self.assertEqual(probes["rpc.null"]["verdict"], "inconclusive")
        self.assertIn("PROG_UNAVAIL for NULL of program 536870912", probes["rpc.null"]["why"])
        self.assertEqual(probes["rpc.prog-mismatch"]["verdict"], "skipped")
        self.assertEqual(probes["rpc.prog-unavail"]["verdict"], "passed")

    def test_the_catalogue(self):
        rules = {line["id"] for line in lines(stag("rules", "--format", "jsonl"))}
        probes = lines(stag("probe", "--list", "--format", "jsonl"))
        ids = [line["id"] for line in probes]
        self.assertEqual(len(ids), len(set(ids)))
        table = stag("probe", "--list")
        self.status(table, 0)
        for line in probes:
            self.assertRegex(line["id"], r"^[a-z0-9]+\.[a-z0-9-]+$")
            self.assertTrue(line["spec"])
            for section in line["spec"]:
                self.assertRegex(section, r"^RFC \d+ \d+(\.\d+)*$")
            self.assertEqual(set(line["rules"]) - rules, set(), line["id"])
            mark = r" \(--dangerous\)" if line["danger"] else ""
            self.assertRegex(table.stdout, rf"(?m)^{re.escape(line['id'])} +{re.escape(line['title'])}{mark}$")
        told = stag("probe", "--explain", "header.version")
        self.status(told, 0)
        for text in ("header.version: Another version gets ERR_VERS", "RFC 8166 4.5.1", "ERR-007"):
            self.assertIn(text, told.stdout)
        told = stag("probe", "--explain", "chunk.empty-segments")
        self.assertIn("It can harm a server", told.stdout)
        some = stag("probe", "--list", "--select", "credit")
        self.assertIn("credit.grant", some.stdout)
        self.assertNotIn("header.version", some.stdout)

    def test_the_catalogue_of_clients(self):
        rules = {line["id"] for line in lines(stag("rules", "--format", "jsonl"))}
        servers = lines(stag("probe", "--list", "--format", "jsonl"))
        clients = lines(stag("probe", "--list", "--listen", "0", "--format", "jsonl"))
        self.assertEqual({line["peer"] for line in servers}, {"server"})
        self.assertEqual({line["peer"] for line in clients}, {"client"})
        ids = [line["id"] for line in servers + clients]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertGreaterEqual(len(clients), 60)
        for line in clients:
            self.assertRegex(line["id"], r"^[a-z]+\.[a-z-]+$")
            self.assertTrue(line["spec"])
            for section in line["spec"]:
                self.assertRegex(section, r"^RFC \d+ \d+(\.\d+)*$")
            self.assertEqual(set(line["rules"]) - rules, set(), line["id"])
        told = stag("probe", "--explain", "backward.garbage")
        self.status(told, 0)
        self.assertIn("It can harm a client", told.stdout)
        table = stag("probe", "--list", "--listen", "0", "--select", "reject")
        self.assertIn("WHAT THE CLIENT IS TO DO", table.stdout)
        self.assertIn("reject.first", table.stdout)
        self.assertNotIn("error.", table.stdout)

    def test_sections_are_selectors(self):
        """A section selects what tests it or a section below it, of servers and of clients; a document all of its own."""
        def below(spec, document, section):
            return any(s == f"RFC {document} {section}" or s.startswith(f"RFC {document} {section}.") for s in spec)

        for peer in ([], ["--listen", "0"]):
            every = lines(stag("probe", "--list", *peer, "--format", "jsonl"))
            for selector, document, section in (("rfc8166-4", 8166, "4"), ("rfc8166-4.5", 8166, "4.5"),
                                                ("RFC8166:4.5.3", 8166, "4.5.3"), ("rfc8797-4", 8797, "4")):
                wanted = [line["id"] for line in every if below(line["spec"], document, section)]
                listed = lines(stag("probe", "--list", *peer, "--select", selector, "--format", "jsonl"))
                self.assertEqual([line["id"] for line in listed], wanted)
                self.assertTrue(0 < len(wanted) < len(every), selector)
                left = lines(stag("probe", "--list", *peer, "--ignore", selector, "--format", "jsonl"))
                self.assertEqual(sorted(wanted + [line["id"] for line in left]), sorted(line["id"] for line in every))
            of_8797 = [line["id"] for line in every if any(s.startswith("RFC 8797 ") for s in line["spec"])]
            listed = lines(stag("probe", "--list", *peer, "--select", "rfc8797", "--format", "jsonl"))
            self.assertEqual([line["id"] for line in listed], of_8797)
        with serve("--mode", "null") as server:
            done = probe(server.to, "--select", "rfc8166-4.5.1", "--format", "jsonl")
        self.status(done, 0)
        self.assertEqual(set(lines_of(done)[1]), {"header.version"})
        # 4.1 is not the beginning of 4.10, and a section is not that of another document.
        self.complains(stag("probe", "host", "--select", "rfc8166-4.55"), "no probe tests section 4.55 of RFC 8166; there are some of")
        self.complains(stag("probe", "host", "--select", "rfc8166-4.10"), "no probe tests section 4.10 of RFC 8166")
        self.complains(stag("probe", "host", "--select", "rfc9999"), "no probe tests RFC 9999; there are some of RFC 1813, RFC 2203, RFC 5531, RFC 7862")
        for wrong in ("rfc8166-", "rfc8166-4.", "rfc8166-.4", "rfc8166-4..4", "rfc8166 4", "rfc", "rfc8166-4x"):
            self.complains(stag("probe", "host", "--select", wrong), "is no section as in rfc8166-4.4")
        self.complains(stag("probe", "host", "--select", "heder.version"), "did you mean header.version?")
        self.complains(stag("probe", "host", "--select", "rfc8166_4.5"), "did you mean rfc8166-4.5?")
        self.complains(stag("probe", "host", "--select", "rfc8167-5"), "leave no probe of a server; --listen is for probes of a client")

    def test_our_own_client_passes(self):
        done = probe("--listen", "127.0.0.1:0", "--format", "jsonl", "--dangerous", "backward.garbage", "--timeout", "20s")
        self.status(done, 0)
        self.assertEqual(done.stderr, "")
        begin, probes, summary = lines_of(done)
        self.assertEqual((begin["type"], begin["command"], begin["transport"]), ("client", None, TRANSPORT))
        self.assertEqual((summary["failed"], summary["skipped"], summary["not_run"]), (0, 0, 0))
        self.assertEqual(len(probes), summary["probes"])
        self.assertGreaterEqual(summary["passed"], summary["probes"] - 2)

    def test_a_client_that_is_a_command(self):
        with tempfile.TemporaryDirectory() as folder:
            recording, seen = os.path.join(folder, "clients.pcapng"), os.path.join(folder, "seen")
            command = (f"echo $PROBE >> {seen}; exec {STAG} generate --to $ADDR:$PORT --transport {TRANSPORT} --mode nfs3 "
                       "--mix read,write,getattr,readdirplus --calls 60 --depth 4 --size 1-20K --file-size 256K "
                       "--verify --register per-call --reconnect 3 --mount-port $MOUNT_PORT --quiet")
            done = probe("--listen", "127.0.0.1:0", "--mount-port", "0", "--client-command", command, "--format", "jsonl",
                         "--select", "error.chunk,form.long-for-short,close.after-writes", "--record", recording)
            self.status(done, 0)
            begin, probes, summary = lines_of(done)
            self.assertEqual(begin["command"], command)
            self.assertEqual({line["verdict"] for line in probes.values()}, {"passed"}, done.stdout)
            with open(seen, encoding="ascii") as file:
                self.assertEqual(set(file.read().split()) - {"alive"}, {"begin", *probes})
            rows = lines(stag("transactions", "--format", "jsonl", recording))
            self.assertTrue(any(row.get("name") == "READ" for row in rows))

    def test_what_a_command_says(self):
        """The exit status of the command decides, and what it prints is shown."""
        works = f"{STAG} generate --to $ADDR:$PORT --transport {TRANSPORT} --calls 40 --quiet"
        for ending, verdict, words in (("exit 3", "failed", "no byte is wrong"), ("exit 1", "failed", "the client's work succeeds"),
                                       ("kill -9 $$", "failed", "a client that lives")):
            command = f'{works}; [ $PROBE = answer.late ] || exit 0; echo it broke; {ending}'
            done = probe("--listen", "127.0.0.1:0", "--client-command", command, "--select", "answer.late", "--format", "jsonl")
            self.status(done, 1)
            _, probes, _ = lines_of(done)
            line = probes["answer.late"]
            self.assertEqual((line["verdict"], line["expected"]), (verdict, words))
            self.assertIn("it broke", line["came"])
        done = probe("--listen", "127.0.0.1:0", "--client-command", "echo no mount; exit 1")
        self.complains(done, "the client's work fails although nothing is wrong: no mount")
        done = probe("--listen", "127.0.0.1:0", "--client-command", "true")
        self.complains(done, "it did not connect")

    def test_usage(self):
        self.complains(stag("probe"), "which server?")
        self.complains(stag("probe", "host:0x"), '"0x" is no port')
        self.complains(stag("probe", "host", "--select", "foo"), "foo names no probe and no topic")
        self.complains(stag("probe", "host", "--select", "xid", "--ignore", "xid"), "leave no probe of a server")
        self.complains(stag("probe", "host", "--select", "close"), "leave no probe of a server")
        self.complains(stag("probe", "--listen", "0", "--select", "xid"), "leave no probe of a client")
        self.complains(stag("probe", "host", "--listen", "0"), "not both")
        self.complains(stag("probe", "host", "--client-command", "true"), "is for --listen")
        self.complains(stag("probe", "host", "--dangerous", "header.version"), "header.version is no dangerous probe")
        self.complains(stag("probe", "--listen", "0", "--dangerous", "close.often"), "close.often is no dangerous probe")
        self.complains(stag("probe", "--listen", "0", "--export", "/"), "are for probes of a server")
        self.complains(stag("probe", "--listen", "0", "--nfs4-export", "/"), "are for probes of a server")
        self.complains(stag("probe", "--explain", "foo"), "foo is no probe")
        self.complains(stag("probe", "--list", "--format", "junit"), "--format junit is of probes that are run")
        self.complains(stag("probe", "host", "--export", "/", "--handle", "00"), "exclude each other")
        self.complains(stag("probe", "host", "--mount-port", "1"), "--mount-port is for --export, and for --listen")
        self.complains(stag("probe", "host", "--program-version", "1"), "--program-version is for --program")
        self.complains(stag("probe", "host", "--timeout", "soon"), "soon is not a time")

    def test_no_server(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.complains(probe(f"127.0.0.1:{port}"), "nothing listens there")

    def test_a_server_that_says_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.complains(probe(f"127.0.0.1:{listener.getsockname()[1]}", "--timeout", "300ms"), "127.0.0.1")

    def test_a_server_that_dies(self):
        # It serves one connection, and the runner comes with many.
        with serve("--mode", "null", "--once") as server:
            done = probe(server.to, "--select", "rpc", "--format", "jsonl")
        self.status(done, 1)
        _, probes, summary = lines_of(done)
        [first] = probes.values()
        self.assertEqual((first["id"], first["verdict"]), ("rpc.null", "failed"))
        self.assertIn("the server is gone", first["came"])
        self.assertEqual((summary["not_run"], summary["why_not_run"]), (7, "the server is gone"))

    def test_interrupted(self):
        """SIGINT while a server keeps still: what there is comes, and the end at once."""
        with serve("--mode", "null", "--delay", "500") as server:
            process = popen([STAG, "probe", server.to, "--transport", TRANSPORT, "--select", "rpc", "--format", "jsonl"],
                                       stdout=subprocess.PIPE, text=True)
            process.stdout.readline()  # the server was found
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, out)
            summary = json.loads(out.splitlines()[-1])
            self.assertEqual(summary["why_not_run"], "interrupted")


if __name__ == "__main__":
    unittest.main()
