# SPDX-License-Identifier: GPL-2.0-or-later
"""Damages a capture and looks what tshark with the plugin makes of it.

damage_test.py PLUGIN WIRESHARK_VERSION CAPTURE [unittest options]

Packets lost, repeated, swapped or cut short: no RPC message may be shown
that is not in the undamaged capture, byte for byte, and nothing that is passed to the rpc dissector is malformed. Bytes
changed at random: tshark lives.
"""
import argparse
import json
import os
import pathlib
import random
import struct
import sys
import tempfile
import unittest

from tshark import Wireshark

OPTIONS = None
FRAMES = 900  # from the start of the capture
UPPER_LAYERS = ["nfs", "nfsacl", "mount", "nlm", "stat", "nfs.cb"]


def read(path):
    """The file header of a pcap file, and (seconds, fraction, wire length, bytes) of each packet."""
    data = pathlib.Path(path).read_bytes()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    packets, at = [], 24
    while at + 16 <= len(data):
        seconds, fraction, captured, length = struct.unpack(order + "IIII", data[at:at + 16])
        packets.append((seconds, fraction, length, data[at + 16:at + 16 + captured]))
        at += 16 + captured
    return order, data[:24], packets


def write(path, order, header, packets):
    with open(path, "wb") as file:
        file.write(header)
        for seconds, fraction, length, data in packets:
            file.write(struct.pack(order + "IIII", seconds, fraction, len(data), length) + data)


def lose(packets, chance):
    return [packet for packet in packets if chance.random() > 0.02]


def repeat(packets, chance):
    return [packet for original in packets for packet in ([original] * (2 if chance.random() < 0.05 else 1))]


def swap(packets, chance):
    swapped = list(packets)
    for i in range(len(swapped) - 1):
        if chance.random() < 0.03:
            swapped[i], swapped[i + 1] = swapped[i + 1], swapped[i]
    return swapped


def cut(packets, chance):
    return [(seconds, fraction, length, data[:chance.randrange(len(data))] if chance.random() < 0.05 else data)
            for seconds, fraction, length, data in packets]


def change(packets, chance):
    changed = []
    for seconds, fraction, length, data in packets:
        data = bytearray(data)
        while chance.random() < 0.4:
            data[chance.randrange(len(data))] = chance.randrange(256)
        changed.append((seconds, fraction, length, bytes(data)))
    return changed


class DamageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wireshark = Wireshark(OPTIONS.plugin, OPTIONS.version, os.environ.get("STAG_PLUGIN_PRELOAD"))
        cls.addClassCleanup(cls.wireshark.close)
        cls.directory = tempfile.TemporaryDirectory(prefix="stag-damage-")
        cls.addClassCleanup(cls.directory.cleanup)
        plain = cls.wireshark.directory / "home" / "plain.pcap"
        cls.wireshark.run("editcap", "-F", "nsecpcap", "-r", str(cls.wireshark.take(OPTIONS.capture)), str(plain),
                          f"1-{FRAMES}")
        cls.order, cls.header, cls.packets = read(plain)
        cls.whole = cls.shown(cls.save("whole", cls.packets))

    @classmethod
    def save(cls, name, packets):
        path = pathlib.Path(cls.directory.name) / f"{name}.pcap"
        write(path, cls.order, cls.header, packets)
        return path

    @classmethod
    def shown(cls, capture):
        """The RPC messages that were passed to the rpc dissector."""
        output = cls.wireshark.tshark(capture, "-Y", "rpcrdma && rpc", "-T", "json", "-x", "-J",
                                      "rpc " + " ".join(UPPER_LAYERS))
        messages = set()
        for packet in json.loads(output or "[]", object_pairs_hook=lambda pairs: pairs):
            layers = dict(dict(packet)["_source"])["layers"]
            items = [(name, value) for name, value in layers if name.endswith("_raw")]
            for (name, value), (next_name, rest) in zip(items, [*items[1:], ("", None)]):
                if name == "rpc_raw":
                    body = bytes.fromhex(rest[0]) if next_name.removesuffix("_raw") in UPPER_LAYERS else b""
                    messages.add(bytes.fromhex(value[0]) + body)
        return messages

    def assert_undamaged(self, shown):
        # Of a Reply whose Call was lost, rpc shows the header only.
        wrong = [message.hex() for message in shown - self.whole
                 if not any(whole.startswith(message) for whole in self.whole)]
        self.assertEqual(wrong, [])

    def check(self, damage, seed):
        packets = damage(self.packets, random.Random(seed))
        capture = self.save(f"{damage.__name__}-{seed}", packets)
        shown = self.shown(capture)
        self.assertGreater(len(shown), len(self.whole) // 4)
        self.assert_undamaged(shown)
        self.assertEqual(self.wireshark.fields(capture, "_ws.malformed && rpc && rpcrdma", "frame.number"), [])
        self.wireshark.tshark(capture, "-2", "-V", "-Y", "rpcrdma")

    def test_lost(self):
        self.check(lose, 1)

    def test_repeated(self):
        self.check(repeat, 2)

    def test_swapped(self):
        self.check(swap, 3)

    def test_cut(self):
        packets = cut(self.packets, random.Random(4))
        capture = self.save("cut", packets)
        self.assert_undamaged(self.shown(capture))
        self.wireshark.tshark(capture, "-2", "-V", "-Y", "rpcrdma")

    def test_changed(self):
        for seed in range(5, 9):
            capture = self.save(f"changed-{seed}", change(self.packets, random.Random(seed)))
            self.wireshark.tshark(capture, "-V")
            self.wireshark.tshark(capture, "-2", "-q", "-z", "io,phs")


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin")
    parser.add_argument("version", help="of Wireshark, like 4.0")
    parser.add_argument("capture")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)


if __name__ == "__main__":
    main()
