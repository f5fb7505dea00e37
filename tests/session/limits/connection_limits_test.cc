// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/limits/connection_limits.h"

#include <gtest/gtest.h>

#include "session/fabric/ib_recovery.h"
#include "tests/support/event_script.h"

namespace stag::session {
namespace {

using namespace test;

struct Limits final : LimitsSink {
  ConnectionLimits limits;
  size_t count = 0;

 private:
  void OnLimits(const Connection&, const ConnectionLimits& closed) override {
    limits = closed;
    ++count;
  }
};

// Every action is a frame, a microsecond after the one before.
struct LimitsTest : testing::Test {
  Limits found;
  LimitsObserver observer{found};
  Session session{SessionOptions{}, {&observer}};
  EventScript script{session};
  fabric::IbRecovery naks;

  LimitsTest() { script.Open(); }

  void Call(uint32_t xid, uint32_t credit = 32, std::initializer_list<uint32_t> reads = {},
            std::initializer_list<uint32_t> writes = {}) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, xid, credit);
    for (const uint32_t handle : reads) AddRead(header, 88, {handle, 16, 0});
    for (const uint32_t handle : writes) AddWriteChunk(header, {{handle, 16, 0}});
    script.Send(0, header, MakeCall(xid, nfs::kNfsProgram, 3, 1, Opaque(Pattern(32))));
  }
  void Reply(uint32_t xid, uint32_t credit = 32, uint32_t status = 0) {
    script.Send(1, MakeHeader(rpcrdma::kMsg, xid, credit), MakeReply(xid, Words({status})));
  }
  // A frame of the connection that changes nothing.
  void Wait(int frames) {
    for (int i = 0; i < frames; ++i) script.Nak(1, fabric::NakKind::kInvalidRequest);
  }
  // A packet that gives no event, at the time of the last frame and so much.
  void Packet(fabric::Side from, uint8_t opcode, uint32_t psn, int64_t after_ns, uint8_t syndrome = 0) {
    fabric::RcPacket packet;
    packet.status = ParseStatus::kOk;
    packet.from = from;
    packet.bth.opcode = opcode;
    packet.bth.psn = psn;
    packet.aeth.syndrome = syndrome;
    packet.info = &ib::LookUpOpcode(opcode);
    packet.frame = {script.frame(), static_cast<int64_t>(script.frame()) * 1000 + after_ns};
    naks.OnPacket(packet, script.info(), [&](const fabric::Recovery& told) { session.OnRecovery(told); });
  }
  void Expect(int64_t idle, int64_t credits, int64_t recovery, int64_t moving, int64_t server, int64_t unknown = 0) {
    if (found.count == 0) script.Close();
    ASSERT_EQ(found.count, 1u);
    EXPECT_EQ(found.limits.ns, (std::array<int64_t, kLimits>{idle, credits, recovery, moving, server, unknown}));
    EXPECT_EQ(found.limits.span_ns, idle + credits + recovery + moving + server + unknown);
  }
};

TEST_F(LimitsTest, FromTheFirstCallToTheLastReply) {
  Call(1);
  Wait(2);
  Reply(1);
  Wait(4);
  Call(2);
  Reply(2);
  Wait(9);
  Expect(5000, 0, 0, 0, 4000);
  EXPECT_EQ(found.limits.verdict(), Limit::kIdle);
}

TEST_F(LimitsTest, ToTheLastFrameWhereACallIsUnanswered) {
  Call(1);
  Reply(1);
  Call(2);
  Wait(3);
  script.Send(1, MakeHeader(rpcrdma::kMsg, 99), MakeReply(99, Words({0})));  // of a Call that was not captured
  Expect(1000, 0, 0, 0, 1000 + 5000);
  EXPECT_TRUE(found.limits.unanswered);
}

TEST_F(LimitsTest, ACallWhoseAnswerIsMissingIsOutstandingForNobody) {
  Call(1);
  Reply(1);
  Call(2);  // its Reply is lost
  Wait(1);
  const uint64_t frame = script.frame();
  script.Gap(1, {.size = 1, .acknowledged = {frame, static_cast<int64_t>(frame) * 1000}});
  Wait(2);
  Call(3);
  Reply(3);
  Expect(1000 + 4000, 0, 0, 0, 2000, 1000);  // unknown until the acknowledgement
  EXPECT_EQ(found.limits.not_captured, 1u);
  EXPECT_FALSE(found.limits.unanswered);
  EXPECT_EQ(found.limits.verdict(), Limit::kIdle);
}

TEST_F(LimitsTest, WithoutAProofItStaysUnknown) {
  Call(1);
  script.Gap(1);
  Wait(3);
  Call(2);
  Wait(1);
  Reply(2);
  Expect(0, 0, 0, 0, 2000, 5000);
}

TEST_F(LimitsTest, OthersAreOutstandingMeanwhile) {
  Call(1);
  Call(2, 2);
  script.Gap(1);
  Wait(2);
  Reply(1, 2);
  Wait(2);  // two of two, if the second counted
  Reply(3);
  Expect(0, 0, 0, 0, 5000, 3000);
}

TEST_F(LimitsTest, AReplyWhoseCallIsMissing) {
  Call(1);
  Reply(1);
  Wait(2);
  script.Gap(0);  // since the first Call
  Wait(1);
  Reply(2);
  Expect(0, 0, 0, 0, 1000, 5000);
}

TEST_F(LimitsTest, OneDirectionIsUnknown) {
  Call(1);
  Wait(2);
  Call(2);
  Wait(2);
  script.CloseWith({.packets = 4, .extent = {fabric::Extent{true, 2, 0}, fabric::Extent{}}});
  Expect(0, 0, 0, 0, 0, 6000);
  EXPECT_EQ(found.limits.verdict(), Limit::kUnknown);
}

