# SPDX-License-Identifier: GPL-2.0-or-later
"""stag slice: what was asked for is in the slice as it is in the whole capture. Independent are a reader of pcap and pcapng
files that is written here, tshark (comments, malformed frames), editcap (ranges) and mergecap (--merge).

slice_test.py STAG    (runs as a unittest program)
"""
import collections
import gzip
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest

from report_runs import Base, CASES, REAL, ROOT, SANITIZED, check, lines, sample, stag

LAB = sorted((ROOT / "pcaps" / "real" / "lab").glob("*.pcap*"))
MIRROR = sorted((ROOT / "pcaps" / "mirror").glob("*.pcap*"))
RULES = sample(sorted((ROOT / "pcaps" / "rules").rglob("*.pcap*")), 24)
NFS = ROOT / "pcaps" / "real" / "rxe-nfs4.1.pcap.zst"
IWARP = ROOT / "pcaps" / "real" / "siw-nfs4.1.pcap.zst"
LOSS = ROOT / "pcaps" / "real" / "siw-loss-nfs3.pcap.zst"
ERROR = ROOT / "pcaps" / "real" / "rxe-rdma_error.pcap"
TSHARK = shutil.which("tshark")
EDITCAP = shutil.which("editcap")
MERGECAP = shutil.which("mergecap")
# Of a transaction, what says where in the capture it is, and nothing of the RPC.
PLACE = ("id", "connection", "call_frame", "reply_frame", "delivered_frame", "file", "time_s", "reply_time_s")
# What a capture with two clocks tells as well as its frames bound how far these are apart: fewer frames, wider bounds.
TIMES = ("time", "reply_time", "time", "rtt_us", "phases_us", "phases_complete")
SAMPLES = 4 if SANITIZED else 6  # RPCs of a capture; STAG_SLICE_ALL=1 in the environment: all
OF_A_RULE = 1 if SANITIZED else 2  # findings of a capture, the first ones; with ./dev test --all: all
if os.environ.get("STAG_TEST_ALL") and not SANITIZED:
    OF_A_RULE = sys.maxsize


def content(path):
    """The bytes of a file, not compressed."""
    data = pathlib.Path(path).read_bytes()
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=True).stdout
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


Packet = collections.namedtuple("Packet", "ns wire bytes comment")


def packets(path):
    """The frames of a little-endian pcap with nanoseconds, or of a pcapng as stag writes it."""
    data, out = content(path), []
    if data[:4] == b"\x4d\x3c\xb2\xa1":
        at = 24
        while at < len(data):
            seconds, ns, captured, wire = struct.unpack("<IIII", data[at:at + 16])
            out.append(Packet(seconds * 10**9 + ns, wire, data[at + 16:at + 16 + captured], None))
            at += 16 + captured
        return out
    at = 0
    while at < len(data):
        kind, length = struct.unpack("<II", data[at:at + 8])
        if kind == 6:
            _, high, low, captured, wire = struct.unpack("<IIIII", data[at + 8:at + 28])
            options, comment = at + 28 + (captured + 3) // 4 * 4, None
            while options < at + length - 4:
                code, size = struct.unpack("<HH", data[options:options + 4])
                if code == 1:
                    comment = data[options + 4:options + 4 + size].decode()
                options += 4 + (size + 3) // 4 * 4
            out.append(Packet(high << 32 | low, wire, data[at + 28:at + 28 + captured], comment))
        at += length
    return out


def origins(path):
    """The number that each frame of a slice had."""
    return [int(re.fullmatch(r"frame (\d+)( of .*)?", packet.comment).group(1)) for packet in packets(path)]


def transactions(path):
    return lines(stag("transactions", "--format", "jsonl", "--quiet", path))


def findings(path):
    return [line for line in lines(check("--format", "jsonl", "--quiet", path)) if line["type"] == "finding"]


