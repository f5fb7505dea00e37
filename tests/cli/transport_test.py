# SPDX-License-Identifier: GPL-2.0-or-later
"""stag transport: real captures, some with loss, against an independent count (transport_count.py); captures that are made here
out of generated ones by taking packets away, sending them again and marking them, of which what must come out is known.

transport_test.py STAG    (runs as a unittest program)
"""
import pathlib
import re
import struct
import unittest
import xml.etree.ElementTree as ElementTree

from report_runs import Base, REAL, ROOT, SANITIZED, STAG, lines, sample, stag
from transport_count import differences

CASES = ROOT / "pcaps" / "cases"
RNR = CASES / "034-rnr-at-client-roce.pcap"  # the client has no receive for a Reply
QUIET = CASES / "143-backward-overrun-roce.pcap"
WRITES = CASES / "050-write-after-reply-roce.pcap"
IWARP = CASES / "152-ok-rkey-reuse-iwarp.pcap"
LOSS = ROOT / "pcaps" / "real" / "rxe-loss-nfs3.pcap.zst"
TCP_LOSS = ROOT / "pcaps" / "real" / "siw-loss-nfs3.pcap.zst"
ROCE_MEMBERS = ["type", "connection", "direction", "fabric", "packets", "bytes", "retransmitted_packets", "repeated_responses",
                "lost_from_capture", "out_of_order", "naks", "rnr_stall_us", "go_back_n", "timeouts", "ce_packets", "cnp",
                "changed_retransmissions"]
IWARP_MEMBERS = ["type", "connection", "direction", "fabric", "segments", "bytes", "retransmitted_segments", "out_of_order",
                 "zero_windows", "resets", "crc_errors"]
BTH, IP = 14 + 20 + 8, 14  # Ethernet, IPv4, UDP


def frames(path):
    """[seconds, nanoseconds, bytes] of a pcap."""
    data, at, out = path.read_bytes(), 24, []
    while at < len(data):
        seconds, part, captured, _ = struct.unpack("<IIII", data[at:at + 16])
        out.append([seconds, part, bytearray(data[at + 16:at + 16 + captured])])
        at += 16 + captured
    return out


def pcap(content):
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)]
    for seconds, part, data in content:
        out.append(struct.pack("<IIII", seconds, part, len(data), len(data)) + data)
    return b"".join(out)


def rows(*arguments, data=None):
    done = stag("transport", "--format", "jsonl", *arguments, data=data)
    return {(line["connection"], line["direction"]): line for line in lines(done)}


def later(content, place):
    """All from there on come ten seconds later: what is sent again is no copy that the capture made."""
    return content[:place] + [[seconds + 10, part, data] for seconds, part, data in content[place:]]


