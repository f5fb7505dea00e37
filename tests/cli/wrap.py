# SPDX-License-Identifier: GPL-2.0-or-later
"""Ethernet frames put into tunnels, written from the RFCs, and pcap files of them.

    WRAPPERS      name -> function from a frame and its number to the frame in the tunnel; None: it cannot hold this frame
    read, write   a capture (also .zst) as records, and back
"""
import struct
import zlib

import wire

MAC = bytes.fromhex("021122334455 02aabbccddee")  # of the switches
IP6 = bytes.fromhex("fd99000000000000000000000000000a fd99000000000000000000000000000b")


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def without_identification(frame):
    """An Ethernet frame whose IPv4 packet has identification 0, and checksum and ICRC (IBA 7.8.1, annex A17.3) that are right."""
    head, udp = frame[14:34], frame[34:42]
    if frame[12:15] != b"\x08\x00\x45" or len(frame) < 54 or head[4:6] == b"\0\0":
        return frame
    out = bytearray(frame)
    out[18:20] = out[24:26] = b"\0\0"
    out[24:26] = checksum(bytes(out[14:34])).to_bytes(2, "big")
    end = 14 + int.from_bytes(head[2:4], "big")
    if head[9] == 17 and udp[2:4] == b"\x12\xb7" and len(frame) >= end:
        covered = bytearray(b"\xff" * 8 + out[14:end - 4])
        for masked in (9, 16, 18, 19, 34, 35, 40):  # DSCP and ECN, time to live, both checksums, congestion
            covered[masked] = 0xff
        out[end - 4:end] = struct.pack("<I", zlib.crc32(covered))
    return bytes(out)


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


def shim(ethertype, tag):
    """A tag between the addresses and the ethertype of the frame; `tag`: bytes, or a function of the frame."""
    def wrap(frame):
        head = struct.pack(">H", ethertype) + (tag(frame) if callable(tag) else tag)
        return Frame(frame.data[:12] + head + frame.data[12:], frame.wire + len(head), frame.number)
    return wrap


def macsec(control, channel=b""):
    """IEEE 802.1AE without encryption: an integrity check value of 16 bytes ends the frame."""
    def wrap(frame):
        short = frame.wire - 12 if frame.wire - 12 < 48 else 0
        tag = bytes([control, short]) + SEQUENCE.pack(frame.number) + channel
        return shim(0x88e5, tag)(frame).padded(16)
    return wrap


def llc(frame):
    """IEEE 802.3 with SNAP (RFC 1042)."""
    if frame.wire - 6 > 1500:
        return None
    head = struct.pack(">H", frame.wire - 6) + bytes.fromhex("aaaa03 000000")
    return Frame(frame.data[:12] + head + frame.data[12:], frame.wire + len(head), frame.number)


def llc_bridged(frame):
    """RFC 2684."""
    head = bytes.fromhex("aaaa03 0080c2 0007 0000")
    if frame.wire + len(head) > 1500:
        return None
    return frame.behind(head, lambda data, n: MAC + struct.pack(">H", n) + data)


def sflow(frame):
    """Version 5, one flow sample with one raw header; what was captured of the frame is what the sample has of it."""
    padding = bytes(-len(frame.data) % 4)
    record = struct.pack(">IIIIII", 1, 16 + len(frame.data) + len(padding), 1, frame.wire + 4, 4, len(frame.data)) + frame.data + padding
    other = struct.pack(">IIIIII", 1001, 16, 100, 0, 200, 0)  # extended switch data
    sample = struct.pack(">IIIIIIII", frame.number, 3, 1, 1, 0, 3, 4, 2) + other + record
    datagram = struct.pack(">II4sIIII", 5, 1, bytes([192, 0, 2, 1]), 0, frame.number, 1000, 1) + struct.pack(">II", 1, len(sample)) + sample
    out = over_udp4(6343)(datagram, len(datagram))
    return Frame(out, len(out), frame.number)


def gtp(flags, optional=""):
    more = bytes.fromhex(optional)
    return lambda f: bytes([flags, 255]) + struct.pack(">HI", length(f.wire + len(more)), 1) + more


NSH = bytes.fromhex("0fc60103 000012ff") + bytes(16)


def routing(next_header):
    """A segment routing header (RFC 8754) with one segment."""
    return bytes([next_header, 2, 4, 0, 0, 0, 0, 0]) + IP6[:16]


def number_of(ethertype):
    return struct.pack(">H", ethertype)


