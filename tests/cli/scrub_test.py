# SPDX-License-Identifier: GPL-2.0-or-later
"""stag scrub on real captures: it tells the same as the original, and none of its secrets. The secrets are those that tshark finds in
the original, and the contents of files; checksums are judged by tshark, and the ICRC of RoCE by a few lines here.

scrub_test.py STAG    (runs as a unittest program)
"""
import json
import os
import pathlib
import re
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import wrap

STAG = sys.argv.pop(1)
REAL = pathlib.Path(__file__).parents[2] / "pcaps" / "real"
# Of the captures and of the tunnels: sanitizers take five times as long; with ./dev test --all: all.
NTH = 3 if os.environ.get("STAG_SANITIZED") else 1 if os.environ.get("STAG_TEST_ALL") else 2
CAPTURES = sorted(path for path in REAL.iterdir() if ".pcap" in path.name)[::NTH]
NFS3, NFS41, SIW41 = (REAL / f"{name}.pcap.zst" for name in ("rxe-nfs3", "rxe-nfs4.1", "siw-nfs4.1"))
# Fixed keys: what a random one gives may by chance be what it replaces, the shorter the likelier.
KEY, OTHER_KEY = ("".join(f"{byte * step % 256:02x}" for byte in range(1, 33)) + "\n" for step in (7, 11))
# What differs by design: digests of what was replaced, names of capture files, addresses.
REPLACED = {"call_sha256", "reply_sha256", "data_sha256", "file", "address"}
ANALYSES = ("connections", "transactions", "credits", "latency", "limits", "transport", "check")


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, check=False, timeout=300, **options)


def without_replaced(value):
    if isinstance(value, dict):
        return {key: without_replaced(inner) for key, inner in value.items() if key not in REPLACED}
    return [without_replaced(inner) for inner in value] if isinstance(value, list) else value


def told(capture, analysis):
    done = run(STAG, analysis, "--format", "jsonl", capture)
    return [without_replaced(json.loads(line)) for line in done.stdout.splitlines()]


def tshark(capture, *arguments):
    done = run("tshark", "-r", capture, "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o",
               "udp.check_checksum:TRUE", "-n", *arguments)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return done.stdout.decode(errors="replace").splitlines()


def field_values(capture, *fields):
    """All values of fields, one set for each."""
    wanted = [word for field in fields for word in ("-e", field)]
    found = [set() for _ in fields]
    for line in tshark(capture, "-T", "fields", "-E", "separator=/t", "-E", "aggregator=\x01", *wanted):
        for values, column in zip(found, line.split("\t")):
            values.update(value for value in column.split("\x01") if value)
    return found


def frames(path):
    """The frames of a little-endian pcap file with nanoseconds."""
    data = path.read_bytes()
    assert data[:4] == struct.pack("<I", 0xa1b23c4d)
    at = 24
    while at < len(data):
        size, wire = struct.unpack_from("<II", data, at + 8)
        yield data[at + 16:at + 16 + size], wire
        at += 16 + size


def icrc_is_right(frame):
    """Of RoCEv2 over IPv4 in Ethernet: InfiniBand Architecture annex A17, 7.8.1."""
    total = struct.unpack_from(">H", frame, 16)[0]
    packet = bytearray(frame[14:14 + total])
    for masked in (1, 8, 10, 11, 26, 27, 32):  # TOS, TTL, checksums, reserved byte of the BTH
        packet[masked] = 0xff
    return zlib.crc32(b"\xff" * 8 + bytes(packet[:-4])) == struct.unpack_from("<I", packet, total - 4)[0]


class Base(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.directory)
        self.key = self.directory / "site.key"
        self.key.write_text(KEY)

    def scrub(self, *captures, name="out.pcap", key=None, keep=()):
        out = self.directory / name
        done = run(STAG, "scrub", *captures, "-w", out, "--key", key or self.key, *keep)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out