class Counts(Base):
    maxDiff = None

    def test_real_captures(self):
        compared = 0
        for path in sample(REAL + sorted((ROOT / "pcaps" / "real" / "lab").glob("*.pcap*")), 3):
            wrong, count = differences(STAG, path)
            self.assertEqual(wrong, [], path.name)
            compared += count
        self.assertGreater(compared, 15 if SANITIZED else 50)

    def test_the_real_ones_have_losses(self):
        found = rows(str(LOSS))
        server, client = found[1, "s2c"], found[1, "c2s"]
        self.assertEqual((server["retransmitted_packets"], server["go_back_n"], server["timeouts"]), (16, 2, 0))
        self.assertEqual((client["retransmitted_packets"], client["timeouts"], client["naks"]["sequence"]), (2, 2, 2))
        found = rows(str(TCP_LOSS))
        self.assertEqual([found[1, d]["retransmitted_segments"] for d in ("c2s", "s2c")], [1, 4])

    def test_members(self):
        for path, members in ((RNR, ROCE_MEMBERS), (IWARP, IWARP_MEMBERS)):
            found = lines(stag("transport", "--format", "jsonl", str(path)))
            self.assertEqual([line["direction"] for line in found], ["c2s", "s2c"])
            for line in found:
                self.assertLessEqual(set(members), set(line))
                self.assertEqual(line["type"], "transport")
        self.assertEqual(list(rows(str(RNR))[1, "c2s"]["naks"]),
                         ["sequence", "rnr", "invalid_request", "remote_access", "remote_operation"])
        two = lines(stag("transport", "--format", "jsonl", str(RNR), str(IWARP)))
        self.assertEqual([line["file"] for line in two], [str(RNR)] * 2 + [str(IWARP)] * 2)

    # Frame 11 is the NAK, frame 12 the packet again; tshark -T fields -e frame.time_delta says 430 us.
    def test_rnr(self):
        found = rows(str(RNR))
        self.assertEqual(found[1, "c2s"]["naks"]["rnr"], 1)
        self.assertEqual(found[1, "s2c"]["rnr_stall_us"], 430)
        self.assertEqual(found[1, "c2s"]["rnr_stall_us"], 0)
        self.assertEqual((found[1, "s2c"]["timeouts"], found[1, "s2c"]["go_back_n"]), (0, 0))

    def requests(self, content):
        """Indexes of the frames with Sends and RDMA Writes, by (source address, destination queue pair)."""
        out = {}
        for i, (_, _, data) in enumerate(content):
            if data[12:14] == b"\x08\x00" and data[23] == 17 and data[36:38] == b"\x12\xb7" and data[BTH] < 12:
                out.setdefault((bytes(data[26:30]), bytes(data[BTH + 5:BTH + 8])), []).append(i)
        return out

    def same_but(self, content, changes):
        before, after = rows(str(QUIET)), rows("-", data=pcap(content))
        for key, line in after.items():
            expected = {**before[key], **changes.get(key[1], {})}
            self.assertEqual({k: v for k, v in line.items() if k in ROCE_MEMBERS}, {k: expected[k] for k in ROCE_MEMBERS})

    def client_sends(self):
        content = frames(QUIET)
        return content, next(sends for (source, _), sends in self.requests(content).items() if source[3] == 2)

    def test_congestion_experienced(self):
        content, sends = self.client_sends()
        content[sends[0]][2][IP + 1] |= 3
        content[sends[1]][2][IP + 1] |= 2  # capable only
        self.same_but(content, {"c2s": {"ce_packets": 1}})

    def test_congestion_notifications(self):
        content, sends = self.client_sends()
        seconds, part, data = content[sends[2]]
        packet = data[:BTH] + struct.pack(">BBHBBHII", 0x81, 0, 0xffff, 0x40, 0, 0, 0, 0)[:4] + b"\x40" + data[BTH + 5:BTH + 8]
        packet += bytes(4) + bytes(16) + bytes(4)
        packet[IP + 2:IP + 4] = struct.pack(">H", len(packet) - IP)
        packet[IP + 24:IP + 26] = struct.pack(">H", len(packet) - IP - 20)
        content.insert(sends[2] + 1, [seconds, part, packet])
        self.same_but(content, {"c2s": {"cnp": 1}})

    def test_a_retransmission_and_a_changed_one(self):
        for change in (False, True):
            content, sends = self.client_sends()
            seconds, part, data = content[sends[1]]
            again = bytearray(data)
            again[-12] ^= change
            content = later(content[:sends[1] + 1] + [[seconds, part, again]] + content[sends[1] + 1:], sends[1] + 1)
            size = rows("-", data=pcap(content))[1, "c2s"]["bytes"] - rows(str(QUIET))[1, "c2s"]["bytes"]
            packets = rows(str(QUIET))[1, "c2s"]["packets"]
            self.assertGreater(size, 40)
            self.same_but(content, {"c2s": {"retransmitted_packets": 1, "timeouts": 1, "packets": packets + 1,
                                            "bytes": rows(str(QUIET))[1, "c2s"]["bytes"] + size,
                                            "changed_retransmissions": int(change)}})

    def test_loss_in_the_capture(self):
        content, sends = self.client_sends()
        before = rows(str(QUIET))[1, "c2s"]
        del content[sends[1]]
        after = rows("-", data=pcap(content))[1, "c2s"]
        self.assertEqual((after["lost_from_capture"], after["retransmitted_packets"]), (1, 0))
        self.assertEqual(after["packets"], before["packets"] - 1)

    def test_changed_and_repeated_segments(self):
        content = frames(IWARP)
        place = max(range(len(content)), key=lambda i: len(content[i][2]))
        direction = "c2s" if content[place][2][29] == 2 else "s2c"
        before = rows(str(IWARP))[1, direction]
        for change in (False, True):
            again = bytearray(content[place][2])
            again[-9] ^= change
            made = content[:place + 1] + [[*content[place][:2], again]] + content[place + 1:]
            after = rows("-", data=pcap(later(made, place + 1)))[1, direction]
            self.assertEqual(after["retransmitted_segments"], before["retransmitted_segments"] + 1)
            self.assertEqual(after["changed_retransmissions"], int(change))
            self.assertEqual(after["out_of_order"], 0)


