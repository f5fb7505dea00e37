# SPDX-License-Identifier: GPL-2.0-or-later
"""Transport statistics of a capture, counted independently of Stag: from the fields that tshark shows, with sets of all PSNs
and bytes ever seen, which only small captures allow. The definitions are those of `stag transport --help`.

transport_count.py STAG CAPTURE...    compares, and prints what differs
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

ROCE = ["frame.number", "frame.time_epoch", "ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "ip.dsfield.ecn", "udp.length",
        "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.bth.padcnt",
        "infiniband.reth.dmalen", "infiniband.aeth.syndrome"]
TCP = ["frame.number", "ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "tcp.srcport", "tcp.dstport", "tcp.seq_raw",
       "tcp.ack_raw", "tcp.len", "tcp.flags", "tcp.window_size_value", "tcp.stream"]
RESPONSES = range(13, 19)
READ_RESPONSES = range(13, 17)
READ_REQUEST, ACKNOWLEDGE, CNP = 12, 17, 0x81
# Bytes of the extended headers, by opcode (IBA table 38).
EXTENDED = {3: 4, 5: 4, 6: 16, 9: 4, 10: 16, 11: 20, 12: 16, 13: 4, 15: 4, 16: 4, 17: 4, 18: 12, 19: 28, 20: 28, 22: 4, 23: 4}


def plain(path):
    """The path of the capture without compression, which editcap of some versions needs."""
    if path.suffix != ".zst":
        return path, None
    file = tempfile.NamedTemporaryFile(suffix=".pcap")
    subprocess.run(["zstd", "-dcqf", str(path)], stdout=file, check=True)
    file.flush()
    return pathlib.Path(file.name), file


def rows(path, fields, display, *options):
    command = ["tshark", "-n", "-r", str(path), "-o", "tcp.relative_sequence_numbers:FALSE", *options, "-Y", display,
               "-T", "fields", "-E", "occurrence=f"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        yield dict(zip(fields, line.split("\t")))


def number(text):
    return int(text, 0) if text else 0


def nanoseconds(text):
    whole, _, part = text.partition(".")
    return int(whole) * 10**9 + int(part.ljust(9, "0")[:9])


class Unwrap:
    """Numbers modulo 2**bits as positions, each the one nearest to the highest before."""

    def __init__(self, bits):
        self.bits, self.top = bits, None

    def __call__(self, value):
        size = 1 << self.bits
        if self.top is None:
            self.top = (1 << 40) + value
            return self.top
        distance = (value - self.top) % size
        at = self.top + (distance if distance < size // 2 else distance - size)
        self.top = max(self.top, at)
        return at


class Requests:
    """The requests of one side, and the answers to them."""

    def __init__(self):
        self.at = Unwrap(24)
        self.seen, self.highest, self.acknowledged = set(), None, None
        self.first = None
        self.answers, self.last_answer = set(), None
        self.reads = []  # [begin, end, answered up to]
        self.nak = None  # [PSN, sequence error or RNR, gone back]
        self.rnr = None
        self.running = False


def roce(path, connections, mtu):
    """Rows by (connection, direction), of the connections that `stag connections` lists."""
    flows, out = {}, {}
    for c in connections:
        ends = [(c[side]["address"], c[side]["qp"]) for side in ("client", "server")]
        for side in (0, 1):
            flows[(ends[side][0], *ends[1 - side])] = (c["connection"], side)
            out[(c["connection"], ("c2s", "s2c")[side])] = collections.Counter()
    halves = collections.defaultdict(Requests)
    for row in rows(path, ROCE, "udp.port == 4791 && infiniband.bth"):
        opcode, psn = number(row["infiniband.bth.opcode"]), number(row["infiniband.bth.psn"])
        flow = flows.get((row["ip.src"] or row["ipv6.src"], row["ip.dst"] or row["ipv6.dst"],
                          number(row["infiniband.bth.destqp"])))
        if flow is None or (opcode >= 32 and opcode != CNP):
            continue
        connection, side = flow
        n = out[(connection, ("c2s", "s2c")[side])]
        if opcode == CNP:
            n["cnp"] += 1
            continue
        time = nanoseconds(row["frame.time_epoch"])
        n["packets"] += 1
        n["ce_packets"] += number(row["ip.dsfield.ecn"]) == 3
        n["bytes"] += (number(row["udp.length"]) - 8 - 12 - EXTENDED.get(opcode, 0) - 4 -
                       number(row["infiniband.bth.padcnt"]))
        if opcode in RESPONSES:
            half = halves[(connection, 1 - side)]
            answer(half, n, opcode, half.at(psn), number(row["infiniband.aeth.syndrome"]), time)
        else:
            half = halves[(connection, side)]
            length = number(row["infiniband.reth.dmalen"])
            request(half, n, half.at(psn), max(1, -(-length // mtu)) if opcode == READ_REQUEST else 0, time)
    for (connection, side), half in halves.items():
        asker, answerer = (out[(connection, ("c2s", "s2c")[s])] for s in (side, 1 - side))
        if half.first is not None and half.acknowledged is not None:
            asker["lost_from_capture"] += sum(at not in half.seen for at in range(half.first, half.acknowledged))
        for begin, _, until in half.reads:
            answerer["lost_from_capture"] += sum(at not in half.answers for at in range(begin, until))
    return out


def request(half, n, at, count, time):
    """`count`: the packets of the answer to a Read Request; 0: it is none."""
    if half.first is None:
        half.first = at
    if half.rnr and half.rnr[0] == at:
        n["rnr_stall_ns"] += time - half.rnr[1]
        half.rnr = None
    if half.nak and at <= half.nak[0]:
        half.nak[2] = True
    if at in half.seen:
        n["retransmitted_packets"] += 1
        if not half.running:
            n["go_back_n"] += bool(half.nak and half.nak[1] == "sequence")
            n["timeouts"] += half.nak is None
        half.running = True
        for read in half.reads:
            if read[0] <= at < read[1]:
                read[2] = min(read[2], at)
    else:
        half.running = False
        n["out_of_order"] += half.highest is not None and at < half.highest
        if half.nak and half.nak[2] and at > half.nak[0] and at > max(half.seen):
            half.nak = None
        if count > 0:
            half.reads.append([at, at + count, at])
    half.seen.update(range(at, at + max(count, 1)))
    half.highest = at if half.highest is None else max(half.highest, at)


def answer(half, n, opcode, at, syndrome, time):
    kind = syndrome >> 5 & 3
    refuses = opcode == ACKNOWLEDGE and kind in (1, 3)
    end = at if refuses else at + 1
    if half.first is not None:
        half.acknowledged = end if half.acknowledged is None else max(half.acknowledged, end)
    for read in half.reads:
        read[2] = max(read[2], min(end, read[1])) if end > read[0] else read[2]
    if opcode in READ_RESPONSES:
        n["repeated_responses"] += at in half.answers
        n["out_of_order"] += at not in half.answers and half.last_answer is not None and at < half.last_answer
        half.answers.add(at)
        half.last_answer = at if half.last_answer is None else max(half.last_answer, at)
    if refuses:
        name = "rnr" if kind == 1 else ("sequence", "invalid_request", "remote_access", "remote_operation")[syndrome & 31]
        n["nak_" + name] += 1
        half.nak = [at, name, False]
        if kind == 1 and not (half.rnr and half.rnr[0] == at):
            half.rnr = (at, time)


def iwarp(path, connections):
    flows, out = {}, {}
    for c in connections:
        ends = [(c[side]["address"], c[side]["port"]) for side in ("client", "server")]
        for side in (0, 1):
            flows[ends[side] + ends[1 - side]] = (c["connection"], side)
            out[(c["connection"], ("c2s", "s2c")[side])] = collections.Counter()
    seen, unwrap, top = collections.defaultdict(set), collections.defaultdict(lambda: Unwrap(32)), {}
    for row in rows(path, TCP, "tcp"):
        flow = flows.get((row["ip.src"] or row["ipv6.src"], number(row["tcp.srcport"]),
                          row["ip.dst"] or row["ipv6.dst"], number(row["tcp.dstport"])))
        if flow is None:
            continue
        n, flags = out[(flow[0], ("c2s", "s2c")[flow[1]])], number(row["tcp.flags"])
        if flags & 4:
            n["resets"] += 1
            continue
        n["zero_windows"] += not flags & 3 and number(row["tcp.window_size_value"]) == 0
        size = number(row["tcp.len"])
        if size == 0:
            continue
        begin = unwrap[flow](number(row["tcp.seq_raw"]))
        n["segments"] += 1
        n["bytes"] += size
        new = [at for at in range(begin, begin + size) if at not in seen[flow]]
        n["retransmitted_segments"] += not new
        n["out_of_order"] += bool(new) and flow in top and new[0] < top[flow]
        seen[flow].update(new)
        top[flow] = max(top.get(flow, 0), begin + size)
    return out


def flat(line):
    """A line of `stag transport` as the counters here are."""
    naks = line.get("naks", {})
    out = {**line, **{"nak_" + kind: count for kind, count in naks.items()}}
    if "rnr_stall_us" in line:
        out["rnr_stall_ns"] = round(line["rnr_stall_us"] * 1000)
    return out


def differences(stag, path, mtu=1024):
    """(connection, direction, counter, what Stag says, what is counted here), and how many rows were compared."""
    def lines(command):
        done = subprocess.run([stag, command, "--format", "jsonl", "--all", str(path)], capture_output=True, text=True,
                              check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]
    whole, keep = plain(pathlib.Path(path))
    connections = lines("connections")
    told = {(line["connection"], line["direction"]): flat(line) for line in lines("transport")}
    counted = {}
    counted |= roce(whole, [c for c in connections if c["fabric"] == "RoCEv2" and c["opened"]], mtu)
    counted |= iwarp(whole, [c for c in connections if c["fabric"] == "iWARP"])
    if keep:
        keep.close()
    wrong = []
    for key, counters in counted.items():
        names = ["segments", "bytes", "retransmitted_segments", "out_of_order", "zero_windows", "resets"]
        if told[key]["fabric"] == "RoCEv2":
            names = ["packets", "bytes", "retransmitted_packets", "repeated_responses", "lost_from_capture",
                     "out_of_order", "nak_sequence", "nak_rnr", "nak_invalid_request", "nak_remote_access",
                     "nak_remote_operation", "rnr_stall_ns", "go_back_n", "timeouts", "ce_packets", "cnp"]
        wrong += [(*key, name, told[key][name], counters[name]) for name in names if told[key][name] != counters[name]]
    return wrong, len(counted)


if __name__ == "__main__":
    for capture in sys.argv[2:]:
        print(capture, *differences(sys.argv[1], capture), flush=True)
