# SPDX-License-Identifier: GPL-2.0-or-later
"""Ethernet frames put into tunnels, written from the RFCs, and pcap files of them.

    WRAPPERS      name -> function from a frame and its number to the frame in the tunnel; None: it cannot hold this frame
    read, write   a capture (also .zst) as records, and back
"""
import struct

import wire

MAC = bytes.fromhex("021122334455 02aabbccddee")  # of the switches
IP6 = bytes.fromhex("fd99000000000000000000000000000a fd99000000000000000000000000000b")


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def length(n):
    """A length field of 16 bits; 0 where it does not fit, as segmentation offload leaves it."""
    return n if n <= 0xffff else 0


def eth(ethertype, payload, tags=()):
    """`tags`: pairs of TPID and tag control information, outermost first."""
    out = MAC
    for tpid, control in tags:
        out += struct.pack(">HH", tpid, control)
    return out + struct.pack(">H", ethertype) + payload


def ip4(protocol, payload, wire_length, options=b""):
    head = struct.pack(">BBHHHBBH", 0x45 + len(options) // 4, 0, length(20 + len(options) + wire_length), 7, 0x4000, 61, protocol,
                       0) + bytes([192, 0, 2, 1, 192, 0, 2, 2]) + options
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def ip6(protocol, payload, wire_length):
    return struct.pack(">IHBB", 0x60012345, length(wire_length), protocol, 61) + IP6 + payload


def udp(port, payload, wire_length):
    return struct.pack(">HHHH", 50123, port, length(8 + wire_length), 0) + payload


class Frame:
    """A frame of which perhaps not all was captured."""

    def __init__(self, data, wire_length, number):
        self.data, self.wire, self.number = data, wire_length, number

    def ip(self):
        """The ethertype and the IP packet, of frames that are Ethernet with IP right behind; else None."""
        ethertype = int.from_bytes(self.data[12:14], "big")
        return (ethertype, Frame(self.data[14:], self.wire - 14, self.number)) if ethertype in (0x0800, 0x86dd) else None

    def behind(self, head, around=None):
        """`head`, then this; `around` makes the whole of that and its length on the wire."""
        data, wire_length = head + self.data, len(head) + self.wire
        out = around(data, wire_length) if around else data
        return Frame(out, wire_length + len(out) - len(data), self.number)

    def padded(self, n):
        """With a trailer that no header counts."""
        return Frame(self.data + bytes([0xee] * n), self.wire + n, self.number) if len(self.data) == self.wire else self


def over_udp4(port):
    return lambda data, n: eth(0x0800, ip4(17, udp(port, data, n), n + 8))


def over_udp6(port):
    return lambda data, n: eth(0x86dd, ip6(17, udp(port, data, n), n + 8))


def over_ip4(protocol):
    return lambda data, n: eth(0x0800, ip4(protocol, data, n))


def over_ip6(protocol):
    return lambda data, n: eth(0x86dd, ip6(protocol, data, n))


def of_ip(head, around):
    """A wrapper of IP packets; `head(ethertype, frame)`."""
    def wrap(frame):
        inner = frame.ip()
        return inner and inner[1].behind(head(*inner), around(inner[0]))
    return wrap


def of_frame(head, around):
    return lambda frame: frame.behind(head(frame), around)


VXLAN = bytes.fromhex("08000000 00123400")
CUSTOM_VXLAN = 14789
GENEVE_OPTIONS = bytes.fromhex("0102 80 01 deadbeef 0103 01 02 0011223344556677")  # 8 and 12 bytes
SEQUENCE = struct.Struct(">I")


def erspan2(frame):
    return bytes.fromhex("1000 88be") + SEQUENCE.pack(frame.number) + bytes.fromhex("1064 1005 00000007")


def erspan3(frame, flags="0004", subheader="", sequence=True):
    # Version 2, VLAN 100, session 5; time in units of 100 ns; security group tag 0.
    gre = bytes.fromhex("1000 22eb") + SEQUENCE.pack(frame.number) if sequence else bytes.fromhex("0000 22eb")
    return gre + bytes.fromhex("2064 1005") + SEQUENCE.pack(0x01020304) + bytes.fromhex("0000" + flags + subheader)


def vlan(tags):
    """Tags added to those of the frame."""
    def wrap(frame):
        added = b"".join(struct.pack(">HH", *tag) for tag in tags)
        return Frame(frame.data[:12] + added + frame.data[12:], frame.wire + len(added), frame.number)
    return wrap


def ethernet(ethertype):
    return lambda data, n: eth(ethertype, data)


