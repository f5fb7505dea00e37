# SPDX-License-Identifier: GPL-2.0-or-later
"""stag limits: the parts of real captures, held against a sweep over what wire.py finds in them; verdicts and signatures of
captures that are made of them.

limits_test.py STAG    (runs as a unittest program)
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
PARTS = ["idle_us", "credit_limited_us", "recovery_us", "moving_data_us", "server_us", "unknown_us"]


def run(*arguments, status=0, input=None):
    done = subprocess.run([STAG, *map(str, arguments)], capture_output=True, timeout=300, input=input)
    assert done.returncode == status, (arguments, done.returncode, done.stderr.decode())
    return done


def lines(*arguments, **more):
    return [json.loads(line, parse_float=decimal.Decimal)
            for line in run(*arguments, "--format", "jsonl", **more).stdout.splitlines()]


def swept(path, rpcs):
    """By the definitions, ns, of a capture with one connection and no NAKs."""
    capture = wire.Capture(path)
    time = capture.times
    credit = lambda frame: struct.unpack_from(">I", capture.sends[frame].head, 8)[0]
    rpcs = [rpc for rpc in rpcs if not rpc["backward"]]
    moving = []
    for rpc in rpcs:
        reads, writes = capture.sends[rpc["call_frame"]].chunks()
        within = [o for o in capture.operations if rpc["call_frame"] <= o.first <= (rpc["reply_frame"] or len(time))]
        for kind, handles in (("read", reads), ("write", writes)):
            own = [o for o in within if o.kind == kind and o.handle in handles]
            if own:
                moving.append((time[own[0].first], time[own[-1].last]))
    calls = {rpc["call_frame"] for rpc in rpcs}
    replies = {rpc["reply_frame"] for rpc in rpcs if rpc["reply_frame"]}
    unanswered = any(rpc["reply_frame"] is None for rpc in rpcs)
    begin = min(calls)
    end = len(time) - 1 if unanswered else max(replies)
    edges = sorted({time[frame] for frame in calls | replies | {end}} | {t for pair in moving for t in pair})
    parts = dict.fromkeys(PARTS, 0)
    at, outstanding, granted, requested = 0, 0, None, None
    frames = sorted(calls | replies)
    for a, b in zip(edges, edges[1:]):
        while at < len(frames) and time[frames[at]] <= a:
            frame = frames[at]
            if frame in calls:
                outstanding, requested = outstanding + 1, credit(frame)
            else:
                outstanding, granted = outstanding - 1, credit(frame)
            at += 1
        if b > time[end] or a < time[begin]:
            continue
        part = ("idle_us" if outstanding == 0 else
                "credit_limited_us" if granted is not None and outstanding >= min(granted, requested) else
                "moving_data_us" if any(c <= a and b <= d for c, d in moving) else "server_us")
        parts[part] += b - a
    return parts


class Real(unittest.TestCase):
    maxDiff = None

    def test_parts_of_captures_with_one_connection(self):
        for name in ("rxe-nfs3.pcap.zst", "rxe-nfs4.1.pcap.zst", "siw-nfs4.1.pcap.zst"):
            with self.subTest(capture=name):
                found, = lines("limits", REAL / name)
                self.assertEqual(list(found), ["type", "file", "connection", "time", "time_s", "span_us", *PARTS, "verdict"])
                self.assertEqual({part: int(found[part] * 1000) for part in PARTS},
                                 swept(REAL / name, lines("transactions", REAL / name)))

    def test_parts_add_up_everywhere(self):
        for path in [*REAL.glob("*.pcap*"), *CASES.glob("*.pcap")]:
            with self.subTest(capture=path.name):
                for line in lines("limits", path):
                    self.assertEqual(sum(line[part] for part in PARTS), line["span_us"])
                    self.assertGreaterEqual(min(line[part] for part in PARTS), 0)
                    self.assertIn(line["verdict"], [part[:-3] for part in PARTS])

    def test_an_rnr_nak_and_what_mends_it(self):
        path = CASES / "034-rnr-at-client-roce.pcap"
        found, = lines("limits", path)
        data = list(wire.records(wire.load(path)))
        waited, since, sent = 0, None, {}
        for ns, packet in data:
            opcode, psn = packet[42], packet[51:54]
            if packet[23] == 17 and opcode < 0x0d:
                sent.setdefault(psn, ns)
            if packet[23] == 17 and opcode == 0x11 and packet[54] >> 5 & 3 == 1:
                since = since or (sent[psn], psn)  # it waits since it was sent first
            elif since and opcode < 0x0d and psn == since[1]:
                waited, since = waited + ns - since[0], None
        end = max(rpc["reply_frame"] or len(data) for rpc in lines("transactions", path))
        if since:
            waited += data[end - 1][0] - since[0]
        self.assertEqual(found["recovery_us"] * 1000, waited)
        self.assertIn("1 RNR NAK", run("limits", path).stdout.decode())

    def test_what_waits_for_the_timer(self):
        """The client's requests with a PSN that it sent before: the server sends no NAK."""
        path = REAL / "rxe-loss-nfs3.pcap.zst"
        silences, last, sent = [], None, set()
        for ns, packet in wire.records(wire.load(path)):
            if packet[23] != 17 or packet[26:30] != bytes([10, 0, 0, 2]) or packet[42] >= 0x0d:
                continue
            psn = packet[51:54]
            if psn in sent:
                silences.append((ns - last) / 1e9)
            sent.add(psn)
            last = ns
        self.assertEqual(len(silences), 2)
        self.assertIn(f"2 retransmissions only when the transport's timer ran out: after up to {max(silences):.2f}s, "
                      f"{sum(silences):.2f}s together", run("limits", path).stdout.decode())
        # PATHCONF, in frame 35: nothing is sent again, and the CM REQ says 4.096 us times two to the power of 19.
        frames = list(wire.records(wire.load(path)))
        self.assertIn(f"a silence of {(frames[38][0] - frames[34][0]) / 1e9:.2f}s, before frame 39, with Calls outstanding: as long as "
                      f"the transport's time-out of {4.096e-6 * 2 ** 19:.2f}s", run("limits", path).stdout.decode())
        # Over TCP all but the two that come after 200 ms are fast.
        text = run("limits", REAL / "siw-loss-nfs3.pcap.zst").stdout.decode()
        self.assertIn("2 retransmissions only when the transport's timer ran out: after up to 214ms, 426ms together", text)
        clean = run("limits", REAL / "rxe-nfs4.1.pcap.zst").stdout.decode()
        self.assertNotIn("timer", clean)
        self.assertNotIn("silence", clean)

    def test_connections_that_share_the_load(self):
        for path in [*REAL.glob("*.pcap*"), *CASES.glob("*.pcap")]:
            self.assertNotIn("nconnect does not", run("limits", path).stdout.decode(), path.name)

    def test_standard_input_and_several_files(self):
        path = REAL / "rxe-nfs4.1.pcap.zst"
        self.assertEqual(run("limits", "-", input=wire.load(path)).stdout, run("limits", path).stdout)
        both = lines("limits", path, REAL / "siw-nfs4.1.pcap.zst")
        self.assertEqual([pathlib.Path(line["file"]).name for line in both], [path.name, "siw-nfs4.1.pcap.zst"])

    def test_text_adds_up_and_advises(self):
        text = run("limits", REAL / "rxe-nfs4.1.pcap.zst").stdout.decode()
        shares = [float(line.split("%")[0].split()[-1]) for line in text.splitlines() if " %  " in line]
        self.assertAlmostEqual(sum(shares), 100, delta=0.3)
        self.assertRegex(text, r"verdict +\w[\w ]*: [A-Z].*\.")

    def test_nothing(self):
        self.assertEqual(lines("limits", REAL / "rxe-perftest.pcap.zst"), [])


