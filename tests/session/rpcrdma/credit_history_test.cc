// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/credit_history.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/event_script.h"
#include "tests/support/nfs_messages.h"

namespace stag::session {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

std::string Number(const std::optional<uint32_t>& n) { return n ? std::to_string(*n) : "-"; }

// "f 4 call 1: 128 - 1": direction, frame, event, xid, then requested, granted, outstanding.
struct Log : CreditSink {
  Lines changes;
  std::vector<CreditSummary> summaries;
  std::vector<Side> of;

  void OnChange(const CreditChange& c) override {
    std::string line = c.requester == c.client ? "f " : "b ";
    line += std::to_string(c.frame.number) + " " + std::string(NameOf(c.event));
    if (c.xid) line += " " + std::to_string(*c.xid);
    line += ": " + Number(c.requested) + " " + Number(c.granted) + " " + Number(c.outstanding);
    if (c.overrun) line += " overrun";
    if (c.zero_grant) line += " zero";
    if (c.lost) line += " lost";
    if (c.explained_by != 0) line += " after " + std::to_string(c.explained_by);
    changes.push_back(line);
  }
  void OnSummary(const Connection&, Side requester, const CreditSummary& summary) override {
    summaries.push_back(summary);
    of.push_back(requester);
  }
};

// The set-up takes frames 1 to 3.
struct CreditHistoryTest : testing::Test {
  Log log;
  CreditHistory history{log};
  Session session{SessionOptions{}, {&history}};
  EventScript script{session};

