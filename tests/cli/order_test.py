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
        values = [renumbered(v, number, key) for v in value]
        return sorted(values) if key == "related_frames" else values
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

    def test_threads_see_the_same(self):
        frames = queues(load("rxe-nfs4.1.pcap.zst"), 100 * MS)
        self.hold(frames, ("transactions", "connections", "check", "limits", "summary"), ("--jobs", "3"))

    def test_standard_input(self):
        frames = queues(load("siw-nfs4.1.pcap.zst"), 100 * MS)
        alone = rows("transactions", self.file(frames))
        piped = run("transactions", "--format", "jsonl", "-", input=pcap(frames))
        found = [json.loads(line) for line in piped.stdout.splitlines()]
        without = lambda list: [{k: v for k, v in row.items() if k != "file"} for row in list]
        self.assertEqual(without(found), without(alone[0]))

    def test_files_that_are_put_together(self):
        frames = load("rxe-nfs3.pcap.zst")
        listed = []
        for these in (queues(frames, 100 * MS), frames):
            out = self.file(frames).parent / "files"
            done = run("extract", "-o", out, self.file(these))
            self.assertEqual(done.returncode, 0, done.stderr)
            listed.append({path.name: path.read_bytes() for path in sorted(out.rglob("*")) if path.suffix not in (".json", ".jsonl")
                           and path.is_file()})
        self.assertGreater(len(listed[1]), 0)
        self.assertEqual(*listed)

    def test_a_slice_has_the_frames_of_the_rpc_in_the_files_order(self):
        frames = load("rxe-nfs4.1.pcap.zst")
        mixed = queues(frames, 100 * MS)
        xid = rows("transactions", self.file(frames))[0][20]["xid"]
        bytes_of = []
        for these in (mixed, frames):
            path = self.file(these)
            out = path.with_name("slice.pcapng")
            done = run("slice", "--xid", xid, path, "-w", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            listed = rows("transactions", out)[0]
            self.assertEqual([row["xid"] for row in listed if row["status"] is not None and row["xid"] == xid], [xid])
            numbers = [int(n) for n in re.findall(rb"frame (\d+)", out.read_bytes())]
            self.assertEqual(numbers, sorted(numbers))
            bytes_of.append(sorted(these[n - 1] for n in numbers))
        self.assertEqual(*bytes_of)

    def test_as_the_file_has_them(self):
        frames = queues(load("siw-nfs4.1.pcap.zst"), 100 * MS)
        path = self.file(frames)
        by_time, by_file = rows("transactions", path), rows("transactions", path, "--order", "file")
        answered = lambda list: sum(row["answer"] == "captured" for row in list)
        self.assertLess(answered(by_file[0]), answered(by_time[0]))
        self.assertNotIn("order", by_file[1])
        self.assertNotIn("order", rows("transactions", path, "--quiet")[1])

    def test_a_clock_that_was_set_back(self):
        for name in CAPTURES:
            frames = load(name)
            at = len(frames) // 2
            whole = rows("transactions", self.file(frames))[0]
            for back in (50 * MS, 700 * MS, 20_000 * MS):
                later = [(ns - back * (i >= at), packet) for i, (ns, packet) in enumerate(frames)]
                listed, said = rows("transactions", self.file(later))
                with self.subTest(capture=name, back=back):
                    self.assertIn("the clock was set back", said)
                    self.assertNotIn("another order", said)
                    frames_of = lambda list: [(row["call_frame"], row["reply_frame"], row["answer"]) for row in list]
                    self.assertEqual(frames_of(listed), frames_of(whole))
                    for row, one in zip(listed, whole):
                        across = row["reply_frame"] is not None and row["call_frame"] <= at < row["reply_frame"]
                        self.assertEqual(row["rtt_us"], None if across else one["rtt_us"])
                for command in ("connections", "check"):
                    counts = [[[v for k, v in row.items() if k in ("calls", "replies", "rule", "findings", "frame")] for row in
                               rows(command, self.file(these))[0]] for these in (frames, later)]
                    self.assertEqual(*counts)

    def test_further_than_the_window(self):
        frames = []  # of a longer capture: the same, again and again, never twice the same time
        for name in ("rxe-nfs4.1.pcap.zst", "rxe-nfs3.pcap.zst"):
            begin = frames[-1][0] + MS if frames else 0
            some = load(name)
            stretch = 10 if begin == 0 else 1
            frames += [(begin + (ns - some[0][0]) * stretch + 10**18 * (begin == 0), packet) for ns, packet in some]
        mixed = queues(frames, 5000 * MS)
        wrong = rows("summary", self.file(mixed))[0][0]["wrong"]
        found = [one for one in wrong if one["kind"] == "disorder"]
        self.assertEqual([one["blames"] for one in found], ["capture"])
        self.assertIn("reordercap", found[0]["text"])
        self.assertIn("reordercap", rows("transactions", self.file(mixed))[1])
        self.hold(mixed, ("transactions", "connections"), ("--order", "time"))


if __name__ == "__main__":
    unittest.main()
