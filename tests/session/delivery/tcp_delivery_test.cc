// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/delivery/tcp_delivery.h"

#include <gtest/gtest.h>

#include "protocol/base/sequence.h"
#include "tests/session/delivery/told.h"

namespace stag::delivery {
namespace {

using fabric::Sighting;
using Lines = std::vector<std::string>;

constexpr uint32_t kSequence = 0xffffff00;  // goes round soon
constexpr Lane kStream{0, false};

// Side 0 sends segments, side 1 acknowledges. Each is a frame, from 1 on, a millisecond after the one before.
class TcpDeliveryTest : public testing::Test {
 protected:
  using Blocks = std::vector<std::pair<uint32_t, uint32_t>>;
  void Segment(uint32_t begin, uint32_t end) {
    Sighting s = Next(0);
    s.number = kSequence + begin;
    s.count = end - begin;
    delivery_.OnSighting(s, told_);
  }
  void Ack(uint32_t end, const Blocks& blocks = {}) {
    Sighting s = Next(1);
    s.number = 77;
    s.count = 0;
    s.acknowledges = true;
    s.acknowledged = kSequence + end;
    for (const auto& [first, behind] : blocks) s.sack[s.blocks++] = {kSequence + first, kSequence + behind};
    delivery_.OnSighting(s, told_);
  }
  bool IsKnown(uint32_t at) const { return delivery_.IsKnown(kStream, delivery_.PlaceOf(kStream, kSequence + at)); }
  Sighting Next(Side from) {
    now_ms_ += 1;
    Sighting s;
    s.from = from;
    s.kind = Sighting::Kind::kSegment;
    s.frame = {++frame_, now_ms_ * 1'000'000};
    return s;
  }

  uint64_t frame_ = 0;
  int64_t now_ms_ = 0;
  Told told_{FirstPosition(kSequence)};
  TcpDelivery delivery_;
};

TEST_F(TcpDeliveryTest, NothingIsToldOfBytesThatComeOnce) {
  for (uint32_t at = 0; at < 1000; at += 10) {
    Segment(at, at + 10);
    EXPECT_FALSE(IsKnown(at + 9));
    if (at % 20 == 0) Ack(at + 10);
  }
  EXPECT_TRUE(IsKnown(989));
  EXPECT_FALSE(delivery_.troubled());
  delivery_.Finish(told_);
  EXPECT_EQ(told_.lines, Lines());
}

TEST_F(TcpDeliveryTest, ALostSegmentHoldsUpWhatIsBehindIt) {
  Segment(0, 10);       // 1
  Segment(20, 30);      // 2: 10 to 20 is lost before the capture
  Ack(10, {{20, 30}});  // 3
  Segment(10, 20);      // 4
  Segment(30, 40);      // 5
  Ack(40);
  EXPECT_EQ(told_.lines, (Lines{"wait 10 2-4 gap", "wait 20 2-4 gap", "delivered 20 4"}));
}

TEST_F(TcpDeliveryTest, ALostCopyWaitsForTheNext) {
  Segment(0, 10);   // 1, lost behind the capture
  Segment(10, 20);  // 2
  Ack(0, {{10, 20}});
  Segment(0, 10);   // 4
  Segment(20, 30);  // 5
  Ack(30);
  EXPECT_EQ(told_.lines, (Lines{"wait 0 1-4 acks", "delivered 0 4", "wait 10 2-4 gap", "delivered 10 4"}));
}

TEST_F(TcpDeliveryTest, ASackIsEvidence) {
  Segment(0, 10);      // 1
  Segment(10, 20);     // 2
  Ack(0, {{10, 20}});  // 3: 0 to 10 was lost, 10 to 20 was not
  Segment(0, 20);      // 4
  Segment(20, 30);     // 5
  Ack(30);
  EXPECT_EQ(told_.lines, (Lines{"wait 0 1-4 acks", "delivered 0 4", "wait 10 2-4 acks", "delivered 10 4"}));
}

TEST_F(TcpDeliveryTest, ADuplicateSackNamesTheLatestCopy) {
  Segment(0, 10);      // 1
  Segment(0, 10);      // 2
  Ack(10);             // 3
  Ack(10, {{0, 10}});  // 4: RFC 2883
  Segment(10, 20);     // 5
  Ack(20);
  EXPECT_EQ(told_.lines, (Lines{"spurious 0 2"}));
}

TEST_F(TcpDeliveryTest, WithoutADuplicateSackTheLastCopyIsDelivered) {
  Segment(0, 10);            // 1
  Segment(0, 10);            // 2
  Ack(10);                   // 3
  EXPECT_FALSE(IsKnown(9));  // one may yet come
  Segment(10, 20);           // 4
  Ack(20);
  EXPECT_TRUE(IsKnown(9));
  EXPECT_EQ(told_.lines, (Lines{"wait 0 1-2 timer", "delivered 0 2"}));
}

// It arrived, and what its receiver sent was lost before the capture.
TEST_F(TcpDeliveryTest, ASegmentThatADuplicateSackNamesWaitsWhereNothingCameBackForLong) {
  Segment(0, 10);  // 1
  now_ms_ += 209;
  Segment(0, 10);      // 2, 210 ms later
  Ack(10, {{0, 10}});  // 3
  Segment(10, 20);
  Ack(20);
  EXPECT_EQ(told_.lines, (Lines{"wait 0 1-2 timer", "spurious 0 2"}));
}

TEST_F(TcpDeliveryTest, CopiesOfOtherSizes) {
  Segment(0, 10);   // 1
  Segment(10, 20);  // 2, lost behind the capture
  Ack(10);          // 3
  Segment(5, 15);   // 4
  Segment(15, 20);  // 5
  Segment(20, 30);  // 6
  Ack(30);
  EXPECT_EQ(told_.lines, (Lines{"wait 10 2-4 timer", "delivered 10 4", "wait 15 2-5 timer", "delivered 15 5"}));
}

TEST_F(TcpDeliveryTest, ACopyOfWhatIsSettledIsForNothing) {
  Segment(0, 10);  // 1
  Ack(10);
  Segment(0, 10);  // 3
  EXPECT_EQ(told_.lines, (Lines{"spurious 0 3"}));
}

TEST_F(TcpDeliveryTest, MemoryIsBounded) {
  uint64_t most = 0;
  for (uint32_t at = 0; at < 3'000'000; at += 10) {  // nothing is ever acknowledged
    Segment(at, at + 10);
    if (at % 30 == 0 && at > 100) Segment(at - 50, at - 40);
    most = std::max(most, delivery_.storage());
  }
  EXPECT_LT(most, 8u << 20);
}

}  // namespace
}  // namespace stag::delivery
