# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes from a capture what real captures lack, and holds what stag says of the rest to what it says of the whole.

degrade.py STAG CAPTURE... [--way NAME[,NAME]] [--all]

Prints a line for each capture and way, and exits with status 1 where one is not kept:

    answer      an RPC whose frames are all there is exact; one whose answer is not there is not_captured, or pending where
                the capture merely ends
    limits      the parts add up to the span, and none but the unknown is larger than of the whole
    accusation  nothing but the capture is blamed that the whole capture does not show
    said        what the capture lacks is said
    outstanding no more Calls are outstanding at a time than in the whole
    copies      where frames were captured twice, RPCs, limits and transport are those of frames that were captured once

Every way is deterministic. --all: with every single frame of some that is left out; else with a few.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import wrap  # noqa: E402

PARTS = ("idle_us", "credit_limited_us", "recovery_us", "moving_data_us", "server_us", "unknown_us")


class Said:
    """What stag says of a capture. `frames`: numbers of its frames in the whole."""

    def __init__(self, stag, path, frames):
        def run(command):
            done = subprocess.run([stag, command, "--format", "jsonl", path], capture_output=True, text=True, timeout=600)
            if done.returncode > 1:
                sys.exit(f"stag {command} {path}: exit status {done.returncode}\n{done.stderr}")
            return [json.loads(line) for line in done.stdout.splitlines()]
        self.frames = frames
        self.rpcs = run("transactions")
        self.limits = {line["connection"]: line for line in run("limits")}
        self.transport = [line for line in run("transport") if line["type"] == "transport"]
        self.outstanding = {line["connection"]: line for line in run("connections") if line["type"] == "connection"}
        self.wrong = [wrong for line in run("summary") for wrong in line["wrong"]]

    def whole(self, frame):
        return self.frames[frame - 1] if frame else frame

    def ends(self, connection):
        row = self.outstanding.get(connection)
        return row and (row["client"], row["server"])

    def blamed(self):
        return {(wrong["kind"], wrong["blames"]) for wrong in self.wrong if wrong["blames"] not in ("capture", None)}


def answers(whole, part, kept, sample):
    """What is wrong with the answers in a part of a capture. `kept`: the frames of the whole that it has."""
    by_call = {rpc["call_frame"]: rpc for rpc in whole.rpcs}
    again = {rpc["xid"] for rpc in whole.rpcs if rpc["call_frame"] not in kept}  # seen at a later copy
    last = part.frames[-1] if part.frames else 0
    for rpc in part.rpcs:
        call = part.whole(rpc["call_frame"])
        known = by_call.get(call)
        if known is None and rpc["xid"] in again:
            continue
        if known is None or known["xid"] != rpc["xid"]:
            yield f"frame {call} is no Call of the whole"
        elif known["answer"] != "captured":
            if rpc["answer"] == "captured":
                yield f"the Call in {call} is answered"
        elif known["reply_frame"] in kept:
            if rpc["answer"] == "captured" and part.whole(rpc["reply_frame"]) == known["reply_frame"]:
                if rpc["rtt_us"] != known["rtt_us"]:
                    yield f"the Call in {call}: rtt_us is {rpc['rtt_us']}, in the whole {known['rtt_us']}"
            elif rpc["answer"] != "not_captured":
                yield f"the Call in {call}: the answer in {known['reply_frame']} is {rpc['answer']}"
        elif known["reply_frame"] > last:
            if rpc["answer"] not in ("pending", "not_captured"):
                yield f"the Call in {call}, answered behind the end: {rpc['answer']}"
        elif rpc["answer"] == "captured":
            if part.whole(rpc["reply_frame"]) < known["reply_frame"]:  # else a later copy
                yield f"the Call in {call}: the answer in {known['reply_frame']}, left out, is captured"
        elif rpc["answer"] != "not_captured" and not (sample and rpc["answer"] == "pending"):  # a short connection is none
            yield f"the Call in {call}: the answer in {known['reply_frame']}, left out, is {rpc['answer']}"


def limits(whole, part, same_connections):
    for number, row in part.limits.items():
        if abs(sum(row[name] for name in PARTS) - row["span_us"]) > 0.01:
            yield f"connection {number}: the parts are not the span"
        if not same_connections or number not in whole.limits:
            continue
        for name in PARTS[:-1]:
            # Where the one packet that ends a wait is missing, the next one does.
            if row[name] > whole.limits[number][name] * 1.001 + 200:
                yield f"connection {number}: {name} is {row[name]}, in the whole {whole.limits[number][name]}"


def exactly(whole, part):
    """What is not as in the whole, but for the numbers of frames."""
    for name, rows, others in (("transactions", part.rpcs, whole.rpcs), ("limits", part.limits.values(), whole.limits.values()),
                               ("transport", part.transport, whole.transport)):
        if len(rows) != len(others):
            yield f"{name}: {len(rows)} rows, of the whole {len(others)}"
            continue
        for row, other in zip(rows, others):
            for member, value in row.items():
                if (part.whole(value) if member.endswith("frame") else value) != (other.get(member)):
                    yield f"{name}: {member} is {value}, in the whole {other.get(member)}"


