# SPDX-License-Identifier: GPL-2.0-or-later
"""The text, JSON and fields that tshark prints of a few small captures, held against what a person looked at and found right.

golden_test.py PLUGIN WIRESHARK_VERSION CAPTURES GOLDEN [--write]

CAPTURES: the directory pcaps/real. GOLDEN: the directory of the expected outputs. --write makes them anew: then look at the
difference before it is committed. Only what is the plugin's is compared, so that Wireshark's own layers may change."""
import argparse
import difflib
import json
import os
import pathlib
import re
import sys

from tshark import Wireshark

# What is shown of which capture.
CASES = {
    "rxe-nfs4.1": "rpcrdma && (frame.number <= 12 || frame.number in {323,325,326,445,446})",
    "rxe-rdma_error": "rpcrdma",
    "siw-rdma_error": "rpcrdma",
    "siw-nfs4.1": "rpcrdma && frame.number <= 16",
    "rxe-reject": "rpcrdma",
}
# Findings have tests of their own; here one capture shows what they look like.
WITH_FINDINGS = "rxe-nfs4.1"
FIELDS = ["frame.number", "rpcrdma.direction", "rpcrdma.xid", "rpcrdma.role", "rpcrdma.rpc.name", "rpcrdma.chunks",
          "rpcrdma.credits.requested", "rpcrdma.credits.granted", "rpcrdma.credits.outstanding", "rpcrdma.time",
          "rpcrdma.call_in", "rpcrdma.reply_in", "rpcrdma.segment.moved_in", "rpcrdma.segment.handle",
          "rpcrdma.invalidation", "rpcrdma.error", "rpcrdma.error.call_in", "rpcrdma.finding", "rpcrdma.setup",
          "rpcrdma.threshold", "_ws.col.Info"]


def preferences(capture):
    return ["-o", f"rpcrdma.check_conformance:{'TRUE' if capture.name.startswith(WITH_FINDINGS) else 'FALSE'}"]


def text(wireshark, capture, show):
    """The plugin's part of -V: the frame's line and the subtrees of RPC-over-RDMA."""
    lines, ours = [], False
    for line in wireshark.tshark(capture, "-2", *preferences(capture), "-V", "-Y", show).splitlines():
        if not line.startswith(" "):
            ours = line.startswith("RPC-over-RDMA")
            if line.startswith("Frame "):
                lines.append(re.match(r"Frame \d+", line)[0])
        if ours and line:
            lines.append(line)
    return "\n".join(lines) + "\n"


def as_json(wireshark, capture, show):
    output = wireshark.tshark(capture, "-2", *preferences(capture), "-T", "json", "--no-duplicate-keys", "-J", "rpcrdma", "-Y", show)
    layers = [packet["_source"]["layers"].get("rpcrdma") for packet in json.loads(output or "[]")]
    return json.dumps(layers, indent=1, sort_keys=True) + "\n"


def fields(wireshark, capture, show):
    options = [option for name in FIELDS for option in ("-e", name)]
    return wireshark.tshark(capture, "-2", *preferences(capture), "-T", "fields", "-E", "header=y", "-E", "aggregator=,",
                            "-Y", show, *options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin")
    parser.add_argument("version", help="of Wireshark, like 4.0")
    parser.add_argument("captures")
    parser.add_argument("golden")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    golden = pathlib.Path(options.golden)
    different = 0
    with Wireshark(options.plugin, options.version, os.environ.get("STAG_PLUGIN_PRELOAD")) as wireshark:
        for name, show in CASES.items():
            capture = next(pathlib.Path(options.captures).glob(f"{name}.pcap*"))
            for suffix, make in (("txt", text), ("json", as_json), ("tsv", fields)):
                file = golden / f"{name}.{suffix}"
                output = make(wireshark, capture, show)
                if options.write:
                    file.write_text(output)
                    continue
                expected = file.read_text()
                if output != expected:
                    different += 1
                    sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), output.splitlines(True),
                                                               str(file), "now", n=2))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
