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


class Later(dict):
    """Frames that a Send may be shown at; its own when nothing else is known."""

    def __getitem__(self, frame):
        return {frame} | self.get(frame, set())


class PluginTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wireshark = Wireshark(OPTIONS.plugin, OPTIONS.version, os.environ.get("STAG_PLUGIN_PRELOAD"))
        cls.addClassCleanup(cls.wireshark.close)
        cls.expected = []
        if OPTIONS.expected:
            with open(OPTIONS.expected) as file:
                cls.expected = [json.loads(line) for line in file]

    @classmethod
    def fields(cls, display_filter, *names, options=()):
        return cls.wireshark.fields(OPTIONS.capture, display_filter, *names, options=options)

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
        for shown, sent in cls.fields("rpcrdma.sent_in", "frame.number", "rpcrdma.sent_in"):
            for frame in sent:
                frames[int(frame)].add(int(shown[0]))
        return Later(frames)

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
        names = ["frame.number", "rpc.xid", "rpc.msgtyp", "rpc.program", "rpc.procedure", "nfs.procedure_v3", "nfs.opcode",
                 "nfs.status", "nfs.data", "nfs.fh.hash", "rpcrdma.xid", "rpcrdma.proc", "rpcrdma.role",
                 "rpcrdma.connection", "rpcrdma.direction", "rpcrdma.segment.handle", "rpcrdma.segment.length",
                 "rpcrdma.rdma.segment_offset", "rpcrdma.call_in", "rpcrdma.time"]
        last = int(self.fields("frame", "frame.number")[-1][0][0])

        def rows(*options):
            # What packets that never came held back until the end is known only to the second pass; and findings are at
            # other frames then, where they name connection and xid, too.
            return [row for row in self.fields("rpc || rpcrdma.direction", *names, options=[*options, "-E", "occurrence=f"])
                    if int(row[0][0]) != last]

        self.assertEqual(rows(), rows("-2"))

    def test_nothing_is_malformed(self):
        if OPTIONS.damaged:
            # Where the capture lost bytes, Wireshark's own dissectors may stumble; on what we give them they must not.
            malformed = self.fields("_ws.malformed && rpc && rpcrdma", "frame.number")
        else:
            malformed = self.fields("_ws.malformed", "frame.number", "_ws.malformed")
        self.assertEqual(malformed, [])

    def test_file_data_of_read_replies(self):
        want = {(line["reply_frame"], line["xid"]): line for line in self.expected
                if line["name"] == "READ" and line["version"] == 3 and line["program"] == 100003
                and line["reply_complete"]}
        rows = self.fields("nfs.procedure_v3 == 6 && rpc.msgtyp == 1 && rpcrdma", "frame.number", "rpc.xid", "nfs.data",
                           "nfs.count3")
        seen = {}
        for frame, xids, data, counts in rows:
            if len(xids) == 1:
                seen[int(frame[0]), xids[0]] = (data, counts)
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
        for frame, xids, calls in self.fields("rpcrdma.role == 2", "frame.number", "rpcrdma.xid", "rpcrdma.call_in"):
            key = int(frame[0]), xids[0]
            if len(set(xids)) == 1 and len(set(calls)) == 1 and key in expected:
                self.assertLessEqual(expected[key], int(calls[0]))
                checked += 1
        if len(self.expected) > 10:
            self.assertGreater(checked, len(self.expected) // 4)
        # Wireshark's own matching agrees: no reply of a known Call is one of "V0 proc-0".
        if self.expected and not OPTIONS.damaged:
            self.assertEqual(self.fields("rpcrdma && rpc.msgtyp == 1 && !rpc.program", "frame.number"), [])
            self.assertEqual(self.fields("rpcrdma && rpc.dup", "frame.number"), [])

    def test_response_time_is_that_of_the_sends(self):
        times = {int(frame[0]): float(time[0]) for frame, time in
                 self.fields("frame", "frame.number", "frame.time_epoch")}
        expected = {line["reply_frame"]: line["call_frame"] for line in self.expected if line["reply_frame"]}
        for frame, ours, rpc in self.fields("rpcrdma.role == 2 && rpc.time", "frame.number", "rpcrdma.time", "rpc.time"):
            number = int(frame[0])
            if len(ours) != 1 or len(rpc) != 1 or number not in expected:
                continue
            time = times[number] - times[expected[number]]
            self.assertAlmostEqual(float(ours[0]), time, delta=2e-6)
            self.assertAlmostEqual(float(rpc[0]), time, delta=2e-6)

    def test_findings_equal_those_of_stag_check(self):
        done = subprocess.run([OPTIONS.stag, "check", "--format", "jsonl", "--fail-on", "never", OPTIONS.capture],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        severities = {"note": 0, "warning": 1, "error": 2}
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        # One pass shows a finding at the frame that proves it, a second one at the frame that breaks the rule.
        passes = [collections.Counter((line[frame], line["rule"], severities[line["severity"]])
                                      for line in lines if line["type"] == "finding")
                  for frame in ("proven_frame", "frame")]
        for options, expected in zip(([], ["-2"]), passes):
            shown = collections.Counter()
            for frame, rules, levels in self.fields("rpcrdma.finding", "frame.number", "rpcrdma.finding",
                                                    "rpcrdma.finding.severity", options=options):
                shown.update((int(frame[0]), rule, int(level)) for rule, level in zip(rules, levels, strict=True))
            if not options:
                # The end of the capture, and what was held back until then, is known to the second pass only.
                last = lines[-1]["frames"]
                shown += collections.Counter({key: n for key, n in (expected - shown).items() if key[0] == last})
            self.assertEqual(shown, expected, options)
        for rule in sorted({rule for _, rule, _ in expected}):
            frames = [int(row[0][0])
                      for row in self.fields(f"rpcrdma.rule.{rule.lower()}", "frame.number", options=["-2"])]
            self.assertEqual(frames, sorted({frame for frame, other, _ in expected if other == rule}), rule)

    def test_every_output_of_tshark(self):
        tree = self.wireshark.tshark(OPTIONS.capture, "-V", "-Y", "rpcrdma")
        self.assertNotIn("Dissector bug", tree)
        json.loads(self.wireshark.tshark(OPTIONS.capture, "-T", "json", "-Y", "rpcrdma", "-c", "200") or "[]")
        self.wireshark.tshark(OPTIONS.capture, "-T", "ek", "-Y", "rpcrdma", "-c", "200")
        hierarchy = self.wireshark.tshark(OPTIONS.capture, "-q", "-z", "io,phs")
        self.assertNotIn("rpcordma", hierarchy)
        if self.expected:
            self.assertIn("rpcrdma", hierarchy)
        self.wireshark.tshark(OPTIONS.capture, "-q", "-z", "expert")

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
        self.assertEqual(self.fields("rpcrdma.finding", "frame.number", options=options), [])
        builtin = self.fields("rpcordma", "frame.number", options=options)
        if self.expected and not OPTIONS.damaged:
            self.assertNotEqual(builtin, [])
        self.assertEqual(self.fields("rpcordma", "frame.number"), [])

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
