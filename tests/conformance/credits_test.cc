// SPDX-License-Identifier: GPL-2.0-or-later
//
// CRED and BC-002: requests, grants, outstanding Calls, receives and RDMA Reads in flight.
#include "tests/conformance/checker.h"

namespace stag::test {
namespace {

class CreditChecker : public Checker {
 public:
  explicit CreditChecker(Profile profile = Profile::kRfc8166, std::vector<std::string> select = {"CRED", "BC-002"})
      : Checker(EngineOptions{.profile = profile, .select = std::move(select), .ignore = {}}) {}

  void Call(uint32_t xid, uint32_t requested = 128, fabric::Side from = kClient) {
    const Buffer call = from == kClient ? GetattrCall(xid) : MakeCall(xid, 0x40000000, 1, 0);
    script.Send(from, MakeHeader(rpcrdma::kMsg, xid, requested), call);
  }
  void Calls(uint32_t first, uint32_t last) {
    for (uint32_t xid = first; xid <= last; ++xid) Call(xid);
  }
  void Reply(uint32_t xid, uint32_t granted, fabric::Side from = kServer) {
    const Buffer reply = from == kServer ? GetattrReply(xid) : MakeReply(xid);
    script.Send(from, MakeHeader(rpcrdma::kMsg, xid, granted), reply);
  }
  void Error(uint32_t xid, uint32_t granted) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kError, xid, granted);
    header.err = rpcrdma::kErrChunk;
    script.Send(kServer, header);
  }
  // Opened, and one exchange done: so many credits are granted.
  void Start(uint32_t granted) {
    script.Open();
    Call(0x100);
    Reply(0x100, granted);
  }
};

