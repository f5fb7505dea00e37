// SPDX-License-Identifier: GPL-2.0-or-later
//
// The opcode table against IBA table 38, and PSN arithmetic.
#include "protocol/ib/opcode.h"

#include <gtest/gtest.h>

#include <set>

namespace stag::ib {
namespace {

TEST(Opcode, ReliableConnection) {
  const std::set<int> first{0x00, 0x04, 0x05, 0x06, 0x0a, 0x0b, 0x0c, 0x0d, 0x10, 0x11, 0x12, 0x13, 0x14, 0x17};
  const std::set<int> last{0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0a, 0x0b, 0x0c,
                           0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17};
  const std::set<int> reth{0x06, 0x0a, 0x0b, 0x0c}, aeth{0x0d, 0x0f, 0x10, 0x11, 0x12},
      immediate{0x03, 0x05, 0x09, 0x0b};
  const std::set<int> ieth{0x16, 0x17}, atomic{0x13, 0x14}, response{0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12};
  for (int opcode = 0; opcode <= 0x17; ++opcode) {
    if (opcode == 0x15) continue;  // RESYNC: reliable datagrams only
    const OpcodeInfo& i = LookUpOpcode(static_cast<uint8_t>(opcode));
    EXPECT_EQ(i.service, Service::kRc) << opcode;
    EXPECT_NE(i.operation, Operation::kOther) << opcode;
    EXPECT_EQ(i.first, first.contains(opcode)) << opcode;
    EXPECT_EQ(i.last, last.contains(opcode)) << opcode;
    EXPECT_EQ(i.reth, reth.contains(opcode)) << opcode;
    EXPECT_EQ(i.aeth, aeth.contains(opcode)) << opcode;
    EXPECT_EQ(i.immediate, immediate.contains(opcode)) << opcode;
    EXPECT_EQ(i.ieth, ieth.contains(opcode)) << opcode;
    EXPECT_EQ(i.atomic, atomic.contains(opcode)) << opcode;
    EXPECT_EQ(i.atomic_ack, opcode == 0x12) << opcode;
    EXPECT_EQ(i.response, response.contains(opcode)) << opcode;
    EXPECT_FALSE(i.deth) << opcode;
  }
}

TEST(Opcode, OtherServices) {
  EXPECT_EQ(LookUpOpcode(0x24).service, Service::kUc);
  EXPECT_EQ(LookUpOpcode(0x2c).operation, Operation::kOther);  // no Reads over UC
  EXPECT_EQ(LookUpOpcode(0x44).service, Service::kRd);
  EXPECT_TRUE(LookUpOpcode(0x44).deth && LookUpOpcode(0x44).rdeth);
  EXPECT_FALSE(LookUpOpcode(0x51).deth);  // an acknowledgement has RDETH only
  EXPECT_EQ(LookUpOpcode(kUdSendOnly).service, Service::kUd);
  EXPECT_TRUE(LookUpOpcode(kUdSendOnly).deth);
  EXPECT_TRUE(LookUpOpcode(0x65).immediate);
  EXPECT_EQ(LookUpOpcode(0x60).operation, Operation::kOther);  // no multi-packet datagrams
  EXPECT_EQ(LookUpOpcode(0x81).service, Service::kOther);      // congestion notification
  EXPECT_EQ(LookUpOpcode(0xa4).service, Service::kXrc);
  EXPECT_TRUE(LookUpOpcode(0xa4).xrceth);
}

TEST(Psn, WrapsAt24Bits) {
  EXPECT_EQ(PsnAdd(0xffffff, 1), 0u);
  EXPECT_EQ(PsnAdd(0xfffff0, 0x20), 0x10u);
  EXPECT_EQ(PsnDistance(0, 0xffffff), 1);
  EXPECT_EQ(PsnDistance(0xffffff, 0), -1);
  EXPECT_EQ(PsnDistance(5, 5), 0);
  EXPECT_EQ(PsnDistance(0x7fffff, 0), 0x7fffff);
  EXPECT_EQ(PsnDistance(0x800000, 0), -0x800000);
}

}  // namespace
}  // namespace stag::ib
