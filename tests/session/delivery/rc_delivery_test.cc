// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/delivery/rc_delivery.h"

#include <gtest/gtest.h>

#include "protocol/base/sequence.h"
#include "tests/session/delivery/told.h"

namespace stag::delivery {
namespace {

using fabric::Sighting;
using Kind = Sighting::Kind;
using Lines = std::vector<std::string>;

constexpr uint32_t kPsn = 0xfffffe;  // goes round soon
constexpr Lane kRequests{0, false}, kResponses{0, true};

// A connection whose side 0 sends requests. Each packet is a frame, from 1 on, a microsecond after the one before.
class RcDeliveryTest : public testing::Test {
 protected:
  void See(Side from, Kind kind, uint32_t psn, uint32_t count = 1) {
    ++frame_;
    Sighting s;
    s.from = from;
    s.kind = kind;
    s.number = (kPsn + psn) & 0xffffff;
    s.count = count;
    s.frame = {frame_, static_cast<int64_t>(frame_) * 1000};
    delivery_.OnSighting(s, told_);
  }
  void Request(uint32_t psn) { See(0, Kind::kRequest, psn); }
  void Read(uint32_t psn, uint32_t count) { See(0, Kind::kReadRequest, psn, count); }
  void Response(uint32_t psn) { See(1, Kind::kReadResponse, psn); }
  void Ack(uint32_t psn) { See(1, Kind::kAck, psn); }
  void Nak(uint32_t psn) { See(1, Kind::kNak, psn); }
  void Rnr(uint32_t psn) { See(1, Kind::kRnrNak, psn); }
  // What the upper layer knows: `frame` shows that all up to `psn` had arrived.
  void Prove(const Lane& lane, uint32_t psn, uint64_t frame) {
    delivery_.Prove(lane, delivery_.PlaceOf(lane, (kPsn + psn) & 0xffffff), {frame, static_cast<int64_t>(frame) * 1000},
                    told_);
  }
  bool IsKnown(const Lane& lane, uint32_t psn) const {
    return delivery_.IsKnown(lane, delivery_.PlaceOf(lane, (kPsn + psn) & 0xffffff));
  }

