#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""KEPT BUILD WORD...: what the scenario nfs captured, in one pass of tshark with the plugin: nothing is malformed, and every
RPC that stag finds is there."""
import json
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "plugin"))
import tshark  # noqa: E402


def main():
    kept, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    version = subprocess.run(["pkg-config", "--modversion", "wireshark"], capture_output=True, text=True, check=True).stdout
    captures = sorted(kept.glob("*.pcap"))
    status = 0 if captures else 1
    with tshark.Wireshark(build / "plugin/stag.so", ".".join(version.split(".")[:2])) as wireshark:
        for capture in captures:
            copy = wireshark.take(capture)
            lines = subprocess.run([build / "cli/stag", "transactions", "--format", "jsonl", capture],
                                   capture_output=True, text=True, check=True).stdout.splitlines()
            calls = [t for t in map(json.loads, lines) if t["type"] == "transaction"]
            found = {}
            for line in wireshark.run("tshark", "-n", "-r", copy, "-Y", "(rpcrdma && rpc) || _ws.malformed", "-T", "fields",
                                      "-e", "rpc.xid", "-e", "rpc.msgtyp", "-e", "_ws.malformed").splitlines():
                xids, kinds, malformed = line.split("\t")
                if malformed:
                    found["malformed"] = found.get("malformed", 0) + 1
                for xid, kind in zip(xids.split(","), kinds.split(",")):
                    found.setdefault(kind, set()).add(int(xid, 0))
            xids = {int(t["xid"], 0) for t in calls}
            fine = found.get("0", set()) >= xids and found.get("1", set()) >= xids and "malformed" not in found
            print(f"{capture.name}: {len(xids)} calls in stag; tshark: {len(found.get('0', ()))} calls, "
                  f"{len(found.get('1', ()))} replies, {found.get('malformed', 0)} malformed frames")
            status |= not fine
            copy.unlink()
    return status


if __name__ == "__main__":
    sys.exit(main())
