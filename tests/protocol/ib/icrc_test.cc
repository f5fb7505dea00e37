// SPDX-License-Identifier: GPL-2.0-or-later
//
// ICRC: real soft-RoCE packets over IPv4; for IPv6, RoCEv1 and InfiniBand values of a separate implementation of the
// rules (native InfiniBand packets of real hardware were checked with this code, but cannot be part of the repository).
#include "protocol/ib/icrc.h"

#include <gtest/gtest.h>

#include "protocol/link/encode.h"
#include "tests/protocol/ib/real_frames.h"

namespace stag::ib {
namespace {

using link::Carrier;
using test::DecodeFrame;
using test::Hex;
using Buffer = std::vector<std::byte>;

TEST(Icrc, RealPacketsAreGood) {
  for (const char* frame :
       {test::kAckFrame, test::kNakFrame, test::kSendInvalidateFrame, test::kReadRequestFrame, test::kRequestFrame}) {
    Buffer bytes = Hex(frame);
    EXPECT_EQ(CheckIcrc(DecodeFrame(bytes)), IcrcStatus::kGood);
    bytes.pop_back();
    EXPECT_EQ(CheckIcrc(DecodeFrame(bytes, bytes.size() + 1)), IcrcStatus::kAbsent);
  }
}

TEST(Icrc, FieldsThatRoutersChangeDoNotCount) {
  Buffer good = Hex(test::kAckFrame);
  const size_t ip = 14, udp = 34, bth = 42;
  for (size_t at : {ip + 1, ip + 8, ip + 10, ip + 11, udp + 6, udp + 7, bth + 4}) {
    Buffer changed = good;
    changed[at] ^= std::byte{0xff};
    EXPECT_EQ(CheckIcrc(DecodeFrame(changed)), IcrcStatus::kGood) << at;
  }
  for (size_t at :
       {ip + 4, ip + 12, ip + 19, udp + 0, bth + 0, bth + 1, bth + 5, bth + 11, bth + 12, good.size() - 1}) {
    Buffer changed = good;
    changed[at] ^= std::byte{0x01};
    EXPECT_EQ(CheckIcrc(DecodeFrame(changed)), IcrcStatus::kBad) << at;
  }
}

TEST(Icrc, OtherCarriers) {
  Buffer bth = Hex("1100ffff000000110041acf11f000001");
  Buffer ipv6 =
      Hex("60200000001c1140fd000000000000000000000000000001fd000000000000000000000000000002 c00012b7001c1234");
  Buffer grh = Hex("6000000000141b40fe800000000000000000000000000001fe800000000000000000000000000002");
  Buffer lrh = Hex("2002001800070008"), lrh_grh = Hex("2003001800110008");
  lrh_grh.insert(lrh_grh.end(), grh.begin(), grh.end());
  EXPECT_EQ(ComputeIcrc(Carrier::kRoceV2, ipv6, bth), 0x6ec31f15u);
  EXPECT_EQ(ComputeIcrc(Carrier::kRoceV1, grh, bth), 0x2ea4979du);
  EXPECT_EQ(ComputeIcrc(Carrier::kInfiniBand, lrh, bth), 0x27b7055bu);
  EXPECT_EQ(ComputeIcrc(Carrier::kInfiniBand, lrh_grh, bth), 0x8cadce72u);
}

TEST(Icrc, AppendedIcrcIsGood) {
  Buffer frame = Hex(test::kReadRequestFrame);
  Buffer rebuilt(frame.begin(), frame.end() - 4);
  AppendIcrc(rebuilt, Carrier::kRoceV2, 14, 42);
  EXPECT_EQ(rebuilt, frame);
}

TEST(Icrc, TooShortIsAbsent) {
  link::Packet p;
  p.carrier = Carrier::kRoceV2;
  Buffer payload(15);
  p.payload = payload;
  p.wire_length = payload.size();
  EXPECT_EQ(CheckIcrc(p), IcrcStatus::kAbsent);
}

}  // namespace
}  // namespace stag::ib
