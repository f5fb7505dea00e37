# SPDX-License-Identifier: GPL-2.0-or-later
"""stag latency: percentiles held against those of the times that stag transactions prints; keys; the slowest; before and after.

latency_test.py STAG    (runs as a unittest program)
"""
import collections
import csv
import datetime
import decimal
import io
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import wire

STAG = sys.argv.pop(1)
REAL = pathlib.Path(__file__).parents[2] / "pcaps" / "real"
CASES = REAL.parent / "cases"
SVG = "{http://www.w3.org/2000/svg}"
CAPTURES = [REAL / name for name in ("rxe-nfs3.pcap.zst", "rxe-nfs4.1.pcap.zst", "siw-nfs4.1.pcap.zst", "rxe-snap128-nfs3.pcap.zst")]
NOT_THE_SUBJECT = {"SEQUENCE", "PUTFH", "PUTROOTFH", "PUTPUBFH", "SAVEFH", "RESTOREFH", "GETFH", "GETATTR", "CB_SEQUENCE"}
PROGRAMS = {100003: "NFS", 100005: "MOUNT", 100227: "NFSACL"}
STATISTICS = {"p50_us": 500, "p90_us": 900, "p99_us": 990, "p999_us": 999}


def run(*arguments, status=0, input=None):
    done = subprocess.run([STAG, *map(str, arguments)], capture_output=True, timeout=300, input=input)
    assert done.returncode == status, (arguments, done.returncode, done.stderr.decode())
    return done


def lines(*arguments, **more):
    return [json.loads(line, parse_float=decimal.Decimal)
            for line in run(*arguments, "--format", "jsonl", **more).stdout.splitlines()]


def key_of(rpc):
    if rpc["program"] is None:
        return "?"
    program = PROGRAMS.get(rpc["program"], "NFS_CB" if rpc["program"] >= 0x40000000 else None)
    name = rpc["name"]
    if rpc["ops"]:
        subjects = [op for op in rpc["ops"] if op not in NOT_THE_SUBJECT]
        name = subjects[0] if subjects else "GETATTR" if "GETATTR" in rpc["ops"] else rpc["ops"][-1]
    return f"{program}v{rpc['version']} {name}"


def flat(row, prefix=""):
    """The members of a row, those of members with dots, as CSV has them."""
    cells = {}
    for name, value in row.items():
        if isinstance(value, dict):
            cells |= flat(value, f"{prefix}{name}.")
        elif name != "type":
            cells[prefix + name] = "" if value is None else json.dumps(value) if isinstance(value, bool) else str(value)
    return cells


def times_of(capture, key=key_of, wanted=lambda rpc: True):
    """(key, phase) -> sorted times of the RPCs that are wanted."""
    times = collections.defaultdict(list)
    for rpc in lines("transactions", capture):
        if rpc["rtt_us"] is None or not wanted(rpc):
            continue
        for phase, value in [("rtt", rpc["rtt_us"]), *rpc["phases_us"].items()]:
            if value is not None:
                times[key(rpc), phase].append(value)
    return {where: sorted(values) for where, values in times.items()}


