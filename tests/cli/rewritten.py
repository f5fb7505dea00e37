# SPDX-License-Identifier: GPL-2.0-or-later
"""A capture whose packets a test writes in another way, and what stag prints of it.

For tests that are run as TEST STAG CAPTURE [all].
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import wrap

STAG, CAPTURE = map(os.path.abspath, sys.argv[1:3])
ALL = sys.argv[3:] == ["all"]
del sys.argv[1:]


class Rewritten(unittest.TestCase):
    """`records` has the packets; the test writes capture.pcap in `home` anew. `expected` is what results() returns before that;
    the file's name is always the same, so that it makes no difference."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.home = pathlib.Path(cls.directory.name)
        cls.records = list(wrap.read(CAPTURE))
        wrap.write(cls.home / "capture.pcap", cls.records)
        cls.expected = cls.results()

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    @classmethod
    def run_stag(cls, *arguments):
        return subprocess.run([STAG, *arguments, "capture.pcap"], cwd=cls.home, capture_output=True, timeout=600)
