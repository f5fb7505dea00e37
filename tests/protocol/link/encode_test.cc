// SPDX-License-Identifier: GPL-2.0-or-later
//
// Encoders: equal to real frames byte for byte, and read back by the decoder.
#include "protocol/link/encode.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "protocol/link/packet.h"
#include "tests/protocol/hex.h"

namespace stag::link {
namespace {

using test::Hex;
using Buffer = std::vector<std::byte>;

TEST(LinkEncode, SameAsARealFrame) {
  // The headers of a soft-RoCE frame of Linux 6.1, IP checksum included.
  Buffer real = Hex("525400000002525400000001 0800 450000303f9940004011e7210a0000010a000002 fafd12b7001c0000");
  Buffer ours;
  Mac to, from;
  std::ranges::copy(Hex("525400000002"), to.begin());
  std::ranges::copy(Hex("525400000001"), from.begin());
  AppendEthernet(ours, to, from, {}, 0x0800);
  AppendIpv4(ours, Ipv4Address(10, 0, 0, 1), Ipv4Address(10, 0, 0, 2), 17, 28, 0x3f99);
  AppendUdp(ours, 0xfafd, 4791, 20);
  EXPECT_EQ(ours, real);
}

TEST(LinkEncode, Rfc1071Example) {
  // Section 3: the sum of these bytes is ddf2.
  EXPECT_EQ(ChecksumSum(0, Hex("0001f203f4f5f6f7")), 0xddf2u);
  EXPECT_EQ(ChecksumFinish(0xddf2), 0x220d);
  EXPECT_EQ(ChecksumSum(0, Hex("010203")), 0x0102u + 0x0300u);
}

// By section 4.1's loop, for any length and start.
TEST(LinkEncode, ChecksumsOfAnyLength) {
  Buffer bytes(100);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 151 + 7 + (i % 3 == 0 ? 0xf0 : 0));
  for (size_t begin = 0; begin < 5; ++begin) {
    for (size_t size = 0; begin + size <= bytes.size(); ++size) {
      uint32_t sum = 0xffff;
      for (size_t i = 0; i < size; ++i) sum += std::to_integer<uint32_t>(bytes[begin + i]) << (i % 2 == 0 ? 8 : 0);
      while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
      EXPECT_EQ(ChecksumSum(0xffff, Bytes(bytes).subspan(begin, size)), sum) << begin << '+' << size;
    }
  }
}

// The payload in pieces of any lengths: the same frame.
TEST(LinkEncode, TcpHeadersOfPieces) {
  const Host from{{}, Ipv4Address(192, 0, 2, 1)}, to{{}, Ipv4Address(192, 0, 2, 2)};
  Buffer payload(61);
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i * 151 + 7);
  Buffer whole;
  AppendTcpFrame(whole, from, to, {1, 2, 3, 4, kTcpAck}, payload);
  for (size_t first = 0; first <= 20; ++first) {
    for (size_t second = 0; second <= 20; ++second) {
      const Bytes all(payload);
      const std::array<Bytes, 3> pieces = {all.first(first), all.subspan(first, second), all.subspan(first + second)};
      Buffer headers;
      AppendTcpHeaders(headers, from, to, {1, 2, 3, 4, kTcpAck}, pieces);
      headers.insert(headers.end(), payload.begin(), payload.end());
      EXPECT_EQ(headers, whole) << first << ',' << second;
    }
  }
}

// A segment with its checksum in place sums up to ffff with its pseudo header.
TEST(LinkEncode, SealedSegmentsVerify) {
  Address v4[] = {Ipv4Address(192, 0, 2, 1), Ipv4Address(192, 0, 2, 200)};
  Buffer ips = Hex("20010db8000000000000000000000001 20010db8000000000000000000000002");
  Address v6[] = {Ipv6Address(std::span<const std::byte, 16>(ips.data(), 16)),
                  Ipv6Address(std::span<const std::byte, 16>(ips.data() + 16, 16))};
  for (const auto& pair : {v4, v6}) {
    size_t address = pair[0].kind == Address::Kind::kIpv4 ? 4 : 16;
    for (uint8_t protocol : {uint8_t{6}, uint8_t{17}}) {
      for (size_t length = 0; length < 6; ++length) {
        Buffer out = Hex("ffffff");  // something in front
        if (protocol == 6) AppendTcp(out, 1, 2, 3, 4, kTcpAck, 5);
        if (protocol == 17) AppendUdp(out, 1, 2, length);
        out.insert(out.end(), length, std::byte{0xab});
        protocol == 6 ? SealTcp(out, 3, pair[0], pair[1]) : SealUdp(out, 3, pair[0], pair[1]);
        Bytes segment = Bytes(out).subspan(3);
        uint32_t sum = ChecksumSum(0, Bytes(pair[0].bytes).first(address));
        sum = ChecksumSum(sum, Bytes(pair[1].bytes).first(address));
        sum = ChecksumSum(sum + protocol + static_cast<uint32_t>(segment.size()), segment);
        EXPECT_EQ(ChecksumFinish(sum), 0);
      }
    }
  }
}

TEST(LinkEncode, DecoderReadsItBack) {
  Buffer gids = Hex("fe800000000000000000000000000001 fe800000000000000000000000000002");
  Address g1 = GidAddress(std::span<const std::byte, 16>(gids.data(), 16));
  Address g2 = GidAddress(std::span<const std::byte, 16>(gids.data() + 16, 16));
  Buffer transport(20, std::byte{0x5a});
  Mac mac{};
  const uint16_t vlans[] = {5, 6};

  Buffer roce_v1;
  AppendEthernet(roce_v1, mac, mac, vlans, kRoceV1Ethertype);
  AppendGrh(roce_v1, g1, g2, transport.size());
  roce_v1.insert(roce_v1.end(), transport.begin(), transport.end());
  Packet p = Decode({{}, LinkType::kEthernet, roce_v1, static_cast<uint32_t>(roce_v1.size())});
  EXPECT_EQ(p.carrier, Carrier::kRoceV1);
  EXPECT_EQ(p.source, g1);
  EXPECT_EQ(p.destination, g2);
  EXPECT_EQ(p.wire_length, transport.size());

  Buffer ib;
  AppendLrh(ib, LidAddress(3), LidAddress(4), 40 + transport.size(), true);
  AppendGrh(ib, g1, g2, transport.size());
  ib.insert(ib.end(), transport.begin(), transport.end());
  p = Decode({{}, LinkType::kInfiniBand, ib, static_cast<uint32_t>(ib.size())});
  EXPECT_EQ(p.carrier, Carrier::kInfiniBand);
  EXPECT_EQ(p.wire_length, transport.size());

  for (bool v2 : {false, true}) {
    Buffer cooked;
    v2 ? AppendLinuxSll2(cooked, mac, 0x0800) : AppendLinuxSll(cooked, mac, 0x0800);
    EXPECT_EQ(cooked.size(), v2 ? 20u : 16u);
    AppendIpv4(cooked, Ipv4Address(1, 2, 3, 4), Ipv4Address(5, 6, 7, 8), 17, 28);
    AppendUdp(cooked, 49152, kRoceV2Port, 20);
    cooked.insert(cooked.end(), transport.begin(), transport.end());
    p = Decode({{}, v2 ? LinkType::kLinuxSll2 : LinkType::kLinuxSll, cooked, static_cast<uint32_t>(cooked.size())});
    EXPECT_EQ(p.carrier, Carrier::kRoceV2);
    EXPECT_EQ(p.destination, Ipv4Address(5, 6, 7, 8));
  }
}

}  // namespace
}  // namespace stag::link
