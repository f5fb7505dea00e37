#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/museum.md names only rules and probes that exist, and has a row, complete, and a source for each bug.

    museum_test.py STAG
"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

STAG = sys.argv.pop(1)
MUSEUM = (pathlib.Path(__file__).resolve().parents[2] / "docs/museum.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in MUSEUM.splitlines() if line.startswith("| MUS-")]


def ids(*arguments):
    done = subprocess.run([STAG, *arguments, "--format", "jsonl"], stdout=subprocess.PIPE, text=True, check=True)
    return {json.loads(line)["id"] for line in done.stdout.splitlines()}


class Museum(unittest.TestCase):
    def test_rows(self):
        names = [row[0] for row in ROWS]
        self.assertGreaterEqual(len(names), 40)
        self.assertEqual(names, sorted(set(names)))
        for row in ROWS:
            self.assertEqual(len(row), 6, row)
            self.assertTrue(all(row), row)
        self.assertEqual(re.findall(r"(?m)^- (MUS-\d+) \(", MUSEUM), names)

    def test_rules_and_probes_exist(self):
        rules = ids("rules")
        probes = ids("probe", "--list") | ids("probe", "--list", "--listen", "0")
        for name, _, _, of_rules, of_probes, _ in ROWS:
            named = re.findall(r"[A-Z]+-\d{3}", of_rules)
            self.assertEqual(set(named) - rules, set(), name)
            self.assertEqual(bool(named), of_rules != "none", name)
            named = re.findall(r"`([^`]+)`", of_probes)
            self.assertEqual(set(named) - probes, set(), name)
            self.assertEqual(bool(named), of_probes != "none", name)
        # What the text mentions in passing, too.
        mentioned = {m for m in re.findall(r"`([a-z0-9]+\.[a-z-]+)`", MUSEUM)} - {"divergences.md"}
        self.assertEqual(mentioned - probes, set())


if __name__ == "__main__":
    unittest.main()
