// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/engine.h"

#include <algorithm>

#include "tests/conformance/checker.h"

namespace stag::test {
namespace {

// A Long Call without any list breaks LONG-001 and LONG-002.
void SendEmptyNomsg(Checker& c) {
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Nomsg(0x200));
}

// The rules that were exercised, or those that were not.
Id Exercised(const Checker& c, bool exercised) {
  Id out;
  for (const conformance::RuleTally& tally : c.engine.Tallies())
    if ((tally.exercised() > 0) == exercised) out.emplace_back(tally.rule->id);
  return out;
}

TEST(Engine, CleanTrafficHasNoFindings) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.Send(kServer, Msg(1), GetattrReply(1));
  c.script.Close();
  EXPECT_EQ(c.Ids(true), Id{});
  EXPECT_FALSE(Exercised(c, true).empty());
}

TEST(Engine, OneEventIsOneFinding) {
  Checker c;
  SendEmptyNomsg(c);
  ASSERT_EQ(c.Ids(), Id{"LONG-001"});
  const Finding& finding = c.findings.all[0];
  EXPECT_EQ(finding.see_also, (std::vector<std::string_view>{"LONG-002"}));
  EXPECT_EQ(finding.frame.number, c.script.frame());
  EXPECT_TRUE(finding.related_frames.empty());
  EXPECT_EQ(finding.xid, 0x200u);
  EXPECT_TRUE(finding.client_to_server);
  EXPECT_EQ(finding.connection, 1u);
}

TEST(Engine, TheSecondaryIsReportedWhenAloneSelected) {
  Checker c(Profile::kRfc8166, {"LONG-002"});
  SendEmptyNomsg(c);
  ASSERT_EQ(c.Ids(), Id{"LONG-002"});
  EXPECT_TRUE(c.findings.all[0].see_also.empty());
}

TEST(Engine, Ignore) {
  Checker c(Profile::kRfc8166, {}, {"LONG-001"});
  SendEmptyNomsg(c);
  EXPECT_EQ(c.Ids(), Id{"LONG-002"});
  Checker none(Profile::kRfc8166, {"LONG"}, {"LONG"});
  SendEmptyNomsg(none);
  EXPECT_EQ(none.Ids(), Id{});
}

TEST(Engine, TellsWhatWasExercised) {
  Checker c(Profile::kRfc8166, {"LONG"});
  SendEmptyNomsg(c);
  EXPECT_EQ(Exercised(c, true), (Id{"LONG-001", "LONG-002", "LONG-008"}));
  EXPECT_EQ(Exercised(c, false), (Id{"LONG-003", "LONG-004", "LONG-005", "LONG-006", "LONG-007"}));
}

TEST(Engine, NamesTheProcedure) {
  Checker c;
  c.script.Open();
  Greet(c);
  rpcrdma::Header header = Msg(5);
  AddWriteChunk(header, {{7, 4096, 0x1000}});
  c.script.Send(kClient, header, GetattrCall(5));  // nothing in its results can be reduced
  ASSERT_FALSE(c.findings.all.empty());
  EXPECT_EQ(c.findings.all[0].procedure, (conformance::Procedure{kNfs, 3, kGetattr}));
}

TEST(Engine, SilentUntilTheConnectionIsProven) {
  Checker c;
  c.script.OpenMidstream();
  c.script.Send(kClient, Nomsg(0x200));  // may be anything
  EXPECT_EQ(c.Ids(), Id{});
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.Send(kServer, Msg(1), GetattrReply(1));
  c.script.Send(kClient, Nomsg(0x201));
  EXPECT_EQ(c.Ids(), Id{"LONG-001"});
}

// --- Profiles

void ReadReadReply(Checker& c, uint32_t xid) {
  c.script.Send(kClient, Msg(xid), ReadCall(xid, 1000));
  rpcrdma::Header reply = Msg(xid);
  const Buffer rpc = ReadReply(xid, 1000, true);
  AddRead(reply, static_cast<uint32_t>(rpc.size()), {0x77, 1000, 0x5000});
  c.script.Send(kServer, reply, rpc);
  c.script.Read(kClient, 0x77, 0x5000, Pattern(1000));
}

TEST(Profile, ReplyReadListDependsOnTheDocument) {
  for (const auto& [profile, wrong] :
       {std::pair{Profile::kRfc8166, true}, {Profile::kRfc5666bis, true}, {Profile::kRfc5666, false}}) {
    Checker c(profile);
    c.script.Open(std::nullopt, std::nullopt);
    Greet(c);
    ReadReadReply(c, 1);
    EXPECT_EQ(c.Find("RDLIST-001") != nullptr, wrong) << ProfileName(profile);
  }
}

