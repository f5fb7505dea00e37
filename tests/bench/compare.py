#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time and memory of stag, tshark and tcpdump on large captures, and of NFStest's nfstest_pkt where that is installed.

    compare.py BUILD [ROUNDS [CAPTURE...]]

BUILD: a build directory. Each CAPTURE is multiplied to at least 150 MB first (default: sessions of pcaps/real, RoCEv2 with bulk,
RoCEv2 with small calls, and iWARP; and READs of 1 MiB, nearly nothing but payload, by path MTU). The programs run in turn, ROUNDS times (default 5); what counts is the smallest CPU time of
each, user and system together, and for --jobs the smallest time on the clock: that takes an idle machine. NFStest runs once.
Exit status 1 when stag misses what it promises. What is aimed at and not reached is printed, too."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGE = 150_000_000
CAPTURES = [ROOT / "pcaps/real" / name for name in ("rxe-nfs4.1.pcap.zst", "rxe-nfs3.pcap.zst", "siw-nfs4.1.pcap.zst")]
BULK_MTUS = (1024, 4096)


def measure(command, environment):
    """CPU seconds, peak memory in MiB and seconds on the clock of one run, its output thrown away."""
    begin = time.monotonic()
    with open(os.devnull, "r+b") as nothing, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=errors, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"{' '.join(command)}: exit status {process.returncode}\n{errors.read().decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, time.monotonic() - begin


def multiply(build, capture, large):
    tool = build / "tests/bench/multiply"
    copies = 1
    while True:
        subprocess.run([tool, capture, large, str(copies)], check=True)
        size = large.stat().st_size
        if size >= LARGE:
            return copies
        copies = copies * LARGE // size + 1


def compare(build, capture, rounds):
    """How many promises were missed."""
    with tempfile.TemporaryDirectory(prefix="stag-bench-") as directory:
        large = pathlib.Path(directory) / "large.pcap"
        copies = multiply(build, capture, large)
        print(f"\n{capture.name} x {copies}: {large.stat().st_size / 1e6:.0f} MB")
        check = [str(build / "cli/stag"), "check", "--fail-on", "never", str(large)]
        commands = {
            "stag": [str(build / "cli/stag"), "transactions", str(large)],
            "check": check,
            "--jobs 2": [*check, "--jobs", "2"],
            "tshark": ["tshark", "-r", str(large), "-q", "-z", "rpc,srt,100003,4"],
            "tcpdump": ["tcpdump", "-r", str(large), "-w", "/dev/null"],
        }
        environment = os.environ | {"WIRESHARK_CONFIG_DIR": directory, "HOME": directory}
        best = {}
        for _ in range(rounds):
            for name, command in commands.items():
                cpu, memory, clock = measure(command, environment)
                before = best.get(name, (cpu, memory, clock))
                best[name] = (min(cpu, before[0]), max(memory, before[1]), min(clock, before[2]))
        if nfstest := shutil.which("nfstest_pkt"):
            micro = str(large) + ".us"  # it knows times in microseconds only
            subprocess.run(["editcap", "-F", "pcap", large, micro], check=True)
            commands["NFStest"] = [nfstest, micro]
            best["NFStest"] = measure(commands["NFStest"], environment)

    for name, (cpu, memory, clock) in best.items():
        print(f"{name:8} {cpu:8.3f} s CPU {memory:8.1f} MiB {clock:8.3f} s   {' '.join(commands[name])}")
    cpu = {name: values[0] for name, values in best.items()}
    promises = [
        ("of tshark's CPU time", cpu["stag"] / cpu["tshark"], 0.1),
        ("times tcpdump's CPU time", cpu["stag"] / cpu["tcpdump"], 3.0),
        ("MiB of memory", best["stag"][1], 100.0),
        ("times its own time for check", cpu["check"] / cpu["stag"], 1.5),
    ]
    missed = 0
    for what, value, limit in promises:
        missed += value > limit
        print(f"stag: {value:8.3f} {what}, at most {limit:g}: {'MISSED' if value > limit else 'kept'}")
    for what, value, aim in [
        ("check, of tshark's CPU time", cpu["check"] / cpu["tshark"], 0.02),
        ("check, times tcpdump's CPU time", cpu["check"] / cpu["tcpdump"], 1.0),
        ("check --jobs 2, of the time of one on the clock", best["--jobs 2"][2] / best["check"][2], 0.55),
    ]:
        print(f"aim:  {value:8.3f} {what}, aimed at {aim:g}")
    if "NFStest" in cpu:
        print(f"      {cpu['stag'] / cpu['NFStest']:8.4f} of NFStest's CPU time")
    return missed


def main(build, rounds="5", *captures):
    build = pathlib.Path(build)
    missed = [compare(build, pathlib.Path(capture), int(rounds)) for capture in captures or CAPTURES]
    with tempfile.TemporaryDirectory(prefix="stag-bench-") as directory:
        for mtu in () if captures else BULK_MTUS:
            bulk = pathlib.Path(directory) / f"bulk-{mtu}.pcap"
            subprocess.run([build / "tests/bench/bulk", bulk, str(mtu), "20"], check=True)
            missed.append(compare(build, bulk, int(rounds)))
    return 1 if any(missed) else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
