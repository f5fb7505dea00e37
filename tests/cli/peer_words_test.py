# SPDX-License-Identifier: GPL-2.0-or-later
"""stag summary: what peers say of their own trouble: status flags of SEQUENCE (RFC 8881 section 18.46), errors of NFS,
copies and recalls that nothing ends (RFC 7862 section 15.2, RFC 8881 section 20.2), refused connections. And that a frame
which was not captured makes none of it.

peer_words_test.py STAG    (runs as a unittest program)
"""
import struct
import unittest

import wrap

from report_runs import Base, ROOT, SANITIZED, lines, stag
from roce_wire import PUTFH_RESULT, Roce, cb_sequence, cb_sequence_result, opaque, putfh, sequence, sequence_result, words

STATEID = bytes(4) + b"a delegation"
COPY_ID = bytes(4) + b"of this copy"


def copy(callback=COPY_ID):
    """COPY of 4096 bytes within the server, and its result: asynchronous with a callback id."""
    asked = words(60) + STATEID + STATEID + struct.pack(">QQQ", 0, 0, 4096) + words(1, 0, 0)
    response = words(1) + callback if callback else words(0)
    return asked, words(60, 0) + response + struct.pack(">QI", 0, 2) + b"verifier" + words(1, 0 if callback else 1)


