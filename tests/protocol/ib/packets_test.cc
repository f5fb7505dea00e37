// SPDX-License-Identifier: GPL-2.0-or-later
//
// Packets of messages, and their frames: opcodes as IBA table 38 has them, frames that the decoders read back.
#include "protocol/ib/packets.h"

#include <gtest/gtest.h>

#include "protocol/ib/icrc.h"

namespace stag::ib {
namespace {

TEST(Packets, Opcodes) {
  using enum MessageKind;
  const struct {
    MessageKind kind;
    uint8_t first, middle, last, only;
  } kTable[] = {{kSend, 0x00, 0x01, 0x02, 0x04},           {kSendImmediate, 0x00, 0x01, 0x03, 0x05},
                {kSendInvalidate, 0x00, 0x01, 0x16, 0x17}, {kWrite, 0x06, 0x07, 0x08, 0x0a},
                {kWriteImmediate, 0x06, 0x07, 0x09, 0x0b}, {kReadResponse, 0x0d, 0x0e, 0x0f, 0x10}};
  for (const auto& row : kTable) {
    EXPECT_EQ(OpcodeOf(row.kind, true, false), row.first);
    EXPECT_EQ(OpcodeOf(row.kind, false, false), row.middle);
    EXPECT_EQ(OpcodeOf(row.kind, false, true), row.last);
    EXPECT_EQ(OpcodeOf(row.kind, true, true), row.only);
  }
}

TEST(Packets, Counts) {
  EXPECT_EQ(PacketCount(0, 1024), 1u);
  EXPECT_EQ(PacketCount(1024, 1024), 1u);
  EXPECT_EQ(PacketCount(1025, 1024), 2u);
  EXPECT_EQ(PacketCount(uint64_t{1} << 32, 4096), 1u << 20);
}

TEST(Packets, FramesReadBack) {
  std::vector<std::byte> data(7, std::byte{0xab});
  for (const Address::Kind kind : {Address::Kind::kIpv4, Address::Kind::kIpv6, Address::Kind::kGid}) {
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      const OpcodeInfo& info = LookUpOpcode(static_cast<uint8_t>(opcode));
      if (info.operation == Operation::kOther) continue;
      link::Host from, to;
      from.address.kind = to.address.kind = kind;
      from.address.bytes[0] = std::byte{10};
      to.address.bytes[0] = std::byte{11};
      Transport t;
      t.bth.opcode = static_cast<uint8_t>(opcode);
      t.bth.psn = 77;
      if (info.data) t.data = data;
      std::vector<std::byte> frame;
      AppendRoceFrame(frame, from, to, 0xc001, t);
      const link::Packet packet =
          link::Decode({{1, 0}, LinkType::kEthernet, frame, static_cast<uint32_t>(frame.size())});
      EXPECT_EQ(packet.carrier, kind == Address::Kind::kGid ? link::Carrier::kRoceV1 : link::Carrier::kRoceV2);
      EXPECT_EQ(packet.source, from.address);
      EXPECT_EQ(packet.destination, to.address);
      EXPECT_EQ(CheckIcrc(packet), IcrcStatus::kGood) << opcode;
      const Transport back = ParseTransport(packet.payload, packet.wire_length);
      EXPECT_EQ(back.status, ParseStatus::kOk) << opcode;
      EXPECT_EQ(back.bth.psn, 77u);
      EXPECT_EQ(back.data.size(), t.data.size()) << opcode;
    }
  }
}

}  // namespace
}  // namespace stag::ib