class Real(Base):
    def test_tells_the_same(self):
        for capture in CAPTURES:
            out = self.scrub(capture)
            for analysis in ANALYSES:
                with self.subTest(capture=capture.name, analysis=analysis):
                    self.assertEqual(told(capture, analysis), told(out, analysis))

    def test_frames_lengths_and_times_stay(self):
        for capture in CAPTURES:
            columns = ("-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "frame.cap_len")
            with self.subTest(capture=capture.name):
                self.assertEqual(tshark(capture, *columns), tshark(self.scrub(capture), *columns))

    def test_no_new_trouble_for_wireshark(self):
        bad = ("-Y", "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0 || "
               "icmpv6.checksum.status == 0 || igmp.checksum.status == 0", "-T", "fields", "-e", "frame.number")
        for capture in CAPTURES:
            with self.subTest(capture=capture.name):
                self.assertLessEqual(set(tshark(self.scrub(capture), *bad)), set(tshark(capture, *bad)))

    def test_icrc(self):
        for capture in (NFS3, NFS41, REAL / "rxe-loss-nfs3.pcap.zst"):
            out = self.scrub(capture)
            judged = [icrc_is_right(frame) for frame, wire in frames(out)
                      if len(frame) == wire and frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[36:38] == b"\x12\xb7"]
            self.assertGreater(len(judged), 100)
            self.assertTrue(all(judged), capture.name)

    def test_no_secret_is_left(self):
        for capture in CAPTURES:
            path = self.scrub(capture)
            out, heads = path.read_bytes(), b"".join(self.heads(path))
            with self.subTest(capture=capture.name):
                for secret in self.secrets(capture):
                    self.assertNotIn(secret, heads if len(secret) == 4 else out)
                windows = self.windows(capture)
                left = [at for at in range(len(out) - 15) if out[at:at + 16] in windows]
                self.assertEqual(left, [])

    def heads(self, path):
        """What holds addresses of four bytes: what is as short occurs by chance elsewhere."""
        for frame, _ in frames(path):
            management = frame[36:38] == b"\x12\xb7" and frame[42:43] == b"\x64"
            yield frame if management or frame[12:14] == b"\x08\x06" else frame[:34]

    def secrets(self, capture):
        names, machines, owners, handles, macs, ipv4, ipv6 = field_values(
            capture, "nfs.name", "rpc.auth.machinename", "nfs.fattr4_owner", "nfs.fhandle", "eth.addr", "ip.addr", "ipv6.addr")
        # Shorter names are in any long enough file of letters.
        for text in names | machines | owners:
            if len(text) > 5:
                yield text.encode()
        for handle in handles:
            yield bytes.fromhex(handle.replace(":", ""))[:16]
        for mac in macs - {"ff:ff:ff:ff:ff:ff"}:
            yield mac.encode()
            yield bytes.fromhex(mac.replace(":", ""))
        for address in ipv4:
            yield address.encode() + b"."
            yield socket.inet_aton(address)
        for address in ipv6:
            yield socket.inet_pton(socket.AF_INET6, address)

    def windows(self, capture):
        """16 bytes, at every fourth byte, of the contents of files."""
        contents = self.directory / "contents"
        run(STAG, "extract", capture, "--out", contents)
        found = set()
        for file in contents.rglob("*") if contents.exists() else ():
            data = file.read_bytes() if file.is_file() else b""
            found.update(window for at in range(0, len(data) - 15, 4) if len(set(window := data[at:at + 16])) > 6)
        shutil.rmtree(contents, ignore_errors=True)
        return found


class Tunnels(Base):
    def test_each(self):
        outer = bytes([192, 0, 2, 1, 192, 0, 2, 2])
        for capture in (REAL / "rxe-rdma_error.pcap", REAL / "siw-rdma_error.pcap"):
            records = list(wrap.read(capture))
            inner = {frame[26:34] for frame, _ in frames(self.scrub(capture, keep=("--keep", "addresses"))) if frame[12:14] == b"\x08\0"}
            self.assertTrue(inner)
            for name, wrapper in list(wrap.WRAPPERS.items())[::NTH]:
                with self.subTest(capture=capture.name, tunnel=name):
                    path = self.directory / "wrapped.pcap"
                    wrap.write(path, wrap.wrapped(records, wrapper)[0])
                    out = self.scrub(path)
                    for analysis in ("connections", "transactions", "check"):
                        self.assertEqual(told(path, analysis), told(out, analysis))
                    for addresses in inner | {outer, wrap.IP6, wrap.MAC}:
                        self.assertNotIn(addresses, out.read_bytes())


    def test_other_ports(self):
        """Tunnels on ports that only the options name."""
        ports = {"vxlan": ("--vxlan-port", 8473, 4789), "geneve": ("--geneve-port", 7777, 6081)}
        records = list(wrap.read(REAL / "rxe-rdma_error.pcap"))
        for name, (option, port, usual) in ports.items():
            with self.subTest(name):
                path, out = self.directory / "wrapped.pcap", self.directory / "out.pcap"
                made = [(ns, data.replace(struct.pack(">H", usual), struct.pack(">H", port), 1), wire)
                        for ns, data, wire in wrap.wrapped(records, wrap.WRAPPERS[name])[0]]
                wrap.write(path, made)
                plain = self.scrub(path)
                self.assertNotEqual(told(path, "transactions"), told(REAL / "rxe-rdma_error.pcap", "transactions"))
                self.assertEqual(told(plain, "transactions"), told(path, "transactions"))
                out = self.scrub(path, keep=(option, port))
                for analysis in ("transactions", "check"):
                    lines = [run(STAG, analysis, "--format", "jsonl", option, port, capture).stdout.splitlines() for capture in (path, out)]
                    lines = [[without_replaced(json.loads(line)) for line in capture] for capture in lines]
                    self.assertEqual(lines[0], lines[1])
                    self.assertTrue(lines[0])


def names_in(capture, directory):
    out = directory / "extracted"
    done = run(STAG, "extract", "--format", "jsonl", capture, "--out", out)
    shutil.rmtree(out)
    return {json.loads(line)["name"] for line in done.stdout.splitlines()} - {None}


class Keys(Base):
    def test_the_same_key_gives_the_same_names(self):
        first, second = names_in(NFS41, self.directory), names_in(SIW41, self.directory)
        self.assertGreater(len(first & second), 3)
        scrubbed = [names_in(self.scrub(capture), self.directory) for capture in (NFS41, SIW41)]
        self.assertEqual([len(names) for names in scrubbed], [len(first), len(second)])
        self.assertEqual(len(scrubbed[0] & scrubbed[1]), len(first & second))
        self.assertEqual(self.scrub(NFS41, name="a.pcap").read_bytes(), self.scrub(NFS41, name="b.pcap").read_bytes())
        another = self.directory / "other.key"
        another.write_text(OTHER_KEY)
        other = names_in(self.scrub(NFS41, key=another), self.directory)
        self.assertFalse(other & scrubbed[0])

    def test_key_files(self):
        keys = [self.directory / "made.key", self.directory / "also.key"]
        outs = [self.scrub(NFS41, name=key.stem + ".pcap", key=key).read_bytes() for key in keys]
        for key in keys:
            self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
            self.assertRegex(key.read_text(), "^[0-9a-f]{64}\n$")
        self.assertNotEqual(*(key.read_text() for key in keys))
        self.assertNotEqual(*outs)
        self.assertEqual(self.scrub(NFS41, name="again.pcap", key=keys[0]).read_bytes(), outs[0])
        self.key.write_text("x" * 64)
        done = run(STAG, "scrub", NFS41, "-w", self.directory / "none.pcap", "--key", self.key)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"is no key", done.stderr)
        self.assertFalse(list(self.directory.glob("none*")))

    def test_without_a_key_it_is_random_and_said(self):
        outs = [self.directory / name for name in ("a.pcap", "b.pcap")]
        for out in outs:
            done = run(STAG, "scrub", NFS41, "-w", out)
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"random key", done.stderr)
        self.assertNotEqual(*(out.read_bytes() for out in outs))

    def test_keep(self):
        original = names_in(NFS41, self.directory)
        self.assertEqual(names_in(self.scrub(NFS41, keep=("--keep", "names")), self.directory), original)
        kept = self.scrub(NFS41, keep=("--keep", "names,addresses"))
        self.assertEqual(field_values(kept, "ip.addr", "eth.addr"), field_values(NFS41, "ip.addr", "eth.addr"))
        done = run(STAG, "scrub", NFS41, "-w", self.directory / "x", "--keep", "everything")
        self.assertEqual(done.returncode, 2)

    def test_keep_data_hash(self):
        def digests(capture):
            return [line["data_sha256"] for line in map(json.loads, run(STAG, "transactions", "--format", "jsonl", capture)
                                                        .stdout.splitlines()) if line["data_bytes"]]
        original, scrubbed = digests(NFS41), digests(self.scrub(NFS41, keep=("--keep", "data-hash")))
        self.assertEqual(len(original), len(scrubbed))
        self.assertEqual(len(set(original)), len(set(scrubbed)))
        self.assertEqual(len(set(zip(original, scrubbed))), len(set(original)))
        self.assertFalse(set(original) & set(scrubbed) - {None})


