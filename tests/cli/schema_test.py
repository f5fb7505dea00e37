#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stag schema: the schemas are JSON Schema, every line of every command on every capture of the repository is valid by its own,
and docs/records.md is what it prints.

    schema_test.py STAG"""
import csv
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest

import jsonschema

import live_runs
from iwarp_client import Client
from live_runs import STAG

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAPTURES = sorted(path for path in (ROOT / "pcaps").rglob("*") if ".pcap" in path.name and "expected" not in path.parts)
# Commands with a schema that are not asked of a capture.
WITHOUT_CAPTURE = {"rules": [["rules"]], "explain": [["explain", "WRLIST"]], "devices": [["devices"]],
                   "capture": [["capture", "--list"]]}
LIVE = ("generate", "relay", "replay", "serve")  # those of class Live
# Those that make files.
WRITES = {"scrub": ["-w"], "slice": ["--frames", "1-", "-w"], "extract": ["--out"]}
# Further words, by command: lines that only these show.
FURTHER = {"latency": [["--slowest", "5"], ["--against", ROOT / "pcaps/real/rxe-nfs4.1.pcap.zst"]],
           "top": [["--interval", "1s"]], "connections": [["--all"]], "transport": [["--all"]]}


def stag(*words):
    return subprocess.run([STAG, *map(str, words)], capture_output=True, text=True)


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        whole = json.loads(stag("schema").stdout)
        cls.commands = sorted({name.split(".")[0] for name in whole["$defs"]})
        cls.whole = whole

    def schema(self, command):
        done = stag("schema", command)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_is_json_schema(self):
        jsonschema.Draft202012Validator.check_schema(self.whole)
        for command in self.commands:
            jsonschema.Draft202012Validator.check_schema(self.schema(command))

    def test_every_member_is_documented(self):
        def members(definition, path):
            for name, member in definition.get("properties", {}).items():
                if name != "type":
                    yield f"{path}.{name}", member
                    yield from members(member, f"{path}.{name}")
                    yield from members(member.get("items", {}), f"{path}.{name}[]")

        for name, definition in self.whole["$defs"].items():
            self.assertTrue(definition["description"], name)
            for path, member in members(definition, name):
                self.assertTrue(member.get("description"), path)
                if path.endswith("_us"):
                    self.assertIn(member.get("x-unit"), ("microseconds", None), path)

    def test_equal_members_are_equal_everywhere(self):
        equal = {"connection": "integer", "time": "string", "time_s": "number", "direction": "string", "file": "string"}
        for name, definition in self.whole["$defs"].items():
            for member, kind in equal.items():
                if member in definition["properties"]:
                    self.assertIn(kind, definition["properties"][member]["type"], f"{name}.{member}")

    def test_lines_of_all_captures_are_valid(self):
        for command in set(self.commands) - {*LIVE, "probe"}:
            with tempfile.TemporaryDirectory() as home:
                asked = WITHOUT_CAPTURE.get(command) or [[command, *further, *CAPTURES] for further in
                                                         [[], *FURTHER.get(command, [])]]
                if command in WRITES:
                    asked = [[command, *WRITES[command], f"{home}/{i}", path] for i, path in enumerate(CAPTURES[::10])]
                self.check_lines(command, asked)

    def check_lines(self, command, asked):
        """Each line is valid by one of the definitions that have its type."""
        validators = {}
        for definition in self.schema(command)["$defs"].values():
            kind = definition["properties"]["type"]["const"]
            validators.setdefault(kind, []).append(jsonschema.Draft202012Validator(definition))
        written = [line for words in asked for line in stag(*words, "--format", "jsonl").stdout.splitlines()]
        for line in written:
            row = json.loads(line)
            errors = [next(validator.iter_errors(row), None) for validator in validators[row["type"]]]
            self.assertEqual(errors.count(None), 1, f"{command}: {line} {errors}")
        self.assertGreater(len(written), 0, command)
        return written

    def test_lines_of_probe_are_valid(self):
        quick = ("--transport", live_runs.TRANSPORT, "--settle", "5ms", "--select", "rpc,reject")
        with live_runs.serve("--mode", "null") as server, tempfile.TemporaryDirectory() as home:
            runs = [["probe", server.to, *quick], ["probe", "--listen", "127.0.0.1:0", *quick]]
            paths = [pathlib.Path(home, name) for name in ("one.jsonl", "other.jsonl")]
            for path, more in zip(paths, ([], ["--ignore", "rpc.null"])):
                path.write_text(stag("probe", server.to, *quick, *more, "--format", "jsonl").stdout)
            written = self.check_lines("probe", [*runs, ["probe", "--list"], ["probe", "--explain", "reject.first"],
                                                 ["probe", "--compare", *paths]])
        self.assertEqual({json.loads(line)["type"] for line in written},
                         {definition["properties"]["type"]["const"] for definition in self.schema("probe")["$defs"].values()})

    def test_a_line_that_is_not_right_is_not_valid(self):
        schema = self.schema("limits")
        line = stag("limits", "--format", "jsonl", CAPTURES[0]).stdout or stag(
            "limits", "--format", "jsonl", ROOT / "pcaps/real/rxe-nfs3.pcap.zst").stdout
        row = json.loads(line.splitlines()[0])
        validator = jsonschema.Draft202012Validator(schema)
        self.assertTrue(validator.is_valid(row))
        for wrong in ({"span_us": "1"}, {"connection": -1}, {"time": "yesterday"}, {"more": 1}, {"type": "x"}):
            self.assertFalse(validator.is_valid(row | wrong), wrong)
        self.assertFalse(validator.is_valid({key: value for key, value in row.items() if key != "file"}))

    def test_docs_are_fresh(self):
        self.assertEqual((ROOT / "docs/records.md").read_text(), stag("schema", "--format", "markdown").stdout,
                         "run: stag schema --format markdown > docs/records.md")

    def test_unknown_command(self):
        done = stag("schema", "limit")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean limits?", done.stderr)


def flat(row, prefix=""):
    """The members of a row as CSV has them: by their names with dots, as text."""
    def text(value):
        if isinstance(value, list):
            return ";".join(map(text, value))
        return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    cells = {}
    for name, value in row.items():
        if isinstance(value, dict) and value:
            cells |= flat(value, f"{prefix}{name}.")
        else:
            cells[prefix + name] = text(None if value == {} else value)
    return cells


class Live(unittest.TestCase):
    """The commands with a live peer, on loopback."""
    NFS3 = live_runs.REAL / "rxe-nfs3.pcap.zst"

    def check(self, command, lines):
        """Every line is valid. The kinds of records that there are."""
        schema = json.loads(stag("schema", command).stdout)
        validators = {name: jsonschema.Draft202012Validator(definition) for name, definition in schema["$defs"].items()}
        for row in lines:
            self.assertIsNone(next(validators[row["type"]].iter_errors(row), None), f"{command}: {row}")
        return {row["type"] for row in lines}

    def kinds(self, command):
        return set(json.loads(stag("schema", command).stdout)["$defs"])

    def test_every_record_is_written_and_valid(self):
        seen = {command: set() for command in LIVE}

        def run(command, *words):
            seen[command] |= self.check(command, live_runs.lines(live_runs.stag(command, *words, "--format", "jsonl")))

        with live_runs.serve("--mode", "nfs-memory", "--mount-port", "0", "--check") as server:
            with live_runs.relay(server.to, "--fault", "drop-reply@READ/100", "--check") as middle:
                run("generate", "--to", middle.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--calls", 9,
                    "--timeout", "1s", "--check")
                for port in (middle.port, server.port):
                    with Client(port) as client:
                        client.socket.sendall(b"\0\4abcd\0\0none")  # an FPDU whose CRC is wrong
                        client.socket.recv(100)  # Terminate
            run("generate", "--to", server.to, "--mode", "nfs3", "--handle", "00" * 24, "--calls", 9)
            with live_runs.relay(server.to, "--fault", "disconnect@GETATTR") as breaking:
                run("replay", self.NFS3, "--to", breaking.to)
        seen["relay"] |= self.check("relay", [breaking.listening, *breaking.lines])
        seen["serve"] |= self.check("serve", [server.listening, *server.lines])
        seen["relay"] |= self.check("relay", [middle.listening, *middle.lines])
        with live_runs.serve(self.NFS3, "--check") as server:
            run("generate", "--to", server.to, "--mode", "nfs3", "--handle", "00" * 24, "--calls", 9)
            run("replay", self.NFS3, "--to", server.to, "--check")
        seen["serve"] |= self.check("serve", [server.listening, *server.lines])
        for capture in CAPTURES[::10]:
            run("replay", capture, "--dry-run")
        for command in LIVE:
            self.assertEqual(self.kinds(command) - seen[command] - {"finding"}, set(), command)

    def alike(self, one, kind, outputs):
        """The CSV has the rows of that kind of the lines, and the JSON their records; `one`: of times, which differ."""
        lines = [json.loads(line) for line in outputs["jsonl"].splitlines()]
        fixed = lambda cells: {name: cell for name, cell in cells.items() if not re.search(one, name)}
        rows = [flat({name: value for name, value in row.items() if name != "type"}) for row in lines if row["type"] == kind]
        table = list(csv.DictReader(io.StringIO(outputs["csv"])))
        self.assertGreater(len(rows), 0)
        self.assertEqual([list(cells) for cells in table], [list(row) for row in rows])
        self.assertEqual(list(map(fixed, table)), list(map(fixed, rows)))
        whole = json.loads(outputs["json"])
        self.assertEqual([(row["type"], list(row)) for row in whole], [(row["type"], list(row)) for row in lines])
        self.assertEqual(len(outputs["table"].splitlines()), 1 + len(rows))

    FORMATS = ("jsonl", "json", "csv", "table")

    def test_formats(self):
        dry = {to: stag("replay", "--dry-run", self.NFS3, "--format", to).stdout for to in self.FORMATS}
        self.alike("^$", "call", dry)
        with live_runs.serve(self.NFS3) as server:
            played = {to: stag("replay", self.NFS3, "--to", server.to, "--format", to).stdout
                      for to in self.FORMATS}
        self.alike("^latency", "procedure", played)
        with live_runs.serve("--mode", "echo") as server:
            load = {to: stag("generate", "--to", server.to, "--mode", "echo", "--calls", 20, "--seed", 1, "--format", to).stdout
                    for to in self.FORMATS}
            self.alike("^latency", "operation", load)
            self.alike("_rest_", "direction", {to: self.listen(to, "relay", "--to", server.to) for to in self.FORMATS})
        self.alike("^$", "procedure", {to: self.listen(to, "serve", "--mode", "null") for to in self.FORMATS})

    def listen(self, to, *words, deal=lambda client: [client.call(xid) for xid in range(3)], status=0):
        """The output of a command that has a client."""
        with subprocess.Popen([STAG, *words, "--listen", "127.0.0.1:0", "--once", "--format", to], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            said = process.stdout if to.startswith("json") else process.stderr  # lists have no place for it
            begin = b""
            while not (port := re.search(rb'(?:"port":|127.0.0.1:)(\d+)[^\d]', begin)):
                begin += os.read(said.fileno(), 4096)
            with Client(int(port.group(1))) as client:
                deal(client)
            out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, status)
            return ((begin if said == process.stdout else b"") + out).decode()

    def test_findings_that_come_while_it_runs_are_in_the_array(self):
        def break_rules(client):
            for xid in range(150):
                client.send(struct.pack(">7I", xid, 1, 32, 9, 0, 0, 0))  # there is no rdma_proc 9 (RFC 8166 section 4.1)
                client.receive()

        whole = self.listen("json", "serve", "--mode", "null", "--check", deal=break_rules, status=1)
        self.assertGreater(len(whole), 65536)  # more than is written at once
        self.assertEqual(sum(row["type"] == "finding" and row["rule"] == "HDR-004" for row in json.loads(whole)), 100)

    def test_findings_have_no_place_in_a_list(self):
        whole = json.loads(self.listen("json", "serve", "--mode", "null", "--check"))
        self.assertEqual([row["type"] for row in whole], ["listening", "procedure", "served", "summary"])
        for command in LIVE:
            words = ["--to", "127.0.0.1:1"] if command != "serve" else ["--mode", "null"]
            for to in ("csv", "table"):
                done = stag(command, *words, *([self.NFS3] if command == "replay" else []), "--check", "--format", to)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("--check", done.stderr)


class Formats(unittest.TestCase):
    """csv, json and table have what jsonl has."""
    CAPTURE = ROOT / "pcaps/real/rxe-nfs4.1.pcap.zst"
    COMMANDS = ("connections", "transactions", "transport", "limits")

    def rows(self, command, *words):
        return [json.loads(line) for line in stag(command, *words, "--format", "jsonl", self.CAPTURE).stdout.splitlines()]

    def test_json_is_the_lines_as_one_array(self):
        for command in self.COMMANDS:
            self.assertEqual(json.loads(stag(command, "--format", "json", self.CAPTURE).stdout), self.rows(command))
        self.assertEqual(json.loads(stag("limits", "--format", "json", "--connection", "99", self.CAPTURE).stdout), [])

    def test_csv_has_a_column_for_each_member(self):
        def text(value):
            if value is None:
                return ""
            if isinstance(value, list):
                return ";".join(json.dumps(v, separators=(",", ":")) if isinstance(v, dict) else text(v) for v in value)
            return str(value).lower() if isinstance(value, bool) else str(value)

        for command in self.COMMANDS:
            table = list(csv.DictReader(io.StringIO(stag(command, "--format", "csv", self.CAPTURE).stdout)))
            rows = self.rows(command)
            self.assertEqual(len(table), len(rows), command)
            for cells, row in zip(table, rows):
                for name, cell in cells.items():
                    value = row
                    for part in name.split("."):
                        value = value.get(part) if value is not None else None
                    if isinstance(value, float):
                        self.assertEqual(float(cell), value, (command, name))
                    else:
                        self.assertEqual(cell, text(value), (command, name))

    def test_findings_as_csv(self):
        capture = ROOT / "pcaps/real/siw-nfs4.1.pcap.zst"
        table = list(csv.DictReader(io.StringIO(stag("check", "--format", "csv", capture).stdout)))
        rows = [json.loads(line) for line in stag("check", "--format", "jsonl", capture).stdout.splitlines()][:-1]
        self.assertEqual([(cells["rule"], int(cells["frame"]), cells["transaction"], cells["message"]) for cells in table],
                         [(row["rule"], row["frame"], row["transaction"] or "", row["message"]) for row in rows])
        self.assertEqual(stag("check", "--format", "csv", "--connection", "99", capture).stdout.count("\n"), 1)

    def test_table_has_the_rows(self):
        for command in self.COMMANDS:
            lines = stag(command, "--format", "table", self.CAPTURE).stdout.splitlines()
            self.assertEqual(len(lines), 1 + len(self.rows(command)), command)

    def test_table_fits_the_terminal(self):
        for command in self.COMMANDS:
            for width in (40, 80, 120):
                done = subprocess.run([STAG, command, "--format", "table", self.CAPTURE], capture_output=True, text=True,
                                      env={"COLUMNS": str(width)})
                self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()), width, command)
            wide = stag(command, "--format", "table", "--wide", self.CAPTURE).stdout.splitlines()
            self.assertGreater(len(wide[0]), 120, command)

    def test_sort_and_limit(self):
        rows = self.rows("transactions")
        slowest = self.rows("transactions", "--sort", "rtt_us", "--limit", "5")
        by_rtt = sorted((row for row in rows if row["rtt_us"] is not None), key=lambda row: -row["rtt_us"])
        self.assertEqual([row["id"] for row in slowest], [row["id"] for row in by_rtt[:5]])
        first = self.rows("transactions", "--limit", "5")
        self.assertEqual(first, rows[:5])
        names = [row["operation"] for row in self.rows("transactions", "--sort", "operation:desc")]
        self.assertEqual(names, sorted(names, reverse=True))
        text = stag("transactions", "--limit", "3", self.CAPTURE).stdout.splitlines()
        self.assertEqual(text, stag("transactions", self.CAPTURE).stdout.splitlines()[:4])

    def test_wrong_member(self):
        done = stag("limits", "--sort", "idle", self.CAPTURE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean idle_us?", done.stderr)

    def test_several_captures(self):
        other = ROOT / "pcaps/real/siw-nfs4.1.pcap.zst"
        for command in self.COMMANDS:
            lines = stag(command, "--format", "jsonl", self.CAPTURE, other).stdout.splitlines()
            self.assertEqual({json.loads(line)["file"] for line in lines}, {str(self.CAPTURE), str(other)})
            table = list(csv.reader(io.StringIO(stag(command, "--format", "csv", self.CAPTURE, other).stdout)))
            self.assertEqual(len(table), 1 + len(lines))
            self.assertEqual(json.loads(stag(command, "--format", "json", self.CAPTURE, other).stdout),
                             [json.loads(line) for line in lines])


class Filters(unittest.TestCase):
    """A filter shows the rows that fit, of all that there are."""
    CAPTURE = ROOT / "pcaps/real/rxe-nfs4.1.pcap.zst"

    @staticmethod
    def rows(*words):
        return [json.loads(line) for line in stag("transactions", "--format", "jsonl", *words).stdout.splitlines()]

    def check(self, words, fits, capture=CAPTURE):
        all_rows = self.rows(capture)
        expected = [row for row in all_rows if fits(row)]
        self.assertTrue(expected, words)
        self.assertLess(len(expected), len(all_rows), words)
        self.assertEqual(self.rows(*words, capture), expected, words)

    def test_transactions(self):
        with_errors = ROOT / "pcaps/real/lab/rxe-copy-nfs4.2.pcap.zst"
        rows = self.rows(self.CAPTURE)
        some = rows[len(rows) // 2]
        self.check(["--xid", some["xid"]], lambda row: row["xid"] == some["xid"])
        self.check(["--procedure", "READ,WRITE"], lambda row: {"READ", "WRITE"} & set(row["ops"] or []))
        self.check(["--status", "error"], lambda row: row["status"] not in (0, None), with_errors)
        self.check(["--status", "nfs4err_noent"], lambda row: row["status"] == 2, with_errors)
        self.check(["--slower-than", "5ms"], lambda row: row["rtt_us"] is not None and row["rtt_us"] > 5000)
        self.check(["--frames", f"1-{some['call_frame']}"],
                   lambda row: row["call_frame"] <= some["call_frame"])
        self.check(["--time", "1..2"], lambda row: row["time_s"] <= 2 and row["reply_time_s"] >= 1)
        self.check(["--procedure", "READ", "--time", "1..", "--slower-than", "1ms"],
                   lambda row: "READ" in (row["ops"] or []) and row["reply_time_s"] >= 1 and row["rtt_us"] > 1000)

    def test_connections(self):
        whole = stag("limits", "--format", "jsonl", self.CAPTURE).stdout
        self.assertEqual(stag("limits", "--format", "jsonl", "--procedure", "READ", self.CAPTURE).stdout, whole)
        self.assertEqual(stag("limits", "--format", "jsonl", "--client", "10.0.0.0/8", self.CAPTURE).stdout, whole)
        for words in (["--client", "192.0.2.1"], ["--connection", "2-9"], ["--procedure", "SYMLINK3"], ["--time", "900.."]):
            for command in ("limits", "transport", "connections"):
                done = stag(command, *words, self.CAPTURE)
                self.assertEqual((done.returncode, done.stdout), (0, ""), words)
                self.assertIn("no such connection", done.stderr)

    def test_findings(self):
        capture = ROOT / "pcaps/real/siw-nfs4.1.pcap.zst"
        findings = [json.loads(line) for line in stag("check", "--format", "jsonl", capture).stdout.splitlines()][:-1]
        rpcs = {row["id"]: row for row in
                map(json.loads, stag("transactions", "--format", "jsonl", capture).stdout.splitlines())}
        self.assertTrue(all(finding["transaction"] in rpcs for finding in findings if finding["transaction"]))
        for words, fits in (
                (["--xid", findings[2]["xid"]], lambda f: f["xid"] == findings[2]["xid"]),
                (["--frames", "1-100"], lambda f: f["frame"] <= 100),
                (["--time", "1.."], lambda f: f["time_s"] >= 1),
                (["--slower-than", "2ms"], lambda f: f["transaction"] and (rpcs[f["transaction"]]["rtt_us"] or 0) > 2000),
                (["--procedure", "READ"], lambda f: f["transaction"] and "READ" in (rpcs[f["transaction"]]["ops"] or [])),
                (["--connection", "7"], lambda f: False)):
            lines = stag("check", "--format", "jsonl", *words, capture).stdout.splitlines()
            shown = [json.loads(line) for line in lines][:-1]
            expected = [finding for finding in findings if fits(finding)]
            key = lambda finding: (finding["frame"], finding["rule"])  # those about an RPC come when it has ended
            self.assertEqual(sorted(shown, key=key), sorted(expected, key=key), words)

    def test_all_connections_are_all_findings_of_connections(self):
        """Also those that the set-up shows, which come with the connection itself."""
        captures = sorted((ROOT / "pcaps/rules").glob("PVT-*/*.pcap"))

        def findings(*words):
            lines = stag("check", "--format", "jsonl", *words, *captures).stdout.splitlines()
            return [json.loads(line) for line in lines][:-1]

        expected = [finding for finding in findings() if finding["connection"] != 0]
        self.assertTrue(any(finding["rule"] == "PVT-001" for finding in expected))
        for words in (["--connection", "1-"], ["--client", "0.0.0.0/0"], ["--frames", "1-"]):
            self.assertEqual(findings(*words), expected, words)

    def test_wrong_words(self):
        for words, complaint in (
                (["--connection", "0"], "--connection"), (["--client", "host"], "is not an address"),
                (["--xid", "x"], "is not an xid"), (["--slower-than", "fast"], "is not a duration"),
                (["--frames", "5-1"], "is not a range of frames"), (["--time", "noon"], "is not a range of times"),
                (["--limit", "0"], "is not a number of rows")):
            done = stag("transactions", *words, self.CAPTURE)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(complaint, done.stderr)


if __name__ == "__main__":
    unittest.main()