def ppp(ethertype):
    return bytes.fromhex("0021" if ethertype == 0x0800 else "0057")


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
                   ppp(t), lambda t: ethernet(0x8864)),
    "vxlan-linux": of_frame(lambda f: VXLAN, over_udp4(8472)),
    "vntag": shim(0x8926, bytes.fromhex("80000001")),
    "etag": shim(0x893f, bytes.fromhex("0001 1001 0000")),
    "pbb": of_frame(lambda f: bytes.fromhex("0064 88e7 00001234"), ethernet(0x88a8)),
    "fabricpath": of_frame(lambda f: bytes.fromhex("0440"), ethernet(0x8903)),
    "cisco_metadata": shim(0x8909, bytes.fromhex("0101 0001 0064")),
    "trill": of_frame(lambda f: bytes.fromhex("003f 0001 0002"), ethernet(0x22f3)),
    "trill-options": of_frame(lambda f: bytes.fromhex("007f 0001 0002 00000000"), ethernet(0x22f3)),
    "nsh": of_frame(lambda f: NSH, ethernet(0x894f)),
    "nsh-options": of_frame(lambda f: bytes.fromhex("0fc40203 000012ff 0001 00 04 deadbeef"), ethernet(0x894f)),
    "nsh-in-vxlan-gpe": of_frame(lambda f: bytes.fromhex("0c000004 00123400") + NSH, over_udp4(4790)),
    "nsh-in-gre": of_frame(lambda f: bytes.fromhex("0000894f") + NSH, over_ip4(47)),
    "hsr": shim(0x892f, lambda f: struct.pack(">HH", 0x1000 | f.wire - 8 & 0xfff, f.number & 0xffff)),
    "rtag": shim(0xf1c1, lambda f: struct.pack(">HH", 0, f.number & 0xffff)),
    "macsec": macsec(0x00),
    "macsec-channel": macsec(0x20, bytes.fromhex("0211223344550001")),
    "mpls-in-udp": of_ip(lambda t, f: bytes.fromhex("0000717f"), lambda t: over_udp4(6635)),
    "mpls-in-ip": of_ip(lambda t, f: bytes.fromhex("0000717f"), lambda t: over_ip4(137)),
    "gre-in-udp": of_ip(lambda t, f: bytes.fromhex("0000") + number_of(t), lambda t: over_udp4(4754)),
    "gre-pptp": of_ip(lambda t, f: bytes.fromhex("3001 880b") + struct.pack(">HHI", length(f.wire + 4), 1, f.number) +
                      bytes.fromhex("ff03") + ppp(t), lambda t: over_ip4(47)),
    "gre-wccp": of_ip(lambda t, f: bytes.fromhex("0000 883e 00000000"), lambda t: over_ip4(47)),
    "lisp": of_ip(lambda t, f: bytes.fromhex("80000001 00000001"), lambda t: over_udp4(4341)),
    "tzsp": of_frame(lambda f: bytes.fromhex("01000001 01"), over_udp4(37008)),
    "tzsp-tags": of_frame(lambda f: bytes.fromhex("01000001 00 0a01c0 01"), over_udp4(37008)),
    "gtp": of_ip(lambda t, f: gtp(0x30)(f), lambda t: over_udp4(2152)),
    "gtp-extensions": of_ip(lambda t, f: gtp(0x34, "00000085 01100900")(f), lambda t: over_udp4(2152)),
    "gtp-ethernet": of_frame(gtp(0x32, "00010000"), over_udp4(2152)),
    "etherip": of_frame(lambda f: bytes.fromhex("3000"), over_ip4(97)),
    "ethernet-in-srv6": of_frame(lambda f: routing(143), over_ip6(43)),
    "ethernet-in-ipv4": of_frame(lambda f: b"", over_ip4(143)),
    "ethernet-in-ethernet": of_frame(lambda f: b"", ethernet(0x6558)),
    "ip-in-srv6": of_ip(lambda t, f: routing(4 if t == 0x0800 else 41), lambda t: over_ip6(43)),
    "ip-in-ah": of_ip(lambda t, f: bytes([4 if t == 0x0800 else 41, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]) + bytes(12), lambda t: over_ip4(51)),
    "sflow": sflow,
    "l2tp": of_ip(lambda t, f: bytes.fromhex("0002 0001 0002 ff03") + ppp(t), lambda t: over_udp4(1701)),
    "l2tp-length": of_ip(lambda t, f: struct.pack(">HHHH", 0x4002, length(f.wire + 10), 1, 2) + ppp(t), lambda t: over_udp4(1701)),
    "jmirror": of_ip(lambda t, f: bytes.fromhex("00000001 00000002"), lambda t: over_udp4(30030)),
    "mellanox_mirror": of_frame(lambda f: bytes.fromhex("0000 8949") + bytes(22), over_ip4(47)),
    "llc": llc,
    "llc-bridged": llc_bridged,
    "llc-jumbo": of_ip(lambda t, f: bytes.fromhex("aaaa03000000") + number_of(t), lambda t: ethernet(0x8870)),
    "batman_adv": of_frame(lambda f: bytes.fromhex("400f3201 021122334455"), ethernet(0x4305)),
    "arista_time": shim(0xd28b, bytes.fromhex("0001 0010 0000000012345678")),
    "arista_time-48": shim(0xd28b, bytes.fromhex("0001 0020 000012345678")),
}
# What `stag connections` counts them as.
KINDS = {name: {"ip_in_ip" if name.startswith("ip-") else "gre" if name == "nvgre" else name.split("-")[0]} for name in WRAPPERS}
KINDS |= {"mpls-in-gre": {"mpls", "gre"}, "nsh-in-vxlan-gpe": {"nsh", "vxlan"}, "nsh-in-gre": {"nsh", "gre"},
          "mellanox_mirror": {"mellanox_mirror", "gre"}}


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
