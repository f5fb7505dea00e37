# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings that are accepted: --suppress, --baseline and --write-baseline of `stag check`.

acceptance_test.py STAG    (runs as a unittest program)
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

STAG = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).parents[2]
CASES = ROOT / "pcaps" / "cases"
ERRORS = str(CASES / "050-write-after-reply-roce.pcap")    # WRLIST-017
OTHER = str(CASES / "133-pd-reserved-bits-roce.pcap")      # PVT-003
MANY = str(ROOT / "pcaps" / "real" / "rxe-nfs4.1.pcap.zst")  # PVT-006, 43 times


def stag(*arguments):
    return subprocess.run([STAG, "check", *arguments], capture_output=True, timeout=120)


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


class Acceptance(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)

    def file(self, name, text):
        path = self.directory / name
        path.write_text(text)
        return str(path)

    def status(self, done, want):
        self.assertEqual(done.returncode, want, done.stderr.decode())

    def test_a_baseline_accepts_what_it_recorded(self):
        baseline = str(self.directory / "known.jsonl")
        done = stag("--write-baseline", baseline, "--fail-on", "note", ERRORS, MANY)
        self.status(done, 0)
        self.assertIn(b"WRLIST-017", done.stdout)
        self.status(stag("--fail-on", "note", ERRORS), 1)
        done = stag("--baseline", baseline, "--fail-on", "note", "--format", "jsonl", ERRORS, MANY)
        self.status(done, 0)
        (summary,) = lines(done)
        self.assertEqual(summary["findings"], {"error": 0, "warning": 0, "note": 0})
        plain = lines(stag("--fail-on", "never", "--format", "jsonl", ERRORS, MANY))
        self.assertEqual(summary["suppressed"], {"by_baseline": len(plain) - 1, "by_list": 0, "unused": []})
        self.assertEqual(done.stderr, b"")

    def test_nothing_to_judge_fails_where_that_is_asked_for(self):
        nothing = str(ROOT / "pcaps" / "real" / "rxe-perftest.pcap.zst")  # RDMA without RPC
        self.assertIn(b"nothing was judged", stag(nothing).stderr)
        for words, status in (("nothing-judged", 1), ("never,nothing-judged", 1), ("never", 0), ("note", 0)):
            self.status(stag("--fail-on", words, nothing), status)
        self.status(stag("--fail-on", "never,nothing-judged", ERRORS), 0)
        self.status(stag("--fail-on", "nothing-judged", ERRORS), 1)
        self.status(stag("--fail-on", "sometimes", ERRORS), 2)

    def test_what_is_new_still_fails(self):
        baseline = str(self.directory / "known.jsonl")
        self.status(stag("--write-baseline", baseline, MANY), 0)
        done = stag("--baseline", baseline, "--format", "jsonl", ERRORS)
        self.status(done, 1)
        self.assertEqual([line["rule"] for line in lines(done)[:-1]], ["WRLIST-017"])
        self.assertIn(b"PVT-006", done.stderr)  # of no use here
        self.assertEqual(stag("--quiet", "--baseline", baseline, ERRORS).stderr, b"")

    def test_reports_are_baselines(self):
        for format in ("json", "jsonl"):
            report = self.file(format, stag("--fail-on", "never", "--format", format, ERRORS).stdout.decode())
            done = stag("--baseline", report, ERRORS)
            self.status(done, 0)
            self.assertIn(b"suppressed: 1 by the baseline, 0 by the list", done.stdout)

    def test_the_same_from_another_capture(self):
        """Frames and times differ: the same packets after others, so that every frame number is another."""
        baseline = str(self.directory / "known.jsonl")
        self.status(stag("--write-baseline", baseline, ERRORS), 0)
        data = pathlib.Path(ERRORS).read_bytes()
        arp = bytes(12) + b"\x08\x06" + bytes(46)
        size = len(arp).to_bytes(4, sys.byteorder)
        shifted = self.directory / "shifted.pcap"
        shifted.write_bytes(data[:24] + (bytes(8) + size + size + arp) * 3 + data[24:])
        one, two = (lines(stag("--format", "jsonl", path))[0] for path in (ERRORS, str(shifted)))
        self.assertEqual(two["frame"], one["frame"] + 3)
        self.assertEqual(two["fingerprint"], one["fingerprint"])
        self.status(stag("--baseline", baseline, str(shifted)), 0)

    def test_a_list_of_suppressions(self):
        accept = self.file("accept", '# from the last interoperability event\n\n'
                                     '{"rule":"wrlist-017","direction":"s2c","reason":"old server"}\n'
                                     '{"rule":"HDR","reason":"never here"}\n')
        done = stag("--suppress", accept, "--format", "jsonl", ERRORS, OTHER)
        *findings, summary = lines(done)
        self.assertEqual({finding["rule"] for finding in findings}, {"PVT-003"})
        self.assertEqual(summary["suppressed"], {"by_baseline": 0, "by_list": 1, "unused": ["HDR (never here)"]})
        self.assertEqual(done.stderr, b"stag: no finding matched HDR (never here)\n")
        self.assertEqual(stag("--suppress", accept, "--select", "WRLIST", ERRORS).stderr, b"")  # HDR was not asked for

    def test_a_list_is_not_recorded_as_baseline(self):
        accept = self.file("accept", '{"rule":"WRLIST-017","reason":"old server"}\n')
        baseline = self.directory / "known.jsonl"
        self.status(stag("--suppress", accept, "--write-baseline", str(baseline), ERRORS, OTHER), 0)
        self.assertEqual([json.loads(line)["rule"] for line in baseline.read_text().splitlines()], ["PVT-003"])

    def test_every_format_leaves_out_what_is_accepted(self):
        accept = self.file("accept", '{"rule":"WRLIST-017","reason":"old server"}\n')
        for format in ("text", "jsonl", "json", "sarif", "junit", "html"):
            done = stag("--suppress", accept, "--format", format, ERRORS)
            self.status(done, 0)
            self.assertNotIn(b"An RDMA Write to a Call", done.stdout)
        done = stag("--suppress", accept, "--format", "junit", ERRORS)
        self.assertIn(b"suppressed by the baseline or the list", done.stdout)

    def test_bad_files(self):
        good = '{"rule":"HDR","reason":"x"}\n'
        bad = {
            "no reason": ("--suppress", good + '{"rule":"PVT-006"}\n', ":2: "),
            "no rule": ("--suppress", '{"reason":"x"}\n', ":1: "),
            "no such rule": ("--suppress", '{"rule":"XYZ-001","reason":"x"}\n', ":1: "),
            "no such member": ("--suppress", '{"rule":"HDR","reason":"x","frame":4}\n', ":1: "),
            "no JSON": ("--suppress", good + "HDR-003\n", ":2: "),
            "no baseline": ("--baseline", "HDR-003\n", ":"),
            "no fingerprint": ("--baseline", '{"type":"summary"}\n{"rule":"HDR-003"}\n', ":2: "),
        }
        for what, (option, text, where) in bad.items():
            for format in ("text", "json"):
                with self.subTest(what, format=format):
                    path = self.file("bad", text)
                    done = stag(option, path, "--format", format, ERRORS)
                    self.status(done, 2)
                    self.assertEqual(done.stdout, b"")
                    self.assertTrue(done.stderr.startswith(f"stag: {path}{where}".encode()), done.stderr)
        for option in ("--baseline", "--suppress"):
            for path in (str(self.directory / "missing"), str(self.directory)):
                done = stag(option, path, ERRORS)
                self.status(done, 2)
                self.assertIn(path.encode(), done.stderr)
        done = stag("--baseline", "/dev/zero", ERRORS)
        self.status(done, 2)
        self.assertIn(b"too large", done.stderr)

    def test_a_baseline_that_cannot_be_written(self):
        for path in (str(self.directory), "/dev/full", str(self.directory / "no" / "such")):
            done = stag("--write-baseline", path, ERRORS)
            self.status(done, 2)
            self.assertIn(path.encode(), done.stderr)

    def test_no_baseline_from_captures_that_could_not_be_read(self):
        baseline = self.file("known.jsonl", "before\n")
        cut = self.directory / "cut.pcap"
        cut.write_bytes(pathlib.Path(ERRORS).read_bytes()[:-3])
        for path in (str(cut), "/nowhere.pcap"):
            done = stag("--write-baseline", baseline, ERRORS, path)
            self.status(done, 2)
            self.assertIn(b"is not written", done.stderr)
            self.assertEqual(pathlib.Path(baseline).read_text(), "before\n")

    def test_nothing_is_called_unused_when_captures_could_not_be_read(self):
        accept = self.file("accept", '{"rule":"HDR","reason":"x"}\n')
        done = stag("--suppress", accept, ERRORS, "/nowhere.pcap")
        self.status(done, 2)
        self.assertNotIn(b"no finding matched", done.stderr)

    def test_many_unused_entries_are_told_in_part(self):
        accept = self.file("accept", '{"rule":"HDR","reason":"x"}\n' * 25)
        done = stag("--suppress", accept, "--fail-on", "never", ERRORS)
        self.status(done, 0)
        self.assertEqual(len(done.stderr.splitlines()), 11)
        self.assertIn(b"15 more", done.stderr)


if __name__ == "__main__":
    unittest.main()
