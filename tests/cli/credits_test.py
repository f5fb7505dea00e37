# SPDX-License-Identifier: GPL-2.0-or-later
"""stag credits on captures that were worked out by hand: frames, xids and rdma_credit as `tshark -e rpcordma.xid -e
rpcordma.flow_control` prints them, outstanding Calls counted on paper.

credits_test.py STAG    (runs as a unittest program)
"""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

STAG = sys.argv.pop(1)
PCAPS = pathlib.Path(__file__).parents[2] / "pcaps"
# A client and a server with NFSv4.1; the client grants one backward credit, and the server calls twice at once.
BACKWARD = str(PCAPS / "cases" / "143-backward-overrun-roce.pcap")
# The client has no receive for a Reply.
RNR = str(PCAPS / "cases" / "034-rnr-at-client-roce.pcap")
MIDSTREAM = str(PCAPS / "real" / "siw-midstream-nfs4.1.pcap.zst")

# direction, frame, event, xid, requested, granted, outstanding, overrun
EXPECTED = [
    ("c2s", 4, "call", "0x11110001", 128, None, 1, False),
    ("c2s", 6, "reply", "0x11110001", 128, 64, 0, False),
    ("c2s", 8, "call", "0x3333000a", 128, 64, 1, False),
    ("c2s", 11, "reply", "0x3333000a", 128, 64, 0, False),
    ("c2s", 13, "call", "0x3333000b", 128, 64, 1, False),
    ("c2s", 15, "reply", "0x3333000b", 128, 64, 0, False),
    ("s2c", 17, "call", "0x44440001", 16, None, 1, False),
    ("s2c", 19, "reply", "0x44440001", 16, 1, 0, False),
    ("s2c", 21, "call", "0x44440002", 16, 1, 1, False),
    ("s2c", 23, "call", "0x44440003", 16, 1, 2, True),
    ("s2c", 25, "reply", "0x44440002", 16, 1, 1, False),
    ("s2c", 27, "reply", "0x44440003", 16, 1, 0, False),
    ("c2s", 29, "call", "0x22220004", 128, 64, 1, False),
    ("c2s", 31, "reply", "0x22220004", 128, 64, 0, False),
    ("c2s", 32, "closed", None, 128, 64, 0, False),
    ("s2c", 32, "closed", None, 16, 1, 0, False),
]
# Three connections, joined mid-stream.
SNAP = str(PCAPS / "real" / "rxe-snap128-nfs3.pcap.zst")
# Eight connections, two with more than READs.
HANDLES = str(PCAPS / "real" / "lab" / "rxe-handles-nfs3.pcap.zst")
SVG = "{http://www.w3.org/2000/svg}"


def credits(*arguments, status=0):
    done = subprocess.run([STAG, "credits", *arguments], capture_output=True, timeout=120,
                          env={**os.environ, "NO_COLOR": ""})
    if done.returncode != status:
        raise AssertionError(f"{arguments}: {done.returncode}: {done.stderr.decode()}")
    return done


def lines(*arguments):
    return [json.loads(line) for line in credits("--format", "jsonl", *arguments).stdout.splitlines()]


