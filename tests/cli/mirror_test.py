# SPDX-License-Identifier: GPL-2.0-or-later
"""The capture of a real mirror (pcaps/mirror) gives what the capture gives whose packets went through it: the mirror sends each
packet twice, in VXLAN, and both are the same in every byte; packets that were sent again stay that.

mirror_test.py STAG    (runs as a unittest program)
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

STAG = sys.argv.pop(1)
PCAPS = pathlib.Path(__file__).resolve().parents[2] / "pcaps"
MIRROR = PCAPS / "mirror" / "rxe-loss-nfs3-vxlan.pcap.zst"
ORIGINAL = PCAPS / "real" / "rxe-loss-nfs3.pcap.zst"
# What depends on when and as which frame a packet came.
PLACES = ("file", "time_s", "reply_time", "reply_time_s", "call_frame", "reply_frame", "delivered_frame", "frame", "proven_frame", "related_frames",
          "rtt_us", "phases_us", "time", "message", "frames",
          "rnr_stall_us", "first_frame", "last_frame", "span_us")


def told(capture, analysis):
    done = subprocess.run([STAG, analysis, "--format", "jsonl", str(capture)], capture_output=True, check=False, timeout=120)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, [{name: value for name, value in line.items() if name not in PLACES} for line in lines]


class Mirror(unittest.TestCase):
    def test_tells_the_same(self):
        for analysis in ("transactions", "transport", "check"):
            with self.subTest(analysis):
                self.assertEqual(told(MIRROR, analysis), told(ORIGINAL, analysis))

    def test_copies_are_counted(self):
        summary = told(MIRROR, "connections")[1][-1]
        packets = len(subprocess.run(["tshark", "-r", str(ORIGINAL), "-Y", "infiniband || tcp"], capture_output=True, check=True).stdout.splitlines())
        self.assertEqual(summary["tunnels"], {"vxlan": 2 * 1322})
        self.assertLessEqual(summary["copies"], packets)
        self.assertGreaterEqual(summary["copies"], packets - 16)  # the first of each host show no mirror yet
        text = subprocess.run([STAG, "transport", str(MIRROR)], capture_output=True, check=True, text=True).stdout
        self.assertEqual(text.splitlines()[-1], f"{summary['copies']} copies of packets left out; 2644 frames unwrapped: VXLAN 2644")

    def test_scrubbed(self):
        """Copies become the same bytes."""
        with tempfile.TemporaryDirectory() as home:
            out = pathlib.Path(home) / "out.pcap.zst"
            subprocess.run([STAG, "scrub", str(MIRROR), "-w", str(out)], capture_output=True, check=True, timeout=120)
            self.assertEqual(out.read_bytes()[:4], b"\x28\xb5\x2f\xfd")
            for analysis in ("transport", "check"):
                self.assertEqual(told(out, analysis), told(ORIGINAL, analysis))
            self.assertEqual(told(out, "connections")[1][-1], told(MIRROR, "connections")[1][-1])


if __name__ == "__main__":
    unittest.main()
