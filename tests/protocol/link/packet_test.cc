// SPDX-License-Identifier: GPL-2.0-or-later
//
// Decoding of link layers: real RoCEv2 frames, every kind of encapsulation around them, and everything cut short.
#include "protocol/link/packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "protocol/base/writer.h"
#include "protocol/link/encode.h"
#include "tests/protocol/hex.h"

namespace stag::link {
namespace {

using test::Hex;
using Buffer = std::vector<std::byte>;

// A soft-RoCE acknowledgement from a real capture (Linux 6.1): 10.0.0.1 to 10.0.0.2, BTH opcode 0x11, PSN 0x1af11f.
const Buffer kAck =
    Hex("525400000002525400000001 0800 450000303f9940004011e7210a0000010a000002 fafd12b7001c0000"
        "1100ffff000000110041acf1 1f000001 1fff4ab1");
constexpr size_t kEthernet = 14, kIp = 20, kUdp = 8;

// The packet's views point into the bytes given last.
Packet DecodeAs(LinkType link, const Buffer& bytes, size_t wire = 0) {
  static Buffer kept;
  kept = bytes;
  return Decode({{1, 0}, link, kept, static_cast<uint32_t>(std::max(wire, bytes.size()))});
}

Buffer Tail(const Buffer& b, size_t from) { return Buffer(b.begin() + static_cast<ptrdiff_t>(from), b.end()); }
Buffer Join(const Buffer& a, const Buffer& b) {
  Buffer out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}
bool Same(Bytes a, const Buffer& b) { return std::ranges::equal(a, b); }

void ExpectAck(const Packet& p) {
  EXPECT_EQ(p.status, ParseStatus::kOk);
  EXPECT_EQ(p.carrier, Carrier::kRoceV2);
  EXPECT_EQ(p.source, Ipv4Address(10, 0, 0, 1));
  EXPECT_EQ(p.destination, Ipv4Address(10, 0, 0, 2));
  EXPECT_EQ(p.source_port, 0xfafd);
  EXPECT_EQ(p.destination_port, 4791);
  EXPECT_EQ(p.wire_length, 20u);
  EXPECT_TRUE(Same(p.payload, Tail(kAck, kEthernet + kIp + kUdp)));
  EXPECT_EQ(p.icrc_headers.size(), kIp + kUdp);
  EXPECT_FALSE(p.ip_fragment);
}

TEST(LinkDecode, RealRoceV2) { ExpectAck(DecodeAs(LinkType::kEthernet, kAck)); }

TEST(LinkDecode, EthernetPaddingDoesNotCount) {
  Buffer padded = kAck;
  padded.resize(padded.size() + 18, std::byte{0xee});
  ExpectAck(DecodeAs(LinkType::kEthernet, padded));
}

TEST(LinkDecode, VlanStacks) {
  Buffer ip = Tail(kAck, kEthernet);
  Mac mac{};
  for (size_t depth = 1; depth <= 4; ++depth) {
    Buffer frame;
    AppendEthernet(frame, mac, mac, std::vector<uint16_t>(depth, 7), 0x0800);
    ExpectAck(DecodeAs(LinkType::kEthernet, Join(frame, ip)));
  }
  for (const char* tpid : {"9100", "9200", "88a8", "8100"})
    ExpectAck(
        DecodeAs(LinkType::kEthernet, Join(Hex(std::string("525400000002525400000001") + tpid + "0007 0800"), ip)));
}

TEST(LinkDecode, LinuxCookedAndRaw) {
  Buffer ip = Tail(kAck, kEthernet);
  Buffer v1 = Hex("0000 0001 0006 525400000001 0000 0800"), v2 = Hex("0800 0000 00000002 0001 00 06 525400000001 0000");
  ExpectAck(DecodeAs(LinkType::kLinuxSll, Join(v1, ip)));
  ExpectAck(DecodeAs(LinkType::kLinuxSll2, Join(v2, ip)));
  ExpectAck(DecodeAs(LinkType::kRawIp, ip));
}

TEST(LinkDecode, Erf) {
  // type, flags, rlen, lctr, wlen behind eight bytes of time.
  Buffer header = Hex("0102030405060708 02 04 0050 0000 003e 0000");
  ExpectAck(DecodeAs(LinkType::kErf, Join(header, kAck)));
  header[8] = std::byte{0x82};  // two extension headers
  Buffer extended =
      Join(Join(Buffer(header.begin(), header.end() - 2), Hex("83 00000000000000 03 00000000000000 0000")), kAck);
  ExpectAck(DecodeAs(LinkType::kErf, extended));
  ExpectAck(DecodeAs(LinkType::kErfEthernet, Join(Hex("0000"), kAck)));
}

TEST(LinkDecode, Ipv4OptionsAndFragments) {
  Buffer with_options = kAck;
  with_options[14] = std::byte{0x47};
  with_options[17] = std::byte{0x38};  // total length 56
  with_options.insert(with_options.begin() + 34, 8, std::byte{1});
  Packet p = DecodeAs(LinkType::kEthernet, with_options);
  EXPECT_EQ(p.carrier, Carrier::kRoceV2);
  EXPECT_EQ(p.wire_length, 20u);
  EXPECT_EQ(p.icrc_headers.size(), kIp + 8 + kUdp);

  for (const char* flags : {"2000", "0001", "2005"}) {
    Buffer fragment = kAck;
    std::ranges::copy(Hex(flags), fragment.begin() + 20);
    p = DecodeAs(LinkType::kEthernet, fragment);
    EXPECT_TRUE(p.ip_fragment);
    EXPECT_EQ(p.carrier, Carrier::kOther);
  }
}

TEST(LinkDecode, Ipv6ExtensionHeaders) {
  Buffer source = Hex("fd000000000000000000000000000001"), destination = Hex("fd000000000000000000000000000002");
  Buffer udp = Tail(kAck, kEthernet + kIp);
  // Hop-by-hop, routing, destination options, authentication (two words of 4 bytes more than 8), an atomic fragment.
  Buffer extensions =
      Hex("2b 00 000000000000 3c 01 0000000000000000000000000000 33 00 000000000000"
          "2c 02 00000000000000000000000000 00 11 00 0000 00000001");
  Buffer ip = Hex("60000000");
  Writer w(ip);
  w.U16(static_cast<uint16_t>(extensions.size() + udp.size()));
  w.U8(0), w.U8(64), w.Put(source), w.Put(destination), w.Put(extensions), w.Put(udp);
  Packet p = DecodeAs(LinkType::kRawIp, ip);
  EXPECT_EQ(p.status, ParseStatus::kOk);
  EXPECT_EQ(p.carrier, Carrier::kRoceV2);
  EXPECT_EQ(p.source.kind, Address::Kind::kIpv6);
  EXPECT_TRUE(Same(p.source.bytes, source));
  EXPECT_EQ(p.wire_length, 20u);

  ip[ip.size() - udp.size() - 5] = std::byte{1};  // more fragments follow
  p = DecodeAs(LinkType::kRawIp, ip);
  EXPECT_TRUE(p.ip_fragment);
  EXPECT_EQ(p.carrier, Carrier::kOther);
}

TEST(LinkDecode, RoceV1) {
  Buffer bth = Tail(kAck, kEthernet + kIp + kUdp);
  Buffer frame =
      Hex("525400000002525400000001 8915 60000000 0014 1b 40"
          "fe800000000000000000000000000001 fe800000000000000000000000000002");
  frame = Join(Join(frame, bth), Hex("eeeeeeee"));
  Packet p = DecodeAs(LinkType::kEthernet, frame);
  EXPECT_EQ(p.status, ParseStatus::kOk);
  EXPECT_EQ(p.carrier, Carrier::kRoceV1);
  EXPECT_EQ(p.source.kind, Address::Kind::kGid);
  EXPECT_TRUE(Same(p.payload, bth));
  EXPECT_EQ(p.icrc_headers.size(), 40u);
  frame[14 + 6] = std::byte{17};  // not a BTH
  EXPECT_EQ(DecodeAs(LinkType::kEthernet, frame).carrier, Carrier::kOther);
}

TEST(LinkDecode, NativeInfiniBand) {
  Buffer bth = Tail(kAck, kEthernet + kIp + kUdp);
  Buffer frame = Join(Join(Hex("00 02 0018 0007 0008"), bth), Hex("aaaa"));  // 7 words; VCRC
  for (LinkType link : {LinkType::kInfiniBand, LinkType::kErfInfiniBand}) {
    Packet p = DecodeAs(link, frame);
    EXPECT_EQ(p.status, ParseStatus::kOk);
    EXPECT_EQ(p.carrier, Carrier::kInfiniBand);
    EXPECT_EQ(p.source, LidAddress(8));
    EXPECT_EQ(p.destination, LidAddress(0x18));
    EXPECT_TRUE(Same(p.payload, bth));
    EXPECT_EQ(p.icrc_headers.size(), 8u);
  }
  Buffer erf = Join(Hex("0102030405060708 15 04 0030 0000 001e"), frame);
  EXPECT_TRUE(Same(DecodeAs(LinkType::kErf, erf).payload, bth));

  Buffer global = Join(Join(Hex("00 03 0018 0011 0008 60000000 0014 1b 40"
                                "fe800000000000000000000000000001 fe800000000000000000000000000002"),
                            bth),
                       Hex("aaaa"));
  Packet p = DecodeAs(LinkType::kInfiniBand, global);
  EXPECT_EQ(p.source.kind, Address::Kind::kGid);
  EXPECT_EQ(p.icrc_headers.size(), 48u);
  EXPECT_TRUE(Same(p.payload, bth));

  frame[1] = std::byte{0};  // raw
  EXPECT_EQ(DecodeAs(LinkType::kInfiniBand, frame).carrier, Carrier::kOther);
}

TEST(LinkDecode, Tcp) {
  Address a = Ipv4Address(10, 0, 0, 2), b = Ipv4Address(10, 0, 0, 1);
  Buffer data = Hex("0102030405"), frame;
  Mac mac{};
  AppendEthernet(frame, mac, mac, {}, 0x0800);
  AppendIpv4(frame, a, b, 6, 25);
  AppendTcp(frame, 1000, 20049, 0x11223344, 0x55667788, kTcpAck | kTcpFin, 512);
  frame = Join(frame, data);
  SealTcp(frame, 34, a, b);
  Packet p = DecodeAs(LinkType::kEthernet, Join(frame, Buffer(6)));
  EXPECT_EQ(p.status, ParseStatus::kOk);
  EXPECT_EQ(p.carrier, Carrier::kTcp);
  EXPECT_EQ(p.sequence, 0x11223344u);
  EXPECT_EQ(p.acknowledgment, 0x55667788u);
  EXPECT_EQ(p.tcp_flags, kTcpAck | kTcpFin);
  EXPECT_EQ(p.source_port, 1000);
  EXPECT_EQ(p.destination_port, 20049);
  EXPECT_TRUE(Same(p.payload, data));

  // Segmentation offload leaves the total length at zero.
  frame[16] = frame[17] = std::byte{0};
  p = DecodeAs(LinkType::kEthernet, frame);
  EXPECT_EQ(p.status, ParseStatus::kOk);
  EXPECT_TRUE(Same(p.payload, data));

  frame[46] = std::byte{0x40};  // header of 16 bytes
  EXPECT_EQ(DecodeAs(LinkType::kEthernet, frame).status, ParseStatus::kMalformed);
}

// Ethernet with IPv4 has a way of its own; with a VLAN tag it has not. Both find the same, whatever is wrong with the
// frame, and whatever the packet held before.
TEST(LinkDecode, PlainFramesAsTaggedOnes) {
  Buffer tcp;
  Mac mac{};
  AppendEthernet(tcp, mac, mac, {}, 0x0800);
  AppendIpv4(tcp, Ipv4Address(10, 0, 0, 2), Ipv4Address(10, 0, 0, 1), 6, 45);
  AppendTcp(tcp, 1000, 20049, 0x11223344, 0x55667788, kTcpAck | kTcpFin, 512);
  tcp.resize(tcp.size() + 25, std::byte{7});
  Packet used = DecodeAs(LinkType::kEthernet, tcp);
  size_t plain = 0;
  const auto compare = [&](const Buffer& frame, size_t wire, size_t at) {
    Buffer tagged = Hex("81000001");
    tagged.insert(tagged.begin(), frame.begin(), frame.begin() + 12);
    tagged.insert(tagged.end(), frame.begin() + 12, frame.end());
    const Packet expected = Decode({{1, 0}, LinkType::kEthernet, tagged, static_cast<uint32_t>(wire + 4)});
    Decode({{1, 0}, LinkType::kEthernet, frame, static_cast<uint32_t>(wire)}, used);
    ASSERT_EQ(used.carrier, expected.carrier) << at;
    ASSERT_EQ(used.status, expected.status) << at;
    ASSERT_EQ(used.ip_fragment, expected.ip_fragment) << at;
    ASSERT_EQ(used.wire_length, expected.wire_length) << at;
    ASSERT_TRUE(std::ranges::equal(used.payload, expected.payload)) << at;
    ASSERT_TRUE(std::ranges::equal(used.icrc_headers, expected.icrc_headers)) << at;
    if (used.carrier == Carrier::kOther || used.status != ParseStatus::kOk) return;
    ++plain;
    ASSERT_EQ(used.source, expected.source) << at;
    ASSERT_EQ(used.destination, expected.destination) << at;
    ASSERT_EQ(used.source_port, expected.source_port) << at;
    ASSERT_EQ(used.destination_port, expected.destination_port) << at;
    if (used.carrier != Carrier::kTcp) return;
    ASSERT_EQ(used.sequence, expected.sequence) << at;
    ASSERT_EQ(used.acknowledgment, expected.acknowledgment) << at;
    ASSERT_EQ(used.tcp_flags, expected.tcp_flags) << at;
  };
  for (const Buffer& frame : {kAck, tcp}) {
    for (size_t n = kEthernet; n <= frame.size(); ++n) {
      const Buffer cut(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(n));
      compare(cut, frame.size(), n);
      compare(cut, n, n);
    }
    for (size_t at = 12; at < frame.size(); ++at) {
      Buffer damaged = frame;
      for (unsigned value = 0; value < 256; ++value) {
        damaged[at] = static_cast<std::byte>(value);
        compare(damaged, damaged.size(), at);
      }
    }
  }
  EXPECT_GT(plain, 10000u);
}

// kind and length of each header of a frame; they must follow each other without a gap.
using Listed = std::vector<std::pair<HeaderKind, size_t>>;
Listed List(LinkType link, const Buffer& frame, size_t wire = 0) {
  Packet p;
  std::vector<Header> headers(3);
  Decode({{1, 0}, link, frame, static_cast<uint32_t>(std::max(wire, frame.size()))}, p, headers);
  Listed listed;
  size_t at = 0;
  for (const Header& header : headers) {
    EXPECT_EQ(header.offset, at);
    at = header.end();
    listed.emplace_back(header.kind, header.length);
  }
  EXPECT_LE(at, frame.size());
  if (p.carrier != Carrier::kOther && p.status == ParseStatus::kOk) {
    EXPECT_EQ(p.payload.data(), frame.data() + at);
  }
  return listed;
}

using Kind = HeaderKind;

TEST(LinkHeaders, EachIsListed) {
  const Buffer ip = Tail(kAck, kEthernet), bth = Tail(kAck, kEthernet + kIp + kUdp);
  const Listed in_ip = {{Kind::kIpv4, 20}, {Kind::kUdp, 8}};
  const auto expect = [](Listed first, const Listed& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  };
  EXPECT_EQ(List(LinkType::kEthernet, kAck), expect({{Kind::kEthernet, 14}}, in_ip));
  EXPECT_EQ(List(LinkType::kRawIp, ip), in_ip);
  EXPECT_EQ(List(LinkType::kLinuxSll, Join(Hex("0000 0001 0006 525400000001 0000 0800"), ip)),
            expect({{Kind::kLinuxSll, 16}}, in_ip));
  EXPECT_EQ(List(LinkType::kLinuxSll2, Join(Hex("0800 0000 00000002 0001 00 06 525400000001 0000"), ip)),
            expect({{Kind::kLinuxSll2, 20}}, in_ip));
  EXPECT_EQ(List(LinkType::kEthernet, Join(Hex("525400000002525400000001 88a8 0007 8100 0008 0800"), ip)),
            expect({{Kind::kEthernet, 14}, {Kind::kVlan, 4}, {Kind::kVlan, 4}}, in_ip));
  EXPECT_EQ(List(LinkType::kErf, Join(Hex("0102030405060708 82 04 0050 0000 003e 03 00000000000000 0000"), kAck)),
            expect({{Kind::kErf, 24}, {Kind::kErfPadding, 2}, {Kind::kEthernet, 14}}, in_ip));
  EXPECT_EQ(List(LinkType::kErfEthernet, Join(Hex("0000"), kAck)),
            expect({{Kind::kErfPadding, 2}, {Kind::kEthernet, 14}}, in_ip));
  const Buffer grh = Hex("60000000 0014 1b 40 fe800000000000000000000000000001 fe800000000000000000000000000002");
  EXPECT_EQ(List(LinkType::kEthernet, Join(Join(Hex("525400000002525400000001 8915"), grh), bth)),
            (Listed{{Kind::kEthernet, 14}, {Kind::kGrh, 40}}));
  EXPECT_EQ(List(LinkType::kInfiniBand, Join(Join(Hex("00 03 0018 0011 0008"), grh), bth)),
            (Listed{{Kind::kLrh, 8}, {Kind::kGrh, 40}}));
  const Buffer udp = Tail(kAck, kEthernet + kIp);
  Buffer v6 = Hex("60000000 002c 00 40 fd000000000000000000000000000001 fd000000000000000000000000000002");
  v6 = Join(v6, Hex("2c 00 000000000000 11 00 0000 00000001"));
  EXPECT_EQ(List(LinkType::kRawIp, Join(v6, udp)),
            (Listed{{Kind::kIpv6, 40}, {Kind::kIpv6Extension, 8}, {Kind::kIpv6Extension, 8}, {Kind::kUdp, 8}}));
}

TEST(LinkHeaders, OptionsBelongToTheirHeader) {
  const Address a = Ipv4Address(10, 0, 0, 2), b = Ipv4Address(10, 0, 0, 1);
  Buffer frame;
  AppendTcpFrame(frame, {{}, a}, {{}, b}, {1000, 20049, 1, 2, kTcpAck}, Hex("0101 080a 00000001 00000002 aabb"));
  frame[14 + 20 + 12] = std::byte{0x80};  // 12 bytes of options
  EXPECT_EQ(List(LinkType::kEthernet, frame), (Listed{{Kind::kEthernet, 14}, {Kind::kIpv4, 20}, {Kind::kTcp, 32}}));
}

// Also of what is not followed: everything up to where it begins.
TEST(LinkHeaders, OfOtherProtocols) {
  const auto patched = [](size_t at, const char* hex) {
    Buffer b = kAck;
    std::ranges::copy(Hex(hex), b.begin() + static_cast<ptrdiff_t>(at));
    return List(LinkType::kEthernet, b);
  };
  EXPECT_EQ(patched(12, "0806"), (Listed{{Kind::kEthernet, 14}}));                                      // ARP
  EXPECT_EQ(patched(23, "01"), (Listed{{Kind::kEthernet, 14}, {Kind::kIpv4, 20}}));                     // ICMP
  EXPECT_EQ(patched(20, "2000"), (Listed{{Kind::kEthernet, 14}, {Kind::kIpv4, 20}}));                   // a fragment
  EXPECT_EQ(patched(36, "0035"), (Listed{{Kind::kEthernet, 14}, {Kind::kIpv4, 20}, {Kind::kUdp, 8}}));  // DNS
  EXPECT_EQ(patched(14, "44"), (Listed{{Kind::kEthernet, 14}}));  // IPv4 contradicts itself
}

TEST(LinkHeaders, CutAnywhere) {
  for (size_t n = 0; n < kAck.size(); ++n) {
    const size_t headers = n >= 42 ? 3 : n >= 34 ? 2 : n >= 14 ? 1 : 0;
    EXPECT_EQ(List(LinkType::kEthernet, Buffer(kAck.begin(), kAck.begin() + static_cast<ptrdiff_t>(n)), 62).size(),
              headers)
        << n;
  }
}

TEST(LinkDecode, CutAnywhereIsTruncatedNotMalformed) {
  for (size_t n = 0; n < kAck.size(); ++n) {
    Buffer cut(kAck.begin(), kAck.begin() + static_cast<ptrdiff_t>(n));
    Packet p = DecodeAs(LinkType::kEthernet, cut, kAck.size());
    if (n < kEthernet + kIp + kUdp) {
      EXPECT_EQ(p.status, ParseStatus::kTruncatedByCapture) << n;
    } else {
      EXPECT_EQ(p.status, ParseStatus::kOk) << n;
      EXPECT_EQ(p.wire_length, 20u);
      EXPECT_EQ(p.payload.size(), n - kEthernet - kIp - kUdp);
    }
    // The same without a longer wire length: what is not there must not be read.
    p = DecodeAs(LinkType::kEthernet, cut);
    EXPECT_EQ(p.status, n < kEthernet + kIp + kUdp ? ParseStatus::kMalformed : ParseStatus::kOk) << n;
  }
}

TEST(LinkDecode, ContradictionsAreMalformed) {
  auto patched = [](size_t at, const char* hex) {
    Buffer b = kAck;
    std::ranges::copy(Hex(hex), b.begin() + static_cast<ptrdiff_t>(at));
    return DecodeAs(LinkType::kEthernet, b);
  };
  EXPECT_EQ(patched(14, "55").status, ParseStatus::kMalformed);      // IP version
  EXPECT_EQ(patched(14, "44").status, ParseStatus::kMalformed);      // header of 16 bytes
  EXPECT_EQ(patched(16, "0013").status, ParseStatus::kMalformed);    // total length below the header's
  EXPECT_EQ(patched(38, "0007").status, ParseStatus::kMalformed);    // UDP length below 8
  EXPECT_EQ(patched(38, "001d").status, ParseStatus::kMalformed);    // UDP longer than IP
  EXPECT_EQ(patched(36, "0801").status, ParseStatus::kUnsupported);  // another UDP port
  EXPECT_EQ(patched(12, "0806").carrier, Carrier::kOther);           // ARP
}

}  // namespace
}  // namespace stag::link
