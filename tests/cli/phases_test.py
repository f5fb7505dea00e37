# SPDX-License-Identifier: GPL-2.0-or-later
"""Phases of the RPCs in real captures: as the definitions give them from the frames that wire.py finds, to the nanosecond; their
sums; and what is said where packets are missing.

phases_test.py STAG    (runs as a unittest program)
"""
import decimal
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import wire

STAG = sys.argv.pop(1)
REAL = pathlib.Path(__file__).parents[2] / "pcaps" / "real"
CASES = REAL.parent / "cases"
PHASES = ["to_first_read", "pull", "service", "push", "finish", "recovery"]


def transactions(*arguments, input=None):
    done = subprocess.run([STAG, "transactions", "--format", "jsonl", *map(str, arguments)], capture_output=True,
                          timeout=300, input=input)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line, parse_float=decimal.Decimal) for line in done.stdout.splitlines()], done.stderr.decode()


def expected(capture, call_frame, reply_frame):
    """In nanoseconds, from design: t0 to t5."""
    call = capture.sends[call_frame]
    reads, writes = call.chunks()
    within = [o for o in capture.operations if call_frame <= o.first <= reply_frame and o.source != call.source]
    read = [o for o in within if o.kind == "read" and o.handle in reads]
    written = [o for o in within if o.kind == "write" and o.handle in writes]
    time = capture.times
    t0, t5 = time[call_frame], time[reply_frame]
    phases = dict.fromkeys(PHASES)
    if read:
        t1, t2 = time[read[0].first], time[read[-1].last]
        phases.update(to_first_read=t1 - t0, pull=t2 - t1)
    begin = t2 if read else t0
    if written:
        t3, t4 = max(time[written[0].first], begin), max(time[written[-1].last], begin)
        phases.update(service=t3 - begin, push=t4 - t3, finish=t5 - t4)
    else:
        phases["service"] = t5 - begin
    return phases


class Real(unittest.TestCase):
    maxDiff = None

    def test_every_rpc_of_whole_captures(self):
        checked = dict.fromkeys(PHASES, 0)
        for name in ("rxe-nfs3.pcap.zst", "rxe-nfs4.1.pcap.zst", "rxe-rdma_error.pcap", "siw-nfs4.1.pcap.zst",
                     "siw-rdma_error.pcap"):
            with self.subTest(capture=name):
                capture = wire.Capture(REAL / name)
                for line in transactions(REAL / name)[0]:
                    if line["reply_frame"] is None:
                        continue
                    found = {key: value if value is None else int(value * 1000) for key, value in line["phases_us"].items()}
                    self.assertEqual(found, expected(capture, line["call_frame"], line["reply_frame"]), line)
                    self.assertIs(line["phases_complete"], True)
                    for key in PHASES:
                        checked[key] += found[key] is not None
        self.assertEqual([key for key in PHASES if not checked[key]], ["recovery"])

    def test_sums_are_round_trip_times_everywhere(self):
        for path in [*REAL.glob("*.pcap*"), *CASES.glob("*.pcap")]:
            with self.subTest(capture=path.name):
                for line in transactions(path)[0]:
                    self.assertEqual(line["rtt_us"] is None, line["phases_us"] is None)
                    if line["rtt_us"] is None:
                        self.assertIs(line["phases_complete"], False)
                        continue
                    self.assertGreaterEqual(line["rtt_us"], 0)
                    phases = list(line["phases_us"].values())
                    self.assertEqual(list(line["phases_us"]), PHASES)
                    self.assertTrue(all(value is None or value >= 0 for value in phases))
                    known = sum(value for value in phases if value is not None)
                    if line["phases_complete"]:
                        self.assertEqual(known, line["rtt_us"])
                    else:
                        self.assertLessEqual(known, line["rtt_us"])


class Delayed(unittest.TestCase):
    """A real capture whose frames come 50 us later from some frame on: wherever that is between Call and Reply, one phase of the
    RPC has the delay, that in which the definitions put the frame, and none of the others."""

    def test_a_delay_shows_in_one_phase_only(self):
        read, written = ("to_first_read", "pull"), ("push", "finish")
        for name, kinds in (("rxe-nfs4.1.pcap.zst", (read, written)), ("siw-nfs4.1.pcap.zst", (written,))):
            data, whole = wire.load(REAL / name), wire.Capture(REAL / name)
            listed = transactions(REAL / name)[0]
            delayed = set()
            for wanted in kinds:
                line = next(line for line in listed if line["phases_us"] and not line["backward"] and
                            all(line["phases_us"][phase] for phase in wanted))
                call, reply = line["call_frame"], line["reply_frame"]
                before = expected(whole, call, reply)
                for frame in sorted({*range(call + 1, min(call + 5, reply)), *range(max(call + 1, reply - 3), reply + 1)}):
                    with self.subTest(capture=name, call=call, frame=frame):
                        after = dict(zip(PHASES, self.phases(data, line, frame)))
                        grown = {phase for phase in PHASES if after[phase] != before[phase]}
                        self.assertEqual(len(grown), 1)
                        phase = grown.pop()
                        self.assertEqual(after[phase] - before[phase], 50_000)
                        delayed.add(phase)
                        if frame == reply:
                            self.assertEqual(phase, "finish" if "finish" in wanted else "service")
            self.assertEqual(delayed, {"service"}.union(*kinds), name)

    def phases(self, data, line, late):
        """In nanoseconds, of the RPC of `line`, where the frames from `late` on come 50 us later."""
        out = [data[:24]]
        for number, (ns, packet) in enumerate(wire.records(data), 1):
            ns += 50_000 if number >= late else 0
            out.append(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(packet)) + packet)
        same = next(other for other in transactions("-", input=b"".join(out))[0] if other["call_frame"] == line["call_frame"])
        self.assertTrue(same["phases_complete"])
        return [None if value is None else int(value * 1000) for value in same["phases_us"].values()]


