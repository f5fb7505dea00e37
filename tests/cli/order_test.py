# SPDX-License-Identifier: GPL-2.0-or-later
"""Real captures whose frames are written in another order than their times, as capture tools do that empty queue after queue:
what commands say of them is what they say of the same capture sorted by time, but for the numbers of frames, which are those
of the file.

order_test.py STAG    (runs as a unittest program)
"""
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest

import wire

STAG = sys.argv.pop(1)
REAL = pathlib.Path(__file__).parents[2] / "pcaps" / "real"
CAPTURES = ("rxe-nfs3.pcap.zst", "rxe-nfs4.1.pcap.zst", "siw-nfs4.1.pcap.zst", "rxe-loss-nfs3.pcap.zst", "siw-loss-nfs3.pcap.zst")
COMMANDS = ("transactions", "connections", "check", "limits", "transport", "latency", "summary", "credits")
MS = 10**6


def run(*arguments, input=None):
    return subprocess.run([STAG, *map(str, arguments)], capture_output=True, timeout=300, input=input)


def rows(command, path, *arguments):
    done = run(command, "--format", "jsonl", *arguments, path)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def load(name):
    """Frames of a capture, as (nanoseconds, bytes)."""
    return list(wire.records(wire.load(REAL / name)))


def source(packet):
    return packet[6:12]


def queues(frames, batch):
    """Queue after queue, each with what came from one side in so many nanoseconds."""
    sides = sorted({source(packet) for _, packet in frames})
    return sorted(frames, key=lambda one: (one[0] // batch, sides.index(source(one[1]))))


def swapped(frames, share):
    """So many frames, drawn, changed places with the one behind them."""
    draw, frames = random.Random(share), list(frames)
    for i in range(len(frames) - 1):
        if draw.random() < share:
            frames[i], frames[i + 1] = frames[i + 1], frames[i]
    return frames


def shuffled(frames, most):
    """Each frame up to so many nanoseconds late."""
    draw = random.Random(most)
    return [frame for _, _, frame in sorted((frame[0] + draw.randrange(most), i, frame) for i, frame in enumerate(frames))]


def pcap(frames):
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)]
    out += [struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(packet)) + packet for ns, packet in frames]
    return b"".join(out)


def renumbered(value, number, key=""):
    """What is said of a capture, with number[n - 1] for frame n."""
    if isinstance(value, dict):
        return {k: renumbered(v, number, k) for k, v in value.items()}
    if isinstance(value, list):
        return [renumbered(v, number, key) for v in value]
    if isinstance(value, str):
        return re.sub(r"(?<=frame )\d+", lambda n: str(number[int(n[0]) - 1]), value)
    if isinstance(value, int) and not isinstance(value, bool) and value > 0 and re.search("frame$|^related_frames$", key):
        return number[value - 1]
    return value


class Order(unittest.TestCase):
    maxDiff = 2000

    def file(self, frames, name="capture.pcap"):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = pathlib.Path(directory.name) / name
        path.write_bytes(pcap(frames))
        return path

    def hold(self, frames, commands=COMMANDS, arguments=(), without=("file",)):
        """What is said of `frames` is what is said of them sorted."""
        at = sorted(range(len(frames)), key=lambda i: frames[i][0])
        number = [i + 1 for i in at]
        path, in_order = self.file(frames), self.file([frames[i] for i in at])
        for command in commands:
            expected, said = rows(command, in_order)
            self.assertNotIn("order", said)
            found, said = rows(command, path, *arguments)
            found, expected = ([{k: v for k, v in row.items() if k not in without} for row in r] for r in (found, expected))
            with self.subTest(command=command):
                self.assertGreater(len(found), 0)
                self.assertEqual(found, renumbered(expected, number))
                self.assertIn("stand in another order than their times", said)

    def test_queue_after_queue(self):
        for name in CAPTURES:
            for batch in (10 * MS, 100 * MS):
                with self.subTest(capture=name, batch=batch):
                    self.hold(queues(load(name), batch))

    def test_neighbours_that_changed_places(self):
        for name in CAPTURES:
            for share in (0.02, 0.3):
                with self.subTest(capture=name, share=share):
                    self.hold(swapped(load(name), share))

    def test_late_frames(self):
        for name in CAPTURES:
            with self.subTest(capture=name):
                self.hold(shuffled(load(name), 300 * MS))

if __name__ == "__main__":
    unittest.main()
