# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what stag makes of a real capture with what is known of it.

golden.py transactions STAG CAPTURE EXPECTED.jsonl
    Every line of EXPECTED (from an independent decoder; without connection and rtt_us, or with less) must be a line of
    `stag transactions --format jsonl`, in the same order, and nothing else may be listed but calls answered by RDMA_ERROR.
golden.py extract STAG CAPTURE CONTENTS [NAME...]
    Every byte that `stag extract` says it read from a file whose name is in the directory CONTENTS must be that file's
    byte; the files NAME must be there whole.
golden.py nothing STAG CAPTURE
    Nothing in CAPTURE may be taken for RPC-over-RDMA.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

CONTRACT = ["type", "connection", "xid", "backward", "call_frame", "reply_frame", "rtt_us", "program", "version",
            "procedure", "name", "ops", "call_form", "reply_form", "read_chunks", "write_chunks", "reply_chunk",
            "call_complete", "reply_complete", "call_bytes", "reply_bytes", "call_sha256", "reply_sha256",
            "data_sha256", "data_bytes", "status", "phases_us", "phases_complete"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def transactions(stag, capture, expected_file):
    lines = run(stag, "transactions", "--format", "jsonl", capture)
    failures = []
    frames = [line["call_frame"] for line in lines]
    times = [line["time"] for line in lines]
    if frames != sorted(frames) and times != sorted(times):  # frames may stand in another order than their times
        failures.append("lines are not in order of their Calls")
    for line in lines:
        if [name for name in line if name in CONTRACT] != CONTRACT:
            failures.append(f"keys or their order: {list(line)}")
            break
        answered = line["reply_frame"] is not None
        if answered != (line["rtt_us"] is not None):
            failures.append(f"rtt_us of {line['xid']}")
    got = [line for line in lines if line["reply_form"] != "error"]
    with open(expected_file) as file:
        expected = [json.loads(line) for line in file]
    if len(got) != len(expected):
        failures.append(f"{len(got)} lines, {len(expected)} expected")
    by_key = {}
    for line in got:
        by_key.setdefault((line["call_frame"], line["xid"]), []).append(line)
    for want in expected:
        key = (want["call_frame"], want["xid"])
        if not by_key.get(key):
            failures.append(f"frame {key[0]} xid {key[1]}: not listed")
            continue
        line = by_key[key].pop(0)
        for name, value in want.items():
            if line[name] != value:
                failures.append(f"frame {key[0]} xid {key[1]} {line['name']}: {name} is {line[name]}, expected {value}")
    for (frame, xid), rest in by_key.items():
        if rest:
            failures.append(f"frame {frame} xid {xid}: not expected")
    return failures


def extract(stag, capture, contents, *required):
    failures = []
    with tempfile.TemporaryDirectory() as directory:
        manifest = run(stag, "extract", "--format", "jsonl", "--quiet", capture, "--out", directory + "/out")
        whole = set()
        for entry in manifest:
            known = pathlib.Path(contents, entry["name"] or "?")
            if not known.is_file() or entry["path"] is None:
                continue
            want = known.read_bytes()
            got = pathlib.Path(entry["path"]).read_bytes()
            if len(got) != entry["size"]:
                failures.append(f"{entry['path']}: {len(got)} bytes, the manifest says {entry['size']}")
            for begin, end in entry["read"]:
                if got[begin:end] != want[begin:end] or end > len(want):
                    failures.append(f"{entry['path']}: bytes {begin} to {end} differ from {known}")
            if entry["complete"] and got == want:
                whole.add(entry["name"])
        failures += [f"{name}: not extracted whole" for name in required if name not in whole]
        listed = {pathlib.Path(entry["path"]).name for entry in manifest if entry["path"]}
        there = {path.name for path in pathlib.Path(directory, "out").iterdir()}
        if listed != there:
            failures.append(f"manifest and directory differ: {sorted(listed ^ there)}")
    return failures


def nothing(stag, capture):
    failures = []
    for command in ("transactions", "connections"):
        if lines := run(stag, command, "--format", "jsonl", "--quiet", capture):
            failures.append(f"stag {command} lists {len(lines)}, first {lines[0]}")
    return failures


if __name__ == "__main__":
    what = {"transactions": transactions, "extract": extract, "nothing": nothing}[sys.argv[1]]
    problems = what(*sys.argv[2:])
    for problem in problems[:40]:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} differences")
