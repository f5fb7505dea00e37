// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/link/tcp_checksum.h"

#include <gtest/gtest.h>

#include "protocol/link/encode.h"

namespace stag::link {
namespace {

class TcpChecksum : public testing::Test {
 protected:
  static constexpr size_t kIp = 14, kTcp = kIp + 20, kField = kTcp + 16;

  TcpChecksum() {
    AppendTcpFrame(bytes_, {{}, Ipv4Address(192, 0, 2, 1)}, {{}, Ipv4Address(192, 0, 2, 2)}, {1, 2, 3, 4, kTcpAck},
                   payload_);
  }
  // Of the bytes, of which the first `captured` were captured.
  bool IsWrong(size_t captured = SIZE_MAX) {
    Frame frame;
    frame.link = LinkType::kEthernet;
    frame.wire_length = static_cast<uint32_t>(bytes_.size());
    frame.bytes = Bytes(bytes_).first(std::min(captured, bytes_.size()));
    return HasWrongTcpChecksum(Decode(frame));
  }

  const std::vector<std::byte> payload_ = std::vector<std::byte>(33, std::byte{7});
  std::vector<std::byte> bytes_;
};

TEST_F(TcpChecksum, EveryBitCounts) {
  EXPECT_FALSE(IsWrong());
  // But those of the data offset, which decide what is header and what payload.
  for (size_t at = kTcp; at < bytes_.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes_[at] ^= std::byte{1} << bit;
      EXPECT_TRUE(at == kTcp + 12 || IsWrong()) << at << " " << bit;
      bytes_[at] ^= std::byte{1} << bit;
    }
  }
}

TEST_F(TcpChecksum, WhatWasNotCapturedMayBeRight) {
  bytes_[kTcp + 8] ^= std::byte{1};
  ASSERT_TRUE(IsWrong());
  for (size_t captured = 0; captured < bytes_.size(); ++captured) EXPECT_FALSE(IsWrong(captured)) << captured;
}

TEST_F(TcpChecksum, AnAdapterMayHaveToCompleteIt) {
  StoreBe16(&bytes_[kField], 0);
  EXPECT_FALSE(IsWrong());
  // RFC 9293 section 3.1: addresses, zero, protocol, TCP length; as the sender's stack leaves the sum to the adapter.
  const uint32_t sum = 0xc000 + 0x0201 + 0xc000 + 0x0202 + 6 + 20 + 33;
  StoreBe16(&bytes_[kField], static_cast<uint16_t>((sum & 0xffff) + (sum >> 16)));
  EXPECT_FALSE(IsWrong());
  StoreBe16(&bytes_[kField], static_cast<uint16_t>((sum & 0xffff) + (sum >> 16) + 1));
  EXPECT_TRUE(IsWrong());
}

TEST_F(TcpChecksum, OfIpv6) {
  std::array<std::byte, 16> one{std::byte{0x20}}, other{std::byte{0x20}, std::byte{1}};
  bytes_.clear();
  AppendTcpFrame(bytes_, {{}, Ipv6Address(one)}, {{}, Ipv6Address(other)}, {1, 2, 3, 4, kTcpAck}, payload_);
  EXPECT_FALSE(IsWrong());
  bytes_.back() ^= std::byte{1};
  EXPECT_TRUE(IsWrong());
}

}  // namespace
}  // namespace stag::link