class Lines(unittest.TestCase):
    maxDiff = None

    def test_every_change(self):
        changes = [line for line in lines(BACKWARD) if line["type"] == "credits"]
        self.assertEqual([(c["direction"], c["frame"], c["event"], c["xid"], c["requested"], c["granted"],
                           c["outstanding"], c["overrun"]) for c in changes], EXPECTED)
        for change in changes:
            self.assertEqual(list(change)[:13],
                             ["type", "file", "connection", "direction", "frame", "time", "time_s", "event", "by", "xid",
                              "requested", "granted", "outstanding"])
            self.assertEqual(change["file"], BACKWARD)
            self.assertIs(change["known"], True)
        self.assertRegex(changes[0]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")
        self.assertEqual([c["by"] for c in changes[:2]], ["client", "server"])

    def test_summaries(self):
        forward, backward = (line for line in lines(BACKWARD) if line["type"] == "credit_summary")
        self.assertEqual((forward["direction"], forward["calls"], forward["replies"]), ("c2s", 4, 4))
        self.assertEqual(forward["granted"], {"min": 64, "max": 64, "last": 64})
        self.assertEqual((forward["max_outstanding"], forward["max_frame"]), (1, 4))
        self.assertEqual((forward["overruns"], forward["first_overrun"], forward["loss"]), (0, None, None))
        self.assertEqual((backward["direction"], backward["calls"]), ("s2c", 3))
        self.assertEqual(backward["requested"], {"min": 16, "max": 16, "last": 16})
        self.assertEqual((backward["max_outstanding"], backward["max_frame"]), (2, 23))
        self.assertEqual((backward["overruns"], backward["first_overrun"]), (1, 23))

    def test_an_rnr_nak(self):
        changes = lines(RNR)
        (nak,) = [change for change in changes if change.get("event") == "rnr_nak"]
        self.assertEqual((nak["frame"], nak["by"], nak["xid"], nak["explained_by"]), (11, "client", "0x22220002", None))
        self.assertEqual((changes[-1]["rnr_naks"], changes[-1]["rnr_naks_explained"]), (1, 0))

    def test_what_is_not_known_is_null(self):
        changes = [line for line in lines(MIDSTREAM) if line["type"] == "credits" and line["direction"] == "c2s"]
        self.assertEqual((changes[0]["event"], changes[0]["requested"], changes[0]["granted"]), ("joined", None, None))
        for change in changes:
            self.assertEqual(change["known"], change["outstanding"] is not None)
        self.assertIs(changes[0]["known"], False)
        self.assertIs(changes[-1]["known"], True)

    def test_one_connection(self):
        self.assertEqual(lines("--connection", "1", BACKWARD), lines(BACKWARD))
        done = credits("--format", "jsonl", "--connection", "2", BACKWARD)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"no such connection in ", done.stderr)


def changes_in(*arguments):
    return [line for line in lines(*arguments) if line["type"] == "credits"]


