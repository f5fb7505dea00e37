# SPDX-License-Identifier: GPL-2.0-or-later
"""stag credits on captures that were worked out by hand: frames, xids and rdma_credit as `tshark -e rpcordma.xid -e
rpcordma.flow_control` prints them, outstanding Calls counted on paper.

credits_test.py STAG    (runs as a unittest program)
"""
import json
import os
import pathlib
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
    ("forward", 4, "call", "0x11110001", 128, None, 1, False),
    ("forward", 6, "reply", "0x11110001", 128, 64, 0, False),
    ("forward", 8, "call", "0x3333000a", 128, 64, 1, False),
    ("forward", 11, "reply", "0x3333000a", 128, 64, 0, False),
    ("forward", 13, "call", "0x3333000b", 128, 64, 1, False),
    ("forward", 15, "reply", "0x3333000b", 128, 64, 0, False),
    ("backward", 17, "call", "0x44440001", 16, None, 1, False),
    ("backward", 19, "reply", "0x44440001", 16, 1, 0, False),
    ("backward", 21, "call", "0x44440002", 16, 1, 1, False),
    ("backward", 23, "call", "0x44440003", 16, 1, 2, True),
    ("backward", 25, "reply", "0x44440002", 16, 1, 1, False),
    ("backward", 27, "reply", "0x44440003", 16, 1, 0, False),
    ("forward", 29, "call", "0x22220004", 128, 64, 1, False),
    ("forward", 31, "reply", "0x22220004", 128, 64, 0, False),
    ("forward", 32, "closed", None, 128, 64, 0, False),
    ("backward", 32, "closed", None, 16, 1, 0, False),
]
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
                             ["type", "connection", "direction", "frame", "time", "event", "by", "xid", "requested",
                              "granted", "outstanding", "known", "overrun"])
            self.assertIs(change["known"], True)
        self.assertRegex(changes[0]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")
        self.assertEqual([c["by"] for c in changes[:2]], ["client", "server"])

    def test_summaries(self):
        forward, backward = (line for line in lines(BACKWARD) if line["type"] == "credit_summary")
        self.assertEqual((forward["direction"], forward["calls"], forward["replies"]), ("forward", 4, 4))
        self.assertEqual(forward["granted"], {"min": 64, "max": 64, "last": 64})
        self.assertEqual((forward["max_outstanding"], forward["max_frame"]), (1, 4))
        self.assertEqual((forward["overruns"], forward["first_overrun"], forward["loss"]), (0, None, None))
        self.assertEqual((backward["direction"], backward["calls"]), ("backward", 3))
        self.assertEqual(backward["requested"], {"min": 16, "max": 16, "last": 16})
        self.assertEqual((backward["max_outstanding"], backward["max_frame"]), (2, 23))
        self.assertEqual((backward["overruns"], backward["first_overrun"]), (1, 23))

    def test_an_rnr_nak(self):
        changes = lines(RNR)
        (nak,) = [change for change in changes if change.get("event") == "rnr_nak"]
        self.assertEqual((nak["frame"], nak["by"], nak["xid"], nak["explained_by"]), (11, "client", "0x22220002", None))
        self.assertEqual((changes[-1]["rnr_naks"], changes[-1]["rnr_naks_explained"]), (1, 0))

    def test_what_is_not_known_is_null(self):
        changes = [line for line in lines(MIDSTREAM) if line["type"] == "credits" and line["direction"] == "forward"]
        self.assertEqual((changes[0]["event"], changes[0]["requested"], changes[0]["granted"]), ("joined", None, None))
        for change in changes:
            self.assertEqual(change["known"], change["outstanding"] is not None)
        self.assertIs(changes[0]["known"], False)
        self.assertIs(changes[-1]["known"], True)

    def test_one_connection(self):
        self.assertEqual(lines("--connection", "1", BACKWARD), lines(BACKWARD))
        done = credits("--format", "jsonl", "--connection", "2", BACKWARD)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"no RPC-over-RDMA connection 2", done.stderr)


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

    def test_nothing_to_draw(self):
        done, svg = self.draw("--connection", "7", BACKWARD)
        self.assertIsNone(svg)
        self.assertIn(b"is not written", done.stderr)


if __name__ == "__main__":
    unittest.main()
