#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time and memory of tshark with the plugin, beside the same tshark with its own dissector, in one pass over a large capture.

    plugin.py BUILD [ROUNDS [CAPTURE...]]

BUILD: a build directory. Each CAPTURE is multiplied to at least 150 MB first (default: sessions of NFSv4.1 from pcaps/real,
RoCEv2 and iWARP). The two run in turn, ROUNDS times (default 5); what counts is the smallest CPU time of each, user and system
together. Exit status 1 when the plugin misses what it promises: at most 1.05 times the time and 1.15 times the memory."""
import contextlib
import pathlib
import subprocess
import sys

import compare

sys.path.append(str(compare.ROOT / "tests/plugin"))
from tshark import Wireshark  # noqa: E402

CAPTURES = [compare.ROOT / "pcaps/real" / name for name in ("rxe-nfs4.1.pcap.zst", "siw-nfs4.1.pcap.zst")]
PROMISES = [("times the CPU time", 1.05), ("times the memory", 1.15)]


def measure(build, version, capture, rounds):
    """How many promises were missed."""
    with Wireshark(build / "plugin/stag.so", version) as wireshark:
        large = wireshark.directory / "large.pcap"
        compare.multiply(build, capture, large)
        large.chmod(0o644)
        command = wireshark.as_user(["tshark", "-n", "-r", str(large), "-q", "-z", "rpc,srt,100003,4"])
        own = {key: value for key, value in wireshark.environment.items() if key != "WIRESHARK_PLUGIN_DIR"}
        runs = {"own dissector": own, "plugin": wireshark.environment}
        best = {}
        with contextlib.chdir(wireshark.directory):
            for _ in range(rounds):
                for name, environment in runs.items():
                    cpu, memory, _ = compare.measure(list(command), environment)
                    before = best.get(name, (cpu, memory))
                    best[name] = (min(cpu, before[0]), max(memory, before[1]))
    print(f"\n{capture.name}")
    for name, (cpu, memory) in best.items():
        print(f"{name:14} {cpu:8.3f} s CPU {memory:8.1f} MiB")
    missed = 0
    for (what, limit), plugin, alone in zip(PROMISES, best["plugin"], best["own dissector"], strict=True):
        missed += plugin / alone > limit
        print(f"plugin: {plugin / alone:6.3f} {what}, at most {limit:g}: {'MISSED' if plugin / alone > limit else 'kept'}")
    return missed


def main(build, rounds="5", *captures):
    version = subprocess.run(["pkg-config", "--modversion", "wireshark"], check=True, capture_output=True,
                             text=True).stdout.rsplit(".", 1)[0]
    missed = [measure(pathlib.Path(build), version, pathlib.Path(capture), int(rounds)) for capture in captures or CAPTURES]
    return 1 if any(missed) else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
