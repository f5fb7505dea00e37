# SPDX-License-Identifier: GPL-2.0-or-later
"""stag top: the rows of each interval, held against what is counted here from transactions and the times of frames.

top_test.py STAG    (runs as a unittest program)
"""
import collections
import csv
import datetime
import gzip
import io
import json
import math
import os
import pathlib
import pty
import struct
import subprocess
import unittest

from report_runs import Base, CASES, REAL, ROOT, STAG, lines, stag

IWARP = str(ROOT / "pcaps" / "real" / "siw-nfs4.1.pcap.zst")
ERRORS = str(ROOT / "pcaps" / "real" / "rxe-snap128-nfs3.pcap.zst")
LOSS = str(ROOT / "pcaps" / "real" / "rxe-loss-nfs3.pcap.zst")
ROCE = str(ROOT / "pcaps" / "real" / "rxe-nfs4.1.pcap.zst")
MEMBERS = ["type", "file", "time", "time_s", "interval_us", "by", "key", "calls", "calls_per_s", "bytes_per_s", "p50_us", "p99_us", "outstanding",
           "errors"]
# RFC 8881: what prepares an operation, or goes with it.
HOUSEKEEPING = {"SEQUENCE", "PUTFH", "PUTROOTFH", "PUTPUBFH", "SAVEFH", "RESTOREFH", "GETFH", "GETATTR", "CB_SEQUENCE"}
PROGRAMS = {100003: "NFS", 100227: "NFSACL", 0x40000000: "NFS_CB"}


def top(*arguments, data=None):
    return lines(stag("top", "--format", "jsonl", *arguments, data=data))


def ns_of(text):
    seconds, fraction = text.rstrip("Z").split(".")
    at = datetime.datetime.fromisoformat(seconds).replace(tzinfo=datetime.timezone.utc)
    return int(at.timestamp()) * 10**9 + int(fraction)


def raw(path):
    data = pathlib.Path(path).read_bytes()
    return subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout if path.endswith(".zst") else data


def frames(path):
    """(time in ns, end in the file) of each frame of a little-endian pcap file."""
    data = raw(path)
    unit = {0xa1b2c3d4: 1000, 0xa1b23c4d: 1}[struct.unpack_from("<I", data)[0]]
    at, found = 24, []
    while at < len(data):
        seconds, fraction, size, _ = struct.unpack_from("<IIII", data, at)
        at += 16 + size
        found.append((seconds * 10**9 + fraction * unit, at))
    return found


def procedure(t):
    operations = t["ops"]
    name = t["name"]
    if operations:
        own = [op for op in operations if op not in HOUSEKEEPING]
        name = own[0] if own else "GETATTR" if "GETATTR" in operations else operations[-1]
    return f"{PROGRAMS[t['program']]}v{t['version']} {name}"


def rank(values, share):
    values = sorted(values)
    return values[max(math.ceil(share * len(values)), 1) - 1]


class Expected:
    """Counted from the lines of transactions, and the times of frames."""

    def __init__(self, path, key):
        self.times = [time for time, _ in frames(path)]
        self.rpcs = []
        for t in lines(stag("transactions", "--format", "jsonl", path)):
            call = self.times[t["call_frame"] - 1]
            reply = self.times[t["reply_frame"] - 1] if t["reply_frame"] else None
            self.rpcs.append((call, reply, key(t), t))

    def rows(self, begin, end, last):
        """By key: calls, bytes, round-trip times, errors, outstanding at the end, of the Replies from `begin` up to `end`."""
        rows = collections.defaultdict(lambda: [0, 0, [], 0, 0])
        for call, reply, key, t in self.rpcs:
            over = reply is not None and (reply < end or last)
            if over and reply >= begin:
                row = rows[key]
                row[0] += 1
                row[1] += t["data_bytes"] or 0
                row[2].append((t["reply_time_s"] - t["time_s"]) * 1e6)
                row[3] += t["reply_form"] == "error" or t["status"] not in (None, 0)
            elif not over and (call < end or last):
                rows[key][4] += 1
        return dict(rows)


