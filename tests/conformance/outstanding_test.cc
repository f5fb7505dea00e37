// SPDX-License-Identifier: GPL-2.0-or-later
//
// CRED-003 to 005 and BC-002: Calls outstanding, within the grant, the own request, and before the first Reply.
#include "tests/conformance/credit_checker.h"

namespace stag::test {
namespace {

TEST(Cred003, TheNinthOfEight) {
  CreditChecker c;
  c.Start(8);
  const uint64_t before = c.script.frame();
  c.Calls(1, 8);
  c.Call(9);
  const uint64_t overrun = c.script.frame();
  EXPECT_EQ(c.Ids(), Id{});  // until the server is heard again
  c.Reply(1, 8);
  ASSERT_EQ(c.Ids(), Id{"CRED-003"});
  const Finding& finding = c.findings.all[0];
  EXPECT_EQ(finding.severity, Severity::kError);
  EXPECT_TRUE(finding.client_to_server);
  EXPECT_EQ(finding.xid, 9u);
  std::vector<uint64_t> outstanding;
  for (uint64_t frame = before + 1; frame < overrun; ++frame) outstanding.push_back(frame);
  EXPECT_EQ(finding.frame.number, overrun);
  EXPECT_EQ(finding.proven.number, overrun + 1);
  EXPECT_EQ(finding.related_frames, outstanding);
}

TEST(Cred003, RelatedFramesAreBounded) {
  CreditChecker c;
  c.Start(64);
  c.Calls(1, 65);
  c.Reply(1, 64);
  ASSERT_EQ(c.Ids(), Id{"CRED-003"});
  EXPECT_EQ(c.findings.all[0].related_frames.size(), 16u);
}

TEST(Cred003, EightOfEightAllTheTime) {
  CreditChecker c;
  c.Start(8);
  c.Calls(1, 8);
  for (uint32_t xid = 1; xid < 100; ++xid) {
    c.Reply(xid, 8);
    c.Call(xid + 8);
  }
  EXPECT_EQ(c.Ids(true), Id{});
}

TEST(Cred003, CallsOutstandingWhenASmallerGrantComes) {
  CreditChecker c;
  c.Start(8);
  c.Calls(1, 8);
  for (uint32_t xid = 1; xid <= 8; ++xid) c.Reply(xid, 2);
  c.Calls(9, 10);
  c.Reply(9, 2);
  EXPECT_EQ(c.Ids(true), Id{});
}

// Captured at the server: the client sent these before it had the Replies that were captured before them.
TEST(Cred003, CallsThatCrossASmallerGrant) {
  CreditChecker c;
  c.Start(16);
  c.Calls(1, 12);
  for (uint32_t xid = 1; xid <= 10; ++xid) c.Reply(xid, 1);
  c.Calls(13, 16);
  c.Reply(11, 1);
  EXPECT_EQ(c.Ids(true), Id{});
}

// Its adapter has acknowledged the Reply that lowers the grant: only what was posted before the requester looked at it
// is excused.
TEST(Cred003, AnAcknowledgedGrantIsReceived) {
  for (const bool acknowledged : {false, true}) {
    CreditChecker c;
    c.Start(8);
    c.Calls(1, 3);
    c.Reply(1, 1);  // the server's second Send
    c.script.info().sends_received[kClient] = acknowledged ? 2 : 1;
    c.Call(4);
    const uint64_t overrun = c.script.frame();
    EXPECT_EQ(c.Ids(), Id{});
    c.Reply(2, 1);
    ASSERT_EQ(c.Ids(), acknowledged ? Id{"CRED-003"} : Id{});
    if (!acknowledged) continue;
    EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
    EXPECT_EQ(c.findings.all[0].frame.number, overrun);
    EXPECT_EQ(c.findings.all[0].expected, "at most 1 outstanding");
    EXPECT_EQ(c.findings.all[0].actual, "3");
  }
}

// It answers a backward Call that came behind that Reply: so it has looked at both.
TEST(Cred003, AGrantBeforeWhatIsAnsweredIsKnown) {
  for (const bool answered : {false, true}) {
    CreditChecker c;
    c.Start(8);
    c.Calls(1, 3);
    c.Reply(1, 1);
    c.Call(0x500, 8, kServer);
    if (answered) c.Reply(0x500, 8, kClient);
    c.Call(4);
    c.Reply(2, 1);
    ASSERT_EQ(c.Ids(), answered ? Id{"CRED-003"} : Id{});
    if (answered) {
      EXPECT_EQ(c.findings.all[0].severity, Severity::kError);
    }
  }
}

TEST(Cred003, ASmallerGrantIsNotIgnoredForEver) {
  CreditChecker c;
  c.Start(4);
  for (uint32_t xid = 1; xid < 40; xid += 2) {
    c.Calls(xid, xid + 1);
    c.Reply(xid, 1);
    c.Reply(xid + 1, 1);
  }
  EXPECT_FALSE(c.Ids().empty());
  EXPECT_EQ(c.findings.all[0].rule->id, "CRED-003");
  EXPECT_EQ(c.findings.all[0].expected, "at most 1 outstanding");
}

TEST(Cred003, UnknownHistoryIsNotJudged) {
  CreditChecker midstream;
  midstream.script.OpenMidstream();
  midstream.Calls(1, 3);
  midstream.Reply(1, 1);
  midstream.Calls(4, 9);
  midstream.Reply(2, 1);
  EXPECT_EQ(midstream.Ids(true), Id{});

  CreditChecker lossy;
  lossy.Start(2);
  lossy.Calls(1, 2);
  lossy.script.Gap(kServer);  // perhaps both were answered
  lossy.Calls(3, 4);
  lossy.Reply(3, 2);
  EXPECT_EQ(lossy.Ids(true), Id{});

  // The Reply of which the capture cut too much to tell what it is.
  CreditChecker cut;
  cut.Start(1);
  cut.Call(1);
  cut.script.SendTruncated(kServer, MakeHeader(rpcrdma::kMsg, 1, 1), GetattrReply(1), 12);
  cut.Exchange(2, 1);
  EXPECT_EQ(cut.Ids(true), Id{});
}

TEST(Cred003, ALossThatShowsLaterTakesItBack) {
  CreditChecker c;
  c.Start(2);
  c.Calls(1, 3);
  c.script.Gap(kServer);
  c.Reply(2, 2);
  EXPECT_EQ(c.Ids(true), Id{});
}

// A Terminate comes in its stream's order: no Reply before it is missing.
TEST(Cred003, ATerminateProvesIt) {
  CreditChecker c;
  c.Start(2);
  c.Calls(1, 3);
  c.script.Terminate(kServer, 1, 2, 2);
  EXPECT_EQ(c.Ids(), Id{"CRED-003"});
}

TEST(Cred003, AZeroGrantLeavesOne) {
  CreditChecker c(Profile::kRfc8166, {"CRED-003"});
  c.Start(0);
  c.Exchange(1, 0);
  EXPECT_EQ(c.Ids(true), Id{});
  c.Calls(2, 3);
  c.Reply(2, 0);
  EXPECT_EQ(c.Ids(), Id{"CRED-003"});
}

TEST(Cred003, TheSameCallAgainCountsOnce) {
  CreditChecker c;
  c.Start(2);
  c.Calls(1, 2);
  c.Call(2);  // retransmitted by the upper layer
  c.Reply(1, 2);
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Cred004, WithinTheOwnRequest) {
  CreditChecker c;
  c.Start(32);
  for (uint32_t xid = 1; xid <= 4; ++xid) c.Call(xid, 4);
  EXPECT_EQ(c.Ids(), Id{});
  c.Call(5, 4);
  c.Reply(1, 32);
  ASSERT_EQ(c.Ids(), Id{"CRED-004"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
}

TEST(Cred004, ARequesterMayLowerItsRequest) {
  CreditChecker c;
  c.Start(32);
  for (uint32_t xid = 1; xid <= 8; ++xid) c.Call(xid, 8);
  c.Reply(1, 32);
  c.Call(9, 2);  // eight are outstanding
  c.Reply(2, 32);
  c.Call(10, 2);
  c.Reply(3, 32);
  EXPECT_EQ(c.Ids(), Id{});
  // Down to one; from then on two is the limit.
  for (uint32_t xid = 4; xid <= 10; ++xid) c.Reply(xid, 32);
  c.Call(11, 2);
  c.Call(12, 2);
  EXPECT_EQ(c.Ids(), Id{});
  c.Call(13, 2);
  c.Reply(11, 32);
  EXPECT_EQ(c.Ids(), Id{"CRED-004"});
}

TEST(Cred004, OverTheGrantIsCred003) {
  CreditChecker c;
  c.Start(2);
  for (uint32_t xid = 1; xid <= 3; ++xid) c.Call(xid, 2);
  c.Reply(1, 2);
  EXPECT_EQ(c.Ids(), Id{"CRED-003"});
}

TEST(Cred004, NotUnderDraft08) {
  CreditChecker c(Profile::kRfc5666);
  c.Start(32);
  for (uint32_t xid = 1; xid <= 5; ++xid) c.Call(xid, 4);
  c.Reply(1, 32);
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Cred005, OneCallBeforeTheFirstReply) {
  CreditChecker c;
  c.script.Open();
  c.Calls(1, 3);
  c.Reply(1, 32);
  EXPECT_EQ(c.Ids(), (Id{"CRED-005", "CRED-005"}));

  CreditChecker waits;
  waits.script.Open();
  waits.Exchange(1, 32);
  waits.Calls(2, 20);
  waits.Reply(2, 32);
  EXPECT_EQ(waits.Ids(true), Id{});
}

TEST(Cred005, NotWithoutTheSetUp) {
  CreditChecker c;
  c.script.OpenMidstream();
  c.Calls(1, 3);
  c.Reply(1, 32);
  EXPECT_EQ(c.Ids(true), Id{});
}

TEST(Cred005, AnErrorIsHardlyAValidReply) {
  CreditChecker c;
  c.script.Open();
  c.Call(1);
  c.Error(1, 32);
  c.Exchange(2, 32);
  c.Calls(3, 9);
  c.Reply(3, 32);
  ASSERT_EQ(c.Ids(true), Id{"CRED-005"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kNote);
}

TEST(Cred005, BackwardCallsHaveTheirOwnCount) {
  CreditChecker c;
  c.Start(32);
  c.Call(1);
  c.Call(2, 16, kServer);
  c.Reply(2, 4, kClient);
  c.Reply(1, 32);
  EXPECT_EQ(c.Ids(true), Id{});
}

TEST(Bc002, BackwardCallsAgainstTheirOwnGrant) {
  CreditChecker c;
  c.Start(2);
  c.Calls(1, 2);  // the forward credits are all in use
  c.Call(10, 16, kServer);
  c.Reply(10, 2, kClient);
  c.Call(11, 16, kServer);
  c.Call(12, 16, kServer);
  EXPECT_EQ(c.Ids(true), Id{});
  c.Call(13, 16, kServer);
  c.Reply(11, 2, kClient);
  ASSERT_EQ(c.Ids(), Id{"BC-002"});
  EXPECT_FALSE(c.findings.all[0].client_to_server);
}

}  // namespace
}  // namespace stag::test
