#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What captures that are made to cost (tests/hostile/captures.py) do cost `stag check`: CPU time per frame for one, and for
another that is four times as long. Linear time is a ratio of 1.

    hostile.py BUILD [NUMBER]"""
import os
import pathlib
import sys
import tempfile

import compare

sys.path.append(str(compare.ROOT / "tests/hostile"))
import captures  # noqa: E402


def main(build, number="50000"):
    stag = str(pathlib.Path(build) / "cli/stag")
    print(f"{'capture':22} {'us a frame':>10} {'x 4':>10} {'ratio':>6} {'MiB':>6} {'x 4':>6}")
    with tempfile.TemporaryDirectory() as directory:
        capture = pathlib.Path(directory) / "capture.pcap"
        for kind in captures.KINDS:
            cost, memory = [], []
            for n in (int(number), 4 * int(number)):
                with open(capture, "wb") as out:
                    frames = captures.write(kind, n, out)
                cpu, peak = min(compare.measure([stag, "check", "--quiet", "--fail-on", "never", str(capture)], dict(os.environ)) for _ in range(3))
                cost.append(cpu / frames * 1e6)
                memory.append(peak)
            print(f"{kind:22} {cost[0]:10.3f} {cost[1]:10.3f} {cost[1] / cost[0]:6.2f} {memory[0]:6.0f} {memory[1]:6.0f}")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
