#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""KEPT BUILD KIND...: what stag transport counts in the captures of the scenario transport is what the kernel counted.

Each side was captured at its own device, in front of the switch that disturbs: v0 shows all that the client sends, and what
arrives at it of the server; v1 likewise. So, with x the side's device:

rxe (drivers/infiniband/sw/rxe):
    sent_pkts            counts every packet that the device gives to the network, also those of CM: packets of the side's row at
                         its own device, and its CM packets.
    rcvd_pkts            every packet whose queue pair is there and whose headers and ICRC are right: packets of the other side's
                         row, and its CM packets; where packets are damaged, or a connection was given up, at most these.
    out_of_seq_request   the responder meets a PSN ahead of the expected one for which it has not sent a NAK yet, and sends one:
                         NAKs (sequence) of the side's row.
    send_rnr_err         the responder sends an RNR NAK: NAKs (rnr) of the side's row.
    rcvd_seq_err         the requester takes a sequence NAK that is about a packet after those that are acknowledged: at most the
                         NAKs (sequence) of the other side's row.
    duplicate_request    the responder meets a request before the expected PSN. stag counts as sent again also what was dropped
                         because it came ahead of its turn: so many at least, and never more than the side's row of what arrives.
siw, which stands on TCP (Tcp: in /proc/net/snmp, as nstat shows it; both ends are this machine, and before the disturbance begins
only the mount protocol and the portmapper use TCP besides):
    RetransSegs          retransmitted_segments of both sides' rows, each at its own device.
    OutSegs              segments sent again are not among them, acknowledgements are: at least the segments of both sides' rows
                         without those sent again.
"""
import json
import pathlib
import struct
import subprocess
import sys

STAG = "cli/stag"
CM_QUEUE_PAIR = 1


def management_packets(path, source):
    """RoCEv2 packets to queue pair 1 from this host; read with nothing of Stag's."""
    data, at, count = path.read_bytes(), 24, 0
    while at < len(data):
        captured, = struct.unpack_from("<I", data, at + 8)
        packet = data[at + 16:at + 16 + captured]
        at += 16 + captured
        if packet[12:14] == b"\x08\x00" and packet[23] == 17 and packet[26:30] == bytes(map(int, source.split("."))):
            count += int.from_bytes(packet[42 + 5:42 + 8], "big") == CM_QUEUE_PAIR
    return count


class Checks:
    def __init__(self):
        self.status = 0

    def same(self, what, ours, kernels, fits):
        print(f"  {'fine ' if fits else 'WRONG'} {what}: stag {ours}, kernel {kernels}")
        self.status |= not fits


def total(one, other):
    return {key: total(value, other[key]) if isinstance(value, dict) else value + other[key] if isinstance(value, (int, float)) else value
            for key, value in one.items()}


def rows(build, path, *options):
    """By direction, over all connections: a client that loses one makes another."""
    lines = map(json.loads, subprocess.run([build / STAG, "transport", "--format", "jsonl", "--all", *options, path],
                                           capture_output=True, text=True, check=True).stdout.splitlines())
    by_direction = {}
    for line in lines:
        line["connections"] = 1
        known = by_direction.get(line["direction"])
        by_direction[line["direction"]] = total(known, line) if known else line
    assert len(by_direction) == 2, path
    return by_direction


