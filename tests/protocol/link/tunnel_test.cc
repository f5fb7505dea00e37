// SPDX-License-Identifier: GPL-2.0-or-later
//
// Tunnels around a real RoCEv2 frame: each header with its fields as the specifications have them, nested, cut
// anywhere, and with lengths that lie.
#include "protocol/link/tunnel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/ib/icrc.h"
#include "protocol/link/encode.h"
#include "protocol/link/packet.h"
#include "tests/protocol/hex.h"
#include "tests/protocol/ib/real_frames.h"

namespace stag::link {
namespace {

using test::Hex;
using Buffer = std::vector<std::byte>;
using Kind = HeaderKind;

const Buffer kFrame = Hex(test::kAckFrame);
constexpr size_t kEthernetLength = 14;
const Buffer kIp(kFrame.begin() + kEthernetLength, kFrame.end());
// The acknowledgement's own headers.
const std::vector<Kind> kInIp = {Kind::kIpv4, Kind::kUdp}, kInEthernet = {Kind::kEthernet, Kind::kIpv4, Kind::kUdp};

Buffer Join(const Buffer& a, const Buffer& b) {
  Buffer out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}
Buffer InEthernet(uint16_t ethertype, const Buffer& payload) {
  Buffer out;
  AppendEthernet(out, {}, {}, {}, ethertype);
  return Join(out, payload);
}
Buffer InIp(uint8_t protocol, const Buffer& payload) {
  Buffer out;
  AppendIpv4(out, Ipv4Address(192, 0, 2, 1), Ipv4Address(192, 0, 2, 2), protocol, payload.size());
  return InEthernet(0x0800, Join(out, payload));
}
Buffer InIpv6(uint8_t protocol, const Buffer& payload) {
  Buffer out, address = Hex("fd990000000000000000000000000001");
  const Address a = Ipv6Address(std::span<const std::byte, 16>(address.data(), 16));
  AppendIpv6(out, a, a, protocol, payload.size());
  return InEthernet(0x86dd, Join(out, payload));
}
Buffer InUdp(uint16_t port, const Buffer& payload) {
  Buffer out;
  AppendUdp(out, 50000, port, payload.size());
  return InIp(17, Join(out, payload));
}

struct Wrapped {
  const char* name;
  Buffer bytes;
  uint32_t tunnels;
  std::vector<Kind> outer;
  const std::vector<Kind>* inner;
};
constexpr uint32_t Bit(Tunnel kind) { return 1u << static_cast<unsigned>(kind); }

std::vector<Wrapped> All() {
  const auto in_ethernet = [](const char* hex) { return Join(Hex(hex), kFrame); };
  const auto in_ip = [](const char* hex) { return Join(Hex(hex), kIp); };
  using enum Tunnel;
  constexpr Tunnel kServiceHeader = Tunnel::kNsh;
  const char* const nsh = "0fc60103 000012ff 00000000 00000000 00000000 00000000";
  const std::vector<Kind> tag = {Kind::kEthernet, Kind::kTag}, shim = {Kind::kEthernet, Kind::kShim},
                          ip_shim = {Kind::kEthernet, Kind::kIpv4, Kind::kShim},
                          macsec = {Kind::kEthernet, Kind::kMacSec, Kind::kTag},
                          pppoe = {Kind::kEthernet, Kind::kPppoe, Kind::kShim},
                          in_ppp = {Kind::kEthernet, Kind::kIpv4, Kind::kUdp, Kind::kShim, Kind::kShim};
  const auto in_udp = [](Kind kind) { return std::vector<Kind>{Kind::kEthernet, Kind::kIpv4, Kind::kUdp, kind}; };
  const std::vector<Kind> udp = {Kind::kEthernet, Kind::kIpv4, Kind::kUdp, Kind::kVxlan};
  const std::vector<Kind> geneve = {Kind::kEthernet, Kind::kIpv4, Kind::kUdp, Kind::kGeneve};
  const std::vector<Kind> gre = {Kind::kEthernet, Kind::kIpv4, Kind::kGre};
  const std::vector<Kind> erspan = {Kind::kEthernet, Kind::kIpv4, Kind::kGre, Kind::kErspan};
  return {
      {"VXLAN", InUdp(4789, in_ethernet("08000000 00123400")), Bit(kVxlan), udp, &kInEthernet},
      {"VXLAN-GPE, Ethernet", InUdp(4790, in_ethernet("0c000003 00123400")), Bit(kVxlan), udp, &kInEthernet},
      {"VXLAN-GPE, IPv4", InUdp(4790, in_ip("0c000001 00123400")), Bit(kVxlan), udp, &kInIp},
      {"GENEVE", InUdp(6081, in_ethernet("0000 6558 00123400")), Bit(kGeneve), geneve, &kInEthernet},
      {"GENEVE, options", InUdp(6081, in_ip("0240 0800 00123400 01028001 deadbeef")), Bit(kGeneve), geneve, &kInIp},
      {"GRE", InIp(47, in_ip("0000 0800")), Bit(kGre), gre, &kInIp},
      {"GRE, checksum", InIp(47, in_ip("8000 0800 12340000")), Bit(kGre), gre, &kInIp},
      {"GRE, key", InIp(47, in_ip("2000 0800 00000001")), Bit(kGre), gre, &kInIp},
      {"GRE, all fields", InIp(47, in_ethernet("b000 6558 12340000 00000001 00000002")), Bit(kGre), gre, &kInEthernet},
      {"ERSPAN I", InIp(47, in_ethernet("0000 88be")), Bit(kErspan), gre, &kInEthernet},
      {"ERSPAN II", InIp(47, in_ethernet("1000 88be 00000001 1064100500000007")), Bit(kErspan), erspan, &kInEthernet},
      {"ERSPAN III", InIp(47, in_ethernet("1000 22eb 00000001 20641005 01020304 0000 0004")), Bit(kErspan), erspan,
       &kInEthernet},
      {"ERSPAN III, no sequence, subheader",
       InIp(47, in_ethernet("0000 22eb 20641005 01020304 0000 0005 1c000001 6553f100")), Bit(kErspan), erspan,
       &kInEthernet},
      {"ERSPAN III, IP", InIp(47, in_ip("1000 22eb 00000001 20641005 01020304 0000 0804")), Bit(kErspan), erspan,
       &kInIp},
      {"IPv4 in IPv4", InIp(4, kIp), Bit(kIpInIp), {Kind::kEthernet, Kind::kIpv4}, &kInIp},
      {"IPv4 in IPv6", InIpv6(4, kIp), Bit(kIpInIp), {Kind::kEthernet, Kind::kIpv6}, &kInIp},
      {"MPLS, IP", InEthernet(0x8847, in_ip("0006403f 0000717f")), Bit(kMpls), {Kind::kEthernet, Kind::kMpls}, &kInIp},
      {"MPLS, Ethernet",
       InEthernet(0x8847, in_ethernet("0000717f")),
       Bit(kMpls),
       {Kind::kEthernet, Kind::kMpls},
       &kInEthernet},
      {"MPLS, control word",
       InEthernet(0x8848, in_ethernet("0000717f 00000001")),
       Bit(kMpls),
       {Kind::kEthernet, Kind::kMpls, Kind::kMplsControlWord},
       &kInEthernet},
      {"QinQ",
       InEthernet(0x88a8, in_ip("0064 8100 00c8 0800")),
       Bit(kQinq),
       {Kind::kEthernet, Kind::kVlan, Kind::kVlan},
       &kInIp},
      {"PPPoE", InEthernet(0x8864, in_ip("1100 0001 0032 0021")), Bit(kPppoe), pppoe, &kInIp},
      {"PPPoE, short protocol", InEthernet(0x8864, in_ip("1100 0001 0031 21")), Bit(kPppoe), pppoe, &kInIp},
      {"VXLAN at Linux's port", InUdp(8472, in_ethernet("08000000 00123400")), Bit(kVxlan), udp, &kInEthernet},
      {"VN-Tag", InEthernet(0x8926, in_ip("80000001 0800")), Bit(kVnTag), tag, &kInIp},
      {"E-Tag", InEthernet(0x893f, in_ip("000110010000 0800")), Bit(kETag), tag, &kInIp},
      {"HSR", InEthernet(0x892f, in_ip("10360007 0800")), Bit(kHsr), tag, &kInIp},
      {"R-Tag", InEthernet(0xf1c1, in_ip("00000007 0800")), Bit(kRTag), tag, &kInIp},
      {"Cisco metadata", InEthernet(0x8909, in_ip("0101 0001 0064 0800")), Bit(kCiscoMetaData), tag, &kInIp},
      {"Arista, 64 bits", InEthernet(0xd28b, in_ip("0001 0010 0000000012345678 0800")), Bit(kAristaTime), tag, &kInIp},
      {"Arista, 48 bits", InEthernet(0xd28b, in_ip("0001 0020 000012345678 0800")), Bit(kAristaTime), tag, &kInIp},
      {"802.1ah", InEthernet(0x88e7, in_ethernet("00001234")), Bit(kPbb), shim, &kInEthernet},
      {"FabricPath", InEthernet(0x8903, in_ethernet("0440")), Bit(kFabricPath), shim, &kInEthernet},
      {"TRILL", InEthernet(0x22f3, in_ethernet("003f 0001 0002")), Bit(kTrill), shim, &kInEthernet},
      {"TRILL, options", InEthernet(0x22f3, in_ethernet("007f 0001 0002 00000000")), Bit(kTrill), shim, &kInEthernet},
      {"BATMAN",
       InEthernet(0x4305, in_ethernet("400f3201 021122334455")),
       Bit(kBatmanAdvanced),
       {Kind::kEthernet, Kind::kBatmanAdvanced},
       &kInEthernet},
      {"Ethernet in Ethernet", InEthernet(0x6558, kFrame), Bit(kEthernet), {Kind::kEthernet}, &kInEthernet},
      {"NSH, Ethernet",
       InEthernet(0x894f, in_ethernet(nsh)),
       Bit(kServiceHeader),
       {Kind::kEthernet, Kind::kNsh},
       &kInEthernet},
      {"NSH, IPv4",
       InEthernet(0x894f, in_ip("0fc20101 000012ff")),
       Bit(kServiceHeader),
       {Kind::kEthernet, Kind::kNsh},
       &kInIp},
      {"MACsec", InEthernet(0x88e5, in_ip("00 00 00000007 0800")), Bit(kMacSec), macsec, &kInIp},
      {"MACsec, channel", InEthernet(0x88e5, in_ip("20 00 00000007 0211223344550001 0800")), Bit(kMacSec), macsec,
       &kInIp},
      {"SNAP", InEthernet(60, in_ip("aaaa03 000000 0800")), Bit(kLlc), tag, &kInIp},
      {"SNAP, bridged", InEthernet(86, in_ethernet("aaaa03 0080c2 0007 0000")), Bit(kLlc), shim, &kInEthernet},
      {"LLC, IP", InEthernet(51, in_ip("060603")), Bit(kLlc), shim, &kInIp},
      {"LLC, long", InEthernet(0x8870, in_ip("aaaa03 000000 0800")), Bit(kLlc), tag, &kInIp},
      {"EtherIP", InIp(97, in_ethernet("3000")), Bit(kEtherIp), ip_shim, &kInEthernet},
      {"Ethernet in IPv4", InIp(143, kFrame), Bit(kEthernet), {Kind::kEthernet, Kind::kIpv4}, &kInEthernet},
      {"Ethernet behind a routing header",
       InIpv6(43, in_ethernet("8f020400 00000000 fd990000000000000000000000000001")),
       Bit(kEthernet),
       {Kind::kEthernet, Kind::kIpv6, Kind::kIpv6Extension},
       &kInEthernet},
      {"MPLS in IP", InIp(137, in_ip("0000717f")), Bit(kMpls), {Kind::kEthernet, Kind::kIpv4, Kind::kMpls}, &kInIp},
      {"AH in IPv4",
       InIp(51, in_ip("04040000 00000001 00000001 000000000000000000000000")),
       Bit(kIpInIp),
       {Kind::kEthernet, Kind::kIpv4, Kind::kIpv6Extension},
       &kInIp},
      {"GRE, Mellanox",
       InIp(47, Join(Hex("0000 8949"), Join(Buffer(22), kFrame))),
       Bit(kGre) | Bit(kMellanoxMirror),
       {Kind::kEthernet, Kind::kIpv4, Kind::kGre, Kind::kOpaque},
       &kInEthernet},
      {"GRE, PPTP",
       InIp(47, in_ip("3081 880b 00360001 00000001 00000002 ff03 0021")),
       Bit(kGre),
       {Kind::kEthernet, Kind::kIpv4, Kind::kGre, Kind::kShim},
       &kInIp},
      {"GRE, WCCP",
       InIp(47, in_ip("0000 883e 00000000")),
       Bit(kGre),
       {Kind::kEthernet, Kind::kIpv4, Kind::kGre, Kind::kShim},
       &kInIp},
      {"GRE in UDP", InUdp(4754, in_ip("0000 0800")), Bit(kGre), in_udp(Kind::kGre), &kInIp},
      {"MPLS in UDP", InUdp(6635, in_ip("0000717f")), Bit(kMpls), in_udp(Kind::kMpls), &kInIp},
      {"LISP", InUdp(4341, in_ip("8000000100000001")), Bit(kLisp), in_udp(Kind::kShim), &kInIp},
      {"TZSP", InUdp(37008, in_ethernet("01000001 00 0a01c0 01")), Bit(kTzsp), in_udp(Kind::kTzsp), &kInEthernet},
      {"GTP-U", InUdp(2152, in_ip("30ff 0030 00000001")), Bit(kGtp), in_udp(Kind::kShim), &kInIp},
      {"GTP-U, extensions", InUdp(2152, in_ip("34ff 0038 00000001 00000085 01100900")), Bit(kGtp), in_udp(Kind::kShim),
       &kInIp},
      {"GTP-U, Ethernet", InUdp(2152, in_ethernet("30ff 003e 00000001")), Bit(kGtp), in_udp(Kind::kShim), &kInEthernet},
      {"L2TP", InUdp(1701, in_ip("0002 0001 0002 ff03 0021")), Bit(kL2tp), in_ppp, &kInIp},
      {"L2TP, all fields", InUdp(1701, in_ip("4a02 0042 0001 0002 0000 0000 0002 0000 21")), Bit(kL2tp), in_ppp,
       &kInIp},
      {"JMirror", InUdp(30030, in_ip("0000000100000002")), Bit(kJMirror), in_udp(Kind::kShim), &kInIp},
      {"sFlow",
       InUdp(6343,
             in_ethernet("00000005 00000001 c0000201 00000000 00000007 00000008 00000002"
                         "00000002 00000004 00000000"  // counters
                         "00000001 00000088 00000001 00000003 00000001 00000001 00000000 00000003 00000004 00000002"
                         "000003e9 00000010 00000064 00000000 000000c8 00000000"  // extended switch data
                         "00000001 0000004e 00000001 00000042 00000004 0000003e")),
       Bit(kSFlow),
       {Kind::kEthernet, Kind::kIpv4, Kind::kUdp, Kind::kSFlow, Kind::kSFlowRecord, Kind::kShim, Kind::kSFlowRecord,
        Kind::kShim},
       &kInEthernet},
  };
}

Packet DecodeBytes(const Buffer& bytes, size_t wire, const TunnelPorts& ports = kTunnelPorts) {
  Packet p;
  Decode({{1, 0}, LinkType::kEthernet, bytes, static_cast<uint32_t>(std::max(wire, bytes.size()))}, p, ports);
  return p;
}

void ExpectAck(const Packet& p, const std::string& name) {
  EXPECT_EQ(p.status, ParseStatus::kOk) << name;
  ASSERT_EQ(p.carrier, Carrier::kRoceV2) << name;
  EXPECT_EQ(p.source, Ipv4Address(10, 0, 0, 1)) << name;
  EXPECT_EQ(p.destination, Ipv4Address(10, 0, 0, 2)) << name;
  EXPECT_EQ(p.source_port, 0xfafd) << name;
  EXPECT_EQ(p.wire_length, 20u) << name;
  EXPECT_EQ(p.icrc_headers.size(), 28u) << name;
  EXPECT_EQ(ib::CheckIcrc(p), ib::IcrcStatus::kGood) << name;
}

std::vector<Kind> List(const Buffer& bytes, size_t wire) {
  Packet p;
  std::vector<Header> headers;
  Decode({{1, 0}, LinkType::kEthernet, bytes, static_cast<uint32_t>(wire)}, p, headers);
  std::vector<Kind> kinds;
  size_t at = 0;
  for (const Header& header : headers) {
    EXPECT_EQ(header.offset, at);
    at = header.end();
    kinds.push_back(header.kind);
  }
  EXPECT_LE(at, bytes.size());
  return kinds;
}

TEST(Tunnels, EachIsUnwrapped) {
  for (const Wrapped& w : All()) {
    const Packet p = DecodeBytes(w.bytes, 0);
    ExpectAck(p, w.name);
    EXPECT_EQ(p.tunnels, w.tunnels) << w.name;
    EXPECT_EQ(p.stop, Stop{}) << w.name;
    std::vector<Kind> expected = w.outer;
    expected.insert(expected.end(), w.inner->begin(), w.inner->end());
    EXPECT_EQ(List(w.bytes, w.bytes.size()), expected) << w.name;
    // A trailer of the outer frame belongs to nothing.
    ExpectAck(DecodeBytes(Join(w.bytes, Buffer(12, std::byte{0xee})), 0), w.name);
  }
}

TEST(Tunnels, CutAnywhereIsTruncatedNotMalformed) {
  for (const Wrapped& w : All()) {
    const size_t all = w.outer.size() + w.inner->size();
    for (size_t n = 0; n < w.bytes.size(); ++n) {
      const Buffer cut(w.bytes.begin(), w.bytes.begin() + static_cast<ptrdiff_t>(n));
      const Packet p = DecodeBytes(cut, w.bytes.size());
      const bool headers = List(cut, w.bytes.size()).size() == all;
      EXPECT_EQ(p.status, headers ? ParseStatus::kOk : ParseStatus::kTruncatedByCapture) << w.name << " " << n;
      if (headers) {
        EXPECT_EQ(p.wire_length, 20u) << w.name << " " << n;
        EXPECT_EQ(p.payload.size(), n + 20 - w.bytes.size()) << w.name << " " << n;
      }
    }
  }
}

// Whatever a byte is, nothing is read that is not there, and what comes out lies within the frame.
TEST(Tunnels, AnyByteOfAnyValue) {
  size_t still = 0;
  for (const Wrapped& w : All()) {
    for (size_t at = 12; at < w.bytes.size(); ++at) {
      Buffer damaged = w.bytes;
      for (unsigned value = 0; value < 256; ++value) {
        damaged[at] = static_cast<std::byte>(value);
        const Packet p = DecodeBytes(damaged, 0);
        still += p.carrier == Carrier::kRoceV2 ? 1 : 0;
        if (p.payload.empty()) continue;
        ASSERT_GE(p.payload.data(), damaged.data()) << w.name;
        ASSERT_LE(p.payload.data() + p.payload.size(), damaged.data() + damaged.size()) << w.name;
      }
    }
  }
  EXPECT_GT(still, 100000u);
}

// A host's capture of segments that its adapter cuts: in a tunnel both lengths are those of one of them.
TEST(Tunnels, SegmentsThatAreNotCutYet) {
  Buffer segment = Hex("c350 4e55 00000001 00000001 5010 ffff 0000 0000");  // TCP, 20 bytes
  segment.resize(20 + 5000);
  Buffer inner;
  AppendIpv4(inner, Ipv4Address(10, 0, 0, 1), Ipv4Address(10, 0, 0, 2), 6, 1000);
  const Buffer frame = InUdp(4789, Join(Hex("0800000000123400"), InEthernet(0x0800, Join(inner, segment))));
  Buffer stated = frame;
  const size_t inner_ethernet = 8 + kEthernetLength, outer_udp = 8 + inner_ethernet + 20 + 1000;
  StoreBe16(&stated[kEthernetLength + 2], static_cast<uint16_t>(20 + outer_udp));
  StoreBe16(&stated[kEthernetLength + 20 + 4], static_cast<uint16_t>(outer_udp));
  const Packet p = DecodeBytes(stated, 0);
  EXPECT_EQ(p.status, ParseStatus::kOk);
  EXPECT_EQ(p.carrier, Carrier::kTcp);
  EXPECT_EQ(p.payload.size(), 5000u);
  EXPECT_EQ(p.wire_length, 5000u);

  Buffer trailer = InEthernet(0x0800, Join(inner, Buffer(1000)));  // short of what makes a segment
  trailer[kEthernetLength + 20 + 12] = std::byte{0x50};
  trailer.resize(trailer.size() + 300);
  EXPECT_EQ(DecodeBytes(trailer, 0).payload.size(), 980u);
}

TEST(Tunnels, LengthsThatContradict) {
  const auto patched = [](const Buffer& frame, size_t at, const char* hex) {
    Buffer b = frame;
    std::ranges::copy(Hex(hex), b.begin() + static_cast<ptrdiff_t>(at));
    return DecodeBytes(b, 0);
  };
  const Buffer vxlan = InUdp(4789, Join(Hex("0800000000123400"), kFrame));
  for (const char* udp_length : {"0007", "000f", "ffff"})  // below its own header, within VXLAN's, beyond IP
    EXPECT_EQ(patched(vxlan, 38, udp_length).status, ParseStatus::kMalformed) << udp_length;
  EXPECT_EQ(patched(vxlan, 38, "0000").carrier, Carrier::kRoceV2);  // as offload leaves it
  EXPECT_EQ(patched(vxlan, 36, "12b6").carrier, Carrier::kRoceV2);  // GPE without the bit of a next protocol

  const Buffer geneve = InUdp(6081, Join(Hex("3f00 6558 00123400"), kFrame));  // more options than there are bytes
  EXPECT_EQ(DecodeBytes(geneve, 0).status, ParseStatus::kMalformed);
  const Buffer labels = InEthernet(0x8847, Buffer(400, std::byte{0}));  // a stack without a bottom
  EXPECT_EQ(DecodeBytes(labels, 0).status, ParseStatus::kMalformed);
  EXPECT_EQ(DecodeBytes(labels, 500).status, ParseStatus::kTruncatedByCapture);
  EXPECT_EQ(DecodeBytes(InEthernet(0x8864, Join(Hex("1100 0001 0001 0021"), kIp)), 0).status, ParseStatus::kMalformed);
  const Buffer ipip = InIp(4, kIp);
  EXPECT_EQ(patched(ipip, 16, "0020").status, ParseStatus::kMalformed);  // the inner header runs over the outer length
}

TEST(Tunnels, WhatIsNotFollowed) {
  struct Case {
    const char* name;
    Buffer frame;
    Stop stop;
  };
  const auto form = [](Tunnel kind) { return Stop{StopReason::kForm, static_cast<uint16_t>(kind)}; };
  const Case cases[] = {
      {"GRE source routes", InIp(47, Join(Hex("4000 0800 00000000"), kIp)), form(Tunnel::kGre)},
      {"GRE version 1, not PPP", InIp(47, Join(Hex("3001 0800 00000000 00000000"), kIp)), form(Tunnel::kGre)},
      {"GRE, unknown", InIp(47, Join(Hex("0000 1234"), kIp)), {StopReason::kGre, 0x1234}},
      {"another version of GENEVE", InUdp(6081, Join(Hex("4000 6558 00123400"), kFrame)), form(Tunnel::kGeneve)},
      {"another version of ERSPAN", InIp(47, Join(Hex("1000 88be 00000001 3064100500000007"), kFrame)),
       form(Tunnel::kErspan)},
      {"another version of L2TP", InUdp(1701, Join(Hex("0003 0000 00000001"), kFrame)), form(Tunnel::kL2tp)},
      {"another version of sFlow", InUdp(6343, Hex("00000004 00000001")), form(Tunnel::kSFlow)},
      {"PPPoE discovery", InEthernet(0x8863, Join(Hex("1109 0000 0032 0021"), kIp)), {}},
      {"PPP, control", InEthernet(0x8864, Join(Hex("1100 0001 0032 c021"), kIp)), {}},
      {"PPP, unknown", InEthernet(0x8864, Join(Hex("1100 0001 0032 002b"), kIp)), {StopReason::kPpp, 0x2b}},
      {"MPLS associated channel", InEthernet(0x8847, Join(Hex("0000717f 10000007"), kFrame)), {StopReason::kMpls, 0}},
      {"MACsec, encrypted",
       InEthernet(0x88e5, Join(Hex("0c 00 00000007 0800"), kIp)),
       {StopReason::kEncryptedMacSec, 0}},
      {"NSH, unknown", InEthernet(0x894f, Join(Hex("0fc20109 000012ff"), kIp)), {StopReason::kNsh, 9}},
      {"VXLAN-GPE, unknown", InUdp(4790, Join(Hex("0c000009 00123400"), kFrame)), {StopReason::kVxlanGpe, 9}},
      {"ICMP, which quotes", InIp(1, Join(Hex("0303000000000000"), kIp)), {}},
      {"ESP", InIp(50, kIp), {StopReason::kIpProtocol, 50}},
      {"LISP without IP", InUdp(4341, Join(Hex("8000000100000001"), kFrame)), {StopReason::kNotIp, 0}},
      {"ARP", InEthernet(0x0806, kIp), {}},
      {"spanning tree", InEthernet(38, Join(Hex("424203"), Buffer(35))), {}},
      {"an ethertype", InEthernet(0x9300, kIp), {StopReason::kEthertype, 0x9300}},
  };
  for (const auto& [name, frame, stop] : cases) {
    const Packet p = DecodeBytes(frame, 0);
    EXPECT_EQ(p.carrier, Carrier::kOther) << name;
    EXPECT_EQ(p.status, ParseStatus::kUnsupported) << name;
    EXPECT_EQ(p.stop, stop) << name << " " << static_cast<unsigned>(p.stop.reason) << " " << p.stop.detail;
  }
  Buffer fragment = InIp(47, Join(Hex("0000 0800"), kIp));
  fragment[20] = std::byte{0x20};
  EXPECT_TRUE(DecodeBytes(fragment, 0).ip_fragment);
  EXPECT_EQ(DecodeBytes(fragment, 0).tunnels, 0);
}

TEST(Tunnels, NestedToABoundedDepth) {
  Buffer frame = kFrame;
  for (unsigned depth = 1; depth <= kTunnelDepth + 2; ++depth) {
    frame = InUdp(4789, Join(Hex("0800000000123400"), frame));
    const Packet p = DecodeBytes(frame, 0);
    EXPECT_EQ(p.tunnels, Bit(Tunnel::kVxlan));
    EXPECT_EQ(p.stop.reason, depth > kTunnelDepth ? StopReason::kTooDeep : StopReason::kNone);
    if (depth <= kTunnelDepth) {
      ExpectAck(p, std::to_string(depth));
    } else {
      EXPECT_EQ(p.carrier, Carrier::kOther);
      EXPECT_EQ(p.status, ParseStatus::kUnsupported);
    }
  }
}

TEST(Tunnels, PortsAreDestinations) {
  TunnelPorts ports;
  ports.vxlan = {7777, 14789};
  for (const uint16_t port : ports.vxlan) {
    const Buffer frame = InUdp(port == 0 ? 4789 : port, Join(Hex("0800000000123400"), kFrame));
    EXPECT_EQ(DecodeBytes(frame, 0, ports).tunnels != 0, port != 0) << port;
  }
  EXPECT_EQ(DecodeBytes(InUdp(0, Join(Hex("0800000000123400"), kFrame)), 0, ports).tunnels, 0);
  // From 4791, as any port may be drawn, to VXLAN: the destination tells.
  Buffer from_roce = InUdp(4789, Join(Hex("0800000000123400"), kFrame));
  std::ranges::copy(Hex("12b7"), from_roce.begin() + 34);
  ExpectAck(DecodeBytes(from_roce, 0), "from 4791");
}

// PPP, and what other links put in front of IP.
TEST(Tunnels, OtherLinks) {
  const std::pair<LinkType, const char*> links[] = {
      {LinkType::kNull, "02000000"},
      {LinkType::kNull, "00000002"},
      {LinkType::kPpp, "ff030021"},
      {LinkType::kPpp, "0021"},
      {LinkType::kPpp, "21"},
      {LinkType::kPpp, "0f000800"},
      {LinkType::kPpp, "ff0302810000717f"},
      {LinkType::kCiscoHdlc, "0f000800"},
  };
  for (const auto& [link, head] : links) {
    const Buffer frame = Join(Hex(head), kIp);
    ExpectAck(Decode({{1, 0}, link, frame, static_cast<uint32_t>(frame.size())}), head);
    for (size_t n = 0; n < Hex(head).size(); ++n) {
      const Packet p = Decode({{1, 0}, link, Bytes(frame).first(n), static_cast<uint32_t>(frame.size())});
      EXPECT_EQ(p.status, ParseStatus::kTruncatedByCapture) << head << " " << n;
    }
  }
}

// An address may begin like IP does, or like a control word.
TEST(Tunnels, EthernetInMplsWhoseAddressLooksLikeSomethingElse) {
  for (const char* address : {"450000000001", "600000000001", "001122334455", "000000000001"}) {
    Buffer frame = kFrame;
    std::ranges::copy(Hex(address), frame.begin());
    ExpectAck(DecodeBytes(InEthernet(0x8847, Join(Hex("0000717f"), frame)), 0), address);
    ExpectAck(DecodeBytes(InEthernet(0x8847, Join(Hex("0000717f 00000007"), frame)), 0), address);
  }
}

TEST(Tunnels, TcpAndRoceV1Within) {
  Buffer tcp;
  AppendTcpFrame(tcp, {{}, Ipv4Address(10, 0, 0, 2)}, {{}, Ipv4Address(10, 0, 0, 1)}, {1000, 20049, 5, 6, kTcpAck},
                 Hex("010203"));
  const Buffer in_vxlan = InUdp(4789, Join(Hex("0800000000123400"), tcp));
  Packet p = DecodeBytes(in_vxlan, 0);
  EXPECT_EQ(p.carrier, Carrier::kTcp);
  EXPECT_EQ(p.sequence, 5u);
  EXPECT_EQ(p.payload.size(), 3u);

  const Buffer bth(kFrame.begin() + 42, kFrame.end());
  const Buffer roce = Join(Hex("525400000002525400000001 8915 60000000 0014 1b 40"
                               "fe800000000000000000000000000001 fe800000000000000000000000000002"),
                           bth);
  const Buffer in_gre = InIp(47, Join(Hex("0000 6558"), roce));
  p = DecodeBytes(in_gre, 0);
  EXPECT_EQ(p.carrier, Carrier::kRoceV1);
  EXPECT_EQ(p.source.kind, Address::Kind::kGid);
  EXPECT_EQ(p.icrc_headers.size(), 40u);
}

}  // namespace
}  // namespace stag::link
