# SPDX-License-Identifier: GPL-2.0-or-later
"""stag latency: percentiles held against those of the times that stag transactions prints; keys; the slowest; before and after.

latency_test.py STAG    (runs as a unittest program)
"""
import collections
import csv
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


def times_of(capture, key=key_of):
    """(key, phase) -> sorted times."""
    times = collections.defaultdict(list)
    for rpc in lines("transactions", capture):
        if rpc["rtt_us"] is None:
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
            self.assertEqual(list(line), ["type", "by", "key", "phase", "count", *STATISTICS, "max_us", "sum_us"])
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

    def test_csv_says_the_same(self):
        rows = list(csv.DictReader(io.StringIO(run("latency", "--format", "csv", CAPTURES[1]).stdout.decode(), newline="")))
        found = lines("latency", CAPTURES[1])
        self.assertEqual(len(rows), len(found))
        for row, line in zip(rows, found):
            for name in ("by", "key", "phase"):
                self.assertEqual(row[name], line[name])
            for name in ("count", *STATISTICS, "max_us", "sum_us"):
                self.assertEqual(decimal.Decimal(row[name]), line[name])

    def test_several_files(self):
        both = lines("latency", CAPTURES[1], CAPTURES[2])
        counts = collections.Counter()
        for capture in CAPTURES[1:3]:
            for line in lines("latency", capture):
                counts[line["key"], line["phase"]] += line["count"]
        self.assertEqual({(line["key"], line["phase"]): line["count"] for line in both}, counts)


class Slowest(unittest.TestCase):
    def test_frames_and_the_phase(self):
        found = [line for line in lines("latency", "--slowest", "7", CAPTURES[1]) if line["type"] == "slowest"]
        rpcs = sorted((rpc for rpc in lines("transactions", CAPTURES[1]) if rpc["rtt_us"] is not None),
                      key=lambda rpc: (-rpc["rtt_us"], rpc["call_frame"]))[:7]
        for line, rpc in zip(found, rpcs, strict=True):
            for name in ("connection", "xid", "call_frame", "reply_frame", "rtt_us", "phases_us", "phases_complete"):
                self.assertEqual(line[name], rpc[name])
            self.assertEqual(line["phases_us"][line["phase"]], max(filter(None, rpc["phases_us"].values())))

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
