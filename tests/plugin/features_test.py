# SPDX-License-Identifier: GPL-2.0-or-later
"""What the plugin offers beside the tree of a frame: links, credits, statistics, Follow, exported files, tunnels, Decode As.

features_test.py PLUGIN WIRESHARK_VERSION STAG CAPTURES [unittest options]

CAPTURES: the directory pcaps/real. What is expected comes from the results of an independent decoder beside the captures, from
`stag extract` and `stag check`, or from the way the input was made."""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

from damage_test import read, write
from tshark import Wireshark

OPTIONS = None
CAPTURES = ["rxe-nfs4.1", "siw-nfs4.1"]
FORMS = {"short": "Short", "chunked": "Chunked", "long": "Long", "long-chunked": "Long and Chunked", "error": "Error"}


class FeaturesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wireshark = Wireshark(OPTIONS.plugin, OPTIONS.version, os.environ.get("STAG_PLUGIN_PRELOAD"))
        cls.addClassCleanup(cls.wireshark.close)
        cls.directory = pathlib.Path(cls.wireshark.directory)

    def captures(self):
        for name in CAPTURES:
            with self.subTest(capture=name):
                yield self.path(name)

    def path(self, name):
        return next(pathlib.Path(OPTIONS.captures).glob(f"{name}.pcap*"))

    def expected(self, capture):
        name = capture.name.split(".pcap")[0]
        with open(pathlib.Path(OPTIONS.captures) / "expected" / f"{name}.jsonl") as file:
            return [json.loads(line) for line in file]

    def statistics(self, capture, *names):
        return self.wireshark.tshark(capture, "-q", *[option for name in names for option in ("-z", name)])

    # recovery/: what the simulator says that made the captures.
    def test_deliveries(self):
        cases = pathlib.Path(__file__).parents[1] / "cli" / "recovery"
        for name in ("04-reply-lost-behind", "14-rnr", "39-head-of-line", "02-clean-iwarp"):
            with self.subTest(name):
                right = json.loads((cases / f"{name}.json").read_text())["rpcs"]
                shown = {int(frame[0]): ((*delivered, None)[0], float(time[0]), sum(map(float, recovery)))
                         for frame, delivered, time, recovery in self.wireshark.fields(
                             cases / f"{name}.pcap", "rpcrdma.time", "frame.number", "rpcrdma.delivered_in", "rpcrdma.time",
                             "rpcrdma.phase.recovery", options=("-2",))}
                self.assertEqual(len(shown), len(right))
                for rpc in right:
                    delivered, time, recovery = shown[rpc["reply_frame"]]
                    self.assertEqual(int(delivered or rpc["reply_frame"]), rpc["delivered_frame"])
                    if not delivered:
                        self.assertAlmostEqual(time * 1e6, rpc["rtt_us"], delta=0.06)
                    self.assertAlmostEqual(recovery * 1e6, rpc["any"][0]["recovery"] or 0, delta=0.06)

    # Frames and the frames of first copies as `infiniband.bth.psn` of tshark shows them.
    def test_transport(self):
        capture = self.path("rxe-loss-nfs3")
        seen, again = {}, {}
        for frame, source, destination, opcode, psn in self.wireshark.fields(
                capture, "infiniband.bth", "frame.number", "ip.src", "infiniband.bth.destqp", "infiniband.bth.opcode",
                "infiniband.bth.psn"):
            if int(opcode[0]) > 12 or int(destination[0], 0) == 1:
                continue
            key = (source[0], destination[0], psn[0])
            if key in seen:
                again[int(frame[0])] = seen[key]
            else:
                seen[key] = int(frame[0])
        shown = {int(frame[0]): int(first[0]) for frame, first in self.wireshark.fields(
            capture, "rpcrdma.transport.retransmission", "frame.number", "rpcrdma.transport.retransmission_of")}
        self.assertEqual(len(shown), 18)
        self.assertEqual(shown, again)
        late = [int(frame[0]) for (frame,) in self.wireshark.fields(capture, "rpcrdma.transport.out_of_order", "frame.number")]
        self.assertEqual(len(late), 2)

    # Frame 11 is the NAK (timer code 1: 10 us), frame 12 the packet again, 430 us later.
    def test_waits_for_receives(self):
        capture = pathlib.Path(OPTIONS.captures).parent / "cases" / "034-rnr-at-client-roce.pcap"
        (nak,) = self.wireshark.fields(capture, "rpcrdma.transport.rnr_timer", "frame.number", "rpcrdma.transport.rnr_timer")
        self.assertEqual((int(nak[0][0]), float(nak[1][0])), (11, 0.00001))
        (end,) = self.wireshark.fields(capture, "rpcrdma.transport.rnr_stall", "frame.number", "rpcrdma.transport.rnr_stall",
                                       "rpcrdma.transport.rnr_nak")
        self.assertEqual((int(end[0][0]), float(end[1][0]), int(end[2][0])), (12, 0.00043, 11))

    def test_segments_and_packets_are_linked_both_ways(self):
        for capture in self.captures():
            calls = {}
            for frame, transaction in self.wireshark.fields(capture, "rpcrdma.rdma", "frame.number", "rpcrdma.call_in",
                                                            options=["-2"]):
                calls[int(frame[0])] = set(map(int, transaction))
            linked = 0
            for frame, moved, requested in self.wireshark.fields(
                    capture, "rpcrdma.role == 1", "frame.number", "rpcrdma.segment.moved_in",
                    "rpcrdma.segment.requested_in", options=["-2"]):
                for packet in moved + requested:
                    self.assertIn(int(frame[0]), calls[int(packet)])
                    linked += 1
            packets = self.wireshark.fields(capture, "rpcrdma.rdma.segment", "frame.number", "rpcrdma.rdma.segment")
            self.assertEqual(linked, sum(len(segments) for _, segments in packets))

    def test_calls_outstanding(self):
        for capture in self.captures():
            outstanding = 0
            rows = self.wireshark.fields(capture, "rpcrdma.credits.outstanding", "rpcrdma.role",
                                         "rpcrdma.credits.outstanding")
            for roles, values in rows:
                for role, value in zip(roles, values, strict=True):
                    outstanding += 1 if role == "1" else -1
                    self.assertEqual(int(value), outstanding)
            self.assertGreater(len(rows), 10)

    def test_response_times(self):
        for capture in self.captures():
            by_procedure, by_form = re.split(r"Call, Reply", self.statistics(capture, "rpcrdma,srt"))
            rows = [line.split() for line in by_procedure.splitlines() if re.match(r" +\d+ ", line)]
            answered = [line for line in self.expected(capture) if line["reply_frame"]]
            self.assertEqual(sum(int(words[-5]) for words in rows), len(answered))
            reads = sum("READ" in (line["ops"] or [line["name"]]) for line in answered)
            self.assertEqual(sum(int(words[-5]) for words in rows if words[-6] == "READ"), reads)
            forms = collections.Counter(f"{FORMS[line['call_form']]}, {FORMS[line['reply_form']]}" for line in answered)
            shown = {match[1]: int(match[2]) for match in
                     re.finditer(r"^ +\d+  (\S.*?\S) +(\d+)(?: +\d+\.\d+){4}$", by_form, re.M)}
            self.assertEqual(shown, forms)

    def test_tree(self):
        for capture in self.captures():
            lines = self.statistics(capture, "rpcrdma,tree").splitlines()
            counts = {match[1]: int(match[2]) for match in
                      (re.match(r" ?(\S.*?\S)  +(\d+) ", line) for line in lines) if match}
            procs = collections.Counter(
                proc for (values,) in self.wireshark.fields(capture, "rpcrdma.proc", "rpcrdma.proc") for proc in values)
            self.assertEqual(counts["RDMA_MSG"], procs["0"])
            self.assertEqual(counts.get("RDMA_NOMSG", 0), procs["1"])
            expected = self.expected(capture)
            self.assertEqual(counts.get("Write chunk", 0), sum(len(line["write_chunks"]) for line in expected))
            self.assertEqual(counts.get("Reply chunk", 0), sum(line["reply_chunk"] is not None for line in expected))
            self.assertEqual(counts.get("Read chunk", 0), sum(len(line["read_chunks"]) for line in expected))

    def test_findings(self):
        for capture in [*self.captures(), self.path("rxe-rdma_error")]:
            done = subprocess.run([OPTIONS.stag, "check", "--format", "jsonl", "--fail-on", "never", capture],
                                  capture_output=True, text=True, check=True)
            findings = [json.loads(line) for line in done.stdout.splitlines()][:-1]
            expected = collections.Counter((finding["rule"], finding["severity"]) for finding in findings
                                           if finding["type"] == "finding")
            shown = {(match[1], match[2]): int(match[3]) for match in
                     re.finditer(r"^([A-Z]+-\d+) *\|(\w+) *\| *(\d+) \|", self.statistics(capture, "rpcrdma,findings"),
                                 re.M)}
            self.assertEqual(shown, expected)

    def test_conversations_and_endpoints(self):
        for capture in self.captures():
            table = self.statistics(capture, "conv,rpcrdma")
            self.assertEqual(len(re.findall(r"<->", table)), 1, table)
            self.assertRegex(table, r"10\.0\.0\.[12].*<->.*10\.0\.0\.[12]")
            table = self.statistics(capture, "endpoints,rpcrdma")
            self.assertEqual(len(re.findall(r"^10\.0\.0\.[12] ", table, re.M)), 2, table)

    def test_follow(self):
        for capture in self.captures():
            text = self.statistics(capture, "follow,rpcrdma,raw,1")
            lines = [line.strip() for line in text.splitlines() if re.fullmatch(r"\t?[0-9a-f]+", line)]
            digests = collections.Counter(hashlib.sha256(bytes.fromhex(line)).hexdigest() for line in lines)
            expected = collections.Counter(line[digest] for line in self.expected(capture)
                                           for digest in ("call_sha256", "reply_sha256") if line[digest])
            self.assertEqual(digests, expected)

    def test_exported_files(self):
        for capture in self.captures():
            out = self.directory / "home" / f"objects-{capture.name}"
            self.wireshark.tshark(capture, "-q", "--export-objects", f"rpcrdma,{out}")
            with tempfile.TemporaryDirectory() as other:
                subprocess.run([OPTIONS.stag, "extract", "--quiet", capture, "--out", other], check=True,
                               stdout=subprocess.DEVNULL)
                expected = {file.name: file.read_bytes() for file in pathlib.Path(other).iterdir()}
            self.assertTrue(expected)
            # Of an empty file there is nothing to export.
            self.assertEqual({file.name: file.read_bytes() for file in out.iterdir()},
                             {name: data for name, data in expected.items() if data})

    def test_tunnels(self):
        ethernet = bytes.fromhex("020000000001020000000002")

        def ip(protocol, body):
            return (ethernet + b"\x08\x00" + struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, protocol, 0) +
                    bytes([192, 168, 0, 1, 192, 168, 0, 2]) + body)

        tunnels = {
            "vxlan": lambda frame: ip(17, struct.pack(">HHHH", 50000, 4789, 16 + len(frame), 0) +
                                      bytes.fromhex("0800000000002a00") + frame),
            "gre": lambda frame: ip(47, b"\0\0" + frame[12:]),
            "gre with Ethernet": lambda frame: ip(47, b"\0\0\x65\x58" + frame),
            "mpls": lambda frame: ethernet + b"\x88\x47" + struct.pack(">I", 16 << 12 | 0x100 | 64) + frame[14:],
            "ip in ip": lambda frame: ip(4, frame[14:]),
        }
        names = ["frame.number", "rpcrdma.xid", "rpcrdma.finding", "rpcrdma.rdma.segment_offset", "rpc.msgtyp",
                 "nfs.opcode"]
        for capture in self.captures():
            plain = self.directory / "home" / f"plain-{capture.name}.pcap"
            self.wireshark.run("editcap", "-F", "nsecpcap", "-r", str(self.wireshark.take(capture)), str(plain), "1-300")
            order, header, packets = read(plain)
            bare = self.wireshark.fields(plain, "rpcrdma", *names)
            self.assertGreater(len(bare), 50)
            for name, wrap in tunnels.items():
                with self.subTest(tunnel=name), tempfile.TemporaryDirectory() as directory:
                    path = pathlib.Path(directory) / f"{capture.name}-{name}.pcap".replace(" ", "-")
                    write(path, order, header, [(seconds, fraction, length + len(wrap(data)) - len(data), wrap(data))
                                                for seconds, fraction, length, data in packets])
                    self.assertEqual(self.wireshark.fields(path, "rpcrdma", *names), bare)

    def test_what_the_user_says_is_rpc_over_rdma(self):
        perftest = self.path("rxe-perftest")
        self.assertEqual(self.wireshark.fields(perftest, "rpcrdma.proc || rpcrdma.malformed", "frame.number"), [])
        for options in (["-o", "rpcrdma.queue_pairs:1-16777215"], ["-d", "infiniband,rpcrdma"]):
            with self.subTest(options=options):
                rows = self.wireshark.fields(perftest, "rpcrdma.proc || rpcrdma.malformed", "frame.number",
                                             options=options)
                self.assertNotEqual(rows, [])

    def test_what_is_ours_is_claimed(self):
        for capture in self.captures():
            self.assertEqual(self.wireshark.fields(capture, "rpcrdma.proc && data", "frame.number"), [])
            self.assertNotEqual(self.wireshark.fields(
                capture, "rpcrdma.proc && data", "frame.number",
                options=["--disable-heuristic", "rpcrdma1_ib", "--disable-heuristic", "rpcrdma1_iwarp"]), [])

    def test_profile(self):
        profile = self.directory / "home" / "profiles" / "RPC-over-RDMA"
        profile.mkdir(parents=True)
        source = pathlib.Path(__file__).resolve().parents[2] / "plugin" / "profile"
        for file in source.iterdir():
            (profile / file.name).write_bytes(file.read_bytes())
        capture = self.path("rxe-nfs4.1")
        output = self.wireshark.tshark(capture, "-C", "RPC-over-RDMA", "-Y", "frame.number == 306")
        for text in ("server to client", "NFS V4 SEQUENCE PUTFH READ", "Chunked", "4097 of 8192 bytes", " 64 ", "PVT-006",
                     "0.00883129"):
            self.assertIn(text, output)
        # Every filter of the profile is one that Wireshark accepts, coloring rules and buttons.
        filters = [line.split("@")[2] for line in (source / "colorfilters").read_text().splitlines()
                   if line.startswith("@")]
        filters += [line.split('","')[2] for line in (source / "dfilter_buttons").read_text().splitlines()
                    if line.startswith('"')]
        graphs = [line.split('","') for line in (source / "io_graphs").read_text().splitlines() if line.startswith('"')]
        filters += [name for graph in graphs for name in (graph[2], graph[6]) if name]
        self.assertGreater(len(filters), 20)
        for text in filters:
            self.wireshark.tshark(capture, "-c", "1", "-Y", text)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin")
    parser.add_argument("version", help="of Wireshark, like 4.0")
    parser.add_argument("stag")
    parser.add_argument("captures")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)


if __name__ == "__main__":
    main()
