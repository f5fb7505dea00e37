#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time and memory of stag, tshark and tcpdump on one large capture.

    compare.py BUILD [CAPTURE [ROUNDS]]

BUILD: a build directory. CAPTURE: multiplied to at least 150 MB first (default: a RoCEv2 session of NFSv4.1 from pcaps/real).
The programs run in turn, ROUNDS times (default 5); what counts is the smallest CPU time of each, user and system together.
Exit status 1 when stag misses what it promises: at most a tenth of tshark's time, at most three times tcpdump's, less than
100 MiB of memory; and for `check` with all rules at most one and a half times what `transactions` takes."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGE = 150_000_000


def measure(command, environment):
    """CPU seconds and peak memory in MiB of one run, its output thrown away."""
    with open(os.devnull, "r+b") as nothing, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=errors, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"{' '.join(command)}: exit status {process.returncode}\n{errors.read().decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def multiply(build, capture, large):
    tool = build / "tests/bench/multiply"
    copies = 1
    while True:
        subprocess.run([tool, capture, large, str(copies)], check=True)
        size = large.stat().st_size
        if size >= LARGE:
            return copies
        copies = copies * LARGE // size + 1


def main(build, capture=ROOT / "pcaps/real/rxe-nfs4.1.pcap.zst", rounds="5"):
    build = pathlib.Path(build)
    with tempfile.TemporaryDirectory(prefix="stag-bench-") as directory:
        large = pathlib.Path(directory) / "large.pcap"
        copies = multiply(build, capture, large)
        print(f"{pathlib.Path(capture).name} x {copies}: {large.stat().st_size / 1e6:.0f} MB")
        commands = {
            "stag": [str(build / "cli/stag"), "transactions", str(large)],
            "check": [str(build / "cli/stag"), "check", "--fail-on", "never", str(large)],
            "tshark": ["tshark", "-r", str(large), "-q", "-z", "rpc,srt,100003,4"],
            "tcpdump": ["tcpdump", "-r", str(large), "-w", "/dev/null"],
        }
        environment = os.environ | {"WIRESHARK_CONFIG_DIR": directory, "HOME": directory}
        best = {}
        for _ in range(int(rounds)):
            for name, command in commands.items():
                cpu, memory = measure(command, environment)
                before = best.get(name, (cpu, memory))
                best[name] = (min(cpu, before[0]), max(memory, before[1]))

    for name, (cpu, memory) in best.items():
        print(f"{name:8} {cpu:8.3f} s CPU {memory:8.1f} MiB   {' '.join(commands[name])}")
    stag, memory = best["stag"]
    promises = [
        ("of tshark's CPU time", stag / best["tshark"][0], 0.1),
        ("times tcpdump's CPU time", stag / best["tcpdump"][0], 3.0),
        ("MiB of memory", memory, 100.0),
        ("times its own time for check", best["check"][0] / stag, 1.5),
    ]
    missed = 0
    for what, value, limit in promises:
        missed += value > limit
        print(f"stag: {value:8.3f} {what}, at most {limit:g}: {'MISSED' if value > limit else 'kept'}")
    return 1 if missed else 0


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