class Text(unittest.TestCase):
    def test_table_and_sentences(self):
        text = stag("transport", str(RNR)).stdout.decode()
        self.assertRegex(text, r"(?m)^1   RoCEv2     10\.0\.0\.2 QP 0x\w+ -> 10\.0\.0\.1 QP")
        self.assertRegex(text, r"(?m)^    sent by        packets      bytes  sent again  not captured  NAKs$")
        self.assertIn("the client had no receive ready for PSN", text)
        self.assertIn("(RNR NAK in frame 11, timer 10.0us)", text)
        self.assertIn("the server waited 430us, until frame 12", text)
        self.assertNotIn("lost some", text)  # the wire did not
        text = stag("transport", str(LOSS)).stdout.decode()
        self.assertRegex(text, r"the client missed a packet and said so in frame \d+; the server went back: \d+ packets again")
        self.assertRegex(text, r"the client sent 1 packet again from PSN \d+ on, frame 1018, with no NAK before: a time-out, ")
        self.assertIn("path MTU     1024", text)
        self.assertNotIn("not in the capture", text)

    def test_a_quiet_connection_has_no_sentences(self):
        text = stag("transport", str(QUIET)).stdout.decode()
        self.assertEqual(len(text.splitlines()), 6, text)

    def test_episodes(self):
        text = stag("transport", "--episodes", "1", str(LOSS)).stdout.decode()
        self.assertRegex(text, r"(?m)^ +\.\.\.  3 episodes left out, which cost less; --episodes all shows them$")
        self.assertEqual(len(re.findall(r"(?m)^ +\d+\.\d{6}  ", stag("transport", "--episodes", "all", str(LOSS)).stdout.decode())), 4)

    def test_color(self):
        self.assertIn(b"\x1b[", stag("transport", "--color", "always", str(RNR)).stdout)
        self.assertNotIn(b"\x1b[", stag("transport", str(RNR)).stdout)

    def test_which_connections(self):
        perftest = str(ROOT / "pcaps" / "real" / "rxe-perftest.pcap.zst")
        done = stag("transport", perftest)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"without RPC-over-RDMA; --all lists them", done.stderr)
        self.assertGreater(len(rows("--all", perftest)), 2)
        self.assertEqual(rows("--connection", "1", str(RNR)), rows(str(RNR)))
        self.assertIn(b"no such connection in", stag("transport", "--connection", "2", str(RNR)).stderr)

    def test_wrong_use(self):
        for arguments in (["--connection", "0"], ["--episodes", "0"], ["--episodes", "few"], ["--format", "sarif"]):
            done = stag("transport", str(RNR), *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertTrue(done.stderr.startswith(b"stag: "), done.stderr)


class Picture(Base):
    SVG = "{http://www.w3.org/2000/svg}"

    def draw(self, *arguments):
        path = self.directory / "psns.svg"
        done = stag("transport", "--svg", str(path), *arguments)
        return done, ElementTree.parse(path).getroot() if path.exists() else None

    def classes(self, svg):
        return [path.get("class") for path in svg.iter(self.SVG + "path")]

    def test_a_panel_for_each_side(self):
        done, svg = self.draw(str(LOSS))
        self.assertEqual(done.stdout, stag("transport", str(LOSS)).stdout)
        self.assertIn("rxe-loss-nfs3.pcap.zst", svg.find(self.SVG + "title").text)
        self.assertIn("Connection 1, PSNs of the server: 695 packets, 16 sent again, 2 NAKs by the other side.",
                      svg.find(self.SVG + "desc").text)
        classes = self.classes(svg)
        for name in ("line sent", "line acknowledged"):
            self.assertEqual(classes.count(name), 2 + 1, name)  # and the legend
        self.assertEqual(classes.count("again"), 16 + 2 + 1)
        self.assertEqual(classes.count("nak"), 2 + 1)
        titles = [title.text for title in svg.iter(self.SVG + "title")]
        self.assertIn("PSN 214517 sent again, frame 1018, first in frame 1013", titles)
        self.assertEqual(len([title for title in titles if title.startswith("sequence NAK, PSN ")]), 2)

    def test_waits(self):
        _, svg = self.draw(str(RNR))
        self.assertIn("wait", self.classes(svg))
        titles = [title.text for title in svg.iter(self.SVG + "title")]
        self.assertIn("PSN 3347985 waited for a receive: 430us, frame 12, first in frame 11", titles)

    def test_tcp(self):
        _, svg = self.draw(str(TCP_LOSS))
        self.assertIn("Connection 1, TCP bytes of the client: 315 segments, 1 sent again.", svg.find(self.SVG + "desc").text)
        self.assertEqual(self.classes(svg).count("again"), 1 + 4 + 1)

    def test_names_are_escaped_and_nothing_is_drawn_of_nothing(self):
        path = self.file("<a>&.pcap", QUIET.read_bytes())
        _, svg = self.draw(path)
        self.assertIn("<a>&.pcap", svg.find(self.SVG + "title").text)
        (self.directory / "psns.svg").unlink()
        done, svg = self.draw("--connection", "7", str(RNR))
        self.assertIsNone(svg)
        self.assertIn(b"is not written: there is nothing to draw", done.stderr)

    def test_wrong_use(self):
        for arguments in (["--svg", "/nonexistent/x.svg", str(RNR)], ["--svg", "x.svg", str(RNR), str(QUIET)]):
            done = stag("transport", *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertTrue(done.stderr.startswith(b"stag: "), done.stderr)


if __name__ == "__main__":
    unittest.main()