def captured_twice(records, delay, share=1.0, second=None, behind=False):
    """Each frame, or a share of them, a second time, so many nanoseconds later; `behind`: right behind the first."""
    rng = random.Random(len(records))
    out = []
    for i, (ns, data, wire_length) in enumerate(records):
        out.append((i + 1, (ns, data, wire_length)))
        late = delay(rng)
        if rng.random() < share:
            again = second(data) if second else data
            out.append((i + 1, (ns + late, again, wire_length + len(again) - len(data))))
    return out if behind else sorted(out, key=lambda one: one[1][0])


def copies(records):
    without = [(ns, wrap.without_identification(data), wire_length) for ns, data, wire_length in records]
    yield "no identification, once", drop(without, [])
    for name, frames in (("", records), (", no identification", without)):
        for us in (0.2, 1, 10, 100, 400):
            yield f"copies after {us} us{name}", captured_twice(frames, lambda _, us=us: int(us * 1000))
        yield f"copies after 1 to 20 us{name}", captured_twice(frames, lambda rng: rng.randint(1000, 20000))
        yield f"copies right behind{name}", captured_twice(frames, lambda _: 1000, behind=True)
        for us in (1, 100, 400):
            yield f"copies of 60 % after {us} us{name}", captured_twice(frames, lambda _, us=us: us * 1000, 0.6)
        yield f"copies with a tag{name}", captured_twice(
            frames, lambda _: 3000, second=lambda data: data[:12] + b"\x81\x00\x00\x07" + data[12:])


def drop(records, gone):
    gone = set(gone)
    return [(i + 1, record) for i, record in enumerate(records) if i + 1 not in gone]


def macs(record):
    return record[1][6:12]


def ways(records, whole, every):
    """name -> (numbers in the whole, records), and what has to be said of it."""
    rng = random.Random(len(records))
    count = len(records)
    replies = [rpc["reply_frame"] for rpc in whole.rpcs if rpc["reply_frame"]]
    calls = [rpc["call_frame"] for rpc in whole.rpcs]
    some = (lambda frames, n: frames if every else rng.sample(frames, min(n, len(frames))))
    for frame in some(replies, 4):
        yield f"without Reply {frame}", drop(records, [frame]), {"capture_loss"}
    for frame in some(calls, 2):
        yield f"without Call {frame}", drop(records, [frame]), {"capture_loss"}
    for share in (0.1, 1, 5):
        gone = rng.sample(range(1, count + 1), max(1, int(count * share / 100)))
        yield f"without {share} %", drop(records, gone), set()
    for n in (2, 4, 16, 64):
        yield f"1 of {n}", drop(records, [i + 1 for i in range(count) if rng.randrange(n)]), set()
    senders = collections.Counter(macs(record) for record in records).most_common(2)
    for sender, _ in senders:
        gone = [i + 1 for i, record in enumerate(records) if macs(record) != sender]
        yield f"from {sender.hex()}", drop(records, gone), set()
    for end in (count // 3, count // 2):
        yield f"the first {end}", drop(records, range(end + 1, count + 1)), set()
    yield "the last half", drop(records, range(1, count // 2)), set()
    for name, kept in copies(records):
        yield name, kept, set()
    yield "the middle", drop(records, list(range(1, count // 4)) + list(range(3 * count // 4, count + 1))), set()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stag")
    parser.add_argument("captures", nargs="+")
    parser.add_argument("--way", default="")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        path = str(pathlib.Path(directory) / "part.pcap")
        for capture in options.captures:
            records = list(wrap.read(capture))
            wrap.write(path, records)
            whole = Said(options.stag, path, list(range(1, len(records) + 1)))
            for name, kept, said in ways(records, whole, options.all):
                if options.way and not any(word in name for word in options.way.split(",")):
                    continue
                wrap.write(path, [record for _, record in kept])
                part = Said(options.stag, path, [number for number, _ in kept])
                wrong = list(answers(whole, part, set(part.frames), name.startswith("1 of")))
                if "copies" in name or "identification" in name:
                    wrong += list(exactly(whole, part))
                same = all(whole.ends(number) == part.ends(number) for number in part.outstanding)
                wrong += limits(whole, part, same)
                wrong += [f"blames {blames} for {kind}" for kind, blames in sorted(part.blamed() - whole.blamed())]
                kinds = {one["kind"] for one in part.wrong}
                wrong += [f"{kind} is not said" for kind in said - kinds]
                for number, row in part.outstanding.items():
                    if same and number in whole.outstanding:
                        a, b = (one.outstanding[number]["credits"]["forward"] for one in (part, whole))
                        if a and b and a["max_outstanding"] > b["max_outstanding"]:
                            wrong.append(f"connection {number}: {a['max_outstanding']} outstanding, in the whole "
                                         f"{b['max_outstanding']}")
                failed += bool(wrong)
                print(f"{pathlib.Path(capture).name:36} {name:28} {'kept' if not wrong else '%d wrong: ' % len(wrong) + '; '.join(wrong[:3])}",
                      flush=True)
    sys.exit(failed > 0)


main()