def malformed(path, origin=None):
    done = subprocess.run([TSHARK, "-n", "-r", path, "-Y", "_ws.malformed", "-T", "fields", "-e", "frame.number"],
                          capture_output=True, text=True, check=True)
    numbers = [int(number) for number in done.stdout.split()]
    return {origin[number - 1] if origin else number for number in numbers}


class Slices(Base):
    def setUp(self):
        super().setUp()
        self.out = self.directory / "out.pcapng"

    def file(self, name, data):
        return os.fsdecode(super().file(name, data))

    def slice(self, *arguments, status=0, out=None, data=None):
        done = stag("slice", *map(str, arguments), "-w", str(out or self.out), data=data)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def numbers(self, *arguments):
        self.slice(*arguments)
        return origins(self.out)

    def sees_frames_as_they_are(self, source, cut=False):
        """The frames of the slice are those of the source, with their times, in order."""
        whole, origin = packets(source), origins(self.out)
        self.assertEqual(origin, sorted(set(origin)))
        for number, packet in zip(origin, packets(self.out)):
            was = whole[number - 1]
            self.assertEqual((packet.ns, packet.wire), (was.ns, was.wire))
            self.assertEqual(packet.bytes, was.bytes[:len(packet.bytes)] if cut else was.bytes)


def has_two_clocks(path):
    """One is of the time of day, the other counts from the start of a machine."""
    times = [packet.ns for packet in packets(path)]
    return max(times) - min(times) > 10 * 365 * 86400 * 10**9


class Findings(Slices):
    def test_findings_of_every_capture(self):
        """As the Nth of its rule; what it says stays the same, unless it is only presumed in the slice."""
        count, smaller = 0, 0
        for path in CASES + REAL + LAB + MIRROR + RULES:
            numbers = collections.Counter()
            unsure = TIMES if path in LAB and has_two_clocks(path) else ()
            for finding in findings(path):
                numbers[finding["rule"]] += 1
                if numbers[finding["rule"]] > OF_A_RULE:
                    continue
                nth = f"{finding['rule']}#{numbers[finding['rule']]}"
                with self.subTest(path.relative_to(ROOT), finding=nth):
                    done = lines(self.slice(path, "--finding", nth, "--format", "jsonl"))[0]
                    origin = origins(self.out)
                    self.assertEqual((done["written"], done["findings"]), (len(origin), 1))
                    again = [f for f in findings(self.out)
                             if f["rule"] == finding["rule"] and origin[f["frame"] - 1] == finding["frame"]]
                    self.assertTrue(again)
                    self.assertTrue(any(f["certainty"] == "presumed" or f["message"] == finding["message"] for f in again))
                    for member in {"xid", "direction", "time"}.difference(unsure):
                        self.assertIn(finding[member], [f[member] for f in again])
                    count += 1
                    smaller += len(origin) < done["frames"]
        self.assertGreater(count, 50 if SANITIZED else 300)
        self.assertGreater(smaller, 15 if SANITIZED else 100)

    def test_all_of_a_rule(self):
        for path in (NFS, IWARP):
            whole = collections.Counter(finding["rule"] for finding in findings(path))
            for rule, count in whole.items():
                done = self.slice(path, "--finding", rule.lower())
                self.assertIn(f"{count} finding".encode(), done.stdout)
                self.assertEqual(collections.Counter(f["rule"] for f in findings(self.out))[rule], count)

    def test_filters(self):
        every = [f for f in findings(NFS)]
        rule = collections.Counter(f["rule"] for f in every).most_common(1)[0][0]
        one = [f for f in every if f["rule"] == rule][1]
        for selector in (("--xid", one["xid"]), ("--frames", f"{one['frame']}"), ("--connection", "1")):
            fits = [f for f in every if f["rule"] == rule and
                    (selector[0] == "--connection" or (f["xid"] == one["xid"] if selector[0] == "--xid"
                                                       else f["frame"] == one["frame"]))]
            done = lines(self.slice(NFS, "--finding", rule, *selector, "--format", "jsonl"))[0]
            self.assertEqual(done["findings"], len(fits))

    def test_no_new_error(self):
        for path in REAL + LAB:
            before = {f["rule"] for f in findings(path) if f["severity"] == "error"}
            for selector in (("--slowest", "3"), ("--procedure", "READ,WRITE"), ("--frames", "40-90")):
                done = stag("slice", path, *selector, "-w", self.out)
                if done.returncode == 0:
                    self.assertLessEqual({f["rule"] for f in findings(self.out) if f["severity"] == "error"}, before)


