# SPDX-License-Identifier: GPL-2.0-or-later
"""Scrubbed captures in Wireshark with the plugin: no malformed frame and no wrong checksum that the original has not, and the same
findings at the same frames.

scrub_test.py PLUGIN WIRESHARK_VERSION STAG DIRECTORY    DIRECTORY: pcaps/real
"""
import os
import pathlib
import subprocess
import sys

from tshark import Wireshark

CHECKSUMS = ("ip", "tcp", "udp", "icmpv6", "igmp")
BAD = " || ".join(["_ws.malformed"] + [f"{layer}.checksum.status == 0" for layer in CHECKSUMS])
CHECKED = [word for layer in ("ip", "tcp", "udp") for word in ("-o", f"{layer}.check_checksum:TRUE")]


def main():
    plugin, version, stag, directory = sys.argv[1:]
    problems, findings = [], 0
    with Wireshark(plugin, version, os.environ.get("STAG_PLUGIN_PRELOAD")) as wireshark:
        key = wireshark.directory / "key"
        key.write_text("5a" * 32 + "\n")
        for capture in sorted(path for path in pathlib.Path(directory).iterdir() if ".pcap" in path.name):
            scrubbed = wireshark.directory / "captures" / f"scrubbed-{capture.name.split('.')[0]}.pcap"
            subprocess.run([stag, "scrub", "--quiet", capture, "-w", scrubbed, "--key", key], check=True)
            scrubbed.chmod(0o644)
            bad, told = [], []
            for path in (capture, scrubbed):
                rows = wireshark.fields(path, f"{BAD} || rpcrdma.finding", "frame.number", "_ws.malformed", "rpcrdma.finding",
                                        *(f"{layer}.checksum.status" for layer in CHECKSUMS), options=CHECKED)
                bad.append({(row[0][0], "malformed") for row in rows if row[1]} |
                           {(row[0][0], layer) for row in rows for layer, status in zip(CHECKSUMS, row[3:]) if "0" in status})
                told.append([(row[0], row[2]) for row in rows if row[2]])
            if bad[1] - bad[0]:
                problems.append(f"{capture.name}: new: {sorted(bad[1] - bad[0])[:5]}")
            if told[0] != told[1]:
                problems.append(f"{capture.name}: findings differ")
            findings += len(told[0])
    print(*problems, f"{findings} frames with findings", sep="\n")
    return bool(problems) or findings < 30


if __name__ == "__main__":
    sys.exit(main())