class Top(Base):
    def compare(self, row, want, where):
        calls, data, times, errors, outstanding = want
        self.assertEqual((row["calls"], row["errors"], row["outstanding"]), (calls, errors, outstanding), where)
        seconds = row["interval_us"] / 1e6
        self.assertAlmostEqual(row["calls_per_s"], calls / seconds, delta=1e-3 + calls / seconds * 1e-9, msg=where)
        self.assertAlmostEqual(row["bytes_per_s"], data / seconds, delta=1e-3 + data / seconds * 1e-9, msg=where)
        for member, share in (("p50_us", 0.5), ("p99_us", 0.99)):
            if calls == 0:
                self.assertIsNone(row[member])
            else:
                self.assertAlmostEqual(row[member], rank(times, share), delta=rank(times, share) * 0.001, msg=where)

    def test_every_interval_is_what_is_counted_here(self):
        connections = {path: lines(stag("connections", "--format", "jsonl", path)) for path in (IWARP, LOSS, ROCE)}
        for path in (IWARP, LOSS, ROCE):
            client = {c["connection"]: c["client"]["address"] for c in connections[path]}
            server = {c["connection"]: c["server"]["address"] for c in connections[path]}
            for by, key in (("procedure", procedure), ("connection", lambda t: str(t["connection"])),
                            ("client", lambda t: client[t["connection"]]), ("server", lambda t: server[t["connection"]])):
                want = Expected(path, key)
                for interval in ("1s", "100ms"):
                    rows = top("--by", by, "--interval", interval, path)
                    self.assertEqual(list(rows[0]), MEMBERS)
                    blocks = collections.defaultdict(list)
                    for row in rows:
                        self.assertEqual(row["by"], by)
                        if row["type"] == "top":
                            blocks[(ns_of(row["time"]), row["interval_us"])].append(row)
                    begins = sorted(blocks)
                    for (begin, length), (after, _) in zip(begins, begins[1:]):
                        self.assertLessEqual(begin + length * 1000, after)
                    answered = 0
                    for begin, length in begins:
                        end = round(begin + length * 1000)
                        expected = want.rows(begin, end, (begin, length) == begins[-1] and end >= want.times[-1])
                        self.assertEqual({row["key"] for row in blocks[begin, length]}, set(expected), (path, by, begin))
                        for row in blocks[begin, length]:
                            self.compare(row, expected[row["key"]], (path, by, interval, row))
                            answered += row["calls"]
                    self.assertEqual(answered, sum(reply is not None for _, reply, _, _ in want.rpcs))
                    total = [row for row in rows if row["type"] == "top_total"]
                    expected = want.rows(want.times[0], want.times[-1] + 1, True)
                    self.assertEqual({row["key"] for row in total}, set(expected))
                    for row in total:
                        self.assertEqual(ns_of(row["time"]), want.times[0])
                        self.assertEqual(round(row["interval_us"] * 1000), want.times[-1] - want.times[0])
                        self.compare(row, expected[row["key"]], (path, by, "total", row))
                    for row in rows:
                        self.assertEqual(round(row["time_s"] * 1e9), ns_of(row["time"]) - want.times[0])

    def test_by_file(self):
        # READs and WRITEs of each file, as extract counts them.
        names = {row["key"]: row["calls"] for row in top("--by", "file", "--once", ROCE)}
        files = {f["name"] for f in lines(stag("extract", ROCE, "--out", str(self.directory / "files"), "--format", "jsonl"))
                 if f.get("name")}
        moved = sum(t["data_bytes"] is not None and t["ops"] is not None and bool({"READ", "WRITE"} & set(t["ops"]))
                    for t in lines(stag("transactions", "--format", "jsonl", ROCE)))
        self.assertEqual(set(names) - {"no file data"}, files)
        self.assertEqual(sum(calls for name, calls in names.items() if name != "no file data"), moved)

    def test_calls_that_stay_open_are_outstanding(self):
        call = next(t["call_frame"] for t in lines(stag("transactions", "--format", "jsonl", IWARP))
                    if "OPEN" in (t["ops"] or []))
        path = str(self.directory / "open.pcap")
        times = frames(IWARP)
        # The Call, and nothing more but the capture's own end, ten seconds later: a quiet time, which is one block.
        data = bytearray(raw(IWARP)[:times[call - 1][1]])
        begin = times[call - 2][1] if call > 1 else 24
        seconds, fraction, size, wire = struct.unpack_from("<IIII", data, begin)
        other = struct.pack(">6s6sH", b"\2\0\0\0\0\2", b"\2\0\0\0\0\1", 0x88b5) + bytes(46)
        data += struct.pack("<IIII", seconds + 10, fraction, len(other), len(other)) + other
        pathlib.Path(path).write_bytes(data)
        rows = top("--interval", "1s", path)
        opens = [row for row in rows if row["key"] == "NFSv4 OPEN" and row["outstanding"] == 1]
        self.assertEqual(opens[-1]["type"], "top_total")
        self.assertEqual([row["type"] for row in opens[:-1]], ["top"] * (len(opens) - 1))
        self.assertGreater(len(opens), 2)
        self.assertTrue(any(row["interval_us"] > 8e6 and row["interval_us"] % 1e6 == 0 for row in opens[:-1]))
        # Filters take them as they are: without an answer.
        waiting = [(row["key"], row["outstanding"]) for row in top("--once", path) if row["outstanding"]]
        self.assertEqual([(row["key"], row["outstanding"]) for row in top("--once", "--status", "none", path)], waiting)
        self.assertEqual([row["outstanding"] for row in top("--once", "--status", "ok", path) if row["outstanding"]], [])

    def test_ways_to_give_a_capture(self):
        rows = top(IWARP)
        packed = os.fsdecode(self.file("one.pcap.gz", gzip.compress(raw(IWARP))))
        self.assertEqual(top("-", data=raw(IWARP)), [row | {"file": "standard input"} for row in rows])
        self.assertEqual(top(packed), [row | {"file": packed} for row in rows])
        two = top(IWARP, LOSS)
        self.assertEqual({row["file"] for row in two}, {IWARP, LOSS})
        self.assertEqual([row for row in two if row["file"] == IWARP], rows)
        for path in map(str, CASES + REAL):
            done = stag("top", "--format", "jsonl", path)
            self.assertEqual(done.returncode, 0, (path, done.stderr))
            answered = sum(t["reply_frame"] is not None for t in lines(stag("transactions", "--format", "jsonl", path)))
            for kind in ("top", "top_total"):
                self.assertLessEqual(sum(row["calls"] for row in lines(done) if row["type"] == kind), answered, path)

    def test_filters_choose_rpcs(self):
        for by, options, wanted in (
                ("procedure", ["--procedure", "NFSv3 READ"], lambda row: row["key"] == "NFSv3 READ"),
                ("connection", ["--connection", "1"], lambda row: row["key"] == "1"),
                ("server", ["--server", "10.0.0.1"], lambda row: row["key"] == "10.0.0.1"),
                ("procedure", ["--client", "192.0.2.1"], lambda row: False)):
            with self.subTest(options=options):
                rows = top("--by", by, "--interval", "100ms", LOSS)
                self.assertEqual(top("--by", by, "--interval", "100ms", *options, LOSS), [row for row in rows if wanted(row)])
        errors = top("--once", "--status", "error", ERRORS)
        self.assertEqual([(row["calls"], row["outstanding"]) for row in errors], [(row["errors"], 0) for row in errors])
        self.assertEqual({row["key"]: row["calls"] for row in errors},
                         {row["key"]: row["errors"] for row in top("--once", ERRORS) if row["errors"] > 0})
        self.assertTrue(errors)
        slow = [t for t in lines(stag("transactions", "--format", "jsonl", ROCE)) if (t["rtt_us"] or 0) > 5000]
        self.assertEqual(sum(row["calls"] for row in top("--once", "--slower-than", "5ms", ROCE)), len(slow))

    def test_formats_say_the_same(self):
        for options in ([], ["--once", "--sort", "p99"], ["--interval", "100ms", "--rows", "3"]):
            with self.subTest(options=options):
                rows = top(*options, IWARP, LOSS)
                whole = stag("top", "--format", "json", *options, IWARP, LOSS).stdout
                self.assertEqual(json.loads(whole), rows)
                # In CSV and tables are the rows of intervals.
                listed = [row for row in rows if row["type"] == "top"]
                text = stag("top", "--format", "csv", *options, IWARP, LOSS).stdout.decode()
                for cells, row in zip(csv.DictReader(io.StringIO(text, newline="")), listed, strict=True):
                    self.assertEqual(list(cells), MEMBERS[1:])
                    for name, cell in cells.items():
                        value = row[name]
                        self.assertEqual(cell if isinstance(value, str) else None if cell == "" else float(cell), value)
                table = stag("top", "--format", "table", *options, IWARP, LOSS).stdout.decode().splitlines()
                self.assertEqual(sum(line.startswith("20") for line in table), len(listed))
                self.assertRegex(table[1], r"^time +interval us +key +calls +rate 1/s +data bytes/s +p50 us +p99 us +outstanding +errors$")

    def test_which_rows(self):
        for member, sort in (("calls", "calls"), ("bytes_per_s", "bytes"), ("p50_us", "p50"), ("p99_us", "p99"),
                             ("errors", "errors")):
            rows = top("--once", "--sort", sort, LOSS)
            self.assertEqual([row[member] for row in rows], sorted((row[member] for row in rows), reverse=True))
            self.assertEqual(top("--once", "--sort", sort, "--rows", "2", LOSS), rows[:2])
        keys = [row["key"] for row in top("--once", "--sort", "key", LOSS)]
        self.assertEqual(keys, sorted(keys))
        times = {row["time"] for row in top("--interval", "100ms", LOSS) if row["type"] == "top"}
        self.assertGreater(len(times), 5)
        self.assertEqual(len({row["time"] for row in top("--interval", "3s", "--count", "2", LOSS)}), 2)
        once = top("--once", LOSS)
        self.assertEqual({row["type"] for row in once}, {"top"})
        self.assertEqual(len({row["time"] for row in once}), 1)

    def test_text(self):
        text = stag("top", "--interval", "1s", "--rows", "3", LOSS).stdout.decode()
        heads = [line for line in text.splitlines() if "outstanding, p50" in line]
        self.assertRegex(heads[0], r"^2026-11-21T22:36:57\.262723170Z, 1\.00s: \d+ RPCs?, [\d.]+/s, [\d.]+ MiB/s, \d+ outstanding, "
                                   r"p50 \S+, p99 \S+, 0 errors$")
        self.assertRegex(heads[-1], r"^all, from 2026-11-21T22:36:57\.262723170Z, 21\.5s: 220 RPCs, 10\.2/s, ")
        self.assertRegex(text, r"(?m)^procedure +calls/s +MiB/s +p50 +p99 outstanding  errors$")
        self.assertRegex(text, r"(?m)^NFSv3 GETATTR +[\d.]+ +[\d.]+ +\S+ +\S+ +\d+ +\d+$")
        self.assertRegex(text, r"(?m)^\.\.\. and \d+ more$")
        self.assertNotIn("\x1b", text)

    def test_on_a_terminal(self):
        """Standard input refreshes; the terminal is left as it was."""
        master, slave = pty.openpty()
        with subprocess.Popen([STAG, "top", "--color", "never", "-"], stdin=subprocess.PIPE, stdout=slave,
                              stderr=subprocess.DEVNULL) as process:
            os.close(slave)
            process.stdin.write(raw(LOSS))
            process.stdin.close()
            seen = b""
            try:
                while data := os.read(master, 65536):
                    seen += data
            except OSError:  # the other end is closed
                pass
        os.close(master)
        self.assertEqual(process.returncode, 0)
        self.assertGreater(seen.count(b"\x1b[H\x1b[2J"), 3)
        self.assertNotIn(b"\x1b[?", seen)  # no mode was set, so that none is left behind
        self.assertIn(b"\r\nall, from ", seen)
        self.assertTrue(seen.endswith(b"\n"))

    def test_what_cannot_be(self):
        for arguments, complaint in ((["top"], "which captures, or which device?"), (["top", "-i", "lo", LOSS], "not both"),
                                     (["top", "--interval", "0", LOSS], "is not a time of at least 1ms"),
                                     (["top", "--by", "size", LOSS], "is not one of procedure|")):
            done = stag(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(complaint, done.stderr.decode())
        self.assertEqual(stag("top", "/nowhere.pcap").returncode, 2)
        self.assertIn(": no RPC in 0 frames", stag("top", os.fsdecode(self.file("none.pcap", struct.pack(
            "<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)))).stderr.decode())


if __name__ == "__main__":
    unittest.main()
