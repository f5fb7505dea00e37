# SPDX-License-Identifier: GPL-2.0-or-later
"""A delay of the responder shows in the phase `service`, and in no other: software iWARP on loopback, recorded by the server.

delay_test.py STAG    (runs as a unittest program)
"""
import pathlib
import tempfile
import unittest

from live_runs import Running, fine, lines, stag

DELAY = 200  # ms: more than the median of anything else here, on a busy machine, too
OTHERS = ("to_first_read", "pull", "push", "finish")


class Delay(unittest.TestCase):
    def recorded(self, delay):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = pathlib.Path(directory.name) / "server.pcapng"
        with Running("serve", "--mode", "nfs-memory", "--delay", delay, "--record", path, "--mount-port", "0") as server:
            fine("generate", "--to", server.to, "--mode", "nfs3", "--mount-port", server.mount_port, "--transport", "iwarp",
                 "--depth", 1, "--calls", 30, "--size", "64K", "--mix", "read=50,write=50", "--file-size", "256K", "--seed", 1)
        return path

    def test_only_service_grows(self):
        before, after = self.recorded(0), self.recorded(DELAY)
        medians = {}
        for path in (before, after):
            found = lines(stag("latency", "--format", "jsonl", path))
            medians[path] = {(line["key"], line["phase"]): line["p50_us"] for line in found}
        phases = {phase for key, phase in medians[after]}
        self.assertEqual(phases, {"rtt", "service", *OTHERS})
        for key in ("NFSv3 READ", "NFSv3 WRITE"):
            for phase in ("rtt", "service"):
                self.assertGreater(medians[after][key, phase], DELAY * 1000 * 0.9, (key, phase))
                self.assertLess(medians[before][key, phase], DELAY * 1000 / 2, (key, phase))
        for (key, phase), median in medians[after].items():
            if phase in OTHERS:
                self.assertLess(median, DELAY * 1000 / 2, (key, phase))
        verdicts = {(line["key"], line["phase"]): line["verdict"]
                    for line in lines(stag("latency", "--format", "jsonl", after, "--against", before))}
        for key in ("NFSv3 READ", "NFSv3 WRITE"):
            self.assertEqual((verdicts[key, "rtt"], verdicts[key, "service"]), ("slower", "slower"))
        self.assertEqual(stag("latency", after, "--against", before, "--fail-on-slower", "50%").returncode, 1)
        for rpc in lines(stag("transactions", "--format", "jsonl", after)):
            if rpc["rtt_us"] is not None:
                self.assertGreaterEqual(rpc["phases_us"]["service"], DELAY * 1000 * 0.9)


if __name__ == "__main__":
    unittest.main()
