# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that make one table of the analysis grow (tests/hostile/attacks.py) through tshark with the plugin, and little memory for its
state: Wireshark sees no bug, and the plugin takes no more than docs/security.md says, beside what tshark takes without it.

    growth_test.py PLUGIN WIRESHARK_VERSION"""
import os
import pathlib
import sys
import tempfile
import unittest

from tshark import Wireshark

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hostile"))
import attacks  # noqa: E402

PRELOAD = os.environ.get("STAG_PLUGIN_PRELOAD")  # sanitizers: what they take beside is a multiple
FRAMES = 2000 if PRELOAD else 20000
STATE, KEPT = 1 << 20, 1 << 20
LIMITS = ("-o", f"rpcrdma.state_memory:{STATE >> 20}", "-o", f"rpcrdma.memory:{KEPT >> 20}")
# Wireshark's own dissectors of RPC-over-RDMA, which the plugin switches off.
WITHOUT = ("--disable-heuristic", "rpcrdma_infiniband", "--disable-heuristic", "rpcrdma_iwarp")
# For each frame and each of its bytes: the records that are shown are kept as long as the file is open.
FRAME, BYTE = 1024, 4


class Growth(unittest.TestCase):
    def attack(self, kind):
        with tempfile.TemporaryDirectory() as directory:
            capture = pathlib.Path(directory) / f"{kind}.pcap"
            with open(capture, "wb") as out:
                frames = attacks.write(kind, FRAMES, out)
            promise = STATE + STATE // 2 + KEPT + (20 << 20) + FRAME * frames + BYTE * capture.stat().st_size
            taken = WIRESHARK.peak(capture, *LIMITS)
            if not PRELOAD:
                taken -= PLAIN.peak(capture, *WITHOUT)
                self.assertLessEqual(taken, promise, f"{kind}: {taken / 2**20:.0f} MiB of {promise / 2**20:.0f}")


for name in attacks.KINDS:
    setattr(Growth, f"test_{name}", lambda self, kind=name: self.attack(kind))


if __name__ == "__main__":
    VERSION, PLUGIN = sys.argv.pop(2), sys.argv.pop(1)
    with Wireshark(PLUGIN, VERSION, PRELOAD) as WIRESHARK, Wireshark(None, VERSION) as PLAIN:
        unittest.main()
