# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents that `stag check` writes for programs, read back by independent ones.

reports_test.py STAG    (runs as a unittest program)
"""
import json
import pathlib
import re
import subprocess
import unittest
import urllib.parse
import xml.etree.ElementTree

import jsonschema

from report_runs import ALL_CASES, Base, CAPTURE, CASES, NAMES, REAL, ROOT, STAG, check, lines, stag


class Json(Base):
    @classmethod
    def setUpClass(cls):
        schema = json.loads((ROOT / "docs" / "check.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        cls.validator = jsonschema.Draft202012Validator(schema)

    def test_every_document_is_as_the_schema_says(self):
        for what, arguments, data, status in self.runs():
            with self.subTest(what):
                done = check("--format", "json", *arguments, data=data)
                self.assertEqual(done.returncode, status, done.stderr)
                self.validator.validate(json.loads(done.stdout))

    def test_the_schema_refuses_what_is_wrong(self):
        good = json.loads(check("--format", "json", str(CASES[0])).stdout)
        self.assertTrue(good["findings"])
        for change in (lambda d: d.pop("summary"), lambda d: d["findings"][0].pop("message"),
                       lambda d: d["findings"][0].update(severity="fatal"), lambda d: d["findings"][0].update(more=1),
                       lambda d: d["summary"].update(frames=-1),
                       lambda d: d["connections"][0].update(fabric="token ring")):
            wrong = json.loads(json.dumps(good))
            change(wrong)
            self.assertFalse(self.validator.is_valid(wrong))

    def test_says_what_json_lines_say(self):
        for capture in CASES + REAL:
            with self.subTest(capture.name):
                document = json.loads(check("--format", "json", str(capture)).stdout)
                *findings, summary = lines(check("--format", "jsonl", str(capture)))
                self.assertEqual(document["findings"], findings)
                self.assertEqual({"type": "summary", **document["summary"]}, summary)
                listed = lines(stag("connections", "--format", "jsonl", str(capture)))
                connections = [row for row in listed if row["type"] == "connection"]
                for connection in connections:
                    del connection["transport"]
                self.assertEqual(document["connections"], connections)

    def test_files_that_cannot_be_read(self):
        cut = self.file("cut.pcap", pathlib.Path(CAPTURE).read_bytes()[:-3])
        document = json.loads(check("--format", "json", "/nowhere.pcap", cut, CAPTURE).stdout)
        opened = [(file["opened"], file["error"] is None) for file in document["files"]]
        self.assertEqual(opened, [(False, False), (True, False), (True, True)])
        self.assertIn("/nowhere.pcap", document["files"][0]["error"])
        self.assertEqual(document["summary"]["frames"], sum(file["frames"] for file in document["files"]))

    def test_names_arrive_as_they_are(self):
        for name in NAMES:
            path = self.file(name, CASES[0].read_bytes())
            document = json.loads(check("--format", "json", path).stdout)
            want = path.decode("utf-8", "replace")
            self.assertEqual([file["file"] for file in document["files"]], [want])
            self.assertEqual(document["findings"][0]["file"], want)


class Sarif(Base):
    @classmethod
    def setUpClass(cls):
        schema = json.loads((ROOT / "tests" / "third_party" / "sarif" / "sarif-2.1.0.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        cls.validator = jsonschema.Draft202012Validator(schema)

    def run_of(self, *arguments, data=None):
        (run,) = json.loads(check("--format", "sarif", *arguments, data=data).stdout)["runs"]
        return run

    def test_every_document_is_as_the_standard_says(self):
        for what, arguments, data, status in self.runs():
            with self.subTest(what):
                done = check("--format", "sarif", *arguments, data=data)
                self.assertEqual(done.returncode, status, done.stderr)
                document = json.loads(done.stdout)
                self.validator.validate(document)
                (run,) = document["runs"]
                rules = run["tool"]["driver"]["rules"]
                self.assertEqual(len({rule["id"] for rule in rules}), len(rules))
                artifacts = [artifact["location"] for artifact in run["artifacts"]]
                for result in run["results"]:
                    self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
                    for location in result["locations"] + result["relatedLocations"]:
                        self.assertIn(location["physicalLocation"]["artifactLocation"], artifacts)
                self.assertEqual(run["invocations"][0]["executionSuccessful"], status == 0)

    def test_says_what_json_says(self):
        for capture in CASES:
            with self.subTest(capture.name):
                findings = json.loads(check("--format", "json", str(capture)).stdout)["findings"]
                results = self.run_of(str(capture))["results"]
                self.assertEqual(len(results), len(findings))
                for result, finding in zip(results, findings):
                    self.assertEqual(result["ruleId"], finding["rule"])
                    self.assertEqual(result["level"], finding["severity"])
                    self.assertEqual(result["partialFingerprints"], {"stagFinding/v1": finding["fingerprint"]})
                    text = result["message"]["text"].replace("{{", "{").replace("}}", "}")
                    for key in ("message", "expected", "actual"):
                        self.assertIn(finding[key] or "", text)
                    names = [place["name"] for place in result["locations"][0]["logicalLocations"]]
                    self.assertEqual(names, [f"frame {finding['frame']}", f"connection {finding['connection']}"])
                    related = [location["logicalLocations"][0]["name"] for location in result["relatedLocations"]]
                    proof = [finding["proven_frame"]] if finding["proven_frame"] != finding["frame"] else []
                    self.assertEqual(related, [f"frame {frame}" for frame in finding["related_frames"] + proof])

    def test_rules_are_those_of_the_catalogue(self):
        catalogue = {rule["id"]: rule for rule in lines(stag("rules", "--format", "jsonl"))}
        run = self.run_of(*map(str, ALL_CASES))
        for rule in run["tool"]["driver"]["rules"]:
            entry = catalogue[rule["id"]]
            self.assertEqual(rule["shortDescription"]["text"], entry["title"] + ".")
            description = rule["fullDescription"]["text"].replace("{{", "{").replace("}}", "}")
            self.assertEqual(description, entry["requirement"])
            self.assertEqual(rule["defaultConfiguration"]["level"], entry["severity"])
            self.assertRegex(rule["name"], "^[A-Z0-9][A-Za-z0-9]+$")
            self.assertIn(rule["id"], rule["help"]["text"])
            # Not "RFC 5666 (draft-08)", which is the draft, nor what is no RFC.
            if any(re.fullmatch(r"RFC \d+( [A-Z0-9.]+)?", source) for source in entry["spec"]):
                self.assertRegex(rule["helpUri"],
                                 r"^https://www\.rfc-editor\.org/rfc/rfc\d+(#(section|appendix)-[A0-9.]+)?$")
            else:
                self.assertNotIn("helpUri", rule)
        found = {result["ruleId"] for result in run["results"]}
        self.assertGreater(len(run["tool"]["driver"]["rules"]), len(found))  # those that were applied and kept

    def test_uris_name_the_files(self):
        for name in NAMES:
            path = self.file(name, CASES[0].read_bytes())
            (artifact,) = self.run_of(path)["artifacts"]
            uri = urllib.parse.urlsplit(artifact["location"]["uri"])
            self.assertEqual((uri.scheme, uri.netloc, uri.query, uri.fragment), ("file", "", "", ""))
            self.assertEqual(urllib.parse.unquote_to_bytes(uri.path), path)
            done = subprocess.run([STAG, "check", "--format", "sarif", b"./" + name], capture_output=True,
                                  cwd=self.directory)
            uri = json.loads(done.stdout)["runs"][0]["artifacts"][0]["location"]["uri"]
            self.assertEqual(urllib.parse.unquote_to_bytes(uri), b"./" + name)
            self.assertRegex(uri, r"^[A-Za-z0-9._~/%-]+$")


class Junit(Base):
    def suites(self, *arguments, data=None, status=0):
        done = check("--format", "junit", *arguments, data=data)
        self.assertEqual(done.returncode, status, done.stderr)
        return self.parsed(done)

    def parsed(self, done):
        root = xml.etree.ElementTree.fromstring(done.stdout)
        self.assertEqual(root.tag, "testsuites")
        return list(root)

    def test_every_document_is_whole_and_its_numbers_are_right(self):
        for what, arguments, data, status in self.runs():
            with self.subTest(what):
                suites = self.suites(*arguments, data=data, status=status)
                files = json.loads(check("--format", "json", *arguments, data=data).stdout)["files"]
                self.assertEqual(len(suites), len(files))
                for suite in suites:
                    cases = suite.findall("testcase")
                    self.assertEqual(int(suite.get("tests")), len(cases))
                    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                        self.assertEqual(int(suite.get(attribute)), sum(case.find(tag) is not None for case in cases))
                    self.assertEqual(len({(case.get("classname"), case.get("name")) for case in cases}), len(cases))

    def test_a_case_for_every_rule_with_the_verdict_of_the_engine(self):
        for capture in CASES:
            with self.subTest(capture.name):
                done = stag("check", "--format", "junit", str(capture))
                (suite,) = self.parsed(done)
                *findings, summary = lines(check("--format", "jsonl", str(capture)))
                cases = {case.get("name").split()[0]: case for case in suite.findall("testcase")}
                self.assertIsNone(cases.pop("is").find("error"))
                self.assertEqual(sorted(cases), sorted(summary["rules_checked"] + summary["rules_not_exercised"]))
                errors = {finding["rule"] for finding in findings if finding["severity"] == "error"}
                others = {finding["rule"] for finding in findings if finding["severity"] != "error"}
                self.assertEqual(done.returncode, 1 if errors else 0)
                for rule, case in cases.items():
                    self.assertEqual(case.get("classname"), rule.split("-")[0])
                    outcomes = summary["outcomes"].get(rule, {})
                    want = (["failure"] if rule in errors else []) + (["system-out"] if rule in others else [])
                    if not want and ("fail" in outcomes or "pass" not in outcomes):
                        want = ["skipped"]
                    self.assertEqual([child.tag for child in case], want, rule)
                    for finding in findings:
                        if finding["rule"] == rule:
                            text = "".join(case.itertext())
                            self.assertIn(f"in frame {finding['frame']}, ", text)
                            self.assertIn(finding["message"], text)

    def test_what_is_a_failure_follows_fail_on(self):
        capture = str(ROOT / "pcaps" / "cases" / "003-vers-2-call-iwarp.pcap")  # one warning
        for level, want in (("error", "system-out"), ("warning", "failure"), ("note", "failure"),
                            ("never", "system-out")):
            (suite,) = self.parsed(stag("check", "--format", "junit", "--fail-on", level, capture))
            (case,) = [case for case in suite.findall("testcase") if case.get("name").startswith("HDR-003 ")]
            self.assertEqual([child.tag for child in case], [want])

    def test_reasons_for_skipping(self):
        (suite,) = self.suites(str(ROOT / "pcaps" / "real" / "rxe-snap128-nfs3.pcap.zst"))
        reasons = [skipped.get("message") for skipped in suite.iter("skipped")]
        self.assertIn("not applicable to this traffic", reasons)
        self.assertTrue(any(reason.endswith(": truncation") for reason in reasons), reasons)

    def test_many_findings_are_told_in_part(self):
        capture = str(ROOT / "pcaps" / "real" / "rxe-nfs4.1.pcap.zst")
        (suite,) = self.parsed(stag("check", "--format", "junit", "--fail-on", "note", capture))
        (case,) = [case for case in suite.findall("testcase") if case.get("name").startswith("PVT-006 ")]
        findings = [line for line in lines(check("--format", "jsonl", capture)) if line.get("rule") == "PVT-006"]
        self.assertGreater(len(findings), 20)
        self.assertTrue(case.find("failure").text.endswith(f"... and {len(findings) - 20} more\n"))

    def test_files_that_cannot_be_read(self):
        missing, whole = self.suites("/nowhere & \"nothing\".pcap", CAPTURE, status=2)
        (case,) = missing.findall("testcase")
        self.assertIn("/nowhere & \"nothing\".pcap", case.find("error").get("message"))
        self.assertEqual(whole.get("errors"), "0")

    def test_names_arrive_as_they_are(self):
        for name in NAMES:
            path = self.file(name, CASES[0].read_bytes())
            (suite,) = self.suites(path)
            want = path.decode("utf-8", "replace").replace("\x01", "\ufffd")
            self.assertEqual(suite.get("name"), want)


if __name__ == "__main__":
    unittest.main()
