# SPDX-License-Identifier: GPL-2.0-or-later
"""Broken captures through tshark with the plugin: it lives, and Wireshark sees no bug in it.

fuzz_test.py PLUGIN WIRESHARK_VERSION CAPTURES

CAPTURES: the directory pcaps/real. Bytes of its captures are changed with `editcap -E`, with fixed seeds; and `randpkt` makes
packets of its own."""
import argparse
import os
import pathlib
import sys

from tshark import Wireshark

PASSES = [["-V"], ["-2", "-T", "json", "-Y", "rpcrdma"],
          ["-q", "-z", "rpcrdma,srt", "-z", "rpcrdma,tree", "-z", "rpcrdma,findings", "-z", "conv,rpcrdma",
           "-z", "follow,rpcrdma,hex,1"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin")
    parser.add_argument("version", help="of Wireshark, like 4.0")
    parser.add_argument("captures")
    options = parser.parse_args()
    problems, shown = [], 0
    with Wireshark(options.plugin, options.version, os.environ.get("STAG_PLUGIN_PRELOAD")) as wireshark:
        home = wireshark.directory / "home"
        inputs = []
        for name in ("rxe-nfs4.1", "rxe-snap128-nfs3", "siw-nfs4.1", "siw-rdma_error"):
            capture = wireshark.take(next(pathlib.Path(options.captures).glob(f"{name}.pcap*")))
            for seed, chance in ((1, "0.001"), (2, "0.01"), (3, "0.05")):
                broken = home / f"{name}-{seed}.pcapng"
                wireshark.run("editcap", "--seed", str(seed), "-E", chance, "-r", str(capture), str(broken), "1-500")
                inputs.append(broken)
        for kind in ("eth", "ip", "udp", "tcp"):
            made = home / f"random-{kind}.pcap"
            wireshark.run("randpkt", "-t", kind, "-c", "300", "-b", "1500", str(made))
            inputs.append(made)
        for capture in inputs:
            for arguments in PASSES:
                try:
                    output = wireshark.tshark(capture, *arguments)
                except AssertionError as error:
                    problems.append(str(error))
                    continue
                shown += "RPC-over-RDMA, RDMA_" in output
                problems += [f"{capture.name}: {line.strip()}" for line in output.splitlines()
                             if "Dissector bug" in line and "RPC-over-RDMA" in line]
    if shown < 4:
        problems.append("hardly anything was taken for RPC-over-RDMA")
    print("\n".join(problems) or "fine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
