# SPDX-License-Identifier: GPL-2.0-or-later
"""Small captures with one odd thing each: tshark with the plugin finds what `stag check` finds: on the first
pass at the frames that prove it, on the second at those that break the rule.

cases_test.py PLUGIN WIRESHARK_VERSION STAG DIRECTORY [unittest options]

DIRECTORY holds pairs NAME.pcap and NAME.json; the latter says which profile to apply.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import unittest

from tshark import Wireshark, labels, values

OPTIONS = None


class CasesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wireshark = Wireshark(OPTIONS.plugin, OPTIONS.version, os.environ.get("STAG_PLUGIN_PRELOAD"))
        cls.addClassCleanup(cls.wireshark.close)

    def cases(self):
        for description in sorted(pathlib.Path(OPTIONS.directory).glob("*.json")):
            capture = description.with_suffix(".pcap")
            if capture.exists():
                yield capture, json.loads(description.read_text()).get("profile", "auto")

    def expected(self, capture, profile):
        done = subprocess.run([OPTIONS.stag, "check", "--format", "jsonl", "--fail-on", "never", "--profile", profile,
                               capture], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        findings = [line for line in lines if line["type"] == "finding"]
        found = [collections.Counter((line[frame], line["rule"], line["message"]) for line in findings)
                 for frame in ("proven_frame", "frame")]
        return found, lines[-1]["frames"]

    def test_findings(self):
        total = 0
        for capture, profile in self.cases():
            (expected, _), last = self.expected(capture, profile)
            total += sum(expected.values())
            with self.subTest(capture=capture.stem):
                shown = collections.Counter()
                rows = self.wireshark.fields(capture, "rpcrdma.finding", "frame.number", "rpcrdma.finding",
                                             "rpcrdma.finding.message", options=["-o", f"rpcrdma.profile:{profile}"])
                for frame, rules, messages in rows:
                    shown.update((int(frame[0]), rule, message) for rule, message in zip(rules, messages, strict=True))
                # The end of the capture, and what was held back until then, is known to the second look only.
                shown += collections.Counter({key: n for key, n in (expected - shown).items() if key[0] == last})
                self.assertEqual(shown, expected)
        self.assertGreater(total, 0)

    def test_second_look(self):
        with self.wireshark.sharkd() as sharkd:
            for capture, profile in self.cases():
                with self.subTest(capture=capture.stem):
                    (_, expected), _ = self.expected(capture, profile)
                    sharkd.request("setconf", name="rpcrdma.profile", value=profile)
                    sharkd.load(self.wireshark.take(capture))
                    shown, messages = collections.Counter(), 0
                    for number, tree in sharkd.trees("rpcrdma"):
                        found = zip(values(tree, "rpcrdma.finding"), values(tree, "rpcrdma.finding.message"), strict=True)
                        shown.update((number, *finding) for finding in found)
                        messages += any("RPC-over-RDMA, RDMA_" in line for line in labels(tree))
                        self.assertFalse([line for line in labels(tree) if "Dissector bug" in line])
                    self.assertEqual(shown, expected)
                    self.assertGreater(messages, 0)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin")
    parser.add_argument("version", help="of Wireshark, like 4.0")
    parser.add_argument("stag")
    parser.add_argument("directory")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)


if __name__ == "__main__":
    main()