class Rpcs(Slices):
    def sample(self, every):
        if os.environ.get("STAG_SLICE_ALL"):
            return every
        # The largest, those that take the longest, and some from everywhere.
        size = sorted(every, key=lambda t: -(t["data_bytes"] or 0))[:2]
        slow = sorted(every, key=lambda t: -(t["rtt_us"] or 0))[:1]
        return size + slow + every[:: max(1, len(every) // (SAMPLES - 3))][:SAMPLES - 3]

    def test_real_rpcs_are_whole(self):
        count, complete = 0, 0
        for path in REAL + LAB:
            every = transactions(path)
            unsure = TIMES if path in LAB and has_two_clocks(path) else ()
            for one in self.sample(every):
                with self.subTest(path.name, xid=one["xid"], connection=one["connection"]):
                    self.slice(path, "--xid", one["xid"], "--connection", one["connection"])
                    origin = origins(self.out)
                    mine = [t for t in transactions(self.out) if origin[t["call_frame"] - 1] == one["call_frame"]]
                    self.assertEqual(len(mine), 1)
                    for member, value in one.items():
                        if member not in PLACE + unsure:
                            self.assertEqual(mine[0][member], value, member)
                    if one["reply_frame"]:
                        self.assertEqual(origin[mine[0]["reply_frame"] - 1], one["reply_frame"])
                    self.assertEqual("delivered_frame" in mine[0], "delivered_frame" in one)
                    if "delivered_frame" in one:
                        self.assertEqual(origin[mine[0]["delivered_frame"] - 1], one["delivered_frame"])
                    self.sees_frames_as_they_are(path)
                    count += 1
                    complete += one["call_complete"] and one["reply_complete"]
        self.assertGreater(count, 60)
        self.assertGreater(complete, 50)

    def test_slowest(self):
        for path in (NFS, LOSS):
            for n in (1, 5):
                every = [t for t in transactions(path) if t["rtt_us"] is not None]
                slowest = sorted(every, key=lambda t: (-t["rtt_us"], t["call_frame"]))[:n]
                done = lines(self.slice(path, "--slowest", n, "--format", "jsonl"))[0]
                self.assertEqual(done["transactions"], n)
                origin = origins(self.out)
                there = {origin[t["call_frame"] - 1]: t for t in transactions(self.out)}
                for one in slowest:
                    self.assertEqual(there[one["call_frame"]]["reply_sha256"], one["reply_sha256"])
                    self.assertEqual(there[one["call_frame"]]["rtt_us"], one["rtt_us"])

    def test_kinds_intersect(self):
        every = transactions(NFS)
        reads = [t for t in every if "READ" in (t["ops"] or [])]
        self.assertEqual(lines(self.slice(NFS, "--procedure", "read", "--format", "jsonl"))[0]["transactions"], len(reads))
        named = lines(self.slice(NFS, "--procedure", "NFSv4 READ", "--format", "jsonl"))[0]["transactions"]
        self.assertEqual(named, len(reads))
        slow = max(reads, key=lambda t: t["rtt_us"])
        self.slice(NFS, "--procedure", "READ", "--slowest", "1")
        origin = origins(self.out)
        self.assertIn(slow["call_frame"], [origin[t["call_frame"] - 1] for t in transactions(self.out)])
        some = every[10:13]
        done = lines(self.slice(NFS, "--xid", ",".join(t["xid"] for t in some), "--xid", every[20]["xid"], "--format", "jsonl"))
        self.assertEqual(done[0]["transactions"], 4)
        inside = [t for t in every if t["xid"] == some[0]["xid"]][0]
        both = ("--xid", some[0]["xid"], "--frames", f"{inside['call_frame']}-{inside['reply_frame']}")
        self.assertEqual(lines(self.slice(NFS, *both, "--format", "jsonl"))[0]["transactions"], 1)
        self.slice(NFS, "--xid", some[0]["xid"], "--frames", f"{inside['reply_frame'] + 50}-", status=1)

    def test_around(self):
        every = transactions(NFS)
        for one in every[5::20]:
            for frame in (one["call_frame"], one["reply_frame"]):
                numbers = self.numbers(NFS, "--around", frame)
                self.assertIn(frame, numbers)
                under_way = {t["call_frame"] for t in every if t["call_frame"] <= frame <= t["reply_frame"]}
                there = [t for t in transactions(self.out) if t["reply_complete"]]
                self.assertLessEqual(under_way, {numbers[t["call_frame"] - 1] for t in there})

    def test_what_is_needed_to_understand_it(self):
        """A server that answers later: the Calls that were outstanding come along, the set-up does, and their Replies do not."""
        path = ROOT / "pcaps" / "cases" / "143-backward-overrun-roce.pcap"
        for path in (path, NFS, IWARP):
            every = transactions(path)
            setup = {"frame": 0}
            for line in lines(stag("connections", "--format", "jsonl", "--quiet", path)):
                setup = line
            one = every[-1]
            numbers = self.numbers(path, "--xid", one["xid"], "--connection", one["connection"])
            outstanding = {t["call_frame"] for t in every if t["connection"] == one["connection"] and
                           t["backward"] == one["backward"] and t["call_frame"] < one["call_frame"] and
                           (t["reply_frame"] or 10**9) > one["call_frame"]}
            self.assertLessEqual(outstanding, set(numbers))
            before = [t["reply_frame"] for t in every if t["reply_frame"] and t["reply_frame"] < one["call_frame"] and
                      t["connection"] == one["connection"] and t["backward"] == one["backward"]]
            if before:
                self.assertIn(max(before), numbers)
            there = lines(stag("connections", "--format", "jsonl", "--quiet", self.out))[0]
            self.assertEqual([(there[side] or {}).get("private_data") for side in ("client", "server") if side in there],
                             [(setup[side] or {}).get("private_data") for side in ("client", "server") if side in setup])


class Frames(Slices):
    def test_ranges(self):
        """All frames of the range, and besides those that their RPCs have: what editcap takes is a part of it."""
        for path in (NFS, IWARP, LOSS):
            whole = self.file("whole.pcap", content(path))
            for a, b in ((1, 10), (100, 140), (250, 251), (400, 480)):
                numbers = self.numbers(path, "--frames", f"{a}-{b}")
                self.assertEqual([n for n in numbers if a <= n <= b], list(range(a, b + 1)))
                subprocess.run([EDITCAP, "-F", "nsecpcap", "-r", whole, self.directory / "part.pcap", f"{a}-{b}"], check=True)
                mine = [p for n, p in zip(numbers, packets(self.out)) if a <= n <= b]
                self.assertEqual([(p.ns, p.bytes) for p in packets(self.directory / "part.pcap")], [(p.ns, p.bytes) for p in mine])
                touched = {t["call_frame"] for t in transactions(path) if a <= t["call_frame"] <= b}
                there = {numbers[t["call_frame"] - 1] for t in transactions(self.out) if t["reply_complete"]}
                self.assertLessEqual({t["call_frame"] for t in transactions(path)
                                      if t["call_frame"] in touched and t["reply_complete"]}, there)
        self.assertEqual([n for n in self.numbers(NFS, "--frames", "10,20-22") if n in (10, 11, 20, 21, 22)], [10, 11, 20, 21, 22])

    def test_times(self):
        whole = self.file("whole.pcap", content(NFS))
        every = packets(whole)
        for a, b in ((100, 300), (500, 501), (900, 972)):
            first, last = every[a - 1].ns - 1, every[b - 1].ns + 1
            inside = [n for n, p in enumerate(every, 1) if first <= p.ns <= last]
            stamp = [f"{ns // 10**9}.{ns % 10**9:09}" for ns in (first, last)]
            done = subprocess.run([EDITCAP, "-F", "nsecpcap", "-A", stamp[0], "-B", stamp[1], whole,
                                   self.directory / "part.pcap"], capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([p.ns for p in packets(self.directory / "part.pcap")], [every[n - 1].ns for n in inside])
            relative = [f"{(ns - every[0].ns) / 10**9:.9f}" for ns in (first, last)]
            iso = [subprocess.run(["date", "-u", "-d", f"@{s.split('.')[0]}", "+%Y-%m-%dT%H:%M:%S"], capture_output=True,
                                  text=True, check=True).stdout.strip() + "." + s.split(".")[1] for s in stamp]
            for written in (f"{stamp[0]}..{stamp[1]}", f"{relative[0]}..{relative[1]}", f"{iso[0]}..{iso[1]}Z"):
                numbers = self.numbers(NFS, "--time", written)
                self.assertEqual([n for n in numbers if n in inside], inside, written)
        tail = self.numbers(NFS, "--time", f"{relative[0]}..")
        self.assertEqual([n for n in tail if n >= inside[0]], list(range(inside[0], len(every) + 1)))

    def test_connection(self):
        for path in [p for p in LAB if "nconnect" in p.name or "handles" in p.name] + [NFS, IWARP]:
            for line in lines(stag("connections", "--format", "jsonl", "--quiet", path)):
                number = line["connection"]
                self.slice(path, "--connection", number)
                there = [t for t in transactions(self.out) if t["call_sha256"]]
                was = [t for t in transactions(path) if t["connection"] == number and t["call_sha256"]]
                self.assertEqual([(t["xid"], t["call_sha256"], t["reply_sha256"], t["rtt_us"]) for t in there],
                                 [(t["xid"], t["call_sha256"], t["reply_sha256"], t["rtt_us"]) for t in was])

    def test_comments_as_tshark_reads_them(self):
        self.slice(NFS, "--slowest", 4)
        done = subprocess.run([TSHARK, "-n", "-r", self.out, "-T", "fields", "-e", "frame.comment", "-e", "frame.time_epoch"],
                              capture_output=True, text=True, check=True)
        whole = packets(NFS)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual([f"frame {n}" for n in origins(self.out)], [comment for comment, _ in rows])
        for comment, time in rows:
            seconds, part = time.split(".")
            self.assertEqual(int(seconds) * 10**9 + int(part.ljust(9, "0")), whole[int(comment.split()[1]) - 1].ns)

    def test_comments_of_the_capture_stay(self):
        self.slice(NFS, "--slowest", 2)
        first, again = self.out.read_bytes(), self.directory / "again.pcapng"
        (self.directory / "first.pcapng").write_bytes(first)
        self.slice(self.directory / "first.pcapng", "--slowest", 1, out=again)
        done = subprocess.run([TSHARK, "-n", "-r", again, "-T", "fields", "-E", "aggregator=;", "-e", "frame.comment"],
                              capture_output=True, text=True, check=True)
        was = origins(self.directory / "first.pcapng")
        rows = [row.split(";") for row in done.stdout.splitlines()]
        self.assertTrue(rows)
        for old, new in rows:
            self.assertEqual(old, f"frame {was[int(new.split()[1]) - 1]}")

    def test_no_malformed_frames(self):
        """tshark finds none that it does not find in the whole capture."""
        for path in (NFS, IWARP, LOSS, ROOT / "pcaps" / "real" / "rxe-midstream-nfs3.pcap.zst"):
            before = malformed(path)
            self.slice(path, "--xid", ",".join(t["xid"] for t in Rpcs.sample(self, transactions(path))))
            self.assertLessEqual(malformed(self.out, origins(self.out)), before, path.name)

    def test_merge(self):
        for files in ((NFS, IWARP), (LOSS, ERROR, NFS)):
            self.slice(*files, "--merge")
            merged = self.directory / "merged.pcap"
            subprocess.run([MERGECAP, "-F", "nsecpcap", "-w", merged, *files], check=True)
            mine, theirs = packets(self.out), packets(merged)
            self.assertEqual([p.ns for p in mine], [p.ns for p in theirs])
            self.assertEqual(collections.Counter((p.ns, p.bytes, p.wire) for p in mine),
                             collections.Counter((p.ns, p.bytes, p.wire) for p in theirs))
            for n, path in enumerate(files):
                own = [p for p in mine if p.comment.endswith(f" of {path}")]
                self.assertEqual([p.comment for p in own], [f"frame {i} of {path}" for i in range(1, len(packets(path)) + 1)], n)
        self.slice(NFS, IWARP, "--frames", "5-6")
        self.assertEqual([p.comment for p in packets(self.out) if re.match("frame [56] ", p.comment)],
                         [f"frame {i} of {path}" for path in (NFS, IWARP) for i in (5, 6)])


class Snapped(Slices):
    def test_real_captures(self):
        """No new error, every RPC with its forms, chunks and times; what is cut is data that RDMA moved."""
        cut_bytes = 0
        for path in REAL + LAB:
            with self.subTest(path.name):
                self.slice(path, "--snap", "headers")
                self.sees_frames_as_they_are(path, cut=True)
                before, after = packets(path), packets(self.out)
                self.assertEqual(len(before), len(after))
                removed = sum(len(p.bytes) for p in before) - sum(len(p.bytes) for p in after)
                cut_bytes += removed
                rules = {f["rule"] for f in findings(path) if f["severity"] == "error"}
                self.assertLessEqual({f["rule"] for f in findings(self.out) if f["severity"] == "error"}, rules)
                same = ("xid", "call_frame", "reply_frame", "rtt_us", "phases_us", "call_form", "reply_form", "read_chunks",
                        "write_chunks", "reply_chunk", "ops", "status")
                was, now = transactions(path), transactions(self.out)
                self.assertEqual([[t.get(m) for m in same] for t in now], [[t.get(m) for m in same] for t in was])
                moved = sum(t["data_bytes"] or 0 for t in was)
                self.assertLessEqual(removed, max(moved, sum(len(p.bytes) for p in before)))
        self.assertGreater(cut_bytes, 100000)

    def test_all_of_the_data_goes(self):
        for path in (NFS, IWARP):
            whole = self.file("whole.pcap", content(path))
            moved = [line for line in lines(stag("connections", "--format", "jsonl", "--quiet", path))][0]
            self.slice(whole, "--snap", "headers")
            left = sum(len(p.bytes) for p in packets(self.out))
            self.assertLess(left, sum(len(p.bytes) for p in packets(path)) * 3 // 5, moved)
            self.assertLessEqual(malformed(self.out), malformed(path))
            self.slice(whole, "--snap", "headers", "--slowest", "2")
            self.assertEqual(len([t for t in transactions(self.out) if t["reply_frame"]]), 2)

    def test_findings_without_data_stay(self):
        for path in (NFS, LAB[0], ERROR):
            self.slice(path, "--snap", "headers")
            known = collections.Counter(f["rule"] for f in findings(path))
            self.assertLessEqual(collections.Counter(f["rule"] for f in findings(self.out)), known)


class Usage(Slices):
    def test_nothing_selected(self):
        self.assertIn(b"nothing is selected", self.slice(NFS, status=2).stderr)
        self.assertFalse(self.out.exists())

    def test_nothing_fits(self):
        for arguments, said in ((("--finding", "HDR-001"), b"there are: "), (("--xid", "0x1"), b"70 RPCs"),
                                (("--connection", "9"), b"1 connection"), (("--procedure", "FOO"), b"NFSv4 READ (8)"),
                                (("--frames", "5000-"), b"has 972 frames"), (("--around", "5000"), b"972 frames"),
                                (("--finding", "PVT-006#99"), b"no such finding"), (("--time", "100.."), b"has 972 frames")):
            done = self.slice(NFS, *arguments, status=1)
            self.assertIn(said, done.stderr, arguments)
            self.assertFalse(self.out.exists())

    def test_wrong_values(self):
        for arguments in (("--frames", "9-3"), ("--frames", "0-3"), ("--frames", "x"), ("--frames", "-5"), ("--time", "5..3"),
                          ("--time", "now"), ("--time", "2024-13-01T00:00:00.."), ("--time", ".."), ("--xid", "0xfffffffff"),
                          ("--xid", "abc"), ("--finding", "NOPE-001"), ("--finding", "HDR-001#0"), ("--finding", "HDR-001#x"),
                          ("--slowest", "0"), ("--around", "0"), ("--connection", "0"), ("--snap", "all"), ("--procedure", ""),
                          ("--finding", "HDR-001", "--slowest", "2"), ("--finding", "HDR-001", "--around", "2")):
            self.assertTrue(self.slice(NFS, *arguments, status=2).stderr, arguments)
            self.assertFalse(self.out.exists())
        self.assertEqual(stag("slice", NFS, "--frames", "1").returncode, 2)  # no -w
        self.slice(NFS, "--frames", "1", status=2, out=self.directory / "out.pcap.gz")
        self.slice(NFS, "--frames", "1", status=2, out=self.directory / "none" / "out.pcapng")
        same = self.file("same.pcap", ERROR.read_bytes())
        done = self.slice(same, "--frames", "1", status=2, out=same)
        self.assertIn(b"the command reads it", done.stderr)
        self.assertEqual(pathlib.Path(same).read_bytes(), ERROR.read_bytes())

    def test_bad_files(self):
        whole = ERROR.read_bytes()
        cut = self.file("cut.pcap", whole[:-30])
        done = self.slice(cut, "--frames", "1-5", status=2)
        self.assertIn(b"cut off", done.stderr)
        self.assertEqual([n for n in origins(self.out) if n <= 5], [1, 2, 3, 4, 5])
        self.slice(cut, "--merge", status=2)
        self.assertEqual(len(origins(self.out)), len(packets(ERROR)) - 1)
        self.out.unlink()
        for name, data in (("nothing.pcap", b""), ("text.pcap", b"this is no capture at all"), ("short.pcap", whole[:10])):
            for selector in (("--frames", "1"), ("--merge",), ("--snap", "headers"), ("--finding", "HDR-001")):
                done = self.slice(self.file(name, data), *selector, status=2)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                self.assertFalse(self.out.exists())
        self.slice(self.directory / "missing.pcap", "--frames", "1", status=2)
        empty = self.file("empty.pcap", whole[:24])
        for selector in (("--frames", "1"), ("--merge",), ("--snap", "headers"), ("--finding", "HDR-001"), ("--connection", "1")):
            self.slice(empty, *selector, status=1)
        # What can be read of several files is written.
        self.slice(self.directory / "missing.pcap", ERROR, "--frames", "1-2", status=2)
        self.assertEqual([n for n in origins(self.out) if n <= 2], [1, 2])

    def test_link_types_that_stag_does_not_know(self):
        whole = bytearray(ERROR.read_bytes())
        whole[20:24] = struct.pack("<I", 147)  # LINKTYPE_USER0
        self.slice(self.file("user.pcap", whole), "--frames", "1-2")
        self.assertIn(struct.pack("<IIHH", 1, 32, 147, 0), self.out.read_bytes()[:256])
        self.assertEqual(origins(self.out), [1, 2])

    def test_a_slice_says_that_it_is_one(self):
        loss = NFS.parent / "rxe-loss-nfs3.pcap.zst"
        again = self.directory / "again.pcapng"
        self.slice(loss, "--slowest", 2)
        stag("slice", self.out, "--frames", "1-", "-w", again)
        stag("scrub", self.out, "-w", self.directory / "scrubbed.pcapng.zst")
        for path in self.out, again, self.directory / "scrubbed.pcapng.zst":
            self.assertIn(b"A slice of a capture", stag("summary", path).stdout)
            (summary,) = map(json.loads, stag("summary", "--format", "jsonl", path).stdout.splitlines())
            self.assertFalse({"capture_loss", "capture_sample", "one_direction", "unanswered"} & {wrong["kind"] for wrong in summary["wrong"]})
            rows = list(map(json.loads, stag("transport", "--format", "jsonl", path).stdout.splitlines()))
            self.assertEqual([row["lost_from_capture"] for row in rows], [0] * len(rows))
            self.assertGreater(sum(row["retransmitted_packets"] for row in rows), 0)
        self.slice(loss, "--merge")
        self.assertNotIn(b"stag slice", self.out.read_bytes()[:256])

    def test_around_takes_the_rpc_that_the_frame_is_of(self):
        # The Call is in frame 1013, the Reply in 1016; 1018 is behind them.
        self.slice(NFS.parent / "rxe-loss-nfs3.pcap.zst", "--around", 1018)
        self.assertLessEqual({1013, 1016, 1018}, set(origins(self.out)))
        (rpc,) = map(json.loads, stag("transactions", "--format", "jsonl", self.out).stdout.splitlines())
        self.assertEqual(rpc["reply_complete"], True)

    def test_pipes(self):
        self.slice("-", "--slowest", 2, data=NFS.read_bytes())
        piped = self.out.read_bytes()
        self.slice(NFS, "--slowest", 2)
        self.assertEqual(self.out.read_bytes(), piped)
        done = stag("slice", NFS, "--slowest", "2", "-w", "-")
        self.assertEqual((done.returncode, done.stdout), (0, piped))
        self.assertEqual(stag("slice", "-", "--slowest", "2", "-w", "-", data=content(NFS)).stdout, piped)
        self.assertEqual(stag("slice", NFS, "--slowest", "2", "-w", "-", "--format", "jsonl").returncode, 2)
        fifo = self.directory / "fifo"
        os.mkfifo(fifo)
        with subprocess.Popen(["cp", NFS, fifo]):
            self.slice(fifo, "--slowest", 2)
        self.assertEqual(self.out.read_bytes(), piped)

    def test_compressed(self):
        self.slice(NFS, "--slowest", 2)
        zst, gz = self.directory / "out.pcapng.zst", self.file("in.pcap.gz", gzip.compress(content(NFS)))
        self.slice(gz, "--slowest", 2, out=zst)
        self.assertEqual(zst.read_bytes()[:4], b"\x28\xb5\x2f\xfd")
        self.assertEqual(content(zst), self.out.read_bytes())

    def test_lines(self):
        done = self.slice(NFS, IWARP, "--slowest", 1)
        self.assertEqual(done.stderr, b"")
        self.assertIn(f"{self.out}: {len(origins(self.out))} frames".encode(), done.stdout)
        both = lines(self.slice(NFS, IWARP, "--slowest", 1, "--format", "jsonl"))
        self.assertEqual([list(line) for line in both], [["type", "file", "frames", "written", "transactions", "findings",
                                                          "without_gaps", "whole"]] * 2)
        self.assertEqual([line["frames"] for line in both], [972, 483])
        self.assertEqual(sum(line["written"] for line in both), len(origins(self.out)))


if __name__ == "__main__":
    unittest.main()