TEST(Cred001, ACallAsksForCredit) {
  CreditChecker c;
  c.Start(8);
  c.Call(1, 0);
  EXPECT_EQ(c.Ids(true), Id{"CRED-001"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kNote);
  CreditChecker one;
  one.Start(8);
  one.Call(1, 1);
  EXPECT_EQ(one.Ids(true), Id{});
}

TEST(Cred001, NotRdmaDone) {
  CreditChecker c(Profile::kRfc5666);
  c.Start(8);
  c.script.Send(kClient, MakeHeader(rpcrdma::kDone, 0x100, 0));
  EXPECT_EQ(c.Ids(true), Id{});
}

TEST(Cred002, AGrantIsNotZero) {
  for (const Profile profile : {Profile::kRfc8166, Profile::kRfc5666bis}) {
    CreditChecker c(profile);
    c.Start(8);
    c.Call(1);
    c.Call(2);
    c.Reply(1, 0);  // not even while another is outstanding
    EXPECT_EQ(c.Ids(), Id{"CRED-002"});
  }
}

TEST(Cred010, AnErrorWithoutCreditsIsOneNote) {
  CreditChecker c;
  c.Start(2);
  c.Call(1);
  c.Error(1, 0);
  ASSERT_EQ(c.Ids(true), Id{"CRED-010"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kNote);
  EXPECT_EQ(c.findings.all[0].see_also, std::vector<std::string_view>{"CRED-002"});
  // The grant of two stands.
  c.Calls(2, 3);
  c.Call(4);
  c.Reply(2, 2);
  EXPECT_EQ(c.Ids(), Id{"CRED-003"});
}

TEST(Cred010, AnErrorWithCreditsIsAGrant) {
  CreditChecker c;
  c.Start(2);
  c.Call(1);
  c.Error(1, 3);
  c.Calls(2, 4);
  c.Reply(2, 3);
  EXPECT_EQ(c.Ids(true), Id{});
}

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
  for (uint64_t frame = before + 1; frame <= overrun; ++frame) outstanding.push_back(frame);
  EXPECT_EQ(finding.related_frames, outstanding);
}

TEST(Cred003, RelatedFramesAreBounded) {
  CreditChecker c;
  c.Start(64);
  c.Calls(1, 65);
  c.Reply(1, 64);
  ASSERT_EQ(c.Ids(), Id{"CRED-003"});
  EXPECT_EQ(c.findings.all[0].related_frames.size(), 16u + 1);  // and the overrun's own
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
  cut.Call(2);
  cut.Reply(2, 1);
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
  c.Call(1);
  c.Reply(1, 0);
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
  waits.Call(1);
  waits.Reply(1, 32);
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
  c.Call(2);
  c.Reply(2, 32);
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

TEST(Cred006, EightStepsDownAreANote) {
  CreditChecker c;
  c.Start(32);
  for (uint32_t i = 1; i <= 8; ++i) c.Call(i), c.Reply(i, 32 - i);
  ASSERT_EQ(c.Ids(true), Id{"CRED-006"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kNote);
  EXPECT_EQ(c.findings.all[0].actual, "32 to 24");
  for (uint32_t i = 9; i <= 20; ++i) c.Call(i), c.Reply(i, 32 - i);  // said once
  EXPECT_EQ(c.Ids(true), Id{"CRED-006"});
}

TEST(Cred006, OtherChangesAreFree) {
  CreditChecker seven;
  seven.Start(32);
  for (uint32_t i = 1; i <= 7; ++i) seven.Call(i), seven.Reply(i, 32 - i);
  seven.Call(8);
  seven.Reply(8, 25);
  EXPECT_EQ(seven.Ids(true), Id{});

  CreditChecker steps;
  steps.Start(64);
  for (uint32_t i = 1; i <= 20; ++i) steps.Call(i), steps.Reply(i, 64 - 2 * i);
  EXPECT_EQ(steps.Ids(true), Id{});

  CreditChecker up;
  up.Start(1);
  for (uint32_t i = 1; i <= 20; ++i) up.Call(i), up.Reply(i, 1 + i);
  EXPECT_EQ(up.Ids(true), Id{});

  CreditChecker lossy;
  lossy.Start(32);
  for (uint32_t i = 1; i <= 8; ++i) {
    lossy.Call(i);
    lossy.Reply(i, 32 - i);
    if (i == 4) lossy.script.Gap(kServer);
  }
  EXPECT_EQ(lossy.Ids(true), Id{});
}

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
  c.Call(1);
  c.Reply(1, 8);
  c.script.Nak(kClient, fabric::NakKind::kRnr);
  ASSERT_EQ(c.Ids(), Id{"CRED-008"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
  EXPECT_TRUE(c.findings.all[0].client_to_server);

  CreditChecker iwarp;
  iwarp.Start(8);
  iwarp.Call(1);
  iwarp.Reply(1, 8);
  iwarp.script.Terminate(kClient, 1, 2, 2);
  EXPECT_EQ(iwarp.Ids(), Id{"CRED-008"});
}

TEST(Cred008, NotWhereOtherSendsMayHaveTakenIt) {
  CreditChecker backward;
  backward.Start(8);
  backward.Call(5, 16, kServer);
  backward.Reply(5, 4, kClient);
  backward.Call(1);
  backward.Reply(1, 8);
  backward.script.Nak(kClient, fabric::NakKind::kRnr);
  EXPECT_EQ(backward.Ids(), Id{});

  CreditChecker twice(Profile::kRfc8166, {"CRED-008"});
  twice.Start(8);
  twice.Call(1);
  twice.Reply(1, 8);
  twice.Reply(1, 8);
  twice.Call(2);
  twice.Reply(2, 8);
  twice.script.Nak(kClient, fabric::NakKind::kRnr);
  EXPECT_EQ(twice.Ids(), Id{});

  CreditChecker midstream(Profile::kRfc8166, {"CRED-008"});
  midstream.script.OpenMidstream();
  for (uint32_t xid = 1; xid < 5; ++xid) midstream.Call(xid), midstream.Reply(xid, 8);
  midstream.script.Nak(kClient, fabric::NakKind::kRnr);
  EXPECT_EQ(midstream.Ids(), Id{});
}

TEST(Cred009, NothingUnsolicited) {
  CreditChecker c;
  c.Start(8);
  c.Reply(0x99, 8);
  // Its Call may come a few events later: frames that the capture swapped.
  for (int i = 0; i < 4; ++i) c.script.Write(kClient, 0, 0, {});
  c.Call(1);
  c.Reply(1, 8);
  EXPECT_EQ(c.Ids(), Id{"CRED-009"});
}

TEST(Cred011, ZeroOnlyWhileWorkIsInProgress) {
  CreditChecker c(Profile::kRfc5666);
  c.Start(8);
  c.Calls(1, 2);
  c.Reply(1, 0);
  EXPECT_EQ(c.Ids(true), Id{});
  c.Reply(2, 0);
  EXPECT_EQ(c.Ids(), Id{"CRED-011"});
}

// --- RDMA Reads in flight

// A Call with a Read chunk of `n` segments of 100 bytes, handles from 1 on.
rpcrdma::Header WithReads(uint32_t xid, uint32_t n) {
  rpcrdma::Header header = Msg(xid);
  for (uint32_t i = 0; i < n; ++i) AddRead(header, 112, {1 + i, 100, 0});
  return header;
}

struct ReadScript : CreditChecker {
  ReadScript() : CreditChecker(Profile::kRfc8166, {"CRED-012"}) {}
  void Open(uint16_t served, uint16_t issued) {
    script.SayReads(kClient, served, 0);
    script.SayReads(kServer, 0, issued);
    script.Open();
    Call(0x100);
    Reply(0x100, 32);
    script.Send(kClient, WithReads(1, 16), WriteCall(1, 1600));
  }
  void Request(uint32_t first, uint32_t last) {
    for (uint32_t handle = first; handle <= last; ++handle) script.ReadRequest(kServer, handle, 0, 100);
  }
  void Respond(uint32_t first, uint32_t last) {
    for (uint32_t handle = first; handle <= last; ++handle) script.ReadResponse(kClient, handle, 0, Pattern(100));
  }
};

TEST(Cred012, SixteenReadsWhereOneIsServed) {
  ReadScript c;
  c.Open(1, 1);
  c.Request(1, 16);
  EXPECT_EQ(c.Ids(), Id{});  // until the first is answered
  c.Respond(1, 16);
  ASSERT_EQ(c.Ids(), Id{"CRED-012"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
  EXPECT_FALSE(c.findings.all[0].client_to_server);
  EXPECT_EQ(c.findings.all[0].expected, "at most 1");
  EXPECT_EQ(c.findings.all[0].actual, "15");  // without the one that was just answered
}

TEST(Cred012, ALongResponseProvesEachOfThem) {
  ReadScript c;
  c.Open(1, 1);
  c.Request(1, 2);
  c.script.ReadResponseBegins(kClient, 1, 0, Pattern(50));
  ASSERT_EQ(c.Ids(), Id{"CRED-012"});
  EXPECT_EQ(c.findings.all[0].actual, "2");
}

TEST(Cred012, AsManyAsAreServed) {
  ReadScript c;
  c.Open(4, 4);
  c.Request(1, 4);
  for (uint32_t handle = 1; handle <= 12; ++handle) c.Respond(handle, handle), c.Request(handle + 4, handle + 4);
  c.Respond(13, 16);
  EXPECT_EQ(c.Ids(), Id{});
}

// The capture shows each request a moment before the end of the response that made room for it.
TEST(Cred012, ARequestThatOvertakesAResponse) {
  ReadScript c;
  c.Open(2, 2);
  c.Request(1, 3);
  for (uint32_t handle = 1; handle <= 13; ++handle) c.Respond(handle, handle), c.Request(handle + 3, handle + 3);
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Cred012, ResponsesThatTheCaptureMissed) {
  ReadScript c;
  c.Open(2, 2);
  c.Request(1, 2);
  c.Request(3, 4);  // the responses to 1 and 2 were lost
  c.Respond(3, 4);
  EXPECT_EQ(c.Ids(), Id{});

  ReadScript gap;
  gap.Open(2, 2);
  gap.Request(1, 2);
  gap.script.Gap(kClient);
  gap.Request(3, 4);
  gap.Respond(3, 4);
  EXPECT_EQ(gap.Ids(), Id{});
}

TEST(Cred012, NotWithoutTheSetUp) {
  ReadScript c;
  c.script.OpenMidstream();
  c.script.Send(kClient, WithReads(1, 16), WriteCall(1, 1600));
  c.Request(1, 16);
  c.Respond(1, 16);
  EXPECT_EQ(c.Ids(), Id{});
}

// RFC 6581: an active peer that goes on after a reply with a larger ORD serves that many.
TEST(Cred012, IwarpTakesTheLargerOrd) {
  for (const bool iwarp : {false, true}) {
    ReadScript c;
    if (iwarp) c.script.info().fabric = fabric::FabricKind::kIwarp;
    c.Open(1, 16);
    c.Request(1, 16);
    c.Respond(1, 16);
    EXPECT_EQ(c.Ids(), iwarp ? Id{} : Id{"CRED-012"});
  }
}

// --- Backward

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