  uint64_t frame_ = 0;
  Told told_{FirstPosition(kPsn)};
  RcDelivery delivery_;
};

TEST_F(RcDeliveryTest, NothingIsToldOfPacketsThatComeOnce) {
  for (uint32_t psn = 0; psn < 200; ++psn) {
    Request(psn);
    EXPECT_FALSE(IsKnown(kRequests, psn));
    Ack(psn);
    EXPECT_TRUE(IsKnown(kRequests, psn));
  }
  EXPECT_FALSE(delivery_.troubled());
  delivery_.Finish(told_);
  EXPECT_EQ(told_.lines, Lines());
}

TEST_F(RcDeliveryTest, TheLastCopyBeforeItsAcknowledgmentIsDelivered) {
  Request(0);  // 1, lost behind the capture
  Request(0);  // 2
  EXPECT_TRUE(delivery_.troubled());
  EXPECT_EQ(delivery_.troubled_since(), 1000);
  Ack(0);  // 3
  EXPECT_EQ(told_.lines, (Lines{"delivered 0 2", "wait 0 1-2 timer"}));
  EXPECT_FALSE(delivery_.troubled());
}

TEST_F(RcDeliveryTest, ACopyBehindTheAcknowledgmentIsForNothing) {
  Request(0);  // 1
  Ack(0);      // 2, lost behind the capture
  Request(0);  // 3
  Ack(0);
  EXPECT_EQ(told_.lines, (Lines{"spurious 0 3"}));
}

TEST_F(RcDeliveryTest, WhatTheUpperLayerKnowsIsEvidence) {
  Request(0);                        // 1; its acknowledgment is lost before the capture
  Prove(kRequests, 0, 2), ++frame_;  // its Reply
  Request(0);                        // 3
  Ack(0);
  EXPECT_EQ(told_.lines, (Lines{"spurious 0 3"}));
}

TEST_F(RcDeliveryTest, AReceiverDropsWhatComesBeforeItsTurn) {
  Request(0);  // 1, lost behind the capture
  Request(1);  // 2, dropped
  Nak(0);      // 3
  Request(0);  // 4
  Request(1);  // 5
  Ack(1);
  EXPECT_EQ(told_.lines, (Lines{"delivered 0 4", "wait 0 1-4 nak", "delivered 1 5", "wait 1 2-5 nak"}));
}

TEST_F(RcDeliveryTest, APacketThatIsLostBeforeTheCaptureIsDueWhenALaterOneShowsIt) {
  Request(0);  // 1
  Request(2);  // 2, dropped
  Nak(1);      // 3
  Request(1);  // 4
  Request(2);  // 5
  Ack(2);
  EXPECT_EQ(told_.lines, (Lines{"wait 1 2-4 gap", "delivered 2 5", "wait 2 2-5 nak"}));
}

TEST_F(RcDeliveryTest, TwoPacketsThatTheCaptureSwappedDoNotWait) {
  Request(0);
  Request(2);
  Request(1);
  Ack(2);
  EXPECT_EQ(told_.lines, Lines());
  EXPECT_FALSE(delivery_.troubled());
}

TEST_F(RcDeliveryTest, NothingWaitsWhereTheEvidenceComesBeforeTheFirstCopy) {
  Request(0);  // 1
  Request(2);  // 2
  Ack(2);      // 3: number 1 was there
  Request(1);  // 4: sent again, for nothing
  Ack(2);
  delivery_.Finish(told_);
  EXPECT_EQ(told_.lines, Lines());
}

TEST_F(RcDeliveryTest, AReceiverWithoutReceives) {
  Request(0);  // 1
  Rnr(0);      // 2
  Request(0);  // 3
  Rnr(0);      // 4
  Request(0);  // 5
  Ack(0);
  EXPECT_EQ(told_.lines, (Lines{"delivered 0 5", "wait 0 1-5 rnr"}));
}

// 1: a Read of three packets. The second response is lost behind the capture.
TEST_F(RcDeliveryTest, AReadThatBeginsAgainInTheMiddle) {
  Read(0, 3);   // 1
  Response(0);  // 2
  Response(1);  // 3
  Response(2);  // 4, dropped
  Read(1, 2);   // 5
  Response(1);  // 6
  Response(2);  // 7
  Request(3);   // 8: the Reply
  Prove(kResponses, 2, 8);
  Ack(3);
  EXPECT_EQ(told_.lines, (Lines{"delivered response 1 6", "wait response 1 3-6 timer", "delivered response 2 7",
                                "wait response 2 4-7 timer"}));
}

TEST_F(RcDeliveryTest, AResponseThatWasNeverCapturedIsDueWithTheOneBeforeIt) {
  Read(0, 2);   // 1
  Response(0);  // 2; the second is lost before the capture
  Read(1, 1);   // 3
  Response(1);  // 4
  Prove(kResponses, 1, 5);
  EXPECT_EQ(told_.lines, (Lines{"wait response 1 2-4 timer"}));
}

TEST_F(RcDeliveryTest, AReadRequestThatIsSentAgainBehindItsResponsesIsForNothing) {
  Read(0, 1);   // 1
  Response(0);  // 2
  Read(0, 1);   // 3
  Prove(kResponses, 0, 3);
  Ack(0);
  EXPECT_EQ(told_.lines, (Lines{"spurious 0 3"}));
}

TEST_F(RcDeliveryTest, WithoutEvidenceTheLastCopyIsDelivered) {
  Request(0);
  Request(0);
  EXPECT_EQ(told_.lines, Lines());
  delivery_.Finish(told_);
  EXPECT_EQ(told_.lines, (Lines{"delivered 0 2", "wait 0 1-2 timer"}));
}

TEST_F(RcDeliveryTest, ManyInFlightAreRemembered) {
  for (uint32_t psn = 0; psn < 3000; ++psn) Request(psn);  // 1 to 3000
  Request(0);                                              // 3001
  for (uint32_t psn = 1; psn < 3000; ++psn) Request(psn);
  Ack(2999);
  ASSERT_EQ(told_.lines.size(), 6000u);
  EXPECT_EQ(told_.lines[1], "wait 0 1-3001 timer");
  EXPECT_EQ(told_.lines.back(), "wait 2999 3000-6000 timer");
}

TEST_F(RcDeliveryTest, ANumberThatIsFarAheadIsNotBelieved) {
  Request(0);
  Request(1 << 20);
  Request(1);
  Ack(1);
  EXPECT_EQ(told_.lines, Lines());
  EXPECT_TRUE(IsKnown(kRequests, 1));
}

TEST_F(RcDeliveryTest, MemoryIsBounded) {
  Request(0);
  uint64_t most = 0;
  for (uint32_t psn = 1; psn < 200'000; ++psn) {  // nothing is ever acknowledged
    Request(psn);
    if (psn % 3 == 0) Request(psn - 1);
    most = std::max(most, delivery_.storage());
  }
  EXPECT_LT(most, 4u << 20);
}

}  // namespace
}  // namespace stag::delivery