WRAPPERS = {
    "vxlan": of_frame(lambda f: VXLAN, over_udp4(4789)),
    "vxlan-padded": lambda f: of_frame(lambda f: VXLAN, over_udp4(4789))(f).padded(9),
    "vxlan-over-ipv6": of_frame(lambda f: VXLAN, over_udp6(4789)),
    "vxlan-gpe-ethernet": of_frame(lambda f: bytes.fromhex("0c000003 00123400"), over_udp4(4790)),
    "vxlan-gpe-ip": of_ip(lambda t, f: bytes.fromhex("0c00000" + ("1" if t == 0x0800 else "2") + "00123400"),
                          lambda t: over_udp4(4790)),
    "geneve": of_frame(lambda f: bytes.fromhex("0000 6558 00123400"), over_udp4(6081)),
    "geneve-options": of_frame(lambda f: bytes.fromhex("0540 6558 00123400") + GENEVE_OPTIONS, over_udp6(6081)),
    "geneve-ip": of_ip(lambda t, f: bytes.fromhex("0000") + struct.pack(">H", t) + bytes.fromhex("00123400"),
                       lambda t: over_udp4(6081)),
    "gre": of_ip(lambda t, f: bytes.fromhex("0000") + struct.pack(">H", t), lambda t: over_ip4(47)),
    "gre-over-ipv6": of_ip(lambda t, f: bytes.fromhex("0000") + struct.pack(">H", t), lambda t: over_ip6(47)),
    "gre-ethernet-all-fields": of_frame(lambda f: bytes.fromhex("b000 6558 0000 0000 00000042") + SEQUENCE.pack(f.number),
                                        over_ip4(47)),
    "nvgre": of_frame(lambda f: bytes.fromhex("2000 6558 00123401"), over_ip4(47)),
    "erspan-1": of_frame(lambda f: bytes.fromhex("0000 88be"), over_ip4(47)),
    "erspan-2": of_frame(erspan2, over_ip4(47)),
    "erspan-3": of_frame(lambda f: erspan3(f, sequence=False), over_ip4(47)),
    "erspan-3-sequence-subheader": of_frame(lambda f: erspan3(f, "8005", "1c000001 6553f100"), over_ip4(47)),
    "erspan-3-ip": of_ip(lambda t, f: erspan3(f, "0804"), lambda t: over_ip4(47)),
    "ip-in-ipv4": of_ip(lambda t, f: b"", lambda t: over_ip4(4 if t == 0x0800 else 41)),
    "ip-in-ipv6": of_ip(lambda t, f: b"", lambda t: over_ip6(4 if t == 0x0800 else 41)),
    "mpls-ip": of_ip(lambda t, f: bytes.fromhex("0006403f 0000717f"), lambda t: ethernet(0x8847)),
    "mpls-pseudowire": of_frame(lambda f: bytes.fromhex("0006403f 0000717f"), ethernet(0x8847)),
    "mpls-pseudowire-control-word": of_frame(lambda f: bytes.fromhex("0000717f 0000") + struct.pack(">H", f.number & 0xffff),
                                             ethernet(0x8848)),
    "mpls-in-gre": of_ip(lambda t, f: bytes.fromhex("0000 8847 0000717f"), lambda t: over_ip4(47)),
    "qinq": vlan([(0x88a8, 100), (0x8100, 200)]),
    "qinq-old": vlan([(0x9100, 100), (0x9100, 200), (0x8100, 0xe005)]),
    "pppoe": of_ip(lambda t, f: bytes.fromhex("11000042") + struct.pack(">H", length(f.wire + 2)) +
                   bytes.fromhex("0021" if t == 0x0800 else "0057"), lambda t: ethernet(0x8864)),
}
# What `stag connections` counts them as.
KINDS = {name: "ip_in_ip" if name.startswith("ip-") else "gre" if name == "nvgre" else name.split("-")[0] for name in WRAPPERS}
KINDS["mpls-in-gre"] = "mpls"


def nested(*names):
    """One in the other, the innermost first."""
    def wrap(frame):
        for name in names:
            frame = frame and WRAPPERS[name](frame)
        return frame
    return wrap


def read(path):
    """(nanoseconds, captured bytes, length on the wire) of each record."""
    data = wire.load(path)
    at = 24
    for ns, packet in wire.records(data):
        yield ns, packet, int.from_bytes(data[at + 12:at + 16], "little")
        at += 16 + len(packet)


def write(path, records):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 1 << 18, 1))
        for ns, packet, wire_length in records:
            out.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(packet), wire_length) + packet)


def wrapped(records, wrapper):
    """The records in a tunnel, as they are where it cannot hold them; and how many are in it."""
    out, count = [], 0
    for number, (ns, packet, wire_length) in enumerate(records, 1):
        frame = wrapper(Frame(packet, wire_length, number))
        count += frame is not None
        out.append((ns, frame.data, frame.wire) if frame else (ns, packet, wire_length))
    return out, count
