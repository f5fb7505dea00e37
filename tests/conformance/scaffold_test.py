#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""conformance/scaffold.py in a copy of the tree: what it begins compiles, and mistakes leave everything as it was.

usage: scaffold_test.py CXX [FLAGS...]"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = []
FOLDERS = ("conformance", "pcaps/generator", "protocol", "session", "tests/conformance", "tests/support")


class Scaffold(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in FOLDERS:
            shutil.copytree(ROOT / name, self.root / name)

    def run_scaffold(self, *arguments):
        return subprocess.run([sys.executable, ROOT / "conformance/scaffold.py", "--root", self.root, *arguments],
                              capture_output=True, text=True)

    def texts(self):
        return {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def begun(self, topic):
        done = self.run_scaffold("HDR-999", "NothingIsLeft", topic, 'A "title": with marks')
        self.assertEqual(done.returncode, 0, done.stderr)
        files = [self.root / line.strip() for line in done.stdout.splitlines() if line.startswith("  ")]
        self.assertIn(self.root / f"conformance/rules/{topic}.cc", files)
        self.assertIn(self.root / f"tests/conformance/{topic}_test.cc", files)
        for file in files:
            if file.suffix == ".cc":
                done = subprocess.run([*COMPILER, "-std=c++20", "-fsyntax-only", "-I", self.root, file], capture_output=True,
                                      text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
        catalogue = self.root / "conformance/catalogue"
        done = subprocess.run([sys.executable, catalogue / "generate.py", catalogue / "rules.yaml", catalogue / "advice.yaml",
                               self.root / "data.cc"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"HDR-999"', (self.root / "data.cc").read_text())
        return files

    def test_in_a_topic_that_is_there(self):
        self.begun("hdr")

    def test_in_a_new_topic(self):
        self.begun("new_topic")
        self.assertIn("rules/new_topic.cc", (self.root / "conformance/CMakeLists.txt").read_text())
        self.assertIn("new_topic_test.cc", (self.root / "tests/conformance/CMakeLists.txt").read_text())

    def test_mistakes_change_nothing(self):
        before = self.texts()
        for arguments in (("HDR-001", "NothingIsLeft", "hdr", "x"), ("hdr-999", "NothingIsLeft", "hdr", "x"),
                          ("HDR-999", "HeaderVersion", "hdr", "x"), ("HDR-999", "lower", "hdr", "x"),
                          ("HDR-999", "NothingIsLeft", "../x", "x"), ("NEVER-001", "NothingIsLeft", "hdr", "x")):
            done = self.run_scaffold(*arguments)
            self.assertNotEqual(done.returncode, 0, arguments)
            self.assertTrue(done.stderr.strip(), arguments)
        self.assertEqual(self.texts(), before)


if __name__ == "__main__":
    COMPILER = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
