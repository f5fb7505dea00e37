# SPDX-License-Identifier: GPL-2.0-or-later
"""stag summary: says first what is wrong in captures of which that is known, and then what the other commands say.

summary_test.py STAG    (runs as a unittest program)
"""
import os
import shlex
import shutil
import subprocess
import tempfile
import unittest

from report_runs import Base, CASES, REAL, ROOT, STAG, lines, stag

RNR = str(ROOT / "pcaps" / "cases" / "034-rnr-at-client-roce.pcap")
LOSS = str(ROOT / "pcaps" / "real" / "rxe-loss-nfs3.pcap.zst")
REJECT = str(ROOT / "pcaps" / "real" / "rxe-reject.pcap")
HARM = ("data", "connection", "time", "refused", "conformance", "capture", "note", "known")


def summary(*arguments):
    (line,) = lines(stag("summary", "--format", "jsonl", *arguments))
    return line


class Summary(Base):
    def test_it_agrees_with_the_other_commands(self):
        for path in map(str, CASES + REAL):
            line = summary(path)
            (checked,) = [found for found in lines(stag("check", "--fail-on", "never", "--format", "jsonl", path))
                          if found["type"] == "summary"]
            for member in ("frames", "findings", "transactions"):
                self.assertEqual(line[member], checked[member], (path, member))
            listed = [row for row in lines(stag("connections", "--format", "jsonl", path)) if row["type"] == "connection"]
            self.assertEqual(line["connections"], len(listed))
            for severity in ("error", "warning", "note"):
                rules = [wrong for wrong in line["wrong"] if wrong["severity"] == severity]
                self.assertEqual(rules != [], line["findings"][severity] > 0, (path, severity))
            order = [(HARM.index(wrong["harm"]), -(wrong["lost_us"] or 0) if wrong["harm"] == "time" else 0) for wrong in line["wrong"]]
            self.assertEqual(order, sorted(order), path)

    def test_what_is_known_to_do_no_harm_comes_last(self):
        for capture, findings in (("rxe-nfs4.1.pcap.zst", 24), ("rxe-nfs3.pcap.zst", 5)):
            path = str(ROOT / "pcaps" / "real" / capture)
            (known,) = summary(path)["wrong"]
            self.assertEqual((known["harm"], known["severity"], known["kind"], known["lost_us"]), ("known", "error", "rule:PVT-006", None))
            text = stag("summary", path).stdout.decode()
            self.assertRegex(text, rf"What is wrong\n  Nothing that does harm\.\n  known   PVT-006 by the server: .*, the first of {findings}\. "
                                   "It does no harm here: The Linux server ")
            told = [one for one in lines(stag("check", "--fail-on", "never", "--format", "jsonl", path)) if one["type"] == "finding"]
            self.assertEqual([one["rule"] for one in told if "known" in one], ["PVT-006"] * findings)

    def test_accepted_findings_are_left_out(self):
        path = str(ROOT / "pcaps" / "real" / "rxe-nfs4.1.pcap.zst")
        baseline = self.file("baseline.jsonl", b"")
        stag("check", "--write-baseline", baseline, path)
        suppress = self.file("suppress", b'{"rule":"PVT-006","reason":"Linux"}\n')
        for option, file in (("--baseline", baseline), ("--suppress", suppress)):
            line = summary(path, option, file)
            self.assertEqual((line["wrong"], line["findings"]["error"]), ([], 0))
            text = stag("summary", path, option, file).stdout.decode()
            self.assertIn("Nothing that the capture shows.", text)
            self.assertIn("0 errors, 0 warnings, 0 notes, without 24 that are accepted\n", text)
            page = stag("report", path, option, file).stdout.decode()
            self.assertNotIn("PVT-006", page[page.index('id="wrong"'):page.index('id="about"')])
            self.assertIn("24 findings are accepted (--suppress, --baseline), and left out", page)
        missing = stag("summary", path, "--baseline", self.file("odd", b"no json"))
        self.assertEqual(missing.returncode, 2)
        self.assertIn(b"odd: neither JSON lines nor a JSON document", missing.stderr)

    def test_the_same_trouble_of_several_connections_is_one(self):
        (refused,) = [wrong for wrong in summary(REJECT)["wrong"] if wrong["kind"] == "refused"]
        connections = lines(stag("connections", "--format", "jsonl", REJECT))
        self.assertEqual(refused["connection_count"], len(connections))
        self.assertEqual(refused["worst"], [one["connection"] for one in connections][:3])
        self.assertEqual(refused["connection"], refused["worst"][0])

    def test_what_to_do_next_can_be_pasted(self):
        done = set()
        with tempfile.TemporaryDirectory() as home:
            for path in map(str, CASES + REAL):
                for wrong in summary(path)["wrong"]:
                    if wrong["kind"] in done:
                        continue
                    done.add(wrong["kind"])
                    program, *arguments = [path if word == "FILE" else word for word in shlex.split(wrong["next"])]
                    self.assertEqual(program, "stag")
                    ran = subprocess.run([STAG, *arguments], cwd=home, capture_output=True)
                    self.assertIn(ran.returncode, (0, 1), (wrong["next"], ran.stderr))
                    self.assertNotEqual(ran.stdout + ran.stderr, b"", wrong["next"])
            name = os.path.join(home, "it's a capture.pcap.zst")
            shutil.copy(LOSS, name)
            text = stag("summary", name).stdout.decode()
            for wrong in summary(name)["wrong"]:
                self.assertIn("\n          " + wrong["next"].replace("FILE", shlex.quote(name).replace("'\"'\"'", "'\\''")) + "\n", text)

    def test_members(self):
        self.assertEqual(list(summary(LOSS)), ["type", "file", "frames", "connections", "transactions", "judged", "wrong", "nfs_errors",
                                               "findings"])
        for wrong in summary(LOSS)["wrong"]:
            self.assertEqual(list(wrong), ["severity", "kind", "blames", "connection", "text", "frame", "harm", "lost_us",
                                           "connection_count", "worst", "next"])
        two = lines(stag("summary", "--format", "jsonl", RNR, LOSS))
        self.assertEqual([line["file"] for line in two], [RNR, LOSS])

    def wrong(self, path, severity="trouble"):
        return [(wrong["text"], wrong["frame"]) for wrong in summary(path)["wrong"] if wrong["severity"] == severity]

    def test_what_is_wrong(self):
        self.assertIn(("Connection 1: the server waited 430us because the client had no receive ready: it posts too few, or "
                       "too late.", 12), self.wrong(RNR))
        self.assertIn(("Connection 1: the client sent 2 packets again for nothing: the server had them. It waited up to 2.34s "
                       "before it did.", 1018), self.wrong(LOSS))
        rejected = self.wrong(REJECT)
        self.assertEqual(rejected[0][0], "2 connections, the worst 1, 2. Connection 1: the server rejected it, reason 8 (Invalid service "
                                         "ID: nobody listens on port 20050).")

    def test_findings_of_a_rule_by_severity(self):
        for path in map(str, CASES):
            found = {}
            for finding in lines(stag("check", "--fail-on", "never", "--format", "jsonl", path)):
                if finding["type"] == "finding":
                    found.setdefault((finding["rule"], finding["direction"]), []).append(finding)
            for wrong in summary(path)["wrong"]:
                if not wrong["kind"].startswith("rule:"):
                    continue
                of = [one for one in found[wrong["kind"][5:], "c2s" if wrong["blames"] == "client" else "s2c"]
                      if ("known" in one) == (wrong["harm"] == "known")]
                worst = [one for one in of if one["severity"] == wrong["severity"]]
                self.assertEqual(wrong["frame"], worst[0]["frame"], path)
                self.assertIn(worst[0]["message"].rstrip("."), wrong["text"], path)
                self.assertEqual(f", the first of {len(worst)}" in wrong["text"], len(worst) > 1, (path, wrong))
                self.assertEqual(f", and {len(of) - len(worst)} less severe" in wrong["text"], len(of) > len(worst), (path, wrong))

    def test_text(self):
        text = stag("summary", LOSS).stdout.decode()
        self.assertRegex(text, r"(?m)^\S+rxe-loss-nfs3\.pcap\.zst: 1322 frames, 1 connection, 220 RPCs, ")
        self.assertRegex(text, r"(?m)^  trouble Connection 1: the client sent 2 packets again for nothing: .* Frame 1018\.$")
        self.assertRegex(text, r"(?m)^  1   RoCEv2 10\.0\.0\.2 QP \S+ -> 10\.0\.0\.1 QP \S+: 220 calls, 220 replies, ")
        self.assertRegex(text, r"(?m)^  1   1294 packets of .*, 18 sent again \(1\.4 %\), 2 NAKs, path MTU 1024$")
        headings = [line for line in text.splitlines() if line and not line.startswith(" ")][1:]
        self.assertEqual(headings, ["What is wrong", "Connections", "Latency", "Transport", "Limits", "Credits", "Findings"])
        self.assertRegex(text, r"(?m)^  NFSv3 \S+ +\d+  p50 \S+ +p99 \S+ +max \S+$")
        (told,) = lines(stag("limits", "--format", "jsonl", LOSS))
        self.assertRegex(text, rf"(?m)^  1   {told['verdict'].replace('_', ' ')}: .*\d %")
        self.assertLess(len(text.splitlines()), 50)
        calm = stag("summary", str(ROOT / "pcaps" / "cases" / "152-ok-rkey-reuse-iwarp.pcap")).stdout.decode()
        self.assertIn("What is wrong\n  Nothing that the capture shows.\n", calm)
        other = stag("summary", str(ROOT / "pcaps" / "real" / "rxe-perftest.pcap.zst")).stdout.decode()
        self.assertIn("What is wrong\n  There is no RPC-over-RDMA in the capture: nothing was judged.\n", other)
        self.assertNotIn("Nothing that", other)


if __name__ == "__main__":
    unittest.main()
