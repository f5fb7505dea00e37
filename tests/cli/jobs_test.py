# SPDX-License-Identifier: GPL-2.0-or-later
"""--jobs: several threads give what one gives, on every capture and on mixtures of them that have many connections.

jobs_test.py STAG    (runs as a unittest program)
"""
import pathlib
import struct
import subprocess
import unittest

from report_runs import ALL_CASES as CASES
from report_runs import Base, CAPTURE, REAL, ROOT, lines, sample, stag

RULES = sample(sorted((ROOT / "pcaps" / "rules").glob("*/*.pcap")), 4)
COMMANDS = [["check", "--format", "jsonl"], ["check"], ["transactions"], ["transactions", "--format", "jsonl"],
            ["latency", "--by", "file", "--slowest", "20"], ["transport"], ["transport", "--format", "jsonl"],
            ["connections"], ["connections", "--format", "jsonl", "--all"], ["credits"], ["credits", "--format", "jsonl"],
            ["limits"], ["limits", "--format", "jsonl"], ["summary"], ["summary", "--format", "jsonl"],
            ["top", "--interval", "20ms"], ["top", "--by", "file", "--format", "jsonl"], ["report"]]


def frames(path):
    """(nanoseconds since the first frame, captured bytes, length on the wire) of an Ethernet pcap."""
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = subprocess.run(["zstd", "-dcq", str(path)], capture_output=True, check=True).stdout
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    scale = 1 if struct.unpack(order + "I", data[:4])[0] == 0xA1B23C4D else 1000
    assert struct.unpack(order + "I", data[20:24])[0] == 1, path
    at, out, first = 24, [], None
    while at < len(data):
        seconds, part, captured, length = struct.unpack(order + "IIII", data[at:at + 16])
        time = seconds * 10**9 + part * scale
        first = time if first is None else first
        out.append((time - first, data[at + 16:at + 16 + captured], length))
        at += 16 + captured
    return out


def moved(bytes_, copy, only=None):
    """With other IPv4 addresses: their second byte tells the copy. `only`: this address stays as it is."""
    if len(bytes_) < 34 or bytes_[12:14] != b"\x08\x00":
        return bytes_
    out = bytearray(bytes_)
    for at in (26, 30):
        if bytes_[at:at + 4] != only:
            out[at + 1] = copy
    return bytes(out)


def mixture(copies):
    """One capture of several that went on at the same time."""
    all_frames = sorted((frame for copy in copies for frame in copy), key=lambda f: f[0])
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)]
    for time, data, length in all_frames:
        out.append(struct.pack("<IIII", 1700000000 + time // 10**9, time % 10**9, len(data), length) + data)
    return b"".join(out)


class Jobs(Base):
    def same(self, arguments, jobs=(2, 3, 7), data=None):
        one = stag(*arguments, data=data)
        for number in jobs:
            several = stag(*arguments, "--jobs", str(number), data=data)
            # A report names its command line.
            written = several.stdout.replace(b" --jobs %d" % number, b"") if arguments[0] == "report" else several.stdout
            self.assertEqual((several.returncode, written, several.stderr),
                             (one.returncode, one.stdout, one.stderr), (arguments, number))
        return one

    def test_every_capture(self):
        captures = [str(c) for c in sample(CASES + RULES + REAL, 2)]
        for command in COMMANDS:
            self.same([*command, *captures], jobs=(3,))

    def test_mixtures(self):
        whole = [frames(path) for path in REAL + CASES[:40]]
        path = self.file("all.pcap", mixture([[(t, moved(d, i), n) for t, d, n in copy] for i, copy in enumerate(whole)]))
        for command in COMMANDS:
            self.same([*command, path], jobs=(2, 7) if command in COMMANDS[:7] else (3,))
        self.assertGreater(len(lines(stag("transport", "--format", "jsonl", path))), 60)
        for form in ("json", "sarif", "junit", "html"):
            self.same(["check", "--format", form, path], jobs=(2,))
        self.same(["check", "--select", "PVT,HDR", "--fail-on", "note", path])

    def test_once_for_a_host(self):
        """GSS-006 is one finding for a server, however many clients in however many threads show it."""
        for name in ("breaks.pcap", "breaks-before.pcap"):
            with self.subTest(name):
                whole = frames(ROOT / "pcaps" / "rules" / "GSS-006" / name)
                refusals = [d for _, d, _ in whole if len(d) > 47 and d[23] == 6 and d[47] & 0x04]
                server = refusals[0][26:30]
                clients = [[(t + 40000 * i, moved(d, i, only=server), n) for t, d, n in whole] for i in range(6)]
                path = self.file("servers.pcap", mixture(clients))
                done = self.same(["check", "--format", "jsonl", path], jobs=(2, 3, 4, 6, 8))
                found = [line for line in lines(done) if line.get("rule") == "GSS-006"]
                self.assertEqual(len(found), 1)

    def test_trouble(self):
        cut = self.file("cut.pcap", pathlib.Path(CAPTURE).read_bytes()[:-3])
        empty = self.file("empty.pcap", struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for command in COMMANDS:
            self.assertEqual(self.same([*command, "no-such-file", cut, CAPTURE]).returncode, 2)
            self.same([*command, empty])
            self.same([*command, "-"], data=pathlib.Path(CAPTURE).read_bytes())
        done = stag("transactions", "--jobs", "2", "--memory", "1M", str(REAL[0]))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_numbers(self):
        for wrong in ("65", "-1", "two", "1x", "", "4294967298"):
            done = stag("check", f"--jobs={wrong}", CAPTURE)
            self.assertEqual(done.returncode, 2, wrong)
            if wrong:
                self.assertIn("is not a number from 1 to 64", done.stderr.decode())
        self.same(["check", CAPTURE], jobs=(0, 64))


if __name__ == "__main__":
    unittest.main()
