// SPDX-License-Identifier: GPL-2.0-or-later
//
// CRED-007 to 009 and CRED-013: what a NAK or Terminate tells of receives, and Sends that none is there for.
#include "tests/conformance/credit_checker.h"

namespace stag::test {
namespace {

TEST(Cred007, NoReceiveForACallWithinTheGrant) {
  CreditChecker c;
  c.Start(8);
  c.Calls(1, 3);
  c.script.Nak(kServer, fabric::NakKind::kRnr);
  ASSERT_EQ(c.Ids(), Id{"CRED-007"});
  EXPECT_FALSE(c.findings.all[0].client_to_server);
  EXPECT_EQ(c.findings.all[0].xid, 3u);

  CreditChecker iwarp;
  iwarp.Start(8);
  iwarp.Call(1);
  iwarp.script.Terminate(kServer, 1, 2, 2);
  EXPECT_EQ(iwarp.Ids(), Id{"CRED-007"});
}

TEST(Cred007, NotForOtherRefusals) {
  CreditChecker c;
  c.Start(8);
  c.Call(1);
  c.script.Nak(kServer, fabric::NakKind::kRemoteOperation);
  c.script.Terminate(kServer, 1, 2, 3);
  c.script.Terminate(kServer, 0, 2, 2);
  c.script.ReadRequest(kServer, 7, 0, 100);
  c.script.Nak(kClient, fabric::NakKind::kRnr);
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Cred007, NotBeforeTheFirstGrant) {
  CreditChecker c;
  c.script.Open();
  c.Call(1);
  c.script.Nak(kServer, fabric::NakKind::kRnr);
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Cred007, NotWithBackwardCalls) {
  CreditChecker c;
  c.Start(8);
  c.Call(5, 16, kServer);
  c.Reply(5, 4, kClient);
  c.Call(1);
  c.script.Nak(kServer, fabric::NakKind::kRnr);
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Cred013, AfterAnOverrunNothingIsTheRespondersFault) {
  CreditChecker c(Profile::kRfc8166, {"CRED", "THRESH", "PVT"});
  c.Start(2);
  c.Calls(1, 3);
  c.script.Nak(kServer, fabric::NakKind::kRnr);
  c.Reply(1, 2);
  EXPECT_EQ(c.Ids(), Id{"CRED-003"});
  c.Call(4);  // three are outstanding again
  c.script.Nak(kServer, fabric::NakKind::kInvalidRequest);
  c.Reply(2, 2);
  c.Reply(3, 2);  // one is: within the grant, but the overrun is not over
  c.Call(5);
  c.script.Nak(kServer, fabric::NakKind::kRnr);
  EXPECT_EQ(c.Ids(), (Id{"CRED-003", "CRED-003"}));
  c.Reply(4, 2);
  c.Reply(5, 2);
  c.Call(6);
  c.script.Nak(kServer, fabric::NakKind::kRnr);
  EXPECT_EQ(c.Ids(), (Id{"CRED-003", "CRED-003", "CRED-007"}));
}

TEST(Cred013, AfterASecondFirstCall) {
  CreditChecker c;
  c.script.Open();
  c.Calls(1, 2);
  c.script.Nak(kServer, fabric::NakKind::kRnr);
  c.Reply(1, 8);
  c.script.Nak(kServer, fabric::NakKind::kRnr);
  EXPECT_EQ(c.Ids(), Id{"CRED-005"});
}

TEST(Cred008, NoReceiveForAReply) {
  CreditChecker c;
  c.Start(8);
  c.Exchange(1, 8);
  c.script.Nak(kClient, fabric::NakKind::kRnr);
  ASSERT_EQ(c.Ids(), Id{"CRED-008"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
  EXPECT_TRUE(c.findings.all[0].client_to_server);

  CreditChecker iwarp;
  iwarp.Start(8);
  iwarp.Exchange(1, 8);
  iwarp.script.Terminate(kClient, 1, 2, 2);
  EXPECT_EQ(iwarp.Ids(), Id{"CRED-008"});
}

TEST(Cred008, NotWhereOtherSendsMayHaveTakenIt) {
  CreditChecker backward;
  backward.Start(8);
  backward.Call(5, 16, kServer);
  backward.Reply(5, 4, kClient);
  backward.Exchange(1, 8);
  backward.script.Nak(kClient, fabric::NakKind::kRnr);
  EXPECT_EQ(backward.Ids(), Id{});

  CreditChecker twice(Profile::kRfc8166, {"CRED-008"});
  twice.Start(8);
  twice.Exchange(1, 8);
  twice.Reply(1, 8);
  twice.Exchange(2, 8);
  twice.script.Nak(kClient, fabric::NakKind::kRnr);
  EXPECT_EQ(twice.Ids(), Id{});

  CreditChecker midstream(Profile::kRfc8166, {"CRED-008"});
  midstream.script.OpenMidstream();
  for (uint32_t xid = 1; xid < 5; ++xid) midstream.Exchange(xid, 8);
  midstream.script.Nak(kClient, fabric::NakKind::kRnr);
  EXPECT_EQ(midstream.Ids(), Id{});
}

TEST(Cred009, NothingUnsolicited) {
  CreditChecker c;
  c.Start(8);
  c.Reply(0x99, 8);
  // Its Call may come a few events later: frames that the capture swapped.
  for (int i = 0; i < 4; ++i) c.script.Write(kClient, 0, 0, {});
  c.Exchange(1, 8);
  EXPECT_EQ(c.Ids(), Id{"CRED-009"});
}

}  // namespace
}  // namespace stag::test