class Made(unittest.TestCase):
    """A real capture with other times and credits."""

    def made(self, time, credits=None):
        """`time(number, ns)` in place of the times; `credits` in all headers that state any, for the other CRCs are not checked."""
        name = REAL / "rxe-nfs4.1.pcap.zst"
        data = wire.load(name)
        sends = {send.head for send in wire.Capture(name).sends.values()}
        out = [data[:24]]
        for number, (ns, packet) in enumerate(wire.records(data), 1):
            ns = time(number, ns)
            if credits and packet[23] == 17 and packet[42] in (0, 4, 0x17):
                at = 54 + (4 if packet[42] == 0x17 else 0) + 8
                packet = packet[:at] + struct.pack(">I", credits) + packet[at + 4:]
            out.append(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), len(packet)) + packet)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = pathlib.Path(directory.name) / "made.pcap"
        path.write_bytes(b"".join(out))
        return path

    def test_one_credit(self):
        path = self.made(lambda number, ns: ns, credits=1)
        found, = lines("limits", path)
        first = lines("transactions", path)[0]
        whole, = lines("limits", REAL / "rxe-nfs4.1.pcap.zst")
        # From the first Reply on, whenever a Call is outstanding.
        self.assertEqual(found["credit_limited_us"], whole["span_us"] - whole["idle_us"] - first["rtt_us"])
        self.assertIn("never grants more than one credit", run("limits", path).stdout.decode())

    def test_an_idle_client(self):
        calls = sorted(rpc["call_frame"] for rpc in lines("transactions", REAL / "rxe-nfs4.1.pcap.zst"))
        later = {frame: i for i, frame in enumerate(calls)}
        step = [0]

        def time(number, ns):
            step[0] += number in later
            return ns + step[0] * 10**9
        found, = lines("limits", self.made(time))
        self.assertEqual(found["verdict"], "idle")
        self.assertGreater(found["idle_us"], found["span_us"] * 8 / 10)

    def test_a_slow_server(self):
        replies = {rpc["reply_frame"] for rpc in lines("transactions", REAL / "rxe-nfs4.1.pcap.zst")}
        step = [0]

        def time(number, ns):
            step[0] += number in replies
            return ns + step[0] * 10**9
        found, = lines("limits", self.made(time))
        self.assertEqual(found["verdict"], "server")

    def test_pauses_of_a_quarter_second(self):
        # With one credit the only Call uses all of them.
        calls = {rpc["call_frame"] for rpc in lines("transactions", REAL / "rxe-nfs4.1.pcap.zst")}
        step = [0]

        def time(number, ns):
            step[0] += number in calls
            return 1_700_000_000 * 10**9 + number * 10_000 + step[0] * 250_000_000
        text = run("limits", self.made(time, credits=1)).stdout.decode()
        self.assertRegex(text, r"seen +\d+ pauses of about 250 ms with all credits used")
        self.assertNotIn("250 ms", run("limits", REAL / "rxe-nfs4.1.pcap.zst").stdout.decode())


if __name__ == "__main__":
    unittest.main()
