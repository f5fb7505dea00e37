// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/credits.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/session/rpcrdma/recorder.h"
#include "tests/support/event_script.h"
#include "tests/support/nfs_messages.h"

namespace stag::session {
namespace {

TEST(GrantWindow, AConstantGrant) {
  GrantWindow window;
  window.Reset(8);
  EXPECT_TRUE(window.Allows(8));
  EXPECT_FALSE(window.Allows(9));
  for (uint32_t n = 1; n <= 8; ++n) EXPECT_TRUE(window.Take(n));
  // A Reply ends one of the eight: the requester may send one, once it has it.
  window.Add(8, true);
  EXPECT_TRUE(window.Take(8));
  EXPECT_FALSE(window.Take(9));
}

TEST(GrantWindow, ALargerGrantCountsAtOnce) {
  GrantWindow window;
  window.Reset(1);
  EXPECT_TRUE(window.Take(1));
  EXPECT_FALSE(window.Allows(2));
  window.Add(8, true);
  for (uint32_t n = 1; n <= 8; ++n) EXPECT_TRUE(window.Take(n));
  EXPECT_FALSE(window.Take(9));
}

TEST(GrantWindow, ASmallerGrantMayBeOnItsWay) {
  GrantWindow window;
  window.Reset(4);
  for (uint32_t n = 1; n <= 3; ++n) EXPECT_TRUE(window.Take(n));
  window.Add(1, true);  // two outstanding
  // A third Call: right if the requester has not had the Reply, and so counts four.
  EXPECT_TRUE(window.Take(3));
  // Another: it would have to count five of four.
  EXPECT_FALSE(window.Allows(4));
  // Answered one by one, all with a grant of one: only when none is outstanding may the next be sent.
  window.Add(1, true);
  EXPECT_FALSE(window.Allows(3));
  window.Add(1, true);
  EXPECT_FALSE(window.Allows(2));
  window.Add(1, true);
  EXPECT_TRUE(window.Take(1));
  EXPECT_FALSE(window.Take(2));
}

// A requester that goes on as before a smaller grant is found out after as many Calls as the larger one allowed.
TEST(GrantWindow, IgnoringASmallerGrantShows) {
  GrantWindow window;
  window.Reset(16);
  EXPECT_TRUE(window.Take(1));
  EXPECT_TRUE(window.Take(2));
  int calls = 0;
  do {
    window.Add(1, true);
    ++calls;
  } while (window.Take(2));
  EXPECT_EQ(calls, 15);  // 2 + 14 Calls count 16
}

TEST(GrantWindow, ZeroCountsAsOne) {
  GrantWindow window;
  window.Reset(0);
  EXPECT_TRUE(window.Take(1));
  EXPECT_FALSE(window.Take(2));
  window.Add(0, true);
  window.Add(0, true);
  EXPECT_TRUE(window.Take(1));
}

TEST(GrantWindow, AMessageThatEndsNoCallBringsItsGrant) {
  GrantWindow window;
  window.Reset(1);
  EXPECT_TRUE(window.Take(1));
  window.Add(3, false);
  EXPECT_TRUE(window.Take(2));
  EXPECT_TRUE(window.Take(3));
  EXPECT_FALSE(window.Take(4));
}

TEST(GrantWindow, WhatTheRequesterReactedToHasArrived) {
  GrantWindow window;
  window.Reset(8);
  for (uint32_t n = 1; n <= 4; ++n) EXPECT_TRUE(window.Take(n));
  window.Add(8, true, 1);
  window.Add(2, true, 2);
  window.Add(1, true, 4);  // one outstanding
  EXPECT_TRUE(window.Allows(2));
  window.Arrive(1);
  EXPECT_TRUE(window.Allows(5));  // with two answers on their way it may count seven
  window.Arrive(3);
  EXPECT_TRUE(window.Allows(1));
  EXPECT_FALSE(window.Allows(2));
}

TEST(ReceivedGrants, OnlyWhatIsAcknowledgedCounts) {
  ReceivedGrants received;
  received.Reset(8);
  EXPECT_TRUE(received.Allows(8));
  EXPECT_FALSE(received.Allows(9));
  received.Add(1, true, 5);
  received.Add(1, true, 6);
  EXPECT_TRUE(received.Allows(6));  // both may be on their way
  EXPECT_FALSE(received.Allows(7));
  received.Acknowledge(5);
  EXPECT_EQ(received.grant(), 1u);
  EXPECT_TRUE(received.Allows(1));
  EXPECT_FALSE(received.Allows(2));
  // Of very many nothing is said until the last of them is acknowledged.
  for (uint64_t number = 7; number < 50; ++number) received.Add(2, true, number);
  EXPECT_TRUE(received.Allows(100));
  received.Acknowledge(48);
  EXPECT_TRUE(received.Allows(100));
  received.Acknowledge(49);
  EXPECT_TRUE(received.Allows(2));
  EXPECT_FALSE(received.Allows(3));
}

// Every number of messages that the requester may have had, tried one by one.
class EveryArrival {
 public:
  explicit EveryArrival(uint32_t grant) : grants_{grant}, possible_{0} {}
  void Add(uint32_t grant) {
    grants_.push_back(grant);
    ++answers_;
  }
  // `outstanding`: as the capture shows it.
  bool Take(uint32_t outstanding) {
    std::vector<uint32_t> next;
    for (uint32_t had = possible_.front(); had <= answers_; ++had)
      if (outstanding + (answers_ - had) <= grants_[had]) next.push_back(had);
    const bool right = !next.empty();
    possible_ = right ? next : std::vector<uint32_t>{answers_};
    return right;
  }

