#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""KEPT BUILD KIND: which phases of READ (RDMA Writes) and WRITE (RDMA Reads) take longer where one direction is delayed.

Where the client's packets are captured before the wire and the server's behind it (v0):
    READ     either delay is between the Call and the first RDMA Write: service. RDMA Writes and the Reply are moved alike.
    WRITE    of the client's packets: the Call is late, and so is what is read: to_first_read and service; of the server's: the
             RDMA Read Request, and the Reply: the same two.
Where the server's are captured before it (v1):
    READ     nothing: from the Call's arrival on all packets are the server's.
    WRITE    either delay is between the RDMA Read Request and its Response: pull.
"""
import json
import pathlib
import statistics
import subprocess
import sys

DELAY_US = 60_000
LONGER = {("v0", "READ"): {"service"}, ("v0", "WRITE"): {"to_first_read", "service"}, ("v1", "READ"): set(), ("v1", "WRITE"): {"pull"}}


def medians(build, path):
    """By procedure and phase, in microseconds; and how many RPCs that is of."""
    times = {}
    lines = subprocess.run([build / "cli/stag", "transactions", "--format", "jsonl", path], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    for line in map(json.loads, lines):
        if line.get("name") in ("READ", "WRITE") and line["phases_us"]:
            for phase, us in line["phases_us"].items():
                times.setdefault((line["name"], phase), []).append(us or 0)
    return {key: statistics.median(values) for key, values in times.items()}, {key[0]: len(v) for key, v in times.items()}


def main(kept, build, *_):
    kept, build = pathlib.Path(kept), pathlib.Path(build)
    status = 0
    for side in ("v0", "v1"):
        before, _ = medians(build, kept / f"none-{side}.pcap")
        for delayed in ("s0", "s1"):
            after, count = medians(build, kept / f"{delayed}-{side}.pcap")
            for name in ("READ", "WRITE"):
                phases = {phase: after[key] - before.get(key, 0) for key in after if key[0] == name for phase in [key[1]]}
                longer = {phase for phase, more in phases.items() if more > DELAY_US / 2}
                right = all(0.9 * DELAY_US < phases[phase] < 1.5 * DELAY_US for phase in longer)
                fits = right and longer == LONGER[side, name] and count.get(name, 0) >= 20
                text = ", ".join(f"{phase} {more / 1000:+.1f} ms" for phase, more in phases.items())
                print(f"  {'fine ' if fits else 'WRONG'} {delayed} delayed, seen at {side}, {count.get(name, 0)} {name}: {text}")
                status |= not fits
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