TEST(Profile, AutoExcusesWhatBothPeersProve) {
  Checker c(Profile::kAuto);
  c.script.Open(std::nullopt, std::nullopt);
  Greet(c);
  ReadReadReply(c, 1);
  EXPECT_EQ(c.Find("RDLIST-001"), nullptr);  // not yet decided
  c.script.Send(kClient, MakeHeader(rpcrdma::kDone, 1));
  for (uint32_t xid = 2; xid < 12; ++xid) Greet(c, xid);
  c.script.Close();
  EXPECT_EQ(c.Find("RDLIST-001"), nullptr);
  EXPECT_EQ(c.Find("DONE-001"), nullptr);
}

TEST(Profile, AutoReportsALoneLegacyElement) {
  Checker c(Profile::kAuto);
  c.script.Open(std::nullopt, std::nullopt);
  Greet(c);
  ReadReadReply(c, 1);
  const uint64_t reply_frame = c.script.frame() - 2;
  for (uint32_t xid = 2; xid < 12; ++xid) Greet(c, xid);
  const Finding* finding = c.Find("RDLIST-001");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->frame.number, reply_frame);
  EXPECT_GT(finding->proven.number, reply_frame);
}

TEST(Profile, AutoStaysWithPrivateData) {
  Checker c(Profile::kAuto);
  c.script.Open();
  Greet(c);
  ReadReadReply(c, 1);
  EXPECT_NE(c.Find("RDLIST-001"), nullptr);
}

TEST(Profile, AutoAndMsgp) {
  for (const bool answered : {false, true}) {
    Checker c(Profile::kAuto);
    c.script.Open(std::nullopt, std::nullopt);
    Greet(c);
    c.script.Send(kClient, MakeHeader(rpcrdma::kMsgp, 1), GetattrCall(1));
    EXPECT_EQ(c.Find("MSGP-001"), nullptr);
    if (answered) {
      c.script.Send(kServer, Msg(1), GetattrReply(1));
      EXPECT_EQ(c.Find("MSGP-001"), nullptr);
    } else {
      rpcrdma::Header error = MakeHeader(rpcrdma::kError, 1);
      error.err = rpcrdma::kErrChunk;
      c.script.Send(kServer, error);
      EXPECT_NE(c.Find("MSGP-001"), nullptr);
    }
  }
}

// The second Call is too early only if no Reply came; that none was lost is known when the server is heard again.
TEST(Engine, WhatRestsOnSilenceWaitsForTheOtherSide) {
  for (const bool lost : {false, true}) {
    Checker c;
    c.script.Open();
    c.script.Send(kClient, Msg(1), GetattrCall(1));
    const uint64_t first = c.script.frame();
    c.script.Send(kClient, Msg(2), GetattrCall(2));
    const uint64_t second = c.script.frame();
    EXPECT_EQ(c.Ids(), Id{});
    if (lost) c.script.Gap(kServer);
    c.script.Send(kServer, Msg(2), GetattrReply(2));
    if (lost) {
      EXPECT_EQ(c.Ids(), Id{});
      continue;
    }
    ASSERT_EQ(c.Ids(), Id{"CRED-005"});
    EXPECT_EQ(c.findings.all[0].frame.number, second);
    EXPECT_EQ(c.findings.all[0].proven.number, second + 1);
    EXPECT_EQ(c.findings.all[0].related_frames, std::vector<uint64_t>{first});
  }
}

// What waits for its proof when nothing more comes is presumed, a warning at most.
TEST(Engine, WhatIsNotProvenAtTheEndIsPresumed) {
  for (const auto& [reason, end] : {std::pair{fabric::CloseReason::kEndOfCapture, "the capture ends"},
                                    {fabric::CloseReason::kReset, "the connection ends"}}) {
    Checker c;
    c.script.Open();
    c.script.Send(kClient, Msg(1), GetattrCall(1));
    c.script.Send(kClient, Msg(2), GetattrCall(2));
    const uint64_t second = c.script.frame();
    EXPECT_EQ(c.Ids(), Id{});
    c.script.Close(reason);
    ASSERT_EQ(c.Ids(), Id{"CRED-005"});
    const Finding& finding = c.findings.all[0];
    EXPECT_EQ(finding.certainty, conformance::Certainty::kPresumed);
    EXPECT_EQ(finding.severity, Severity::kWarning);
    EXPECT_EQ(finding.frame.number, second);
    EXPECT_EQ(finding.proven.number, second + 1);
    EXPECT_EQ(finding.unseen, std::string(end) + " before the server is heard again");
  }
}