 private:
  std::vector<uint32_t> grants_;
  uint32_t answers_ = 0;
  std::vector<uint32_t> possible_;
};

TEST(GrantWindow, AgreesWithEveryArrival) {
  uint32_t random = 1;
  const auto next = [&](uint32_t n) {
    random = random * 1664525u + 1013904223u;
    return (random >> 16) % n;
  };
  uint64_t overruns = 0, right = 0, looser = 0;
  for (int round = 0; round < 400; ++round) {
    const uint32_t first = 1 + next(8), most = 1 + next(12);
    GrantWindow window;
    window.Reset(first);
    EveryArrival reference(first);
    uint32_t outstanding = 0;
    for (int step = 0; step < 200; ++step) {
      if (outstanding > 0 && next(2) == 0) {
        const uint32_t grant = 1 + next(most);
        --outstanding;
        window.Add(grant, true);
        reference.Add(grant);
        continue;
      }
      if (next(3) == 0 && !window.Allows(outstanding + 1)) continue;
      ++outstanding;
      const bool want = reference.Take(outstanding), got = window.Take(outstanding);
      // More than sixteen grants on their way are merged: then it may allow more, never less.
      ASSERT_TRUE(got || !want) << "round " << round << ", step " << step;
      looser += got && !want;
      if (got != want) break;
      ++(got ? right : overruns);
    }
  }
  EXPECT_GT(overruns, 1000u);
  EXPECT_GT(right, 1000u);
  EXPECT_LT(looser, 20u);
}

// --- What the Session makes of messages

using namespace test;

struct CreditsOfSession : testing::Test {
  struct Last : Observer {
    std::array<CreditState, 2> credits;
    void OnTransaction(const Connection& c, const Transaction&) override { credits = c.credits; }
    void OnConnectionClosed(const Connection& c, const fabric::Event&) override { credits = c.credits; }
  } last;
  Session session{SessionOptions{}, {&last}};
  EventScript script{session};

  void Call(uint32_t xid, uint32_t credit = 32) {
    script.Send(kClient, MakeHeader(rpcrdma::kMsg, xid, credit), GetattrCall(xid));
  }
  void Reply(uint32_t xid, uint32_t credit = 32) {
    script.Send(kServer, MakeHeader(rpcrdma::kMsg, xid, credit), GetattrReply(xid));
  }
  void Error(uint32_t xid, uint32_t credit) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kError, xid, credit);
    header.err = rpcrdma::kErrChunk;
    script.Send(kServer, header);
  }
  const CreditState& Forward() { return script.Close(), last.credits[0]; }
};

TEST_F(CreditsOfSession, AnErrorWithoutCreditsKeepsTheGrant) {
  script.Open();
  Call(1);
  Reply(1, 7);
  Call(2);
  Error(2, 0);
  Call(3);
  Error(3, 9);
  const CreditState& credits = Forward();
  EXPECT_EQ(credits.granted.min, 7u);
  EXPECT_EQ(credits.granted.max, 9u);
  EXPECT_EQ(credits.granted.last, 9u);
  EXPECT_TRUE(credits.known);
}

TEST_F(CreditsOfSession, KnownFromTheStartUntilAGap) {
  script.Open();
  Call(1);
  Reply(1);
  EXPECT_TRUE(last.credits[0].known);
  Call(2);
  Call(3);
  script.Gap(kServer);
  Reply(2);
  EXPECT_FALSE(last.credits[0].known);
  Reply(3);
  Call(4);
  Reply(4);  // everything outstanding was answered, and this Call was sent after that
  EXPECT_TRUE(Forward().known);
}

TEST_F(CreditsOfSession, JoinedMidstreamTheyAreKnownAfterADrain) {
  script.OpenMidstream();
  Call(1);
  Reply(1);
  EXPECT_FALSE(last.credits[0].known);
  Call(2);
  Reply(2);
  EXPECT_TRUE(Forward().known);
}

TEST_F(CreditsOfSession, AReplyWithoutItsCallGrantsAndUnsettlesTheCount) {
  script.OpenMidstream();
  for (uint32_t xid = 1; xid < 4; ++xid) Call(xid), Reply(xid, 4);
  Reply(0x99, 64);
  const CreditState& credits = Forward();
  EXPECT_EQ(credits.granted.max, 64u);
  EXPECT_FALSE(credits.known);
}

TEST_F(CreditsOfSession, AMessageThatMayBeAReplyUnsettlesTheCount) {
  script.Open();
  Call(1);
  Reply(1);
  Call(2);
  script.SendTruncated(kServer, MakeHeader(rpcrdma::kMsg, 2), GetattrReply(2), 8);
  Call(3);
  Reply(3);
  EXPECT_FALSE(Forward().known);
}

}  // namespace
}  // namespace stag::session