TEST_F(LimitsTest, ASampleIsUnknown) {
  Call(1);
  Reply(1);
  Call(2);
  Reply(2);
  script.CloseWith({.packets = 100, .extent = {fabric::Extent{true, 100, 11}, fabric::Extent{true, 100, 0}}});
  Expect(0, 0, 0, 0, 0, 3000);
}

TEST_F(LimitsTest, CreditsCountFromTheFirstReplyOn) {
  Call(1, 2);
  Call(2, 2);
  Reply(1, 32);  // one is outstanding
  Call(3, 2);    // two of two that are requested
  Wait(3);
  Reply(2, 1);  // one, of one that is granted
  Reply(3, 32);
  Expect(0, 4000 + 1000, 0, 0, 2000 + 1000);
  EXPECT_EQ(found.limits.verdict(), Limit::kCreditLimited);
}

TEST_F(LimitsTest, MovingIsFromTheFirstToTheLast) {
  Call(1, 32, {7, 8}, {9, 10});
  script.ReadRequest(1, 7, 0, 16);
  script.ReadResponse(0, 7, 0, Pattern(16));
  script.ReadRequest(1, 8, 0, 16);
  script.ReadResponse(0, 8, 0, Pattern(16));  // three from the first
  Wait(1);
  script.Write(1, 9, 0, Pattern(16));
  Wait(2);
  script.Write(1, 10, 0, Pattern(16));  // three
  Reply(1);
  Expect(0, 0, 0, 6000, 1000 + 2000 + 1000);
}

TEST_F(LimitsTest, WhatMovesForTwoCountsOnce) {
  Call(1, 32, {7});
  Call(2, 32, {8});
  script.ReadRequest(1, 7, 0, 16);
  script.ReadRequest(1, 8, 0, 16);
  script.ReadResponse(0, 7, 0, Pattern(16));
  Reply(1);
  script.ReadResponse(0, 8, 0, Pattern(16));
  Reply(2);
  Expect(0, 0, 0, 4000, 2000 + 1000);
}

TEST_F(LimitsTest, CreditsGoBeforeMovingData) {
  Call(1, 1, {7});
  Reply(1, 1);
  Call(2, 1, {8});
  script.ReadRequest(1, 8, 0, 16);
  script.ReadResponse(0, 8, 0, Pattern(16));
  Reply(2, 1);
  Expect(1000, 3000, 0, 0, 1000);
  EXPECT_TRUE(found.limits.one_credit);
}

TEST_F(LimitsTest, RecoveryLastsUntilThePacketComesAgain) {
  Call(1);
  Packet(1, ib::kAcknowledge, 5, 500, 0x20);  // RNR NAK
  Wait(3);
  Packet(0, ib::kSendOnly, 4, 100);  // another one
  Packet(0, ib::kSendOnly, 5, 200);
  Reply(1);
  Expect(0, 0, 2700, 0, 1300);
  EXPECT_EQ(found.limits.rnr_naks, 1u);
  EXPECT_EQ(found.limits.longest_rnr_ns, 2700);
  EXPECT_EQ(found.limits.verdict(), Limit::kRecovery);
}

TEST_F(LimitsTest, ALaterAnswerShowsThatItCame) {
  Call(1);
  Packet(1, ib::kAcknowledge, 5, 0, 0x60);  // PSN sequence error
  Wait(2);
  Packet(1, ib::kAcknowledge, 4, 0, 0);
  Wait(2);
  Packet(1, ib::kAcknowledge, 6, 0, 0);
  Reply(1);
  Expect(0, 0, 4000, 0, 1000);
  EXPECT_EQ(found.limits.sequence_naks, 1u);
}

TEST_F(LimitsTest, RecoveryGoesBeforeIdle) {
  Call(1);
  Reply(1);
  Packet(0, ib::kAcknowledge, 9, 0, 0x20);  // of the Reply's Send
  Wait(4);
  Packet(1, ib::kSendOnly, 9, 0);
  Call(2);
  Reply(2);
  Expect(1000, 0, 4000, 0, 2000);
}

TEST_F(LimitsTest, OtherNaksAreNoRecovery) {
  Call(1);
  Packet(1, ib::kAcknowledge, 5, 0, 0x62);  // remote access error
  Reply(1);
  Expect(0, 0, 0, 0, 1000);
}

TEST_F(LimitsTest, CallsOfTheServerAreLeftOut) {
  Call(1);
  Reply(1);
  script.Send(1, MakeHeader(rpcrdma::kMsg, 1), MakeCall(1, 0x40000000, 1, 1, Words({0, 0, 0, 0})));
  Wait(3);
  script.Send(0, MakeHeader(rpcrdma::kMsg, 1), MakeReply(1, Words({0, 0, 0})));
  Call(2);
  Reply(2);
  Expect(6000, 0, 0, 0, 2000);
  EXPECT_EQ(found.limits.calls, 2u);
}

TEST_F(LimitsTest, CallsThatArePutOff) {
  Call(1);
  Reply(1, 32, 10008);
  Call(2);
  Reply(2, 32, 70);
  script.Close();
  EXPECT_EQ(found.limits.put_off, 1u);
}

TEST_F(LimitsTest, WithoutACallThereIsNoVerdict) {
  Wait(2);
  Expect(0, 0, 0, 0, 0);
  EXPECT_EQ(found.limits.verdict(), Limit::kUnknown);
}

}  // namespace
}  // namespace stag::session