class Percentiles(unittest.TestCase):
    def held_against(self, found, times):
        self.assertEqual({(line["key"], line["phase"]) for line in found}, set(times))
        for line in found:
            values = times[line["key"], line["phase"]]
            self.assertEqual(list(line), ["type", "file", "by", "key", "phase", "count", *STATISTICS, "max_us", "sum_us"])
            self.assertEqual((line["count"], line["max_us"], line["sum_us"]), (len(values), values[-1], sum(values)))
            for name, thousandths in STATISTICS.items():
                exact = values[max(-(-len(values) * thousandths // 1000), 1) - 1]
                self.assertLessEqual(abs(line[name] - exact), exact / 1000, (line["key"], line["phase"], name))

    def test_by_procedure(self):
        for capture in CAPTURES:
            with self.subTest(capture=capture.name):
                self.held_against(lines("latency", capture), times_of(capture))

    def test_by_connection_client_and_server(self):
        capture = CAPTURES[1]
        self.held_against(lines("latency", "--by", "connection", capture), times_of(capture, lambda rpc: str(rpc["connection"])))
        self.held_against(lines("latency", "--by", "client", capture), times_of(capture, lambda rpc: "10.0.0.2"))
        self.held_against(lines("latency", "--by", "server", capture), times_of(capture, lambda rpc: "10.0.0.1"))

    def test_by_file_and_size_nothing_is_lost(self):
        for by in ("file", "size"):
            with self.subTest(by=by):
                found = [line for line in lines("latency", "--by", by, CAPTURES[1]) if line["phase"] == "rtt"]
                whole = [line for line in lines("latency", CAPTURES[1]) if line["phase"] == "rtt"]
                self.assertEqual(sum(line["count"] for line in found), sum(line["count"] for line in whole))
                self.assertEqual(sum(line["sum_us"] for line in found), sum(line["sum_us"] for line in whole))
                keys = {line["key"] for line in found}
                self.assertTrue({"file": "no file data", "size": "no data"}[by] in keys, keys)
                self.assertGreater(len(keys), 2)

    def test_one_clock_time_for_all(self):
        # Many of the same and few others: ties in every percentile.
        data = wire.load(CAPTURES[1])
        out = [data[:24]]
        for number, (ns, packet) in enumerate(wire.records(data), 1):
            ns = 1_700_000_000 * 10**9 + number * 1_000_000
            out.append(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(packet)) + packet)
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            file.write(b"".join(out))
            file.flush()
            self.held_against(lines("latency", file.name), times_of(file.name))

    def test_the_same_in_threads_and_from_standard_input(self):
        for capture in CAPTURES:
            alone = run("latency", "--slowest", "5", capture).stdout
            self.assertEqual(run("latency", "--slowest", "5", "--jobs", "3", capture).stdout, alone)
            self.assertEqual(run("latency", "--slowest", "5", "-", input=wire.load(capture)).stdout, alone)

    def test_filters_choose_rpcs(self):
        capture = CAPTURES[1]
        rpcs = lines("transactions", capture)
        middle = rpcs[len(rpcs) // 2]
        frame = middle["call_frame"]
        for options, wanted in (
                (["--procedure", "READ,open"], lambda rpc: {"READ", "OPEN"} & set(rpc["ops"] or [])),
                (["--slower-than", "5ms"], lambda rpc: rpc["rtt_us"] > 5000),
                (["--connection", "1,3-"], lambda rpc: rpc["connection"] != 2),
                (["--client", "10.0.0.1"], lambda rpc: False),
                (["--client", "10.0.0.0/30", "--server", "10.0.0.1"], lambda rpc: True),
                (["--xid", middle["xid"]], lambda rpc: rpc["xid"] == middle["xid"]),
                (["--frames", f"{frame}-"], lambda rpc: rpc["reply_frame"] >= frame),
                (["--frames", f"1-{frame}"], lambda rpc: rpc["call_frame"] <= frame)):
            with self.subTest(options=options):
                self.held_against(lines("latency", *options, capture), times_of(capture, wanted=wanted))
        self.held_against(lines("latency", "--status", "error", CAPTURES[3]),
                          times_of(CAPTURES[3], wanted=lambda rpc: rpc["status"] not in (None, 0)))
        # Names of files come from RPCs that are not asked for, too.
        named = {line["key"] for line in lines("latency", "--by", "file", capture)}
        self.assertLessEqual({line["key"] for line in lines("latency", "--by", "file", "--procedure", "READ", capture)}, named)
        done = run("latency", "--client", "10.0.0.1", capture)
        self.assertIn("no such answered RPC", done.stderr.decode())

    def test_csv_and_json_say_the_same(self):
        for options in ([], ["--against", CAPTURES[2]], ["--sort", "p99_us", "--limit", "7"]):
            with self.subTest(options=options):
                found = lines("latency", *options, CAPTURES[1])
                text = run("latency", "--format", "csv", *options, CAPTURES[1]).stdout.decode()
                rows = list(csv.DictReader(io.StringIO(text, newline="")))
                for row, line in zip(rows, found, strict=True):
                    cells = {name: cell for name, cell in flat(line).items() if name in row or cell}
                    self.assertEqual({name: cell for name, cell in row.items() if name in cells}, cells)
                    self.assertFalse([name for name in set(row) - set(cells) if row[name]])
                whole = run("latency", "--format", "json", "--slowest", "3", *options, CAPTURES[1]).stdout
                self.assertEqual(json.loads(whole, parse_float=decimal.Decimal), lines("latency", "--slowest", "3", *options, CAPTURES[1]))
        names = run("latency", "--format", "csv", CAPTURES[1]).stdout.splitlines()[0].decode()
        self.assertEqual(names, "file,by,key,phase,count,p50_us,p90_us,p99_us,p999_us,max_us,sum_us")

    def test_order(self):
        found = lines("latency", CAPTURES[1])
        trips = [line for line in found if line["phase"] == "rtt"]
        for member in ("count", "p99_us", "key"):
            sign = 1 if member == "key" else -1
            sort = lambda rows: sorted(rows, key=lambda line: line[member] if sign > 0 else -line[member])
            self.assertEqual(lines("latency", "--sort", member, "--limit", "9", CAPTURES[1]), sort(found)[:9])
            # As text, keys keep together, and the row of the round trip has their place.
            text = run("latency", "--sort", member, "--limit", "4", CAPTURES[1]).stdout.decode()
            keys = [line.split("  ")[0] for line in text.splitlines()[1:] if line[0] != " "]
            self.assertEqual(keys, [line["key"] for line in sort(trips)[:4]])
        table = run("latency", "--format", "table", CAPTURES[1]).stdout.decode().splitlines()
        self.assertEqual(len(table), 1 + len(found))
        self.assertRegex(table[0], r"^key +time +count +p50 us +p90 us +p99 us +p99\.9 us +max us +sum us$")
        self.assertIn("needs --against", run("latency", "--sort", "p", CAPTURES[1], status=2).stderr.decode())
        run("latency", "--sort", "p", "--against", CAPTURES[2], CAPTURES[1])

    def test_several_files(self):
        both = lines("latency", CAPTURES[1], CAPTURES[2])
        counts = collections.Counter()
        for capture in CAPTURES[1:3]:
            for line in lines("latency", capture):
                counts[line["key"], line["phase"]] += line["count"]
        self.assertEqual({(line["key"], line["phase"]): line["count"] for line in both}, counts)
        self.assertFalse([line for line in both if "file" in line])


class Slowest(unittest.TestCase):
    def test_frames_and_the_phase(self):
        found = [line for line in lines("latency", "--slowest", "7", CAPTURES[1]) if line["type"] == "slowest"]
        rpcs = sorted((rpc for rpc in lines("transactions", CAPTURES[1]) if rpc["rtt_us"] is not None),
                      key=lambda rpc: (-rpc["rtt_us"], rpc["call_frame"]))[:7]
        for line, rpc in zip(found, rpcs, strict=True):
            for name in ("id", "connection", "direction", "time", "time_s", "operation", "xid", "call_frame", "reply_frame", "rtt_us", "phases_us", "phases_complete"):
                self.assertEqual(line[name], rpc[name])
            self.assertEqual(line["phases_us"][line["phase"]], max(filter(None, rpc["phases_us"].values())))
            self.assertEqual(line["name"], rpc["operation"])

    def test_of_several_files_each_names_its_own(self):
        times = {}
        for capture in CAPTURES[1:3]:
            packets = [ns for ns, _ in wire.records(wire.load(capture))]
            times |= {(str(capture), number): (ns, ns - packets[0]) for number, ns in enumerate(packets, 1)}
        found = [line for line in lines("latency", "--slowest", "40", *CAPTURES[1:3]) if line["type"] == "slowest"]
        self.assertEqual({line["file"] for line in found}, set(map(str, CAPTURES[1:3])))
        for line in found:
            ns, since = times[line["file"], line["call_frame"]]
            whole = datetime.datetime.fromtimestamp(ns // 10**9, datetime.timezone.utc)
            self.assertEqual(line["time"], f"{whole:%Y-%m-%dT%H:%M:%S}.{ns % 10**9:09}Z")
            self.assertEqual(line["time_s"], decimal.Decimal(since) / 10**9)

    def test_what_happened_meanwhile(self):
        # The client has no receive for a Reply: an RNR NAK while the RPC waits.
        capture = CASES / "034-rnr-at-client-roce.pcap"
        found = [line for line in lines("latency", "--slowest", "10", capture) if "rnr_nak" in line.get("meanwhile", [])]
        naks = [line for line in lines("credits", capture) if line.get("event") == "rnr_nak"]
        self.assertTrue(naks)
        for line in found:
            self.assertTrue(any(line["call_frame"] < nak["frame"] for nak in naks))

    def test_words(self):
        text = run("latency", "--slowest", "3", CAPTURES[0]).stdout.decode()
        self.assertRegex(text, r"of the slowest (one|\d+) \([0-9.]+ %\), \d+ % of the time is (in|before|between) ")
        self.assertRegex(text, r"the slowest:\n +[0-9.]+\w+  NFS\w+ \w+, connection 1, frames \d+ to \d+: \d+ % ")


class BeforeAndAfter(unittest.TestCase):
    """Captures that differ in the times of their frames alone: each RPC of the real one, with times of its own."""

    def made(self, seed, added_ns=0):
        """Every frame of `data` a random time after the one before it; a Reply's Send or first Write after a Call (`server`
        frames) so much later."""
        chance = random.Random(seed)
        data = wire.load(CAPTURES[1])
        # The first packet that the server sends of its own after each Call begins the answer.
        answers, waiting = set(), False
        calls = {rpc["call_frame"] for rpc in lines("transactions", CAPTURES[1]) if not rpc["read_chunks"]}
        for number, (ns, packet) in enumerate(wire.records(data), 1):
            if waiting and packet[26:30] == b"\x0a\0\0\1" and packet[23] == 17 and packet[42] in (0, 4, 6, 10, 0x17):
                answers.add(number)
                waiting = False
            waiting |= number in calls
        out, time = [data[:24]], 1_700_000_000 * 10**9
        for number, (ns, packet) in enumerate(wire.records(data), 1):
            time += int(chance.lognormvariate(9, 1)) + (added_ns if number in answers else 0)  # about 8 us, skewed
            out.append(struct.pack("<IIII", time // 10**9, time % 10**9, len(packet), len(packet)) + packet)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = pathlib.Path(directory.name) / "made.pcap"
        path.write_bytes(b"".join(out))
        return path

    def test_the_same_load_is_no_difference(self):
        for seed in range(20):
            found = lines("latency", "--by", "connection", self.made(seed), "--against", self.made(seed + 1000),
                          "--fail-on-slower", "0%")
            self.assertEqual([line["verdict"] for line in found if line["significant"]], [], seed)

    def test_a_slower_server_is_told_in_its_phase(self):
        for seed in range(20):
            before, after = self.made(seed), self.made(seed + 1000, 50_000)
            found = {line["phase"]: line for line in lines("latency", "--by", "connection", after, "--against", before)}
            self.assertEqual({phase: line["verdict"] for phase, line in found.items()},
                             {phase: "slower" if phase in ("rtt", "service") else "no difference" for phase in found}, seed)
            moved = found["service"]["difference"]["p50_us"]
            self.assertTrue(30 <= moved <= 70, moved)
            self.assertEqual(found["service"]["test"], "Mann-Whitney U")
            self.assertLess(found["service"]["p"], 0.01)

    def test_exit_status_and_words(self):
        before, after = self.made(1), self.made(2, 50_000)
        done = run("latency", "--by", "connection", after, "--against", before, "--fail-on-slower", "10%", status=1)
        self.assertRegex(done.stdout.decode(), r"slower: median [0-9.]+us -> [0-9.]+us \(\+[0-9.]+ %\), \d+ RPCs before, "
                                               r"p = \S+; service is slower, median ")
        self.assertIn("slower by more than 10 %", done.stderr.decode())
        run("latency", "--by", "connection", after, "--against", before, "--fail-on-slower", "1000000%")
        run("latency", "--by", "connection", before, "--against", after, "--fail-on-slower", "10%")
        # Two of one and two of the other can differ by chance however much they do.
        text = run("latency", REAL / "rxe-loss-nfs3.pcap.zst", "--against", REAL / "rxe-nfs3.pcap.zst").stdout.decode()
        self.assertRegex(text, r"too few RPCs to tell: \d+, \d+ before; median \S+ -> \S+\n")
        self.assertNotRegex(text, r", [1-3] RPCs before")
        run("latency", before, "--fail-on-slower", "10%", status=2)
        run("latency", before, "--against", after, "--fail-on-slower", "many", status=2)
        run("latency", before, "--against", "/nowhere.pcap", status=2)


class Picture(unittest.TestCase):
    def test_curves_and_course(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "latency.svg"
            run("latency", "--svg", path, CAPTURES[1], "--against", CAPTURES[2])
            picture = ElementTree.parse(path).getroot()
        self.assertEqual(picture.tag, SVG + "svg")
        titles = [title.text for title in picture.findall(f"{SVG}path/{SVG}title")]
        keys = [line["key"] for line in lines("latency", CAPTURES[1]) if line["phase"] == "rtt"][:6]
        others = {line["key"] for line in lines("latency", CAPTURES[2])}
        self.assertEqual(titles, [key for own in keys for key in [own] * (2 if own in others else 1)])
        # Percentiles never fall: up is towards 0.
        for path in picture.findall(f"{SVG}path"):
            if path.find(f"{SVG}title") is not None:
                points = [tuple(map(float, point.split())) for point in path.get("d")[1:].split("L")]
                self.assertEqual(points, sorted(points, key=lambda point: (point[0], -point[1])))
        # One dot for each bin that has Replies, at most all of them.
        self.assertGreater(len(picture.findall(f"{SVG}circle")), 10)

    def test_a_file_that_cannot_be_written(self):
        self.assertIn("cannot write", run("latency", "--svg", "/nowhere/a.svg", CAPTURES[1], status=2).stderr.decode())


class BadInput(unittest.TestCase):
    def test_times_that_go_back_are_said(self):
        data = wire.load(CAPTURES[1])
        out = [data[:24]]
        for number, (ns, packet) in enumerate(wire.records(data), 1):
            ns -= number * 10**7  # later frames have earlier times
            out.append(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(packet)) + packet)
        done = run("latency", "--format", "jsonl", "-", input=b"".join(out))
        for line in map(json.loads, done.stdout.splitlines()):
            self.assertGreaterEqual(line["p50_us"], 0)
        self.assertRegex(done.stderr.decode(), r"\d+ RPCs left out: the clock went back")

    def test_nothing(self):
        done = run("latency", REAL / "rxe-reject.pcap")
        self.assertIn("no answered RPC", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