def check_rxe(checks, kept, build, fault):
    at = [rows(build, kept / f"{fault}-v{i}.pcap", "--copies", "keep") for i in (0, 1)]
    cm = [[management_packets(kept / f"{fault}-v{i}.pcap", host) for host in ("10.9.0.1", "10.9.0.2")] for i in (0, 1)]
    counted = {}
    for line in (kept / f"{fault}.after").read_text().splitlines():
        device, name, value = line.split()
        counted[device, name] = int(value)
    for line in (kept / f"{fault}.before").read_text().splitlines():
        device, name, value = line.split()
        counted[device, name] -= int(value)
    ways = ("c2s", "s2c")
    for side in (0, 1):
        own, other, device = at[side][ways[side]], at[side][ways[1 - side]], f"rxe{side}"
        kernel = lambda name: counted[device, name]  # noqa: E731
        sent, received = own["packets"] + cm[side][side], other["packets"] + cm[side][1 - side]
        checks.same(f"{device} sent_pkts", sent, kernel("sent_pkts"), sent == kernel("sent_pkts"))
        some = fault == "corrupt" or own["connections"] > 1
        fits = kernel("rcvd_pkts") <= received if some else kernel("rcvd_pkts") == received
        checks.same(f"{device} rcvd_pkts", received, kernel("rcvd_pkts"), fits)
        for kind, name in (("sequence", "out_of_seq_request"), ("rnr", "send_rnr_err")):
            checks.same(f"{device} {name}", own["naks"][kind], kernel(name), own["naks"][kind] == kernel(name))
        checks.same(f"{device} rcvd_seq_err", other["naks"]["sequence"], kernel("rcvd_seq_err"),
                    kernel("rcvd_seq_err") <= other["naks"]["sequence"])
        again = other["retransmitted_packets"]
        checks.same(f"{device} duplicate_request", again, kernel("duplicate_request"), kernel("duplicate_request") <= again)
        if fault == "duplicate":
            checks.same(f"{device} duplicates", again, kernel("duplicate_request"), kernel("duplicate_request") > 0)
    if fault in ("loss", "corrupt"):
        again = sum(at[side][ways[side]]["retransmitted_packets"] + at[side][ways[side]]["repeated_responses"] for side in (0, 1))
        checks.same("something was sent again", again, "-", again > 0)


def tcp_counters(path):
    names, values = (line.split()[1:] for line in path.read_text().splitlines())
    return dict(zip(names, map(int, values)))


def check_siw(checks, kept, build, fault):
    own = [rows(build, kept / f"{fault}-v{i}.pcap", "--copies", "keep")[way] for i, way in enumerate(("c2s", "s2c"))]
    before, after = (tcp_counters(kept / f"{fault}.{when}.tcp") for when in ("before", "after"))
    kernel = {name: after[name] - before[name] for name in after}
    again, segments = (sum(row[name] for row in own) for name in ("retransmitted_segments", "segments"))
    checks.same("RetransSegs", again, kernel["RetransSegs"], again == kernel["RetransSegs"])
    checks.same("OutSegs", segments - again, kernel["OutSegs"], segments - again <= kernel["OutSegs"])
    if fault in ("loss", "corrupt"):
        checks.same("something was sent again", again, "-", again > 0)


def main():
    kept, build, kind = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), (sys.argv[3:] or ["rxe"])[0]
    checks = Checks()
    faults = sorted(path.stem for path in kept.glob("*.after"))
    assert faults
    for fault in faults:
        print(f"{kind}, {fault}")
        (check_rxe if kind == "rxe" else check_siw)(checks, kept, build, fault)
    for fault in faults:
        verdicts = []
        for found in map(json.loads, subprocess.run([build / STAG, "limits", "--format", "jsonl", kept / f"{fault}-v0.pcap"],
                                                    capture_output=True, text=True, check=True).stdout.splitlines()):
            busy = found["span_us"] - found["idle_us"]
            share = found["recovery_us"] / max(busy, 1) * 100
            print(f"{kind}, {fault}, connection {found['connection']}: {found['verdict']}, recovery {share:.1f} % of the busy time")
            parts = sum(found[name + "_us"] for name in ("idle", "credit_limited", "recovery", "moving_data", "server"))
            checks.same("the parts add up", round(parts, 3), round(found["span_us"], 3), abs(parts - found["span_us"]) < 0.001)
            verdicts.append(found["verdict"])
        if kind == "rxe" and fault == "loss":
            checks.same("a verdict is recovery", verdicts, "-", "recovery" in verdicts)
    return checks.status


if __name__ == "__main__":
    sys.exit(main())
