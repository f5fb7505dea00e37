#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/coverage.yaml names rules and probes that exist, has a reason where there are none, and is what docs/coverage.md shows;
each rule about these documents is there. Where the documents are, their sentences are counted.

    coverage_test.py STAG SPECS
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import coverage  # noqa: E402

STAG, SPECS = sys.argv[1], pathlib.Path(sys.argv[2])
del sys.argv[1:3]
WORD = re.compile(r"\b(MUST NOT|MUST|SHOULD NOT|SHOULD|SHALL NOT|SHALL|NOT RECOMMENDED|RECOMMENDED|REQUIRED)\b")
NUMBERED = re.compile(r"(\d+(?:\.\d+)*)\.\s+[A-Z]")
SAME = 8  # words in a row that are a copy


def sections_of(path):
    """Lines by section, without the table of contents. A list that is numbered as a next section would be does not end one
    that is found again."""
    text = path.read_text(encoding="utf-8").splitlines()
    begin = [i for i, line in enumerate(text) if re.match(r"1\.\s+Introduction", line)][-1]
    sections, section = {}, "0"
    for line in text[begin:]:
        heading = NUMBERED.match(line.strip())
        if heading and coverage.in_order(heading[1]) > coverage.in_order(section):
            section = heading[1]
        sections.setdefault(section, []).append(line.strip())
    return sections


def normative(lines):
    """The words of each sentence that has some. Paragraphs are lines, or sentences go over several."""
    one_line_paragraphs = max(map(len, lines)) > 120
    sentences = []
    for paragraph in lines if one_line_paragraphs else [" ".join(lines)]:
        sentences += re.split(r"(?<=\.)\)?\s+(?=[A-Z])", paragraph)
    return [words for words in map(WORD.findall, sentences) if words]


class Coverage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.documents = coverage.read()
        cls.rules = coverage.rules_of(STAG)
        cls.probes = coverage.probes_of(STAG)

    def sentences(self):
        for document in self.documents:
            for sentence in document["sentences"]:
                yield document, sentence, f"{document['name']} {sentence['section']} {sentence['number']}"

    def test_what_is_named_exists(self):
        for document, sentence, where in self.sentences():
            self.assertEqual(set(sentence["rules"]) - set(self.rules), set(), where)
            self.assertEqual(set(sentence["probes"]) - set(self.probes), set(), where)
            self.assertEqual(len(set(sentence["rules"])), len(sentence["rules"]), where)
            self.assertEqual(len(set(sentence["probes"])), len(sentence["probes"]), where)
            self.assertTrue(sentence["asks"], where)
            mentioned = set(re.findall(r"\b[A-Z]+-\d{3}\b", sentence.get("why", "")))
            self.assertEqual(mentioned - set(self.rules), set(), where)
            if document.get("file"):
                for rule in sentence["rules"]:
                    self.assertTrue(coverage.sections_in(self.rules[rule], document["name"]), f"{where}: {rule}")

    def test_what_is_not_covered_has_a_reason(self):
        for _, sentence, where in self.sentences():
            if not coverage.is_covered(sentence, self.rules):
                self.assertTrue(sentence.get("why"), where)

    def test_every_rule_of_these_documents_is_there(self):
        text = (ROOT / "docs/coverage.md").read_text(encoding="utf-8")
        for document in self.documents:
            part = text.split(f"\n## {document['name']}\n")[1].split("\n## ")[0]
            for rule in self.rules.values():
                if coverage.sections_in(rule, document["name"]):
                    self.assertIn(rule["id"], part)

    def test_the_table_is_the_data(self):
        text = (ROOT / "docs/coverage.md").read_text(encoding="utf-8")
        self.assertEqual(text, coverage.table(STAG), "run docs/coverage.py STAG > docs/coverage.md")

    def test_the_documents_have_these_sentences(self):
        for document in self.documents:
            path = SPECS / document.get("file", "none")
            if not path.is_file():
                continue
            want = {section: found for section, lines in sections_of(path).items()
                    if section not in document["skip"] and (found := normative(lines))}
            have = {}
            for sentence in document["sentences"]:
                have.setdefault(sentence["section"], []).append(sentence["words"])
            self.assertEqual(have, want, document["name"])
            self.assertEqual(list(have), sorted(have, key=coverage.in_order), document["name"])

    def test_the_words_are_our_own(self):
        for document in self.documents:
            path = SPECS / document.get("file", "none")
            if not path.is_file():
                continue
            text = " ".join(re.findall(r"\w+", path.read_text(encoding="utf-8").lower()))
            for sentence in document["sentences"]:
                words = re.findall(r"\w+", (sentence["asks"] + " . " + sentence.get("why", "")).lower())
                for i in range(len(words) - SAME + 1):
                    self.assertNotIn(" ".join(words[i:i + SAME]), text, document["name"])


if __name__ == "__main__":
    unittest.main()