class Use(Base):
    def test_summary(self):
        out = self.directory / "out.pcapng"
        done = run(STAG, "scrub", NFS3, NFS41, "-w", out, "--key", self.key, "--format", "jsonl")
        summary = json.loads(done.stdout)
        self.assertEqual(summary["type"], "scrub")
        self.assertEqual(summary["frames"], len(tshark(NFS3)) + len(tshark(NFS41)))
        self.assertEqual(summary["frames"], len(tshark(out)))
        self.assertGreater(min(summary["replaced"].values()), 0)

    def test_compressed(self):
        plain = self.scrub(NFS41, name="plain.pcap").read_bytes()
        packed = self.scrub(NFS41, name="packed.pcap.zst")
        self.assertEqual(run("zstd", "-dcq", packed).stdout, plain)
        self.assertEqual(told(packed, "transactions"), told(NFS41, "transactions"))
        self.assertEqual({path.name for path in self.directory.iterdir()}, {"plain.pcap", "packed.pcap.zst", "site.key"})
        done = run(STAG, "scrub", NFS41, "-w", self.directory / "out.pcap.gz")
        self.assertEqual((done.returncode, b"not compressed with gzip" in done.stderr), (2, True))

    def test_standard_output(self):
        done = run(STAG, "scrub", "-", "-w", "-", "--key", self.key, "--quiet", input=self.scrub(NFS41).read_bytes())
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        (self.directory / "piped.pcapng").write_bytes(done.stdout)
        self.assertEqual(told(self.directory / "piped.pcapng", "transactions"), told(NFS41, "transactions"))

    def test_a_pipe_is_written_to_and_not_replaced(self):
        pipe = self.directory / "pipe.pcapng"
        os.mkfifo(pipe)
        with open(self.directory / "read.pcapng", "wb") as out, subprocess.Popen(["cat", pipe], stdout=out) as reader:
            done = run(STAG, "scrub", NFS41, "-w", pipe, "--key", self.key, "--quiet")
            reader.wait(60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode))
        self.assertEqual(told(self.directory / "read.pcapng", "transactions"), told(NFS41, "transactions"))

    def test_unknown_link_types_are_emptied(self):
        head = struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 147)
        (self.directory / "in.pcap").write_bytes(head + struct.pack("<IIII", 7, 8, 4, 9) + b"abcd")
        done = run(STAG, "scrub", self.directory / "in.pcap", "-w", self.directory / "out.pcap")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"1 frame of a link type that is not known emptied", done.stderr)
        out = (self.directory / "out.pcap").read_bytes()
        self.assertEqual(out[20:24] + out[24:], head[20:24] + struct.pack("<IIII", 7, 8, 4, 9) + bytes(4))

    def test_damaged_captures(self):
        whole = self.scrub(NFS41).read_bytes()
        (self.directory / "cut.pcap").write_bytes(whole[:200001])
        out = self.directory / "again.pcap"
        done = run(STAG, "scrub", self.directory / "cut.pcap", "-w", out)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"what comes before is scrubbed", done.stderr)
        self.assertEqual(len(list(frames(out))), len(list(self.whole_frames(whole[:200001]))))

    def whole_frames(self, data):
        at = 24
        while at + 16 <= len(data) and at + 16 + struct.unpack_from("<I", data, at + 8)[0] <= len(data):
            yield at
            at += 16 + struct.unpack_from("<I", data, at + 8)[0]

    def test_what_is_read_is_not_overwritten(self):
        capture = self.directory / "in.pcap"
        shutil.copy(REAL / "rxe-rdma_error.pcap", capture)
        for out in (capture, self.key):
            before = out.read_bytes()
            done = run(STAG, "scrub", capture, "-w", out, "--key", self.key)
            self.assertEqual((done.returncode, b"the command reads" in done.stderr), (2, True))
            self.assertEqual(out.read_bytes(), before)

    def test_no_directory_to_write_to(self):
        done = run(STAG, "scrub", NFS41, "-w", self.directory / "none" / "out.pcap")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"cannot write", done.stderr)


if __name__ == "__main__":
    unittest.main()
