// SPDX-License-Identifier: GPL-2.0-or-later
//
// Transport packets: fields of real ones (as an independent dissector shows them), every opcode there and back, cuts.
#include "protocol/ib/transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/protocol/ib/real_frames.h"

namespace stag::ib {
namespace {

using test::DecodeFrame;
using test::Hex;
using Buffer = std::vector<std::byte>;

Transport ParseFrame(const Buffer& frame) {
  link::Packet p = DecodeFrame(frame);
  return ParseTransport(p.payload, p.wire_length);
}

TEST(Transport, RealAcknowledge) {
  Buffer frame = Hex(test::kAckFrame);
  Transport t = ParseFrame(frame);
  EXPECT_EQ(t.status, ParseStatus::kOk);
  EXPECT_EQ(t.bth.opcode, kAcknowledge);
  EXPECT_EQ(t.bth.destination_qp, 0x11u);
  EXPECT_EQ(t.bth.psn, 0x41acf1u);
  EXPECT_EQ(t.bth.partition, 0xffff);
  EXPECT_FALSE(t.bth.ack_request);
  EXPECT_EQ(t.aeth.syndrome, 0x1f);
  EXPECT_EQ(t.aeth.msn, 1u);
  EXPECT_EQ(KindOf(t.aeth.syndrome), AethKind::kAck);
  EXPECT_EQ(t.data_length, 0u);
}

// IBA table 45, encoding of RNR NAK timers.
TEST(Transport, RnrTimers) {
  constexpr double kMilliseconds[] = {655.36, 0.01,  0.02,  0.03,  0.04,  0.06,   0.08,   0.12,   0.16,   0.24,  0.32,
                                      0.48,   0.64,  0.96,  1.28,  1.92,  2.56,   3.84,   5.12,   7.68,   10.24, 15.36,
                                      20.48,  30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52};
  for (uint8_t timer = 0; timer < 32; ++timer) {
    EXPECT_EQ(RnrTimerNs(timer), std::llround(kMilliseconds[timer] * 1e6)) << int{timer};
    EXPECT_EQ(RnrTimerNs(static_cast<uint8_t>(0x20 | timer)), RnrTimerNs(timer));
  }
}

TEST(Transport, RealNak) {
  Buffer frame = Hex(test::kNakFrame);
  Transport t = ParseFrame(frame);
  EXPECT_EQ(t.bth.psn, 0xb929adu);
  EXPECT_EQ(KindOf(t.aeth.syndrome), AethKind::kNak);
  EXPECT_EQ(t.aeth.syndrome & 31, kNakSequence);
  EXPECT_EQ(t.aeth.msn, 15u);
}

TEST(Transport, RealSendWithInvalidate) {
  Buffer frame = Hex(test::kSendInvalidateFrame);
  Transport t = ParseFrame(frame);
  EXPECT_EQ(t.bth.opcode, kSendOnlyInvalidate);
  EXPECT_EQ(t.bth.psn, 9565199u);
  EXPECT_EQ(t.invalidated, 0x681du);
  EXPECT_EQ(t.data_length, 48u);
  EXPECT_EQ(LoadBe32(t.data.data()), 0x969bc659u);
}

TEST(Transport, RealReadRequest) {
  Buffer frame = Hex(test::kReadRequestFrame);
  Transport t = ParseFrame(frame);
  EXPECT_EQ(t.bth.opcode, kReadRequest);
  EXPECT_EQ(t.bth.psn, 9565782u);
  EXPECT_EQ(t.reth.address, 0xd49bc65903178000u);
  EXPECT_EQ(t.reth.key, 0x67b9u);
  EXPECT_EQ(t.reth.length, 4097u);
  EXPECT_EQ(t.data_length, 0u);
}

// A packet of each opcode with all its headers distinct.
Transport Sample(uint8_t opcode, Bytes data) {
  const OpcodeInfo& info = LookUpOpcode(opcode);
  Transport t;
  t.bth = {opcode, true, true, 0, 0, 0x8001, true, false, 0x123456, true, 0xabcdef};
  if (info.deth) t.deth = {0x11111111, 0x222222};
  if (info.reth) t.reth = {0x0102030405060708, 0x33333333, 77};
  if (info.atomic) t.atomic = {0x1112131415161718, 0x44444444, 0x5555, 0x6666};
  if (info.aeth) t.aeth = {0x61, 0x777777};
  if (info.atomic_ack) t.atomic_result = 0x99;
  if (info.immediate) t.immediate = 0xaaaaaaaa;
  if (info.ieth) t.invalidated = 0xbbbbbbbb;
  t.data = data;
  return t;
}

TEST(Transport, EveryOpcodeThereAndBack) {
  Buffer data = Hex("01020304050607");
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    for (size_t length = 0; length <= data.size(); ++length) {
      Transport in = Sample(static_cast<uint8_t>(opcode), Bytes(data).first(length));
      Buffer wire;
      AppendTransport(wire, in);
      EXPECT_EQ(wire.size() % 4, 0u);
      wire.insert(wire.end(), 4, std::byte{0xcc});
      Transport out = ParseTransport(wire, wire.size());
      ASSERT_EQ(out.status, ParseStatus::kOk) << opcode;
      in.bth.pad = static_cast<uint8_t>((4 - length % 4) % 4);
      EXPECT_EQ(out.bth, in.bth);
      EXPECT_EQ(out.deth, in.deth);
      EXPECT_EQ(out.reth, in.reth);
      EXPECT_EQ(out.atomic, in.atomic);
      EXPECT_EQ(out.aeth, in.aeth);
      EXPECT_EQ(out.atomic_result, in.atomic_result);
      EXPECT_EQ(out.immediate, in.immediate);
      EXPECT_EQ(out.invalidated, in.invalidated);
      EXPECT_EQ(out.data_length, length);
      EXPECT_TRUE(std::ranges::equal(out.data, in.data));
    }
  }
}

TEST(Transport, CutAnywhere) {
  Buffer data(9, std::byte{0x42});
  for (unsigned opcode = 0; opcode <= 0x17; ++opcode) {
    Buffer wire;
    AppendTransport(wire, Sample(static_cast<uint8_t>(opcode), data));
    size_t headers = wire.size() - 12;
    wire.insert(wire.end(), 4, std::byte{0});
    for (size_t n = 0; n < wire.size(); ++n) {
      Transport t = ParseTransport(Bytes(wire).first(n), wire.size());
      if (n < headers) {
        EXPECT_EQ(t.status, ParseStatus::kTruncatedByCapture);
        EXPECT_TRUE(t.data.empty());
        EXPECT_EQ(t.bth.psn, n >= kBthLength ? 0xabcdefu : 0u);
      } else {
        EXPECT_EQ(t.status, ParseStatus::kOk);
        EXPECT_EQ(t.data_length, data.size());
        EXPECT_EQ(t.data.size(), std::min(n - headers, data.size()));
      }
      // As a complete packet it is too short for its headers, or its pad and ICRC eat into the data.
      t = ParseTransport(Bytes(wire).first(n), n);
      EXPECT_EQ(t.status, n < headers + 3 + 4 ? ParseStatus::kMalformed : ParseStatus::kOk) << opcode << " " << n;
    }
  }
}

TEST(Transport, OtherVersionsAreUnsupported) {
  Buffer wire;
  Transport t = Sample(kSendOnly, {});
  t.bth.version = 1;
  AppendTransport(wire, t);
  wire.insert(wire.end(), 4, std::byte{0});
  EXPECT_EQ(ParseTransport(wire, wire.size()).status, ParseStatus::kUnsupported);
}

}  // namespace
}  // namespace stag::ib