class Rows(unittest.TestCase):
    maxDiff = None

    def test_json_is_an_array_of_the_lines(self):
        self.assertEqual(json.loads(credits("--format", "json", BACKWARD, RNR).stdout), lines(BACKWARD, RNR))

    def test_csv_has_the_changes(self):
        text = credits("--format", "csv", BACKWARD, SNAP).stdout.decode()
        rows = list(csv.DictReader(text.splitlines()))
        changes = changes_in(BACKWARD, SNAP)
        self.assertEqual(len(rows), len(changes))
        for row, change in zip(rows, changes):
            for name, value in row.items():
                want = change.get(name)
                if name == "time_s":
                    self.assertAlmostEqual(float(value), want, 9)
                else:
                    want = "" if want is None else str(want).lower() if isinstance(want, bool) else str(want)
                    self.assertEqual(value, want, name)
            self.assertEqual(set(change) - set(row), {"type"})

    def test_a_table_has_the_summaries(self):
        text = credits("--format", "table", "--wide", BACKWARD).stdout.decode().splitlines()
        self.assertEqual(text[0].split()[:2], ["conn", "time"])
        text = credits("--format", "table", SNAP).stdout.decode().splitlines()
        summaries = [line for line in lines(SNAP) if line["type"] == "credit_summary"]
        self.assertEqual([row.split()[:4] for row in text[1:]],
                         [[str(s["connection"]), s["direction"], str(s["calls"]), str(s["replies"])]
                          for s in sorted(summaries, key=lambda s: s["connection"])])

    def test_order_and_limit(self):
        changes = changes_in("--sort", "outstanding:asc", "--limit", "5", BACKWARD)
        want = sorted((c for c in changes_in(BACKWARD)), key=lambda c: c["outstanding"])[:5]
        self.assertEqual(changes, want)
        text = credits("--format", "table", "--sort", "overruns", BACKWARD).stdout.decode().splitlines()
        self.assertEqual([row.split()[1] for row in text], ["direction", "s2c", "c2s"])
        text = credits("--sort", "calls:asc", "--limit", "2", SNAP).stdout.decode()
        calls = {line["connection"]: line["calls"] for line in lines(SNAP) if line["type"] == "credit_summary"}
        self.assertEqual([int(row.split()[0]) for row in text.splitlines() if row[:1].isdigit()],
                         sorted(calls, key=lambda connection: (calls[connection], connection))[:2])
        # Each list has its members.
        credits("--format", "table", "--sort", "event", BACKWARD, status=2)
        credits("--format", "csv", "--sort", "overruns", BACKWARD, status=2)

    def chosen(self, wanted, capture, *options):
        """The changes with the options are the wanted ones, and the summaries those of their directions."""
        order = lambda c: (c["connection"], c["frame"])  # that of all connections may differ
        want = sorted((c for c in changes_in(capture) if wanted(c)), key=order)
        everything = lines(*options, capture)
        self.assertEqual(sorted((c for c in everything if c["type"] == "credits"), key=order), want)
        self.assertEqual(sorted({(c["connection"], c["direction"]) for c in want}),
                         sorted((c["connection"], c["direction"]) for c in everything if c["type"] == "credit_summary"))
        return len(want)

    def test_filters_of_changes(self):
        some = changes_in(SNAP)
        middle = some[len(some) // 2]
        first, last = middle["frame"], middle["frame"] + 100
        self.assertGreater(self.chosen(lambda c: first <= c["frame"] <= last, SNAP, "--frames", f"{first}-{last}"), 9)
        second = middle["time_s"]
        self.assertGreater(self.chosen(lambda c: second <= c["time_s"] <= second + 1, SNAP,
                                       "--time", f"{second:.9f}..{second + 1:.9f}"), 9)
        self.assertGreater(self.chosen(lambda c: c["xid"] == middle["xid"], SNAP, "--xid", middle["xid"]), 1)
        self.assertEqual(self.chosen(lambda c: c["direction"] == "s2c" and c["frame"] < 20, BACKWARD, "--frames", "16-19"), 2)

    def test_filters_of_connections(self):
        for number in ("2", "2-3"):
            self.assertGreater(self.chosen(lambda c: str(c["connection"]) in number.split("-"), SNAP,
                                           "--connection", number), 2)
        self.assertGreater(self.chosen(lambda c: True, SNAP, "--client", "10.0.0.2"), 1000)
        self.assertEqual(self.chosen(lambda c: False, SNAP, "--client", "10.0.0.1"), 0)
        self.assertGreater(self.chosen(lambda c: True, SNAP, "--server", "10.0.0.0/30"), 1000)

    def test_filters_by_rpcs(self):
        rpcs = [json.loads(line) for line in subprocess.run(
            [STAG, "transactions", "--format", "jsonl", HANDLES], capture_output=True, check=True).stdout.splitlines()]
        for name in ("LOOKUP", "READ"):
            of = {t["connection"] for t in rpcs if t["name"] == name}
            self.assertGreater(self.chosen(lambda c: c["connection"] in of, HANDLES, "--procedure", name), 10)
            self.assertEqual(lines("--procedure", name, HANDLES), lines("--procedure", name, "--jobs", "3", HANDLES))
        slow = max(t["rtt_us"] for t in rpcs if t["rtt_us"] is not None)
        of = {t["connection"] for t in rpcs if t["rtt_us"] == slow}
        self.chosen(lambda c: c["connection"] in of, HANDLES, "--slower-than", f"{slow - 0.001:.3f}us")
        # In all formats.
        self.assertEqual({int(row.split()[0]) for row in credits("--procedure", "LOOKUP", HANDLES).stdout.decode().splitlines()
                          if row[:1].isdigit()}, {t["connection"] for t in rpcs if t["name"] == "LOOKUP"})

    def test_changes_that_memory_has_no_room_for(self):
        done = credits("--format", "jsonl", "--memory", "1M", "--procedure", "WRITE", SNAP)
        left_out = int(done.stderr.split(b"reached: ")[1].split(b" changes left out")[0])
        shown = [change for change in map(json.loads, done.stdout.splitlines()) if change["type"] == "credits"]
        first = [change for change in changes_in("--connection", "1", SNAP)]
        self.assertEqual(left_out + len(shown), len(first))
        self.assertEqual(shown, first[:len(shown)])


class Text(unittest.TestCase):
    def test_figures_and_rows(self):
        text = credits(BACKWARD).stdout.decode()
        self.assertRegex(text, r"(?m)^1   RoCEv2     10\.0\.0\.2 QP 0x[0-9a-f]{6} -> 10\.0\.0\.1 QP")
        self.assertRegex(text, r"(?m)^    backward     3 calls, 3 replies$")
        self.assertRegex(text, r"(?m)^    over grant   1 time, first in frame 23$")
        self.assertRegex(text, r"(?m)^ +0\.011000 +23  call over the grant +0x44440003 +16 +1 +2$")
        self.assertNotRegex(text, r"(?m)^ +\S+ +25 ")  # a Reply that changes nothing
        self.assertRegex(credits(RNR).stdout.decode(), r"(?m)^ +0\.008240 +11  RNR NAK by the client ")

    def test_rows(self):
        text = credits("--rows", "1", BACKWARD).stdout.decode()
        self.assertRegex(text, r"(?m)^ +\.\.\. +2 rows left out; --rows all")
        self.assertEqual(credits("--rows", "all", BACKWARD).stdout, credits(BACKWARD).stdout)

    def test_chosen_rows(self):
        text = credits("--frames", "21-23", BACKWARD).stdout.decode()
        self.assertRegex(text, r"(?m)^    backward     3 calls, 3 replies$")  # figures of all of it
        self.assertEqual([row.split()[1] for row in text.splitlines() if row.split()[0].startswith("0.")], ["21", "23"])
        self.assertNotIn("forward", text)

    def test_wrong_use(self):
        for arguments in (["--rows", "0"], ["--rows", "few"], ["--connection", "0"], ["--connection", "x"],
                          ["--svg"], ["--svg", "/nonexistent/x.svg"], ["--svg", "x.svg", RNR]):
            done = credits(BACKWARD, *arguments, status=2)
            self.assertTrue(done.stderr.startswith(b"stag: "), done.stderr)


class Picture(unittest.TestCase):
    def draw(self, *arguments):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "credits.svg"
            done = credits("--svg", str(path), *arguments)
            return done, ElementTree.parse(path).getroot() if path.exists() else None

    def test_a_panel_for_each_direction(self):
        done, svg = self.draw(BACKWARD)
        self.assertEqual(done.stdout, credits(BACKWARD).stdout)
        self.assertEqual(svg.tag, SVG + "svg")
        self.assertIn("143-backward-overrun-roce.pcap", svg.find(SVG + "title").text)
        self.assertIn("Connection 1, backward: 3 calls, at most 2 outstanding of 1 granted, 1 over the grant",
                      svg.find(SVG + "desc").text)
        paths = [path.get("class") for path in svg.iter(SVG + "path")]
        for line in ("line granted", "line requested", "line outstanding", "area"):
            self.assertEqual(paths.count(line), 2 + 1, line)  # and the legend
        titles = [title.text for title in svg.iter(SVG + "title")]
        self.assertIn("Call over the grant in frame 23", titles)

    def test_what_is_chosen_is_drawn(self):
        _, svg = self.draw("--frames", "17-23", BACKWARD)
        self.assertNotIn("forward", svg.find(SVG + "desc").text)
        self.assertIn("backward", svg.find(SVG + "desc").text)
        _, svg = self.draw("--procedure", "LOOKUP", HANDLES)
        self.assertEqual(re.findall(r"Connection (\d+)", svg.find(SVG + "desc").text), ["1", "2"])

    def test_nothing_to_draw(self):
        done, svg = self.draw("--connection", "7", BACKWARD)
        self.assertIsNone(svg)
        self.assertIn(b"is not written", done.stderr)


if __name__ == "__main__":
    unittest.main()
