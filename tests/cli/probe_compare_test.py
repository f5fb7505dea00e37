#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stag probe --compare: results of several runs side by side, in every format; the page also in a browser.

    probe_compare_test.py STAG    (runs as a unittest program)
"""
import csv
import json
import os
import sys
import tempfile
import unittest

sys.argv[1:1] = sys.argv[1:2]  # what is shared by tests of documents takes it, and what is shared by live ones
from html_test import Browser, contrast, expect_whole
from live_runs import lines, serve, stag

BEGIN = {"type": "server", "to": "one:20049", "transport": "iwarp", "program": 100003, "version": 3, "program_known": True,
         "export": False}
END = {"type": "summary", "probes": 0, "not_run": 0, "why_not_run": None}


def result(probe, verdict, title="What is to be done", **members):
    return {"type": "probe", "id": probe, "title": title, "spec": ["RFC 8166 4.5.1"], "rules": ["ERR-007"], "verdict": verdict,
            "expected": None, "came": None, "case": None, "why": None, "findings": [], "advice": [], "seconds": 0.25, **members}


FAILED = {"expected": "RDMA_ERROR ERR_VERS", "came": "nothing <at all> & more", "case": "version 2", "findings": ["ERR-007: no error"]}
ONE = [BEGIN, result("rpc.null", "passed"), result("header.version", "passed"), result("header.msgp", "failed", came="RDMA_MSG"),
       result("nfs3.read", "skipped", why="no export"), result("xid.again", "passed"), END]
OTHER = [{**BEGIN, "to": "other:20049"}, result("rpc.null", "passed"), result("nfs3.read", "inconclusive", why="it depends"),
         result("header.version", "failed", **FAILED), result("header.msgp", "failed", came="nothing"),
         {**END, "not_run": 1, "why_not_run": "the server is gone"}]


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.one, self.other = self.write("one.jsonl", ONE), self.write("other.jsonl", OTHER)

    def write(self, name, objects):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(o) + "\n" if isinstance(o, dict) else o for o in objects))
        return path

    def compare(self, *arguments):
        done = stag("probe", "--compare", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done


class Compare(Base):
    def complains(self, text, *arguments):
        done = stag("probe", *arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
        self.assertIn(text, done.stderr)

    def test_jsonl(self):
        *runs, one, two, three, four, five, summary = lines(self.compare(self.one, self.other, "--format", "jsonl"))
        self.assertEqual([run["name"] for run in runs], ["one", "other"])
        self.assertEqual([run["to"] for run in runs], ["one:20049", "other:20049"])
        self.assertEqual([(run["passed"], run["failed"], run["inconclusive"], run["skipped"], run["not_run"]) for run in runs],
                         [(3, 1, 0, 1, 0), (1, 2, 1, 0, 1)])
        self.assertEqual([run["why_not_run"] for run in runs], [None, "the server is gone"])
        # What failed somewhere is the first of what differs, then the rest; then what is the same.
        probes = [one, two, three, four, five]
        self.assertEqual([probe["id"] for probe in probes], ["header.version", "nfs3.read", "header.msgp", "rpc.null", "xid.again"])
        self.assertEqual([probe["differs"] for probe in probes], [True, True, False, False, False])
        verdicts = [[r and r["verdict"] for r in probe["results"].values()] for probe in probes]
        self.assertEqual(verdicts, [["passed", "failed"], ["skipped", "inconclusive"], ["failed", "failed"], ["passed", "passed"],
                                    ["passed", None]])
        self.assertEqual({k: one["results"]["other"][k] for k in FAILED}, FAILED)
        self.assertEqual(one["results"]["other"]["seconds"], 0.25)
        self.assertEqual((one["title"], one["spec"], one["rules"]), ("What is to be done", ["RFC 8166 4.5.1"], ["ERR-007"]))
        self.assertEqual(summary, {"type": "summary", "runs": 2, "probes": 5, "differing": 2})

    def test_rows(self):
        """json, csv and table have what jsonl has."""
        files = (self.one, self.other)
        rows = lines(self.compare(*files, "--format", "jsonl"))
        self.assertEqual(json.loads(self.compare(*files, "--format", "json").stdout), rows)
        probes = [row for row in rows if row["type"] == "comparison"]
        self.assertEqual([row["verdicts"] for row in probes],
                         [{name: r and r["verdict"] for name, r in row["results"].items()} for row in probes])
        cells = list(csv.DictReader(self.compare(*files, "--format", "csv").stdout.splitlines()))
        self.assertEqual([(row["id"], row["verdicts"]) for row in cells],
                         [(row["id"], ";".join(f"{name}={verdict or ''}" for name, verdict in row["verdicts"].items())) for row in probes])
        table = self.compare(*files, "--format", "table").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in table], ["probe", *(row["id"] for row in probes)])
        *_, last, summary = lines(self.compare(*files, "--format", "jsonl", "--sort", "id", "--limit", "2"))
        self.assertEqual((last["id"], summary["probes"]), ("header.version", 5))
        text = self.compare(*files, "--sort", "id", "--limit", "2").stdout
        self.assertLess(text.index("DIFFERENT (1)"), text.index("header.version"))
        self.assertLess(text.index("THE SAME (1)"), text.index("header.msgp"))

    def test_text(self):
        text = self.compare(self.one, self.other, "--name", "first,second").stdout.splitlines()
        self.assertEqual(text[0], "first   one:20049 by iwarp: 5 probes: 3 passed, 1 failed, 0 inconclusive, 1 skipped")
        self.assertTrue(text[1].endswith("; 1 not run: the server is gone"))
        self.assertIn("DIFFERENT (2)                 first         second", text)
        self.assertIn("header.version                passed        failed", text)
        self.assertIn("    second  came      nothing <at all> & more", text)
        self.assertIn("    first   because   no export", text)
        self.assertIn("THE SAME (3)                  first         second", text)
        self.assertIn("xid.again                     passed        -", text)
        quiet = self.compare(self.one, self.other, "--quiet").stdout
        self.assertIn("header.version", quiet)
        self.assertNotIn("rpc.null", quiet)

    def test_runs_of_servers_and_of_clients(self):
        """What runs write can be compared, and a run can be a page at once."""
        paths = []
        for mode in ("null", "echo"):
            with serve("--mode", mode) as server:
                done = stag("probe", server.to, "--transport", "iwarp", "--settle", "5ms", "--select", "rpc,chunk.long-reply",
                            "--format", "jsonl")
            self.assertEqual(done.returncode, 0, done.stderr)
            paths.append(self.write(f"{mode}.jsonl", [done.stdout]))
        *_, summary = rows = lines(self.compare(*paths, "--format", "jsonl"))
        differing = [row["id"] for row in rows if row.get("differs")]
        self.assertIn("chunk.long-reply", differing)
        self.assertEqual((summary["probes"], summary["differing"]), (9, len(differing)))
        done = stag("probe", "--listen", "127.0.0.1:0", "--transport", "iwarp", "--settle", "5ms", "--select", "reject.first",
                    "--format", "html")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = expect_whole(self, done.stdout)
        self.assertEqual([row["data-verdicts"] for row in page.all("tr", "probe")], ["passed"])
        self.assertIn("1 run of probes of a client", "".join(page.text))

    def test_the_page(self):
        text = self.compare(self.one, self.other, "--format", "html").stdout
        page = expect_whole(self, text)
        self.assertNotIn("url(", text)
        self.assertEqual([row["id"] for row in page.all("tr", "probe")],
                         ["probe-header.version", "probe-nfs3.read", "probe-header.msgp", "probe-rpc.null", "probe-xid.again"])
        self.assertEqual(page.all("tr", "probe")[0]["data-verdicts"], "passed failed")
        visible = "".join(page.text)
        for words in (*FAILED.values(), "it depends", "no export", "the server is gone", "Different (2)", "The same (3)"):
            self.assertIn(words[0] if isinstance(words, list) else words, visible)
        self.assertIn("https://www.rfc-editor.org/rfc/rfc8166#section-4.5.1", page.hrefs)
        self.assertEqual(len(page.all("tr", "probe")), len(page.all("tr", "details")))

    def test_names_are_text(self):
        wrong = '<script>alert(1)</script>"&'
        path = self.write("wrong.jsonl", [{**BEGIN, "to": wrong}, result("a b", "failed", wrong, came=wrong, spec=[wrong, "RFC 1 <b>"]), END])
        text = self.compare(path, "--name", wrong, "--format", "html").stdout
        page = expect_whole(self, text)
        self.assertEqual(text.count("<script>"), 1)
        self.assertIn(wrong, "".join(page.text))
        [run, probe, _] = lines(self.compare(path, "--name", wrong, "--format", "jsonl"))
        self.assertEqual((run["name"], list(probe["results"])), (wrong, [wrong]))

    def test_a_run_that_was_ended(self):
        path = self.write("cut.jsonl", ONE[:-1])
        self.assertIn("the file ends within the run", self.compare(path).stdout)
        [run, *_] = lines(self.compare(path, "--format", "jsonl"))
        self.assertFalse(run["ended"])

    def test_wrong_files(self):
        for name, objects, complaint in (("empty", [], "has no results of stag probe --format jsonl"),
                                         ("text", ["12 passed\n"], "text.jsonl:1: not a JSON object"),
                                         ("check", [{"type": "finding"}], "check.jsonl:1: not what stag probe --format jsonl writes"),
                                         ("second", [BEGIN, BEGIN], "second.jsonl:2: not what"),
                                         ("list", [BEGIN, {"type": "probe", "id": "rpc.null"}], "list.jsonl:2: a probe without"),
                                         ("twice", ONE[:2] + ONE[1:2], "twice.jsonl:3: rpc.null is there for the second time"),
                                         ("behind", ONE + ONE[1:2], "behind.jsonl:8: a line behind the summary")):
            self.complains(complaint, "--compare", self.write(name + ".jsonl", objects))
        client = self.write("client.jsonl", [{"type": "client", "command": None, "transport": "iwarp", "port": 1}, END])
        self.complains("they have no probe in common", "--compare", self.one, client)
        self.complains("cannot read", "--compare", os.path.join(self.folder, "missing.jsonl"))

    def test_usage(self):
        again = self.write("again/one.jsonl", ONE)
        self.complains("two runs have the name one: give others by --name", "--compare", self.one, again)
        self.complains("--name has 1 name, --compare 2 files", "--compare", self.one, self.other, "--name", "a")
        self.complains("--name is for --compare", "host", "--name", "a")
        self.complains("--format junit is of probes that are run", "--compare", self.one, "--format", "junit")
        for option in (["--select", "rpc"], ["--list"], ["--listen", "0"], ["--record", "x"], ["--settle", "1s"], ["--dangerous", "backward.garbage"]):
            self.complains(option[0], "--compare", self.one, *option)
        self.complains("excludes --compare", "host", "--compare", self.one)


class InABrowser(Base):
    SHOWN = "return [...document.querySelectorAll('tr.probe')].filter((r) => r.checkVisibility()).map((r) => r.id.slice(6))"
    DETAILS = "return [...document.querySelectorAll('tr.details')].filter((r) => r.checkVisibility()).length"

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def test_rows_open_and_are_filtered(self):
        path = self.write("page.html", [self.compare(self.one, self.other, "--format", "html").stdout])
        run = self.browser.run
        self.browser.open(path)
        self.assertEqual((len(run(self.SHOWN)), run(self.DETAILS)), (5, 0))
        run("document.querySelector('tr.probe button').click()")
        self.assertEqual(run(self.DETAILS), 1)
        self.assertIn("nothing <at all> & more", run("return document.querySelector('tr.details').innerText"))
        choose = "const f = document.getElementById('probe-filter').elements; f[arguments[0]].value = arguments[1]; " \
                 "f[arguments[0]].dispatchEvent(new Event('input', {bubbles: true}))"
        run(choose, "verdict", "failed")
        self.assertEqual(run(self.SHOWN), ["header.version", "header.msgp"])
        run(choose, "text", "at ALL")
        self.assertEqual(run(self.SHOWN), ["header.version"])
        self.assertEqual(run("return document.getElementById('shown').textContent"), "Showing 1 of 5.")
        # A link to a probe that the filter hides shows all again, and opens it; the other one is still open.
        self.browser.later("location.hash = '#probe-rpc.null'; setTimeout(() => setTimeout(arguments[0], 50), 50)")
        self.assertEqual((len(run(self.SHOWN)), run(self.DETAILS)), (5, 2))
        self.assertEqual(self.browser.log(), [])
        # It fits, and can be read, in both colour schemes.
        for scheme in ("light", "dark"):
            self.browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.assertTrue(run("return document.documentElement.scrollWidth <= innerWidth"))
            for verdict in ("passed", "failed", "inconclusive", "skipped"):
                colors = run("const hex = (c) => '#' + c.match(/\\d+/g).slice(0, 3).map((n) => (+n).toString(16).padStart(2, '0')).join('');"
                             "const badge = document.querySelector(`.badge.${arguments[0]}`); const style = getComputedStyle(badge);"
                             "let ground = badge; while (/, 0\\)$/.test(getComputedStyle(ground).backgroundColor)) ground = ground.parentElement;"
                             "return [hex(style.color), hex(getComputedStyle(ground).backgroundColor)]", verdict)
                self.assertGreater(contrast(*colors), 4.5, (scheme, verdict, colors))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
