# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of the documents of `stag check` share: the program, which the first argument names, and runs of it."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

STAG = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).parents[2]
SANITIZED = bool(os.environ.get("STAG_SANITIZED"))


def sample(captures, nth):
    """All of them; every nth under sanitizers, where a run takes five times as long."""
    return captures[::nth] if SANITIZED else captures


ALL_CASES = sorted((ROOT / "pcaps" / "cases").glob("*.pcap"))
CASES = sample(ALL_CASES, 4)
REAL = sorted((ROOT / "pcaps" / "real").glob("*.pcap*"))
CAPTURE = str(ROOT / "pcaps" / "real" / "rxe-rdma_error.pcap")
NAMES = [b"a 'b' \"c\" <script>alert(1)<\\script>&amp;.pcap", b"new\nline\ttab]]>.pcap", b"%41%20{0}[x](y).pcap",
         b"\xff\xfe\x01.pcap", b"\xc3\xa4:\xe2\x82\xac.pcap"]


def stag(*arguments, data=None):
    return subprocess.run([STAG, *arguments], capture_output=True, input=data, timeout=120)


def check(*arguments, data=None):
    return stag("check", "--fail-on", "never", *arguments, data=data)


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


class Base(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)

    def file(self, name, data):
        path = os.path.join(os.fsencode(self.directory), os.fsencode(name))
        with open(path, "wb") as file:
            file.write(data)
        return path

    # (what, arguments, standard input, exit status) of runs whose documents must be whole.
    def runs(self):
        for capture in CASES + REAL:
            yield capture.name, [str(capture)], None, 0
        some = [str(capture) for capture in CASES[:5]]
        yield "several files", some, None, 0
        yield "standard input", ["-"], pathlib.Path(CAPTURE).read_bytes(), 0
        for name in NAMES:
            yield repr(name), [self.file(name, CASES[0].read_bytes())], None, 0
        missing = os.path.join(os.fsencode(self.directory), b"missing \"<&\xff.pcap")
        yield "no such file", [missing], None, 2
        yield "some files missing", [missing, *some, missing], None, 2
        yield "cut off", [self.file("cut.pcap", pathlib.Path(CAPTURE).read_bytes()[:-3])], None, 2
        empty = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
        yield "no frames", [self.file("empty.pcap", empty)], None, 0
        yield "one rule", ["--select", "PVT-006", *some], None, 0
        yield "nothing selected", ["--select", "HDR", "--ignore", "HDR", *some], None, 0
