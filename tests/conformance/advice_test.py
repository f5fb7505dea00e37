#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""advice.yaml: the words of its examples are what their names say, and generate.py takes nothing that does not fit.

advice_test.py CATALOGUE_DIRECTORY    (runs as a unittest program)
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

CATALOGUE = pathlib.Path(sys.argv.pop(1))
WORDS = re.compile(r"([0-9a-f]{8}(?: [0-9a-f]{8})*)( \.\.\.)?  +(\S.*)")
NUMBER = re.compile(r".*\b(0x[0-9a-f]+|[0-9]+)(?: segments?)?")
# RFC 8166 section 4.1.2, RFC 5531 section 9, XDR booleans.
NAMED = {"RDMA_MSG": 0, "RDMA_NOMSG": 1, "RDMA_MSGP": 2, "RDMA_DONE": 3, "RDMA_ERROR": 4, "ERR_VERS": 1, "ERR_CHUNK": 2,
         "CALL": 0, "REPLY": 1, "MSG_ACCEPTED": 0, "SUCCESS": 0, "AUTH_NONE": 0, "AUTH_SYS": 1, "RPCSEC_GSS": 6,
         "present": 1, "not present": 0, "empty": 0, "ends": 0}


def load(name):
    return yaml.load((CATALOGUE / name).read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def names_of(label):
    """The names of the words of a line, None for words that have none: an offset has two words."""
    names = []
    for name in re.split(r";|<-", label)[0].strip().split(", "):
        name = name.rpartition(": ")[2].strip()
        names += [None, None] if name == "offset" else [name]
    return names


def value_of(name):
    """What a name says of its word: "vers 1", "Read list ends", "RDMA_MSG"; None when it says nothing."""
    if number := NUMBER.fullmatch(name):
        return int(number[1], 0)
    return next((value for word, value in NAMED.items() if re.search(r"(^| )%s$" % word, name)
                 and not (word == "present" and name.endswith("not present"))), None)


class Examples(unittest.TestCase):
    def test_words_are_what_their_names_say(self):
        compared = 0
        for rule, advice in load("advice.yaml").items():
            for line in advice.get("bytes", "").splitlines():
                if not (match := WORDS.fullmatch(line)):
                    continue
                words = match[1].split()
                names = names_of(match[3])
                if (len(names) == 1) != (len(words) == 1):  # prose about the line, or the fields of one word
                    continue
                with self.subTest(rule=rule, line=line):
                    self.assertEqual(len(names), len(words))
                    for word, name in zip(words, names):
                        value = value_of(name) if name else None
                        if value is not None:
                            self.assertEqual(int(word, 16), value, name)
                            compared += 1
        self.assertGreater(compared, 500)


class Generator(unittest.TestCase):
    def run_with(self, change):
        advice = load("advice.yaml")
        change(advice)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "advice.yaml"
            path.write_text(json.dumps(advice), encoding="utf-8")
            return subprocess.run([sys.executable, CATALOGUE / "generate.py", CATALOGUE / "rules.yaml", path,
                                   pathlib.Path(directory) / "out.cc"], capture_output=True, text=True)

    def refuses(self, change, message):
        done = self.run_with(change)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stderr.strip(), message)

    def test_takes_the_files_as_they_are(self):
        done = self.run_with(lambda advice: None)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_refuses_what_does_not_fit(self):
        self.refuses(lambda advice: advice.pop("XID-003"), "advice.yaml has no entry for XID-003")
        self.refuses(lambda advice: advice.update({"XID-999": {"why": "x"}}), "advice.yaml: there is no rule XID-999")
        self.refuses(lambda advice: advice["XID-003"].update(whence="x"),
                     "advice.yaml: XID-003 has a member that is not known: whence")
        self.refuses(lambda advice: advice["XID-003"].pop("why"), "advice.yaml: XID-003 does not say why")
        self.refuses(lambda advice: advice["XID-003"].update(do=["x"]), "advice.yaml: do of XID-003 is no text")


unittest.main()