class PeerWords(Base):
    def wrong(self, wire, *kinds, without=()):
        path = self.directory / "capture.pcap"
        wire.save(path, without)
        (line,) = lines(stag("summary", "--format", "jsonl", str(path)))
        self.line = line
        return [one for one in line["wrong"] if one["kind"] in kinds]

    def expect(self, wrong, **members):
        self.assertEqual(len(wrong), 1, wrong)
        for name, value in members.items():
            self.assertEqual(wrong[0][name], value, wrong)
        return wrong[0]["text"]

    # --- Status flags

    def flagged(self, *flags):
        wire, frames = Roce(), []
        for number, one in enumerate(flags, 1):
            frames.append(wire.compound(number, [sequence(number)], [sequence_result(number, one)])[1])
            wire.wait(1)
        return wire, frames

    def test_a_flag_that_stays(self):
        wire, frames = self.flagged(0, 0x400, 0x400, 0x400)
        text = self.expect(self.wrong(wire, "backchannel"), blames="server", severity="trouble", connection=1, frame=frames[1])
        self.assertIn("SEQ4_STATUS_BACKCHANNEL_FAULT in 3 Replies", text)
        self.assertIn(f"from frame {frames[1]} on", text)

    def test_a_flag_that_ends(self):
        wire, frames = self.flagged(1, 1, 0, 0)
        text = self.expect(self.wrong(wire, "backchannel"), blames=None, severity="note", frame=frames[0])
        self.assertIn(f"SEQ4_STATUS_CB_PATH_DOWN in 2 Replies, from frame {frames[0]} until frame {frames[2]}", text)

    def test_each_flag_by_its_name(self):
        names = {0x1: "CB_PATH_DOWN", 0x2: "CB_GSS_CONTEXTS_EXPIRING", 0x4: "CB_GSS_CONTEXTS_EXPIRED", 0x8: "EXPIRED_ALL_STATE_REVOKED",
                 0x10: "EXPIRED_SOME_STATE_REVOKED", 0x20: "ADMIN_STATE_REVOKED", 0x40: "RECALLABLE_STATE_REVOKED", 0x80: "LEASE_MOVED",
                 0x100: "RESTART_RECLAIM_NEEDED", 0x200: "CB_PATH_DOWN_SESSION", 0x400: "BACKCHANNEL_FAULT", 0x800: "DEVID_CHANGED",
                 0x1000: "DEVID_DELETED"}
        blames = {0x20: "server", 0x100: "server", 0x400: "server"}
        wire, frames = self.flagged(0x1fff)
        found = self.wrong(wire, "backchannel", "state")
        self.assertEqual({(name, blames.get(flag)) for flag, name in names.items()},
                         {(one["text"].split("SEQ4_STATUS_")[1].split(" ")[0], one["blames"]) for one in found})

    def test_flags_that_nobody_defined_say_nothing(self):
        self.assertEqual(self.wrong(self.flagged(0xffffe000)[0], "backchannel", "state"), [])

    # --- Copies and recalls

    def copied(self, **offload):
        wire = Roce()
        asked, result = copy()
        frames = wire.compound(1, [sequence(1), putfh(), words(32), putfh(), asked],
                               [sequence_result(1), PUTFH_RESULT, words(32, 0), PUTFH_RESULT, result])
        if offload:
            done = words(15) + opaque(b"file") + offload["stateid"] + words(0, 0) + struct.pack(">QI", 4096, 2) + b"verifier"
            wire.compound(0x9000, [cb_sequence(1), done], [cb_sequence_result(1), words(15, 0)], side=Roce.SERVER)
        wire.wait(100)
        wire.compound(2, [sequence(2)], [sequence_result(2)])
        return wire, frames

    def test_a_copy_that_nothing_ends(self):
        wire, (call, _) = self.copied()
        text = self.expect(self.wrong(wire, "callback"), blames=None, severity="trouble", frame=call, connection=1)
        self.assertIn("CB_OFFLOAD", text)
        self.assertIn(", 100s later", text)

        self.assertIn("CB_OFFLOAD", stag("limits", str(self.directory / "capture.pcap")).stdout.decode())

    def test_a_copy_that_ends(self):
        self.assertEqual(self.wrong(self.copied(stateid=COPY_ID)[0], "callback"), [])

    def test_another_copy_that_ends(self):
        self.expect(self.wrong(self.copied(stateid=bytes(16))[0], "callback"), severity="trouble")

    def test_the_end_may_come_first(self):
        wire = Roce()
        asked, result = copy()
        wire.call(1, opaque(b""), words(2, 2), sequence(1), asked)
        done = words(15) + opaque(b"file") + COPY_ID + words(0, 0) + struct.pack(">QI", 4096, 2) + b"verifier"
        wire.compound(0x9000, [cb_sequence(1), done], [cb_sequence_result(1), words(15, 0)], side=Roce.SERVER)
        wire.reply(1, words(0), opaque(b""), words(2), sequence_result(1), result)
        wire.wait(100)
        wire.compound(2, [sequence(2)], [sequence_result(2)])
        self.assertEqual(self.wrong(wire, "callback"), [])

    def test_a_copy_that_is_over_with_its_reply(self):
        wire = Roce()
        asked, result = copy(callback=None)
        wire.compound(1, [sequence(1), asked], [sequence_result(1), result])
        wire.wait(100)
        wire.compound(2, [sequence(2)], [sequence_result(2)])
        self.assertEqual(self.wrong(wire, "callback"), [])
        self.assertNotIn("CB_OFFLOAD", stag("limits", str(self.directory / "capture.pcap")).stdout.decode())

    def test_a_client_that_asks_does_not_wait(self):
        wire, _ = self.copied()
        wire.compound(3, [sequence(3), putfh(), words(67) + COPY_ID],
                      [sequence_result(3), PUTFH_RESULT, words(67, 0) + struct.pack(">QI", 4096, 0)])
        self.assertEqual(self.wrong(wire, "callback"), [])

    def recalled(self, status=0, answered=True, returned=None):
        wire = Roce()
        wire.compound(1, [sequence(1)], [sequence_result(1)])
        recall = words(4) + STATEID + words(0) + opaque(b"file")
        results = [cb_sequence_result(1), words(4, status)] if answered else None
        frames = wire.compound(0x9000, [cb_sequence(1), recall], results, status=status, side=Roce.SERVER)
        if returned is not None:
            wire.compound(2, [sequence(2), putfh(), words(8) + STATEID], [sequence_result(2), PUTFH_RESULT, words(8, returned)],
                          status=returned)
        wire.wait(100)
        wire.compound(3, [sequence(3)], [sequence_result(3)])
        return wire, frames

    def test_a_recall_without_a_return(self):
        wire, (call, _) = self.recalled()
        text = self.expect(self.wrong(wire, "callback"), blames=None, severity="trouble", frame=call)
        self.assertIn("recalled a delegation", text)

    def test_a_recall_and_its_return(self):
        self.assertEqual(self.wrong(self.recalled(returned=0)[0], "callback"), [])

    def test_a_return_that_failed(self):
        self.expect(self.wrong(self.recalled(returned=10025)[0], "callback"), severity="trouble")

    def test_a_recall_that_is_refused(self):
        self.assertEqual(self.wrong(self.recalled(status=10025)[0], "callback"), [])  # NFS4ERR_BAD_STATEID: the client has it not
        self.expect(self.wrong(self.recalled(status=10008)[0], "callback"), severity="trouble")  # NFS4ERR_DELAY: not yet

    def test_a_recall_without_an_answer(self):
        wire, (call, _) = self.recalled(answered=False)
        text = self.expect(self.wrong(wire, "waiting"), blames=None, severity="note", frame=call)
        self.assertIn("1 Call of the server without an answer", text)
        self.assertEqual(self.wrong(wire, "unanswered"), [])

    # --- Errors

    def test_errors_by_kind(self):
        wire = Roce()
        for number in range(1, 11):
            status = {3: 28, 7: 28, 9: 2}.get(number, 0)
            body = words(0, 0) if status else words(0, 0, 4096, 2) + b"verifier"
            wire.call(number, opaque(b"file"), words(0, 0, 0, 0, 0), version=3, procedure=7)  # WRITE of nothing
            frame = wire.reply(number, words(status), body)
            first = frame if number == 3 else first if number > 3 else 0
        for number in range(11, 14):
            wire.call(number, opaque(b"directory"), opaque(b"name"), version=3, procedure=3)  # LOOKUP
            wire.reply(number, words(2, 0))
        text = self.expect(self.wrong(wire, "nfs_error"), severity="trouble", blames=None, frame=first, connection=1)
        self.assertEqual(text, "NFSv3 WRITE: 2 of 10 results with NFS3ERR_NOSPC (20 %): the file system of the server is full.")
        errors = [(one["operation"], one["status"], one["count"], one["of"], one["harmful"]) for one in self.line["nfs_errors"]]
        self.assertEqual(errors, [("NFSv3 WRITE", "NFS3ERR_NOSPC", 2, 10, True), ("NFSv3 LOOKUP", "NFS3ERR_NOENT", 3, 3, False),
                                  ("NFSv3 WRITE", "NFS3ERR_NOENT", 1, 10, False)])

    def test_errors_of_operations(self):
        wire = Roce()
        for number in range(1, 5):
            failed = number == 4
            results = [sequence_result(number), PUTFH_RESULT, words(25, 5) if failed else words(25, 0, 1) + opaque(b"data")]
            wire.compound(number, [sequence(number), putfh(), words(25) + bytes(24) + words(4)], results, status=5 if failed else 0)
        wire.compound(5, [sequence(9)], [words(53, 10063)], status=10063)
        wire.compound(6, [sequence(6)], [], status=10021)
        first, second = self.wrong(wire, "nfs_error")
        self.assertEqual((first["text"].split(" (")[0], first["blames"]), ("NFSv4 READ: 1 of 4 results with NFS4ERR_IO", "server"))
        self.assertEqual((second["text"].split(" (")[0], second["blames"]), ("NFSv4 SEQUENCE: 1 of 5 results with NFS4ERR_SEQ_MISORDERED", None))
        self.assertIn(("NFSv4 COMPOUND", "NFS4ERR_MINOR_VERS_MISMATCH"), [(one["operation"], one["status"]) for one in self.line["nfs_errors"]])

    # --- Refusals

    def tcp(self, *segments):
        """(from the client, flags, port of the server, payload) of TCP segments."""
        wire, number = Roce(), [1000, 5000]  # sequence numbers of the server and the client
        for of_client, flags, port, *payload in segments:
            ports = (700, port) if of_client else (port, 700)
            source, destination = wire.ends if of_client else wire.ends[::-1]
            if flags == self.SYN and of_client:
                number[1] = 5000
            data = b"".join(payload)
            acknowledgment = 0 if flags == self.SYN else number[not of_client]
            segment = struct.pack(">HHIIBBHHH", *ports, number[of_client], acknowledgment, 0x50, flags, 1024, 0, 0) + data
            number[of_client] += len(data) + (flags & self.SYN) // self.SYN
            head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 0, 0x4000, 64, 6, 0, source, destination)
            wire.now += 1000
            wire.frames.append((wire.now, b"\x02" * 6 + b"\x04" * 6 + b"\x08\x00" + head + segment))
        return wire

    SYN, RST, ACK = 2, 0x14, 0x10

    def test_a_refused_port_of_nfs_over_rdma(self):
        text = self.expect(self.wrong(self.tcp((True, self.SYN, 20049), (False, self.RST, 20049)), "refused", "reset"), blames="server", frame=2)
        self.assertIn("refused the TCP connection: nobody listens on port 20049", text)

    def test_a_refused_port_of_nfs(self):
        text = self.expect(self.wrong(self.tcp((True, self.SYN, 2049), (False, self.RST, 2049), (True, self.SYN, 2049)), "refused"), frame=2)
        self.assertIn("10.0.0.200:2049 refused the TCP connection of 10.0.0.1:700", text)

    def test_a_syn_without_an_answer(self):
        text = self.expect(self.wrong(self.tcp((True, self.SYN, 20049), (True, self.SYN, 20049)), "refused"), blames=None, frame=1)
        self.assertIn("No answer of 10.0.0.200:20049 to the SYN of 10.0.0.1:700", text)
        # The client has one, though the capture has not.
        self.assertEqual(self.wrong(self.tcp((True, self.SYN, 20049), (True, self.ACK, 20049)), "refused"), [])

    def test_an_mpa_reject(self):
        # RFC 5044 section 7.1: the key, flags (C; in the Reply: R), revision 1, no private data.
        opened = [(True, self.SYN, 20049), (False, self.SYN | self.ACK, 20049), (True, self.ACK, 20049)]
        request = (True, self.ACK, 20049, b"MPA ID Req Frame" + bytes([0x40, 1, 0, 0]))
        reply = (False, self.ACK, 20049, b"MPA ID Rep Frame" + bytes([0x60, 1, 0, 0]))
        text = self.expect(self.wrong(self.tcp(*opened, request, reply), "refused"), blames="server", frame=5)
        self.assertIn("the server rejected it, in its MPA Reply", text)
        text = self.expect(self.wrong(self.tcp(*opened, request, (False, self.ACK, 20049)), "refused"), blames=None)
        self.assertIn("no answer to the request to connect is in the capture", text)

    def test_a_request_of_the_connection_manager_without_an_answer(self):
        request, *_ = wrap.read(ROOT / "pcaps" / "real" / "rxe-reject.pcap")
        path = self.directory / "request.pcap"
        wrap.write(path, [request])
        (line,) = lines(stag("summary", "--format", "jsonl", str(path)))
        self.assertIn("no answer to the request to connect is in the capture", line["wrong"][0]["text"])

    def test_other_ports_may_be_about_something_else(self):
        self.expect(self.wrong(self.tcp((True, self.SYN, 80), (False, self.RST, 80)), "refused"), blames=None, frame=2)
        self.assertEqual(self.wrong(self.tcp((True, self.SYN, 80)), "refused"), [])

    def test_a_real_one(self):
        (line,) = lines(stag("summary", "--format", "jsonl", str(ROOT / "pcaps" / "real" / "siw-reject.pcap")))
        (one,) = line["wrong"]
        self.assertRegex(one["text"], r"^10\.0\.0\.1:20050 refused the TCP connection of 10\.0\.0\.2:\d+: nobody listens on port 20050\.$")
        text = stag("summary", str(ROOT / "pcaps" / "real" / "siw-reject.pcap")).stdout.decode()
        self.assertIn("There is no RPC-over-RDMA in the capture: nothing was judged.", text)
        self.assertIn("refused the TCP connection", text)

    def test_nothing_of_that_where_there_is_more(self):
        wire = self.tcp((True, self.SYN, 80), (False, self.RST, 80))
        wire.compound(1, [sequence(1)], [sequence_result(1)])
        self.assertEqual(self.wrong(wire, "refused"), [])

    def test_with_several_threads(self):
        errors = Roce()
        for number in range(1, 5):
            errors.compound(number, [sequence(number)], [words(53, 10063)] if number % 2 else [sequence_result(number)], status=10063 * (number % 2))
        for wire in (self.copied()[0], self.recalled()[0], self.flagged(0, 1, 1, 0)[0], errors,
                     self.tcp((True, self.SYN, 2049), (False, self.RST, 2049)), self.tcp((True, self.SYN, 20049))):
            self.wrong(wire)
            path = str(self.directory / "capture.pcap")
            self.assertEqual(lines(stag("summary", "--format", "jsonl", "--jobs", "2", path)), [self.line])

    # --- What was not captured

    def judged(self, wire, of):
        """What summary and check say of the frames whose sender is in `of`."""
        without = {number for number, (_, data) in enumerate(wire.frames, 1) if data[26:30] not in of}
        self.wrong(wire, without=without)
        path = str(self.directory / "capture.pcap")
        (checked,) = [one for one in lines(stag("check", "--fail-on", "never", "--format", "jsonl", path)) if one["type"] == "summary"]
        self.assertEqual(checked["judged"], self.line["judged"])
        self.sentence = stag("summary", path).stdout.decode().splitlines()[1]
        self.assertIn(self.sentence or "incomplete", stag("check", "--fail-on", "never", path).stdout.decode() + "incomplete")
        return {name: value for name, value in checked["judged"].items() if value and name != "advice"}

    def test_how_much_was_judged(self):
        wire, _ = self.flagged(0, 0, 0)
        client, server = wire.ends
        self.assertEqual(self.judged(wire, wire.ends), {"rpcs": 3, "judged": 3})
        self.assertEqual(self.sentence, "")
        for one in (client, server):
            self.assertEqual(self.judged(wire, [one]), {"rpcs": 3, "one_direction": 3})
            self.assertRegex(self.sentence, r"^3 of 3 RPCs could not be judged: 3 of which one direction was captured\. Capture both directions")

    def test_a_reply_that_is_missing(self):
        wire, frames = self.flagged(0, 0, 0)
        self.wrong(wire, without={frames[1]})
        self.assertEqual((self.line["judged"]["rpcs"], self.line["judged"]["missing"]), (3, 1))

    def test_no_frame_that_is_missing_makes_trouble(self):
        wires = [self.copied(stateid=COPY_ID)[0], self.recalled(returned=0)[0], self.recalled(status=10025)[0], self.flagged(0, 1, 1, 0)[0]]
        for wire in wires:
            whole = {(one["kind"], one["blames"], one["severity"]) for one in self.wrong(wire, "callback", "backchannel", "nfs_error", "refused")}
            for frame in range(1, len(wire.frames) + 1, 4 if SANITIZED else 1):
                part = {(one["kind"], one["blames"], one["severity"])
                        for one in self.wrong(wire, "callback", "backchannel", "nfs_error", "refused", without={frame})}
                # A flag whose end is not there goes on.
                self.assertLessEqual(part - {("backchannel", None, "trouble")}, whole, frame)


if __name__ == "__main__":
    unittest.main()
