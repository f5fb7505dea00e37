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

TEST(Engine, NothingIsFoundAtTheEndOfTheCapture) {
  Checker c(Profile::kAuto);
  c.script.Open(std::nullopt, std::nullopt);
  Greet(c);
  ReadReadReply(c, 1);
  const size_t before = c.findings.all.size();
  c.script.Close(fabric::CloseReason::kEndOfCapture);
  c.session.Finish();
  EXPECT_EQ(c.findings.all.size(), before);
}

}  // namespace
}  // namespace stag::test