class Missing(unittest.TestCase):
    """A capture with frames taken out, or with other times."""

    def setUp(self):
        self.data = wire.load(REAL / "rxe-nfs4.1.pcap.zst")
        self.whole = wire.Capture(REAL / "rxe-nfs4.1.pcap.zst")
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def made(self, keep, time=lambda frame, ns: ns, *arguments):
        """transactions of the frames for which keep(frame) holds."""
        out = [self.data[:24]]
        for number, (ns, packet) in enumerate(wire.records(self.data), 1):
            if keep(number):
                ns = time(number, ns)
                out.append(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(packet)) + packet)
        path = pathlib.Path(self.directory.name) / "made.pcap"
        path.write_bytes(b"".join(out))
        return transactions(*arguments, path)

    def first(self, *phases):
        return next(line for line in transactions(REAL / "rxe-nfs4.1.pcap.zst")[0]
                    if line["phases_us"] and all(line["phases_us"][phase] for phase in phases))

    def moved(self, line, kind):
        call = self.whole.sends[line["call_frame"]]
        handles = call.chunks()[0 if kind == "read" else 1]
        return [o for o in self.whole.operations if o.kind == kind and o.handle in handles
                and line["call_frame"] < o.first < line["reply_frame"]]

    def without(self, line, frames):
        found, errors = self.made(lambda frame: frame not in frames)
        self.assertRegex(errors, r"phases of \d+ RPCs? are not all known")
        same = [other for other in found if other["xid"] == line["xid"]]
        self.assertEqual(len(same), 1)
        return same[0]

    def test_a_read_that_was_not_captured(self):
        line = self.first("pull")
        read = self.moved(line, "read")[-1]
        lost = self.without(line, set(range(read.first, read.last + 1)) - {line["reply_frame"]})
        self.assertIs(lost["phases_complete"], False)
        self.assertIsNone(lost["phases_us"]["pull"])
        self.assertIsNone(lost["phases_us"]["service"])

    def test_the_last_read_response_was_not_captured(self):
        line = self.first("pull")
        lost = self.without(line, {self.moved(line, "read")[-1].last})
        self.assertIs(lost["phases_complete"], False)
        self.assertEqual(lost["phases_us"]["to_first_read"], line["phases_us"]["to_first_read"])
        self.assertEqual([lost["phases_us"][phase] for phase in PHASES[1:]], [None] * 5)

    def test_a_write_that_was_not_captured(self):
        line = self.first("push")
        frames = {frame for o in self.moved(line, "write") for frame in (o.first, o.last)}
        lost = self.without(line, frames)
        self.assertEqual((lost["phases_complete"], list(lost["phases_us"].values())), (False, [None] * len(PHASES)))

    def test_times_that_go_back(self):
        line = self.first("push")
        late = line["reply_frame"]
        found, errors = self.made(lambda frame: True, lambda frame, ns: ns - 10**9 if frame == late else ns, "--order", "file")
        same = next(other for other in found if other["xid"] == line["xid"])
        self.assertEqual((same["rtt_us"], same["phases_us"], same["phases_complete"]), (None, None, False))
        self.assertIn("times go back", errors)
        inside = self.moved(line, "write")[0].first
        same = next(other for other in self.made(lambda frame: True, lambda frame, ns: ns - 10**9 if frame == inside else ns,
                                                 "--order", "file")[0]
                    if other["xid"] == line["xid"])
        self.assertEqual(same["rtt_us"], line["rtt_us"])
        self.assertEqual((same["phases_complete"], list(same["phases_us"].values())), (False, [None] * len(PHASES)))

    def test_equal_times(self):
        for line in self.made(lambda frame: True, lambda frame, ns: 1_700_000_000 * 10**9)[0]:
            if line["reply_frame"]:
                self.assertEqual((line["rtt_us"], line["phases_complete"]), (0, True))
                self.assertEqual({value for value in line["phases_us"].values() if value is not None}, {0})

    def test_text(self):
        line = self.first("push")
        done = subprocess.run([STAG, "transactions", "--phases", REAL / "rxe-nfs4.1.pcap.zst"], capture_output=True, text=True,
                              timeout=300)
        rows = done.stdout.splitlines()
        self.assertRegex(rows[0], r"rtt +to read +pull +service +push +finish +operation")
        width = rows[0].index("operation")
        row = next(row for row in rows if row.split()[0] == str(line["call_frame"]))
        cells = row[:width].split()[-4:]
        self.assertTrue(all(cell[0].isdigit() for cell in cells), row)  # rtt, service, push, finish; nothing was read


if __name__ == "__main__":
    unittest.main()