  void Call(uint32_t xid, uint32_t requested = 128) {
    script.Send(kClient, MakeHeader(rpcrdma::kMsg, xid, requested), GetattrCall(xid));
  }
  void Reply(uint32_t xid, uint32_t granted) {
    script.Send(kServer, MakeHeader(rpcrdma::kMsg, xid, granted), GetattrReply(xid));
  }
};

TEST_F(CreditHistoryTest, CallsAndReplies) {
  script.Open();
  Call(1);
  Reply(1, 8);
  Call(2, 16);
  Call(3, 16);
  Reply(3, 4);
  Reply(2, 4);
  script.Close();
  EXPECT_EQ(log.changes,
            (Lines{"f 4 call 1: 128 - 1", "f 5 reply 1: 128 8 0", "f 6 call 2: 16 8 1", "f 7 call 3: 16 8 2",
                   "f 8 reply 3: 16 4 1", "f 9 reply 2: 16 4 0", "f 10 closed: 16 4 0"}));
  ASSERT_EQ(log.summaries.size(), 1u);
  const CreditSummary& s = log.summaries[0];
  EXPECT_EQ(s.calls, 3u);
  EXPECT_EQ(s.replies, 3u);
  EXPECT_EQ(s.requested.min, 16u);
  EXPECT_EQ(s.requested.max, 128u);
  EXPECT_EQ(s.granted.min, 4u);
  EXPECT_EQ(s.granted.max, 8u);
  EXPECT_EQ(s.granted.last, 4u);
  EXPECT_EQ(s.max_outstanding, 2u);
  EXPECT_EQ(s.max_frame.number, 7u);
  EXPECT_EQ(s.overruns, 0u);
  EXPECT_FALSE(s.loss.lost);
}

TEST_F(CreditHistoryTest, AnOverrunAndWhatItExplains) {
  script.Open();
  Call(1);
  Reply(1, 2);
  Call(2);
  Call(3);
  Call(4);
  script.Nak(kServer, fabric::NakKind::kRnr);
  EXPECT_EQ(log.changes.size(), 4u);  // the rest waits for the server
  Reply(2, 2);
  EXPECT_EQ(log.changes.size(), 7u);
  script.Close(fabric::CloseReason::kReset);
  EXPECT_EQ(log.changes, (Lines{"f 4 call 1: 128 - 1", "f 5 reply 1: 128 2 0", "f 6 call 2: 128 2 1",
                                "f 7 call 3: 128 2 2", "f 8 call 4: 128 2 3 overrun", "f 9 rnr_nak 4: 128 2 3 after 8",
                                "f 10 reply 2: 128 2 2", "f 11 closed: 128 2 2 lost after 8"}));
  const CreditSummary& s = log.summaries[0];
  EXPECT_EQ(s.overruns, 1u);
  EXPECT_EQ(s.first_overrun.number, 8u);
  EXPECT_EQ(s.rnr_naks, 1u);
  EXPECT_EQ(s.rnr_naks_explained, 1u);
  EXPECT_TRUE(s.loss.lost);
  EXPECT_EQ(s.loss.frame.number, 11u);
  EXPECT_EQ(s.loss.explained_by, 8u);
}

TEST_F(CreditHistoryTest, AnOverrunThatIsOverExplainsNothing) {
  script.Open();
  Call(1);
  Reply(1, 1);
  Call(2);
  Call(3);
  Reply(2, 1);
  Reply(3, 1);
  Call(4);
  script.Nak(kServer, fabric::NakKind::kRnr);
  script.Close(fabric::CloseReason::kReset);
  const CreditSummary& s = log.summaries[0];
  EXPECT_EQ(s.overruns, 1u);
  EXPECT_EQ(s.rnr_naks, 1u);
  EXPECT_EQ(s.rnr_naks_explained, 0u);
  EXPECT_TRUE(s.loss.lost);
  EXPECT_EQ(s.loss.explained_by, 0u);
}

// The reply to one of them may be what the capture missed.
TEST_F(CreditHistoryTest, AGapTakesAnOverrunBack) {
  script.Open();
  Call(1);
  Reply(1, 1);
  Call(2);
  Call(3);
  script.Nak(kServer, fabric::NakKind::kRnr);
  script.Gap(kServer);
  Reply(3, 1);
  Call(4);
  Reply(4, 1);
  script.Close();
  EXPECT_EQ(log.changes,
            (Lines{"f 4 call 1: 128 - 1", "f 5 reply 1: 128 1 0", "f 6 call 2: 128 1 1", "f 7 call 3: 128 1 -",
                   "f 8 rnr_nak 3: 128 1 -", "f 9 gap: - - -", "f 10 reply 3: - 1 -", "f 11 call 4: 128 1 -",
                   "f 12 reply 4: 128 1 -", "f 13 closed: 128 1 -"}));
  EXPECT_EQ(log.summaries[0].overruns, 0u);
  EXPECT_EQ(log.summaries[0].rnr_naks_explained, 0u);
  EXPECT_EQ(log.summaries[0].max_outstanding, 1u);
}

TEST_F(CreditHistoryTest, ASecondCallBeforeTheFirstGrant) {
  script.Open();
  Call(1);
  Call(2);
  Reply(1, 8);
  script.Close();
  EXPECT_EQ(log.changes[1], "f 5 call 2: 128 - 2 overrun");
}

TEST_F(CreditHistoryTest, JoinedMidstream) {
  script.OpenMidstream();  // frame 1
  Reply(7, 64);            // of a Call that was not captured
  Call(8);
  Reply(8, 64);
  Call(9);
  Reply(9, 64);
  Call(10);
  script.Close(fabric::CloseReason::kEndOfCapture);
  EXPECT_EQ(log.changes,
            (Lines{"f 2 joined: - - -", "f 2 reply 7: - 64 -", "f 3 call 8: 128 64 -", "f 4 reply 8: 128 64 -",
                   "f 5 call 9: 128 64 -", "f 6 reply 9: 128 64 0", "f 7 call 10: 128 64 1", "f 8 closed: 128 64 1"}));
  EXPECT_EQ(log.summaries[0].max_outstanding, 1u);
  EXPECT_FALSE(log.summaries[0].loss.lost);  // the capture ended, not the connection
}

TEST_F(CreditHistoryTest, AConnectionWithoutCalls) {
  script.Open();
  script.Close();
  EXPECT_EQ(log.changes, Lines{"f 4 closed: - - 0"});
  EXPECT_EQ(log.summaries[0].calls, 0u);
  EXPECT_FALSE(log.summaries[0].any_unknown);
}

TEST_F(CreditHistoryTest, BackwardCallsAreADirectionOfTheirOwn) {
  script.Open();
  Call(1);
  Reply(1, 8);
  script.Send(kServer, MakeHeader(rpcrdma::kMsg, 1, 16), MakeCall(1, 0x40000000, 1, 0));
  script.Send(kServer, MakeHeader(rpcrdma::kMsg, 2, 16), MakeCall(2, 0x40000000, 1, 0));
  script.Send(kClient, MakeHeader(rpcrdma::kMsg, 1, 1), MakeReply(1));
  script.Close();
  EXPECT_EQ(log.changes,
            (Lines{"f 4 call 1: 128 - 1", "f 5 reply 1: 128 8 0", "b 6 call 1: 16 - 1", "b 7 call 2: 16 - 2 overrun",
                   "b 8 reply 1: 16 1 1", "f 9 closed: 128 8 0 lost", "b 9 closed: 16 1 1 lost after 7"}));
  EXPECT_EQ(log.of, (std::vector<Side>{0, 1}));
}

TEST_F(CreditHistoryTest, ErrorsAndZeroGrants) {
  script.Open();
  Call(1);
  Reply(1, 8);
  Call(2);
  rpcrdma::Header error = MakeHeader(rpcrdma::kError, 2, 0);
  error.err = rpcrdma::kErrChunk;
  script.Send(kServer, error);
  Call(3);
  Reply(3, 0);
  script.Close();
  EXPECT_EQ(log.changes[3], "f 7 error 2: 128 8 0 zero");
  EXPECT_EQ(log.changes[5], "f 9 reply 3: 128 0 0 zero");
  EXPECT_EQ(log.summaries[0].errors, 1u);
  EXPECT_EQ(log.summaries[0].zero_grants, 2u);
  EXPECT_EQ(log.summaries[0].first_zero_grant.number, 7u);
  EXPECT_EQ(log.summaries[0].granted.min, 0u);
}

TEST_F(CreditHistoryTest, AnRnrNakOfAReply) {
  script.Open();
  Call(1);
  Reply(1, 1);
  Call(2);
  Call(3);
  Reply(2, 1);
  script.Nak(kClient, fabric::NakKind::kRnr);  // the client's own fault, overrun or not
  script.Close();
  EXPECT_EQ(log.changes[5], "f 9 rnr_nak 2: 128 1 1");
  EXPECT_EQ(log.summaries[0].rnr_naks_explained, 0u);
}

TEST_F(CreditHistoryTest, ATerminateProvesWhatCameBefore) {
  script.Open();
  Call(1);
  Reply(1, 1);
  Call(2);
  Call(3);
  script.Terminate(kServer, 1, 2, 2);
  EXPECT_EQ(log.changes.back(), "f 8 terminate 3: 128 1 2 after 7");
  script.Close(fabric::CloseReason::kDisconnect);
  EXPECT_TRUE(log.summaries[0].loss.terminated);
  EXPECT_EQ(log.summaries[0].loss.explained_by, 7u);
}

TEST_F(CreditHistoryTest, AnUnclearMessageUnsettlesTheCount) {
  script.Open();
  Call(1);
  Reply(1, 8);
  Call(2);
  script.SendTruncated(kServer, MakeHeader(rpcrdma::kMsg, 2, 8), GetattrReply(2), 8);
  Call(3);
  script.Close();
  EXPECT_EQ(log.changes[3], "f 7 unclear: 128 8 -");
  EXPECT_EQ(log.changes[4], "f 8 call 3: 128 8 -");
}

TEST_F(CreditHistoryTest, WhatIsHeldBackIsBounded) {
  script.Open();
  Call(1);
  Reply(1, 1);
  for (uint32_t xid = 2; xid < 2 + CreditHistory::kMaxHeld; ++xid) Call(xid);
  EXPECT_EQ(log.changes.size(), 3u);
  Call(0x10000);
  EXPECT_EQ(log.changes.size(), 3u + CreditHistory::kMaxHeld);
}

TEST(CreditHistoryOfOne, OtherConnectionsAreLeftOut) {
  Log log;
  CreditHistory history(log, 2);
  Session session(SessionOptions{}, {&history});
  EventScript one(session, 1), two(session, 2);
  for (EventScript* script : {&one, &two}) {
    script->Open();
    script->Send(kClient, MakeHeader(rpcrdma::kMsg, 5), GetattrCall(5));
    script->Close();
  }
  EXPECT_EQ(log.changes.size(), 2u);
  EXPECT_EQ(log.summaries.size(), 1u);
}

}  // namespace
}  // namespace stag::session
