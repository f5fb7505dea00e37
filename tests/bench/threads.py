#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What --threads 2 of stag serve gains over one, with two connections over software iWARP, on a machine with only two
processors: each of the four threads gets a processor of half the speed, half of the time of a real one (a control group with a
quota). Needs root, control groups of version 1, and a machine with nothing else to do. With four processors load_bench shows it.

    threads.py BUILD [null|echo|read] [ROUNDS]

Many Calls are outstanding, so that no thread waits for another that has used up its share of a period.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

PERIOD_US, QUOTA_US = 2000, 1000
GROUPS = pathlib.Path("/sys/fs/cgroup/cpu")
LOADS = {
    "null": (["--mode", "null"], ["--mode", "null", "--depth", "2048"]),
    "echo": (["--mode", "echo", "--receive-size", "8192", "--send-size", "8192"],
             ["--mode", "echo", "--size", "4K", "--depth", "512", "--receive-size", "8192", "--send-size", "8192"]),
    "read": (["--mode", "nfs-memory"], ["--mode", "nfs3", "--mix", "read=1", "--size", "64K", "--file-size", "8M", "--depth", "128"]),
}


def half_processor(number):
    """A control group, as the file that takes thread ids."""
    group = GROUPS / f"stag-half-{number}"
    group.mkdir(exist_ok=True)
    (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (group / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
    return group / "tasks"


def ticks(process):
    """Of each thread: processor time so far."""
    times = {}
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
        times[int(task.name)] = int(fields[11]) + int(fields[12])
    return times


def place(process, processors):
    """The threads that work: each on a half of a processor."""
    before = ticks(process)
    time.sleep(0.3)
    work = {thread: after - before.get(thread, 0) for thread, after in ticks(process).items()}
    for thread, (half, real) in zip(sorted(work, key=work.get, reverse=True), processors):
        half_processor(half).write_text(str(thread))
        os.sched_setaffinity(thread, {real})


def calls_per_second(stag, load, threads):
    serve, generate = LOADS[load]
    server = subprocess.Popen([stag, "serve", "--transport", "iwarp", "--no-crc", "--credits", "4096", "--threads", str(threads),
                               "--listen", "127.0.0.1:0", "--format", "jsonl", *serve], stdout=subprocess.PIPE, text=True)
    port = json.loads(server.stdout.readline())["port"]
    client = subprocess.Popen([stag, "generate", "--to", f"127.0.0.1:{port}", "--transport", "iwarp", "--no-crc", "--connections",
                               "2", "--threads", "2", "--duration", "6s", "--format", "jsonl", *generate], stdout=subprocess.PIPE,
                              text=True)
    time.sleep(0.5)
    place(server, [(0, 0), (1, 1)][:threads])
    place(client, [(2, 1), (3, 0 if threads == 2 else 1)])
    out, _ = client.communicate()
    server.terminate()
    server.communicate()
    return json.loads(out.splitlines()[-1])["calls_per_second"]


def main():
    if not os.access(GROUPS, os.W_OK):
        sys.exit(f"threads.py: {GROUPS} is not there, or not to be written: it takes root and control groups of version 1")
    stag = os.path.join(sys.argv[1], "cli", "stag")
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    for load in sys.argv[2:3] or LOADS:
        rates = {1: [], 2: []}
        for _ in range(rounds):
            for threads, all_rates in rates.items():
                all_rates.append(calls_per_second(stag, load, threads))
        one, two = (statistics.median(all_rates) for all_rates in rates.values())
        print(f"{load}: {one:.0f} calls/s with one thread, {two:.0f} with two: {two / one:.2f} (medians of {rounds})", flush=True)


main()
