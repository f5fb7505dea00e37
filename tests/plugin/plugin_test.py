# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives the real tshark and sharkd with the plugin over one capture.

plugin_test.py [--damaged] [--expected FILE.jsonl] PLUGIN WIRESHARK_VERSION STAG CAPTURE [unittest options]

What is expected comes from `expected/*.jsonl` beside the real captures (an independent decoder's result) and, for findings,
from `stag check`, which shares the pipeline but not a line of the plugin.
"""
import argparse
import collections
import functools
import hashlib
import json
import os
import struct
import subprocess
import sys
import unittest

from tshark import Wireshark

OPTIONS = None
CALL, REPLY = 0, 1
UPPER_LAYERS = ["nfs", "nfsacl", "mount", "nlm", "stat", "nfs.cb"]
# Programs that Wireshark has a dissector for.
KNOWN_PROGRAMS = {100003, 100005, 100021, 100024, 100227}


def known(program):
    return program in KNOWN_PROGRAMS or 0x40000000 <= program < 0x60000000


# Compared between one pass and two.
BOTH = ["rpc.xid", "rpc.msgtyp", "rpc.program", "rpc.procedure", "nfs.procedure_v3", "nfs.opcode", "nfs.status", "nfs.data",
        "nfs.fh.hash", "rpcrdma.xid", "rpcrdma.proc", "rpcrdma.role", "rpcrdma.connection", "rpcrdma.direction",
        "rpcrdma.segment.handle", "rpcrdma.segment.length", "rpcrdma.rdma.segment_offset", "rpcrdma.call_in", "rpcrdma.time"]
# Of every frame in one run of tshark: it spends most of its time on its own start.
FIELDS = ["frame.number", "frame.time_epoch", "_ws.malformed", "rpc", "rpcrdma", "rpcordma", "rpc.dup", "rpc.time", "nfs.count3",
          "rpcrdma.sent_in", "rpcrdma.finding", "rpcrdma.finding.severity", "rpcrdma.two_clocks", *BOTH]


class Later(dict):
    """Frames that a Send may be shown at; its own when nothing else is known."""

    def __getitem__(self, frame):
        return {frame} | self.get(frame, set())


class CaptureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wireshark = Wireshark(OPTIONS.plugin, OPTIONS.version, os.environ.get("STAG_PLUGIN_PRELOAD"))
        cls.addClassCleanup(cls.wireshark.close)
        cls.expected = []
        if OPTIONS.expected:
            with open(OPTIONS.expected) as file:
                cls.expected = [json.loads(line) for line in file]


class ContentTest(CaptureTest):
    """What the plugin makes of this capture."""

    @classmethod
    @functools.cache
    def frames(cls, *options):
        """Of each frame the values of FIELDS, and of each rule that has findings its field, by name."""
        names = [*FIELDS, *(f"rpcrdma.rule.{rule.lower()}" for rule in cls.rules())]
        return [dict(zip(names, row)) for row in
                cls.wireshark.fields(OPTIONS.capture, "frame", *names, options=options)]

    @classmethod
    @functools.cache
    def checked(cls):
        """What `stag check` says of the capture, line by line."""
        done = subprocess.run([OPTIONS.stag, "check", "--format", "jsonl", "--fail-on", "never", OPTIONS.capture],
                              capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    @classmethod
    def rules(cls):
        return sorted({line["rule"] for line in cls.checked() if line["type"] == "finding"})

    @classmethod
    @functools.cache
    def messages(cls, *options):
        """(frame, xid, type) -> SHA-256 of each RPC message that the rpc dissector was given."""
        output = cls.wireshark.tshark(OPTIONS.capture, *options, "-Y", "rpcrdma && rpc", "-T", "json", "-x", "-J",
                                      "frame rpc " + " ".join(UPPER_LAYERS))
        found = collections.defaultdict(list)
        for packet in json.loads(output or "[]", object_pairs_hook=lambda pairs: pairs):
            layers = dict(dict(packet)["_source"])["layers"]
            frame = int(dict(dict(layers)["frame"])["frame.number"])
            # Wireshark ends the rpc item where the procedure's arguments or results begin: an item of their own.
            items = [(name, value) for name, value in layers if name.endswith("_raw")]
            for (name, value), (next_name, rest) in zip(items, [*items[1:], ("", None)]):
                if name == "rpc_raw":
                    message = bytes.fromhex(value[0])
                    if next_name.removesuffix("_raw") in UPPER_LAYERS:
                        message += bytes.fromhex(rest[0])
                    xid, message_type = struct.unpack(">II", message[:8])
                    found[frame, f"0x{xid:08x}", message_type].append(hashlib.sha256(message).hexdigest())
        return found

    @classmethod
    @functools.cache
    def shown_at(cls):
        """Frame of a Send -> the frames at which it is shown: its own, or a later one when it was held back."""
        frames = collections.defaultdict(set)
        for shown in cls.frames():
            for frame in shown["rpcrdma.sent_in"]:
                frames[int(frame)].add(int(shown["frame.number"][0]))
        return Later(frames)

    @classmethod
    def two_clocks(cls):
        return any(frame["rpcrdma.two_clocks"] for frame in cls.frames())

    def test_every_rpc_is_shown_once_and_byte_for_byte(self):
        shown = self.messages()
        shown_at = self.shown_at()
        calls = collections.defaultdict(list)
        for (frame, xid, message_type), digests in shown.items():
            if message_type == CALL:
                calls[xid] += [(frame, digest) for digest in digests]
        for want in self.expected:
            name = f"xid {want['xid']} {want['name']} of frame {want['call_frame']}"
            if want["call_complete"] and known(want["program"]):
                candidates = [(f, d) for f, d in calls[want["xid"]] if f >= want["call_frame"]]
                self.assertTrue(candidates, f"Call not shown: {name}")
                frame, digest = min(candidates)
                calls[want["xid"]].remove((frame, digest))
                self.assertEqual(digest, want["call_sha256"], f"Call: {name}")
                if want["reply_frame"]:
                    self.assertLessEqual(frame, max(shown_at[want["reply_frame"]]), name)
            if want["reply_complete"]:
                digests = [digest for frame in shown_at[want["reply_frame"]]
                           for digest in shown.get((frame, want["xid"], REPLY), [])]
                self.assertEqual(digests, [want["reply_sha256"]], f"Reply: {name}")
        left = {xid: rest for xid, rest in calls.items() if rest}
        if self.expected:
            self.assertFalse(left, "Calls shown that are not expected")

    def test_no_more_replies_than_expected(self):
        if not self.expected or OPTIONS.damaged:
            return
        shown_at = self.shown_at()
        expected = {(frame, want["xid"]) for want in self.expected if want["reply_complete"]
                    for frame in shown_at[want["reply_frame"]]}
        for frame, xid, message_type in self.messages():
            if message_type == REPLY:
                self.assertIn((frame, xid), expected)

    def test_two_passes_show_the_same(self):
        self.assertEqual(self.messages(), self.messages("-2"))

        def rows(*options):
            # What packets that never came held back until the end is known only to the second pass; and findings are at
            # other frames then, where they name connection and xid, too.
            # How far two clocks are apart, too.
            names = [name for name in BOTH if name != "rpcrdma.time" or not self.two_clocks()]
            return [(frame["frame.number"], [frame[name][:1] for name in names]) for frame in self.frames(*options)[:-1]
                    if frame["rpc"] or frame["rpcrdma.direction"]]

        self.assertEqual(rows(), rows("-2"))

    def test_nothing_is_malformed(self):
        # Where the capture lost bytes, Wireshark's own dissectors may stumble; on what we give them they must not.
        malformed = [frame["frame.number"] for frame in self.frames() if frame["_ws.malformed"] and
                     (not OPTIONS.damaged or (frame["rpc"] and frame["rpcrdma"]))]
        self.assertEqual(malformed, [])

    def test_file_data_of_read_replies(self):
        want = {(line["reply_frame"], line["xid"]): line for line in self.expected
                if line["name"] == "READ" and line["version"] == 3 and line["program"] == 100003
                and line["reply_complete"]}
        seen = {}
        for frame in self.frames():
            if "6" in frame["nfs.procedure_v3"] and "1" in frame["rpc.msgtyp"] and frame["rpcrdma"] and len(frame["rpc.xid"]) == 1:
                seen[int(frame["frame.number"][0]), frame["rpc.xid"][0]] = (frame["nfs.data"], frame["nfs.count3"])
        for key, line in want.items():
            if key not in seen:
                continue
            data, counts = seen[key]
            if line["data_bytes"]:
                content = bytes.fromhex("".join(data).replace(":", ""))
                self.assertEqual(hashlib.sha256(content).hexdigest(), line["data_sha256"], key)
                self.assertEqual([int(count) for count in counts], [line["data_bytes"]], key)

    def test_call_and_reply_are_linked(self):
        expected = {(line["reply_frame"], line["xid"]): line["call_frame"] for line in self.expected
                    if line["reply_frame"]}
        checked = 0
        for frame in self.frames():
            if "2" not in frame["rpcrdma.role"]:
                continue
            xids, calls = frame["rpcrdma.xid"], frame["rpcrdma.call_in"]
            key = int(frame["frame.number"][0]), xids[0]
            if len(set(xids)) == 1 and len(set(calls)) == 1 and key in expected:
                self.assertLessEqual(expected[key], int(calls[0]))
                checked += 1
        if len(self.expected) > 10:
            self.assertGreater(checked, len(self.expected) // 4)
        # Wireshark's own matching agrees: no reply of a known Call is one of "V0 proc-0".
        if self.expected and not OPTIONS.damaged:
            ours = [frame for frame in self.frames() if frame["rpcrdma"]]
            self.assertEqual([frame["frame.number"] for frame in ours
                              if "1" in frame["rpc.msgtyp"] and not frame["rpc.program"]], [])
            self.assertEqual([frame["frame.number"] for frame in ours if frame["rpc.dup"]], [])

    def test_response_time_is_that_of_the_sends(self):
        times = {int(frame["frame.number"][0]): float(frame["frame.time_epoch"][0]) for frame in self.frames()}
        expected = {line["reply_frame"]: line["call_frame"] for line in self.expected if line["reply_frame"]}
        for frame in self.frames():
            number, ours, rpc = int(frame["frame.number"][0]), frame["rpcrdma.time"], frame["rpc.time"]
            if "2" not in frame["rpcrdma.role"] or len(ours) != 1 or len(rpc) != 1 or number not in expected:
                continue
            if self.two_clocks():  # clocks_test.py holds these against stag transactions
                self.assertTrue(0 <= float(ours[0]) < 60 and 0 <= float(rpc[0]) < 60)
                continue
            time = times[number] - times[expected[number]]
            self.assertAlmostEqual(float(ours[0]), time, delta=2e-6)
            self.assertAlmostEqual(float(rpc[0]), time, delta=2e-6)

    def test_findings_equal_those_of_stag_check(self):
        severities = {"note": 0, "warning": 1, "error": 2}
        lines = self.checked()
        # One pass shows a finding at the frame that proves it, a second one at the frame that breaks the rule.
        passes = [collections.Counter((line[frame], line["rule"], severities[line["severity"]])
                                      for line in lines if line["type"] == "finding")
                  for frame in ("proven_frame", "frame")]
        for options, expected in zip(([], ["-2"]), passes):
            shown = collections.Counter()
            for frame in self.frames(*options):
                shown.update((int(frame["frame.number"][0]), rule, int(level)) for rule, level in
                             zip(frame["rpcrdma.finding"], frame["rpcrdma.finding.severity"], strict=True))
            if not options:
                # The end of the capture, and what was held back until then, is known to the second pass only.
                last = lines[-1]["frames"]
                shown += collections.Counter({key: n for key, n in (expected - shown).items() if key[0] == last})
            self.assertEqual(shown, expected, options)
        for rule in self.rules():
            frames = [int(frame["frame.number"][0]) for frame in self.frames("-2") if frame[f"rpcrdma.rule.{rule.lower()}"]]
            self.assertEqual(frames, sorted({frame for frame, other, _ in expected if other == rule}), rule)
        if self.rules():  # one of them as a filter
            rule = self.rules()[0]
            rows = self.wireshark.fields(OPTIONS.capture, f"rpcrdma.rule.{rule.lower()}", "frame.number", options=["-2"])
            self.assertEqual([int(row[0][0]) for row in rows], sorted({frame for frame, other, _ in expected if other == rule}))

    def test_no_frame_is_left_to_the_dissector_of_wireshark(self):
        self.assertEqual([frame["frame.number"] for frame in self.frames() if frame["rpcordma"]], [])


class OutputTest(CaptureTest):
    """Every way in which tshark and sharkd show what the plugin makes of a capture."""

    def test_every_output_of_tshark(self):
        tree = self.wireshark.tshark(OPTIONS.capture, "-V", "-Y", "rpcrdma")
        self.assertNotIn("Dissector bug", tree)
        json.loads(self.wireshark.tshark(OPTIONS.capture, "-T", "json", "-Y", "rpcrdma", "-c", "200") or "[]")
        self.wireshark.tshark(OPTIONS.capture, "-T", "ek", "-Y", "rpcrdma", "-c", "200")
        hierarchy = self.wireshark.tshark(OPTIONS.capture, "-q", "-z", "io,phs", "-z", "expert")
        self.assertNotIn("rpcordma", hierarchy)
        if self.expected:
            self.assertIn("rpcrdma", hierarchy)

    def test_service_response_times(self):
        table = self.wireshark.tshark(OPTIONS.capture, "-q", "-z", "rpc,srt,100003,3", "-Y", "rpcrdma")
        counted = {}
        for line in table.splitlines():
            words = line.split()
            if len(words) == 7 and words[0].isdigit():
                counted[words[1]] = int(words[2])
        expected = collections.Counter(
            line["name"] for line in self.expected
            if line["program"] == 100003 and line["version"] == 3 and line["call_complete"] and line["reply_complete"])
        if expected and not OPTIONS.damaged:
            self.assertEqual({name: counted.get(name, 0) for name in expected}, dict(expected))

    def test_preferences(self):
        options = ["-o", "rpcrdma.replace_builtin:FALSE", "-o", "rpcrdma.check_conformance:FALSE",
                   "-o", "rpcrdma.reassemble:FALSE"]
        rows = self.wireshark.fields(OPTIONS.capture, "rpcordma || rpcrdma.finding", "rpcordma", "rpcrdma.finding", options=options)
        self.assertEqual([row for row in rows if row[1]], [])
        if self.expected and not OPTIONS.damaged:
            self.assertNotEqual(rows, [])

    def test_reloading_starts_anew(self):
        capture = self.wireshark.take(OPTIONS.capture)
        frames = []
        with self.wireshark.sharkd() as sharkd:
            for _ in range(2):
                sharkd.load(capture)
                frames.append(sharkd.frames("rpcrdma", "frame.number", "rpcrdma.xid", "rpcrdma.finding", "rpc.xid"))
        self.assertEqual(frames[0], frames[1])
        if self.expected:
            self.assertTrue(frames[0])


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--damaged", action="store_true", help="packets or bytes are missing from the capture")
    parser.add_argument("--expected")
    parser.add_argument("plugin")
    parser.add_argument("version", help="of Wireshark, like 4.0")
    parser.add_argument("stag")
    parser.add_argument("capture")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)


if __name__ == "__main__":
    main()
