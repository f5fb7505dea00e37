#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stag capture on a pair of virtual network devices, through which recorded packets are sent again.

    capture_test.py STAG

Runs itself in a network namespace of its own. Where this system allows nobody to have one, the exit status is 77 (CTest: skipped),
and the file $STAG_SKIPPED gets the reason; with STAG_NO_SKIP, which .ci/run sets, that is a failure."""
import json
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import skips  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
REAL = ROOT / "pcaps/real"


def frames_of(capture):
    """The packets of a pcap file (little-endian), perhaps compressed."""
    data = capture.read_bytes()
    if capture.suffix == ".zst":
        data = subprocess.run(["zstd", "-dcq", str(capture)], check=True, capture_output=True).stdout
    at, frames = 24, []
    while at < len(data):
        captured, wire = struct.unpack_from("<II", data, at + 8)
        assert captured == wire, "a whole capture is needed"
        frames.append(data[at + 16:at + 16 + captured])
        at += 16 + captured
    return frames


def jsonl(text):
    return [json.loads(line) for line in text.splitlines()]


class Live:
    """A running capture."""

    def __init__(self, *options, command="capture"):
        self.process = subprocess.Popen([STAG, command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert line.startswith("stag: capturing on"), line + self.process.stderr.read()

    def send(self, frames, device="left"):
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
            out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 20)
            out.bind((device, 0))
            for frame in frames:
                out.send(frame)

    def end(self, interrupt=False):
        """Waits for its end, which --count or the like brings, or brings it: exit status, stdout and stderr."""
        if interrupt and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=300)
        return self.process.returncode, out, err


class Capture(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.at = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def transactions(self, capture):
        """What does not depend on when and as which frame a packet came."""
        done = subprocess.run([STAG, "transactions", "--format", "jsonl", str(capture)], check=True, capture_output=True, text=True)
        kept = ["connection", "xid", "program", "procedure", "call_form", "reply_form", "read_chunks", "write_chunks", "reply_chunk",
                "call_complete", "reply_complete", "call_sha256", "reply_sha256", "data_sha256", "status"]
        return [tuple(str(line[key]) for key in kept) for line in jsonl(done.stdout)]

    @staticmethod
    def await_packets(pcapng, count):
        """Until that many are in the file: it is written when nothing more comes."""
        while Capture.packets_in(pcapng) < count:
            time.sleep(0.01)

    @staticmethod
    def packets_in(pcapng):
        data, at, found = pcapng.read_bytes(), 0, 0
        while at + 8 <= len(data):
            kind, length = struct.unpack_from("<II", data, at)
            found += kind == 6 and at + length <= len(data)
            at += length
        return found

    def refused(self, *options):
        done = subprocess.run([STAG, "capture", *options], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_every_packet_comes_and_every_rpc_is_whole(self):
        for name in ["rxe-nfs3.pcap.zst", "siw-nfs4.1.pcap.zst"]:
            with self.subTest(name):
                source, target = REAL / name, self.at / "out.pcapng"
                frames = frames_of(source)
                live = Live("-i", "right", "-w", str(target), "--format", "jsonl", "--queue", "1G", "--buffer", "256M",
                            "--count", str(len(frames)))
                live.send(frames)
                status, out, err = live.end()
                self.assertEqual(status, 0, err)
                captured = jsonl(out)[-1]
                self.assertEqual(captured["frames"], len(frames))
                self.assertEqual(captured["bytes"], sum(map(len, frames)))
                self.assertEqual([captured[key] for key in ("dropped_by_system", "dropped_by_stag", "not_written")], [0, 0, 0])
                self.assertEqual(self.transactions(target), self.transactions(source))

    def test_comments_and_statistics(self):
        target = self.at / "out.pcapng"
        frames = frames_of(REAL / "rxe-nfs3.pcap.zst")
        live = Live("-i", "right", "-w", str(target))
        live.send(frames)
        self.await_packets(target, len(frames))
        status, out, err = live.end(interrupt=True)
        self.assertEqual(status, 0, err)
        self.assertRegex(out, rf"^{len(frames)} packets \(.*\); lost: 0 by the device, 0 by the system, 0 by stag, 0 not written\n")
        comments = subprocess.run(["tshark", "-r", str(target), "-Y", "frame.comment", "-T", "fields", "-e", "frame.comment"],
                                  check=True, capture_output=True, text=True).stdout
        self.assertRegex(comments, r"connection 1 +RoCEv2 .* -> .* service port 20049; inline thresholds: Calls 4096, Replies 4096")
        rpcs = len(self.transactions(REAL / "rxe-nfs3.pcap.zst"))
        # The capture ends before the connection does: that stands in the statistics.
        self.assertIn(f"connection 1 end of capture: {rpcs} RPCs".encode(), target.read_bytes())
        info = subprocess.run(["capinfos", str(target)], check=True, capture_output=True, text=True).stdout
        for part in ["Capture application: stag ", "Name = right", "Number of stat entries = 1", f"Number of packets = {len(frames)}"]:
            self.assertIn(part, info)

    def test_only_rdma(self):
        target = self.at / "out.pcapng"
        frames = frames_of(REAL / "siw-nfs4.1.pcap.zst")
        rdma = [frame for frame in frames if frame[12:14] == b"\x08\x00" and frame[23] == 6 and
                20049 in struct.unpack_from("!HH", frame, 14 + (frame[14] & 15) * 4)]
        tagged = [frame[:12] + b"\x81\x00\x00\x05" + frame[12:] for frame in rdma[:3]]
        other = [b"\xff" * 6 + b"\x02" * 6 + b"\x88\xb5" + bytes(50)]
        def expect(wanted, sent, *options):
            """What is wanted of it comes, and nothing in place of it."""
            live = Live("-i", "right", "--rdma", "-w", str(target), "--format", "jsonl", "--count", str(len(wanted)), *options)
            live.send(sent)
            status, out, err = live.end()
            self.assertEqual(status, 0, err)
            captured = jsonl(out)[-1]
            self.assertEqual((captured["frames"], captured["bytes"]), (len(wanted), sum(map(len, wanted))))
        expect(rdma + tagged, other + rdma + other + tagged)
        elsewhere = [bytes(frame[:36]) + struct.pack("!H", 20050) + frame[38:] for frame in rdma[:5]]
        expect(elsewhere, rdma + elsewhere, "--port", "20050")
        expect([frame for frame in rdma if len(frame) <= 200], rdma, "less", "200")

    def test_check_and_transactions(self):
        source = REAL / "rxe-rdma_error.pcap"
        count = ["--count", str(len(frames_of(source)))]
        live = Live("-i", "right", "--check", "--transactions", "--format", "jsonl", *count)
        live.send(frames_of(source))
        status, out, err = live.end()
        lines = jsonl(out)
        file = subprocess.run([STAG, "check", "--format", "jsonl", str(source)], capture_output=True, text=True)
        self.assertEqual(status, file.returncode, err)
        rules = [line["rule"] for line in jsonl(file.stdout) if line["type"] == "finding"]
        self.assertTrue(rules)
        self.assertEqual([line["rule"] for line in lines if line["type"] == "finding"], rules)
        self.assertEqual(sum(line["type"] == "transaction" for line in lines), len(self.transactions(source)))
        self.assertEqual([line["type"] for line in lines[-2:]], ["summary", "captured"])
        live = Live("-i", "right", "--check", *count)
        live.send(frames_of(source))
        status, out, err = live.end()
        self.assertEqual(status, file.returncode, err)
        self.assertRegex(out, rf"(?m)^\w+ {rules[0]}: .* \(frame \d+, connection 1\)$")  # when it came
        self.assertRegex(out, rf"(?m)^right:\d+: \w+ {rules[0]}: ")                      # and in the report

    def test_top(self):
        source = REAL / "rxe-nfs4.1.pcap.zst"
        answered = [t for t in self.transactions(source) if t[5] != "none"]
        live = Live("-i", "right", "--rdma", "--interval", "200ms", "--format", "jsonl", command="top")
        live.send(frames_of(source))
        rows = []
        while sum(row["calls"] for row in rows) < len(answered):  # every interval has its rows, until all have come
            rows.append(json.loads(live.process.stdout.readline()))
        status, out, err = live.end(interrupt=True)
        self.assertEqual(status, 0, err)
        rows += jsonl(out)
        for kind in ("top", "top_total"):
            self.assertEqual(sum(row["calls"] for row in rows if row["type"] == kind), len(answered), err)
        # From when it began, as long as all intervals together.
        lengths = {row["time"]: row["interval_us"] for row in rows if row["type"] == "top"}
        self.assertGreaterEqual(rows[-1]["interval_us"], sum(lengths.values()))
        # A number of intervals, in the device's time: without a packet, too.
        live = Live("-i", "right", "--interval", "100ms", "--count", "3", command="top")
        out, err = live.process.communicate(timeout=300)
        self.assertEqual((live.process.returncode, out.count(" 0 RPCs, 0.0/s, ")), (0, 3), err)

    def test_trigger(self):
        quiet, error = frames_of(REAL / "rxe-nfs3.pcap.zst"), frames_of(REAL / "rxe-rdma_error.pcap")
        target = self.at / "out.pcapng"
        live = Live("-i", "right", "--trigger", "error", "--before", "60s", "--after", "2s", "-w", str(target), "--format", "jsonl")
        live.send(quiet)
        self.assertFalse(target.exists())
        live.send(error)
        status, out, err = live.end()  # by itself
        self.assertEqual(status, 0, err)
        captured = jsonl(out)[-1]
        self.assertRegex(captured["trigger"], r"^RDMA_ERROR for xid 0x[0-9a-f]{8} on connection 2$")
        self.assertEqual(captured["files"], [str(target)])
        self.assertEqual(len(self.transactions(target)),
                         len(self.transactions(REAL / "rxe-nfs3.pcap.zst")) + len(self.transactions(REAL / "rxe-rdma_error.pcap")))
        live = Live("-i", "right", "--trigger", "rnr", "--trigger", "latency>1h", "--count", str(len(error)), "-w",
                    str(self.at / "none.pcapng"))
        live.send(error)
        status, out, err = live.end()
        self.assertEqual(status, 0, err)
        self.assertIn("no trigger fired: nothing was written", out)
        self.assertFalse((self.at / "none.pcapng").exists())

    def test_rows_of_files(self):
        frames = frames_of(REAL / "rxe-nfs3.pcap.zst")
        live = Live("-i", "right", "-w", str(self.at / "a.pcapng"), "--rotate-size", "64K", "--keep", "3", "--compress", "--format", "jsonl",
                    "--count", str(len(frames)))
        live.send(frames)
        status, out, err = live.end()
        self.assertEqual(status, 0, err)
        files = jsonl(out)[-1]["files"]
        self.assertEqual(sorted(files), sorted(str(path) for path in self.at.iterdir()))
        self.assertEqual(len(files), 3)
        kept = 0
        for file in files:
            self.assertRegex(file, r"/a_\d{5}_\d{14}\.pcapng\.zst$")
            done = subprocess.run([STAG, "check", "--fail-on", "never", "--format", "jsonl", file], check=True, capture_output=True, text=True)
            kept += jsonl(done.stdout)[-1]["frames"]
        self.assertGreater(kept, 0)
        self.assertLess(kept, len(frames))

    def test_snap(self):
        """Of each frame as much as stag slice keeps of it; whatever the capture shows but data stays."""
        for name in ["rxe-nfs3.pcap.zst", "siw-nfs4.1.pcap.zst"]:
            with self.subTest(name):
                source, target, sliced = REAL / name, self.at / "out.pcapng", self.at / "sliced.pcapng"
                frames = frames_of(source)
                live = Live("-i", "right", "-w", str(target), "--snap", "headers", "--queue", "1G", "--buffer", "256M",
                            "--count", str(len(frames)))
                live.send(frames)
                status, _, err = live.end()
                self.assertEqual(status, 0, err)
                subprocess.run([STAG, "slice", str(source), "--snap", "headers", "-w", str(sliced)], check=True, capture_output=True)
                self.assertEqual(self.lengths(target), self.lengths(sliced))
                self.assertNotEqual(self.lengths(target), self.lengths(source))

    def lengths(self, capture):
        return subprocess.run(["tshark", "-r", str(capture), "-T", "fields", "-e", "frame.len", "-e", "frame.cap_len"], check=True,
                              capture_output=True, text=True).stdout

    def test_scrub(self):
        """What stag scrub makes of the same packets, frame by frame, in a row of files; nothing else reaches the disk or the output."""
        for name in ["rxe-nfs3.pcap.zst", "siw-nfs4.1.pcap.zst"]:
            with self.subTest(name):
                source, key, home = REAL / name, self.at / "site.key", self.at / name
                home.mkdir()
                frames = frames_of(source)
                live = Live("-i", "right", "-w", str(home / "a.pcapng"), "--rotate-size", "256K", "--compress", "--scrub", str(key),
                            "--transactions", "--format", "jsonl", "--queue", "1G", "--buffer", "256M", "--count", str(len(frames)))
                live.send(frames)
                status, out, err = live.end()
                self.assertEqual(status, 0, err)
                captured = jsonl(out)[-1]
                self.assertEqual(captured["frames"], len(frames))
                self.assertGreater(min(captured["replaced"].values()), 0)
                scrubbed = self.at / "scrubbed.pcap"
                subprocess.run([STAG, "scrub", str(source), "-w", str(scrubbed), "--key", str(key)], check=True, capture_output=True)
                expected = frames_of(scrubbed)
                got = [frame for file in captured["files"] for frame in self.packets(file)]
                self.assertEqual(len(got), len(expected))
                self.assertEqual([i for i, (a, b) in enumerate(zip(got, expected)) if a != b], [])
                rpcs = [line for line in jsonl(out) if line["type"] == "transaction"]
                was = {(t[1], t[9]) for t in self.transactions(source)}
                self.assertTrue(all((line["xid"], str(line["call_complete"])) in was for line in rpcs))
                hidden = {line["call_sha256"] for line in rpcs if line["procedure"] != 0} & {t[11] for t in self.transactions(source)}
                self.assertEqual(hidden - {None}, set())
                texts = b"".join(subprocess.run(["zstd", "-dcq", file], check=True, capture_output=True).stdout
                                 for file in captured["files"])
                addresses = subprocess.run(["tshark", "-r", str(source), "-T", "fields", "-e", "ip.src"], check=True,
                                           capture_output=True, text=True).stdout.split()
                self.assertTrue(addresses)
                for address in set(addresses):
                    self.assertNotIn(address.encode(), texts)
                    self.assertNotIn(address, out)

    def packets(self, pcapng):
        data = subprocess.run(["zstd", "-dcq", str(pcapng)], check=True, capture_output=True).stdout
        at = 0
        while at < len(data):
            kind, length = struct.unpack_from("<II", data, at)
            if kind == 6:
                yield data[at + 28:at + 28 + struct.unpack_from("<I", data, at + 20)[0]]
            at += length

    def test_scrub_and_snap_after_a_trigger(self):
        target, key = self.at / "out.pcapng", str(self.at / "site.key")
        frames = frames_of(REAL / "rxe-rdma_error.pcap")
        live = Live("-i", "right", "--trigger", "error", "--after", "2s", "--scrub", key, "--snap", "headers", "-w", str(target))
        live.send(frames)
        status, out, err = live.end()
        self.assertEqual(status, 0, err)
        self.assertRegex(pathlib.Path(key).read_text(), "^[0-9a-f]{64}\n$")
        self.assertRegex(out, r"(?m)^scrubbed: [\d,]+ frames; replaced [\d,]+ addresses")
        self.assertRegex(out, r"(?m)^trigger: RDMA_ERROR ")
        rules = [[line["rule"] for line in jsonl(subprocess.run([STAG, "check", "--format", "jsonl", str(path)], capture_output=True,
                                                                text=True).stdout) if line["type"] == "finding"]
                 for path in (REAL / "rxe-rdma_error.pcap", target)]
        self.assertEqual(rules[0], rules[1])
        self.assertTrue(rules[0])

    def test_standard_output(self):
        frames = frames_of(REAL / "rxe-nfs3.pcap.zst")
        out = self.at / "out.pcapng"
        with open(out, "wb") as stdout:
            live = subprocess.Popen([STAG, "capture", "-i", "right", "-w", "-", "--count", str(len(frames))], stdout=stdout,
                                    stderr=subprocess.PIPE, text=True)
            live.stderr.readline()
            Live.send(None, frames)
            _, err = live.communicate(timeout=300)
        self.assertEqual(live.returncode, 0, err)
        self.assertIn(f"{len(frames)} packets", err)
        self.assertEqual(self.transactions(out), self.transactions(REAL / "rxe-nfs3.pcap.zst"))

    def test_limits(self):
        frames = frames_of(REAL / "rxe-nfs3.pcap.zst")[:50]
        live = Live("-i", "right", "-w", str(self.at / "out.pcapng"), "--count", "20", "--snaplen", "96", "--raw", "--format", "jsonl")
        live.send(frames)
        live.process.wait(timeout=300)
        self.assertEqual(jsonl(live.end()[1])[-1]["frames"], 20)
        longest = subprocess.run(["tshark", "-r", str(self.at / "out.pcapng"), "-T", "fields", "-e", "frame.cap_len"], check=True,
                                 capture_output=True, text=True).stdout.split()
        self.assertEqual(max(map(int, longest)), 96)
        begin = time.monotonic()
        live = Live("-i", "right", "-w", str(self.at / "out.pcapng"), "--duration", "300ms")
        live.process.wait(timeout=300)
        self.assertGreater(time.monotonic() - begin, 0.3)

    def test_device_that_goes_away(self):
        subprocess.run(["ip", "link", "add", "gone", "type", "veth", "peer", "name", "gone2"], check=True)
        subprocess.run(["ip", "link", "set", "gone", "up"], check=True)
        live = Live("-i", "gone", "-w", str(self.at / "out.pcapng"))
        subprocess.run(["ip", "link", "delete", "gone"], check=True)
        live.process.wait(timeout=300)
        status, _, err = live.end()
        self.assertEqual(status, 2)
        self.assertIn("stag: gone: ", err)

    def test_full_disk(self):
        live = Live("-i", "right", "-w", "/dev/full", "--format", "jsonl")
        frames = frames_of(REAL / "rxe-nfs3.pcap.zst")
        live.send(frames)
        live.process.wait(timeout=300)  # there is no reason to go on
        status, out, err = live.end()
        self.assertEqual(status, 2)
        self.assertEqual(err.count("No space left on device"), 1)
        captured = jsonl(out)[-1]
        self.assertGreater(captured["not_written"], 0)

    def test_a_disk_that_is_full_for_a_while(self):
        """Frames of that time are lost, said and counted; those before and behind are there."""
        target = self.at / "out.pcapng"
        frames = frames_of(REAL / "rxe-nfs3.pcap.zst")[:200]
        live = Live("-i", "right", "-w", str(target), "--format", "jsonl")
        live.send(frames)
        self.await_packets(target, 200)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.prlimit(live.process.pid, resource.RLIMIT_FSIZE, (target.stat().st_size + 10, hard))
        live.send(frames)
        words = live.process.stderr.readline()
        resource.prlimit(live.process.pid, resource.RLIMIT_FSIZE, (soft, hard))
        while not target.read_bytes()[target.stat().st_size - 1000:].count(b"the last one"):
            self.assertIsNone(live.process.poll())
            live.send([b"\xff" * 6 + b"\x02" * 6 + b"\x88\xb5" + b"the last one".ljust(60)])  # until there is room
            time.sleep(0.01)
        status, out, err = live.end(interrupt=True)
        self.assertEqual(status, 2, err)
        self.assertRegex(words, r"^stag: cannot write .*out\.pcapng: File too large; \d+ packets? not written so far$")
        captured = jsonl(out)[-1]
        self.assertGreaterEqual(captured["not_written"], 200)
        found = subprocess.run(["tshark", "-r", str(target), "-T", "fields", "-e", "frame.cap_len"], check=True, capture_output=True,
                               text=True).stdout.split()
        self.assertEqual(len(found), captured["frames"] - captured["not_written"])
        self.assertGreater(len(found), 200)

    def rows_without_the_next_file(self, take, give_back):
        """Nothing is lost, as the last file goes on."""
        frames = frames_of(REAL / "rxe-nfs3.pcap.zst")[:200]
        live = Live("-i", "right", "-w", str(self.at / "rows/a.pcapng"), "--rotate-size", "64K", "--format", "jsonl")
        live.send(frames)
        self.await_packets_of_row(200)
        give = take(live.process.pid)
        live.send(frames)
        words = live.process.stderr.readline()
        give_back(give)
        files, sent = len(list((self.at / "rows").iterdir())), 400
        while len(list((self.at / "rows").iterdir())) == files:  # until the next one is tried
            self.assertIsNone(live.process.poll())
            live.send(frames[:20])
            sent += 20
            time.sleep(0.05)
        status, out, err = live.end(interrupt=True)
        self.assertEqual(status, 0, err)
        captured = jsonl(out)[-1]
        self.assertEqual((captured["not_written"], captured["frames"]), (0, sent))
        rows = [subprocess.run(["tshark", "-r", file, "-T", "fields", "-e", "frame.len"], check=True, capture_output=True, text=True)
                for file in captured["files"]]
        self.assertEqual(sum(len(row.stdout.split()) for row in rows), sent)
        return words

    def await_packets_of_row(self, count):
        while sum(self.packets_in(file) for file in (self.at / "rows").iterdir()) < count:
            time.sleep(0.01)

    def test_rows_whose_folder_goes_away(self):
        (self.at / "rows").mkdir()

        def take(_):
            (self.at / "rows").rename(self.at / "away")

        def give_back(_):
            (self.at / "away").rename(self.at / "rows")
        self.assertRegex(self.rows_without_the_next_file(take, give_back), r"^stag: cannot write .*: No such file or directory$")

    def test_rows_without_a_descriptor(self):
        (self.at / "rows").mkdir()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

        def take(process):
            resource.prlimit(process, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{process}/fd")), hard))
            return process
        self.assertRegex(self.rows_without_the_next_file(
            take, lambda process: resource.prlimit(process, resource.RLIMIT_NOFILE, (hard, hard))),
            r"^stag: cannot write .*: Too many open files$")

    def test_a_trigger_without_a_folder(self):
        """What it is about stays in memory until there is one."""
        target, frames = self.at / "later/out.pcapng", frames_of(REAL / "rxe-rdma_error.pcap")
        live = Live("-i", "right", "--trigger", "error", "--after", "3s", "-w", str(target), "--format", "jsonl")
        live.send(frames)
        self.assertRegex(live.process.stderr.readline(), r"^stag: cannot write .*: No such file or directory$")
        target.parent.mkdir()
        status, out, err = live.end()  # by itself
        self.assertEqual(status, 0, err)
        self.assertEqual((jsonl(out)[-1]["files"], jsonl(out)[-1]["not_written"]), ([str(target)], 0))
        self.assertEqual(len(self.transactions(target)), len(self.transactions(REAL / "rxe-rdma_error.pcap")))

    def test_without_memory_to_analyse(self):
        """The analysis begins anew, and every packet is in the file, unless it can't be scrubbed."""
        if os.environ.get("STAG_SANITIZED") not in (None, "", "OFF"):
            return  # a sanitizer takes all of the address space
        frames = [frame for name in ("rxe-nfs3.pcap.zst", "rxe-nfs4.1.pcap.zst") for frame in frames_of(REAL / name)]
        key = self.at / "site.key"
        key.write_text("ab" * 32 + "\n")
        for more in ([], ["--snap", "headers"], ["--scrub", str(key)]):
            target = self.at / "out.pcapng"
            live = Live("-i", "right", "-w", str(target), "--format", "jsonl", "--count", str(10 + len(frames)), *more)
            live.send(frames[:10])
            with open(f"/proc/{live.process.pid}/statm", encoding="ascii") as statm:
                size = int(statm.read().split()[0]) * resource.getpagesize()
            resource.prlimit(live.process.pid, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
            live.send(frames)
            words = live.process.stderr.readline()
            resource.prlimit(live.process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            status, out, err = live.end()
            self.assertEqual(status, 2, err)
            self.assertRegex(words, r"^stag: no memory to analyse packets, at packet \d+: the analysis begins anew")
            captured = jsonl(out)[-1]
            self.assertEqual(captured["frames"], 10 + len(frames))
            self.assertEqual(captured["not_written"] > 0, "--scrub" in more)
            self.assertEqual(self.packets_in(target), captured["frames"] - captured["not_written"])

    def test_refused(self):
        file = str(self.at / "x.pcapng")
        self.assertIn("there is no device nosuch; stag capture --list", self.refused("-i", "nosuch", "-w", file))
        self.assertIn("idle0 is down: ip link set idle0 up", self.refused("-i", "idle0", "-w", file))
        self.assertIn('filter "udp prot 4791": ', self.refused("-i", "right", "-w", file, "udp", "prot", "4791"))
        self.assertIn("No such file or directory", self.refused("-i", "right", "-w", str(self.at / "no/x.pcapng")))
        self.assertIn("has no hardware timestamps", self.refused("-i", "right", "-w", file, "--hardware-time"))
        for options, part in [(["-w", file], "which device?"), (["-i", "right"], "what is to become of the packets?"),
                              (["-i", "right", "--check", "--keep", "3"], "--keep is for"),
                              (["-i", "right", "-w", "-", "--check"], "leaves no room"),
                              (["-i", "right", "-w", file, "--raw", "--check"], "--raw only writes"),
                              (["-i", "right", "-w", file, "--raw", "--snap", "headers"], "--raw only writes"),
                              (["-i", "right", "-w", file, "--raw", "--scrub", "k"], "--raw only writes"),
                              (["-i", "right", "--check", "--scrub", "k"], "are for -w FILE"),
                              (["-i", "right", "-w", file, "--snap", "all"], "all is not one of headers"),
                              (["-i", "right", "-w", file, "--scrub", "/dev/null"], "is no key"),
                              (["-i", "right", "-w", file, "--trigger", "latency"], "is not finding, error, rnr or latency>TIME"),
                              (["-i", "right", "-w", file, "--trigger", "latency>x"], "is not finding, error, rnr or latency>TIME"),
                              (["-i", "right", "-w", file, "--rotate-time", "1ms"], "is not a time of at least 1s"),
                              (["-i", "right", "-w", file, "--rotate-size", "1"], "is not a size of at least 64K"),
                              (["-i", "right", "-w", file, "--duration", "soon"], "is not a time"),
                              (["-i", "right", "-w", file, "--snaplen", "1"], "is not a size from 64 to 256K"),
                              (["-i", "right", "-w", file, "--count", "0"], "is not a number of packets")]:
            with self.subTest(options):
                self.assertIn(part, self.refused(*options))
        self.assertEqual(list(self.at.iterdir()), [])

    def test_list(self):
        done = subprocess.run([STAG, "capture", "--list", "--format", "jsonl"], check=True, capture_output=True, text=True)
        devices = {line["name"]: line for line in jsonl(done.stdout)}
        self.assertEqual((devices["right"]["state"], devices["right"]["usable"]), ("up", True))
        self.assertEqual((devices["idle0"]["state"], devices["idle0"]["usable"]), ("down", False))
        rows = subprocess.run([STAG, "capture", "--list", "--format", "csv", "--sort", "name"], check=True, capture_output=True,
                              text=True).stdout.splitlines()
        self.assertEqual(rows[0], "name,kind,state,usable,remark")
        self.assertEqual([row.split(",")[0] for row in rows[1:]], sorted(devices))
        text = subprocess.run([STAG, "capture", "--list"], check=True, capture_output=True, text=True).stdout
        self.assertRegex(text, r"(?m)^idle0 +network +down +cannot be captured: ip link set idle0 up$")


def prepare():
    for command in ["ip link add left mtu 65535 type veth peer name right mtu 65535", "ip link set left up", "ip link set right up",
                    "ip link set lo up", "ip link add idle0 type veth peer name idle1"]:
        subprocess.run(command.split(), check=True)


if __name__ == "__main__":
    STAG = os.path.abspath(sys.argv.pop(1))
    if "STAG_IN_NAMESPACE" not in os.environ:
        unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
        if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
            skips.skip("cli.capture", "this system allows no network namespaces")
        # No IPv6 there: the kernel's own packets would come between.
        script = 'for i in all default; do echo 1 > /proc/sys/net/ipv6/conf/$i/disable_ipv6; done 2> /dev/null; exec "$@"'
        os.environ["STAG_IN_NAMESPACE"] = "1"
        os.execvp("unshare", [*unshare, "sh", "-c", script, "sh", sys.executable, __file__, STAG, *sys.argv[1:]])
    try:
        prepare()
    except subprocess.CalledProcessError as trouble:
        skips.skip("cli.capture", f"this system has no virtual network devices ({trouble})")
    unittest.main()
