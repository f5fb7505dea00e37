# SPDX-License-Identifier: GPL-2.0-or-later
"""stag scrub on all generated captures of pcaps/, and those of the lab: the scrubbed one tells the same, findings of broken messages
included.

scrub_generated_test.py STAG SCRUB_MANY    (runs as a unittest program)
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

STAG, SCRUB_MANY = sys.argv.pop(1), sys.argv.pop(1)
PCAPS = pathlib.Path(__file__).parents[2] / "pcaps"
NTH = 7 if os.environ.get("STAG_SANITIZED") else 1
CAPTURES = sorted(path for folder in ("cases", "rules", "mirror", "real/lab") for path in (PCAPS / folder).rglob("*")
                  if path.name.endswith((".pcap", ".pcapng", ".zst")))[::NTH]
# What differs by design: digests and addresses; private data other than RFC 8797's, of which zeros are left.
# And how often a rule passed, or had nothing to judge: memory that holds what nobody can follow is zeros.
REPLACED = {"expected", "actual", "call_sha256", "reply_sha256", "data_sha256", "address", "hex", "outcomes", "rules_checked", "rules_not_exercised"}
ANALYSES = ("check", "connections", "transactions", "credits", "latency", "limits", "transport")
# What must differ, by capture and analysis, and why.
DIFFERENT = {
    ("rules/PVT-001/near-miss.pcap", "connections"): "private data that nobody knows become zeros, which end a CM message anyway",
}


def without_replaced(value):
    if isinstance(value, dict):
        return {key: without_replaced(inner) for key, inner in value.items() if key not in REPLACED}
    return [without_replaced(inner) for inner in value] if isinstance(value, list) else value


class Generated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        subprocess.run([SCRUB_MANY, cls.directory, *CAPTURES], check=True)
        cls.scrubbed = [cls.directory / f"{number}.pcapng" for number in range(1, len(CAPTURES) + 1)]

    def told(self, analysis, captures):
        """What the analysis says of each capture, and, by None, of all together."""
        done = subprocess.run([STAG, analysis, "--format", "jsonl", *captures], capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        places = {str(capture): place for place, capture in enumerate(captures)}
        told = collections.defaultdict(list)
        for line in map(json.loads, done.stdout.splitlines()):
            told[places.get(line.pop("file", None))].append(without_replaced(line))
        return told

    def test_tells_the_same(self):
        self.assertGreater(len(CAPTURES), 600 // NTH)
        for analysis in ANALYSES:
            before, after = self.told(analysis, CAPTURES), self.told(analysis, self.scrubbed)
            self.assertTrue(before, analysis)
            with self.subTest(analysis=analysis):
                self.assertEqual(before[None], after[None])
            for place, capture in enumerate(CAPTURES):
                name = str(capture.relative_to(PCAPS))
                with self.subTest(analysis=analysis, capture=name):
                    check = self.assertNotEqual if (name, analysis) in DIFFERENT else self.assertEqual
                    check(before[place], after[place])


if __name__ == "__main__":
    unittest.main()