// A gap on the side that had to be heard may hide what would excuse it.
TEST(Engine, WhatAGapMayHideIsNotPresumed) {
  Checker c;
  c.script.Open();
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.Send(kClient, Msg(2), GetattrCall(2));
  c.script.Gap(kServer);
  c.script.Close(fabric::CloseReason::kEndOfCapture);
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Engine, AnotherProtocolThatMayYetBeProvenIsPresumedAway) {
  Checker c(Profile::kAuto);
  c.script.Open(std::nullopt, std::nullopt);
  Greet(c);
  ReadReadReply(c, 1);
  const uint64_t reply = c.script.frame() - 2;
  EXPECT_EQ(c.Find("RDLIST-001"), nullptr);
  c.script.Close(fabric::CloseReason::kEndOfCapture);
  ASSERT_NE(c.Find("RDLIST-001"), nullptr);
  EXPECT_EQ(c.Find("RDLIST-001")->certainty, conformance::Certainty::kPresumed);
  EXPECT_EQ(c.Find("RDLIST-001")->frame.number, reply);
}

// The offender's side acknowledges after the offence no more than what was seen: it had received nothing else.
TEST(Engine, AnAcknowledgementProves) {
  for (const bool with_it : {true, false}) {
    Checker c;
    c.script.Open();
    c.script.Send(kClient, Msg(1), GetattrCall(1));
    if (with_it) c.script.info().acknowledged_in[kClient] = c.script.frame() + 1;
    c.script.Send(kClient, Msg(2), GetattrCall(2));
    const uint64_t second = c.script.frame();
    EXPECT_EQ(c.Ids(), with_it ? Id{"CRED-005"} : Id{});
    c.script.info().acknowledged_in[kServer] = second + 1;  // that of the other side proves nothing
    c.script.Send(kClient, Msg(3), GetattrCall(3));
    EXPECT_EQ(c.findings.all.size(), with_it ? 1u : 0u);
    c.script.info().acknowledged_in[kClient] = c.script.frame() + 1;
    c.script.Gap(kServer);  // what is lost later does not matter
    ASSERT_NE(c.Find("CRED-005"), nullptr);
    EXPECT_EQ(c.Find("CRED-005")->certainty, conformance::Certainty::kProven);
    EXPECT_EQ(c.Find("CRED-005")->severity, Severity::kError);
    EXPECT_EQ(c.Find("CRED-005")->proven.number, with_it ? second : second + 2);
  }
}

// A server reads memory that nobody advertised; the client refuses and the connection ends.
TEST(Engine, ARefusalProves) {
  Checker c(Profile::kRfc8166, {"MEM"});
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.ReadRequest(kServer, 0x99, 0x1000, 512);
  const uint64_t read = c.script.frame();
  EXPECT_EQ(c.Ids(), Id{});
  c.script.Nak(kClient, fabric::NakKind::kRemoteAccess);
  ASSERT_EQ(c.Ids(), Id{"MEM-002"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kError);
  EXPECT_EQ(c.findings.all[0].certainty, conformance::Certainty::kProven);
  EXPECT_EQ(c.findings.all[0].frame.number, read);
  EXPECT_EQ(c.findings.all[0].proven.number, read + 1);
}

// The capture lost a Call. The client sends it again, and it takes the place of the first one in sequence.
TEST(Engine, ACallThatIsSentAgainProvesNothing) {
  for (const bool again : {true, false}) {
    Checker c(Profile::kRfc8166, {"MEM"});
    c.script.Open();
    Greet(c);
    rpcrdma::Header call = Msg(1);
    AddWriteChunk(call, {{again ? 0x99u : 0x98u, 512, 0x1000}});
    c.script.Write(kServer, 0x99, 0x1000, Buffer(512));
    EXPECT_EQ(c.Ids(), Id{});
    c.script.Send(kClient, call, ReadCall(1, 512));
    EXPECT_EQ(c.Ids(), again ? Id{} : Id{"MEM-003"});
    c.script.Close();
    EXPECT_EQ(c.Ids(), again ? Id{} : Id{"MEM-003"});
  }
}

// The side that had to be heard disconnects. CM messages have no sequence numbers: where the capture is known to have
// lost something of the connection, they prove nothing.
TEST(Engine, ADisconnectProves) {
  for (const bool lossy : {false, true})
    for (const fabric::Side by : {kClient, kServer}) {
      Checker c(Profile::kRfc8166, {"MEM"});
      c.script.Open();
      Greet(c);
      c.script.Send(kClient, Msg(1), GetattrCall(1));
      c.script.ReadRequest(kServer, 0x99, 0x1000, 512);
      if (lossy) c.script.Gap(kServer);
      EXPECT_EQ(c.Ids(), Id{});
      fabric::Setup setup;
      setup.message = fabric::SetupMessage::kDisconnectRequest;
      const FrameRef now{c.script.frame() + 1, 0};
      c.session.OnEvent({c.script.info(), by, now, now, setup});
      c.script.Close();
      ASSERT_EQ(c.Ids(), Id{"MEM-002"});
      EXPECT_EQ(c.findings.all[0].certainty,
                by == kClient && !lossy ? conformance::Certainty::kProven : conformance::Certainty::kPresumed);
    }
}

}  // namespace
}  // namespace stag::test
