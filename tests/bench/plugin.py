#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time and memory of tshark with the plugin, beside the same tshark with its own dissector, in one pass over one large capture.

    plugin.py BUILD [CAPTURE [ROUNDS]]

BUILD: a build directory. CAPTURE: multiplied to at least 150 MB first (default: a RoCEv2 session of NFSv4.1 from pcaps/real).
The two run in turn, ROUNDS times (default 5); what counts is the smallest CPU time of each, user and system together. Exit
status 1 when the plugin misses what it promises: at most 1.15 times the time and 1.3 times the memory."""
import os
import pathlib
import subprocess
import sys

import compare

sys.path.append(str(compare.ROOT / "tests/plugin"))
from tshark import Wireshark  # noqa: E402

PROMISES = [("times the CPU time", 1.15), ("times the memory", 1.3)]


def main(build, capture=compare.ROOT / "pcaps/real/rxe-nfs4.1.pcap.zst", rounds="5"):
    build = pathlib.Path(build)
    version = subprocess.run(["pkg-config", "--modversion", "wireshark"], check=True, capture_output=True,
                             text=True).stdout.rsplit(".", 1)[0]
    with Wireshark(build / "plugin/stag.so", version) as wireshark:
        large = wireshark.directory / "large.pcap"
        compare.multiply(build, capture, large)
        large.chmod(0o644)
        command = wireshark.as_user(["tshark", "-n", "-r", str(large), "-q", "-z", "rpc,srt,100003,4"])
        os.chdir(wireshark.directory)
        own = {key: value for key, value in wireshark.environment.items() if key != "WIRESHARK_PLUGIN_DIR"}
        runs = {"own dissector": own, "plugin": wireshark.environment}
        best = {}
        for _ in range(int(rounds)):
            for name, environment in runs.items():
                cpu, memory, _ = compare.measure(list(command), environment)
                before = best.get(name, (cpu, memory))
                best[name] = (min(cpu, before[0]), max(memory, before[1]))
    for name, (cpu, memory) in best.items():
        print(f"{name:14} {cpu:8.3f} s CPU {memory:8.1f} MiB")
    missed = 0
    for (what, limit), plugin, alone in zip(PROMISES, best["plugin"], best["own dissector"], strict=True):
        missed += plugin / alone > limit
        print(f"plugin: {plugin / alone:6.3f} {what}, at most {limit:g}: {'MISSED' if plugin / alone > limit else 'kept'}")
    return 1 if missed else 0


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
