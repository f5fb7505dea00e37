// SPDX-License-Identifier: GPL-2.0-or-later
//
// MSGP, DONE and CCP: what only RFC 5666 (draft-08) speaks.
#include "tests/conformance/checker.h"

namespace stag::test {
namespace {

class LegacyChecker : public Checker {
 public:
  explicit LegacyChecker(Profile profile, std::vector<std::string> select = {"MSGP", "DONE", "CCP", "CRED"})
      : Checker(EngineOptions{.profile = profile, .select = std::move(select), .ignore = {}}) {}

  void Call(uint32_t xid) { script.Send(kClient, Msg(xid), GetattrCall(xid)); }
  void Reply(uint32_t xid, uint32_t granted = 32) {
    script.Send(kServer, MakeHeader(rpcrdma::kMsg, xid, granted), GetattrReply(xid));
  }
  void Exchanges(uint32_t first, uint32_t last) {
    for (uint32_t xid = first; xid <= last; ++xid) Call(xid), Reply(xid);
  }
  void Error(uint32_t xid, uint32_t err = rpcrdma::kErrChunk) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kError, xid);
    header.err = err;
    header.vers_low = header.vers_high = 1;
    script.Send(kServer, header);
  }
  void Msgp(uint32_t xid, uint32_t align = 0, uint32_t thresh = 0, const Buffer& call = {}) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kMsgp, xid);
    header.align = align;
    header.thresh = thresh;
    script.Send(kClient, header, call.empty() ? GetattrCall(xid) : call);
  }
  // A READ whose data stands in memory of the server.
  void ReadReply(uint32_t xid, uint32_t granted = 32) {
    script.Send(kClient, Msg(xid), ReadCall(xid, 100));
    rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, xid, granted);
    AddRead(header, 52, {xid, 100, 0});
    script.Send(kServer, header, test::ReadReply(xid, 100, true));
  }
  void Done(uint32_t xid) {
    script.Read(kClient, xid, 0, Pattern(100));
    script.Send(kClient, MakeHeader(rpcrdma::kDone, xid));
  }
  void Configure(uint32_t xid, rpcrdma::CcpArguments arguments, rpcrdma::CcpResults results) {
    Buffer call, reply;
    rpcrdma::Encode(arguments, call);
    rpcrdma::Encode(results, reply);
    script.Send(kClient, Msg(xid), MakeCall(xid, rpcrdma::kCcpProgramDraft, 1, 1, call));
    script.Send(kServer, Msg(xid), MakeReply(xid, reply));
  }
};

TEST(Msgp, AllowedOnlyByDraft08) {
  for (const auto& [profile, wrong] : {std::pair{Profile::kRfc8166, true}, {Profile::kRfc5666, false}}) {
    Checker c(profile);
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, MakeHeader(rpcrdma::kMsgp, 5), GetattrCall(5));
    c.script.Send(kServer, Msg(5), GetattrReply(5));
    c.script.Send(kClient, MakeHeader(rpcrdma::kDone, 5));
    EXPECT_EQ(c.Ids(), wrong ? (Id{"MSGP-001", "DONE-001"}) : Id{});
  }
}

TEST(Msgp002, AnsweredWithAReply) {
  for (const Profile profile : {Profile::kRfc8166, Profile::kRfc5666bis}) {
    LegacyChecker c(profile, {"MSGP-002"});
    c.script.Open();
    c.Exchanges(1, 1);
    c.Msgp(5);
    c.Reply(5);
    ASSERT_EQ(c.Ids(true), Id{"MSGP-002"});
    EXPECT_EQ(c.findings.all[0].severity, Severity::kNote);
    EXPECT_FALSE(c.findings.all[0].client_to_server);
  }
}

TEST(Msgp002, NotAnswered) {
  LegacyChecker c(Profile::kRfc8166, {"MSGP-002"});
  c.script.Open();
  c.Exchanges(1, 1);
  c.Msgp(5);
  c.Exchanges(10, 12);
  EXPECT_EQ(c.Ids(true), Id{});
  c.Exchanges(13, 20);
  ASSERT_EQ(c.Ids(true), Id{"MSGP-002"});
  EXPECT_EQ(c.findings.all[0].xid, 5u);
}

TEST(Msgp002, ErrChunkAndLegacyPeersAreFine) {
  LegacyChecker answered(Profile::kRfc8166, {"MSGP-002"});
  answered.script.Open();
  answered.Exchanges(1, 1);
  answered.Msgp(5);
  answered.Error(5);
  answered.Exchanges(10, 20);
  EXPECT_EQ(answered.Ids(true), Id{});

  LegacyChecker legacy(Profile::kRfc5666, {"MSGP-002"});
  legacy.script.Open();
  legacy.Exchanges(1, 1);
  legacy.Msgp(5);
  legacy.Reply(5);
  EXPECT_EQ(legacy.Ids(true), Id{});

  // The Reply proves that both peers speak it.
  LegacyChecker proven(Profile::kAuto, {"MSGP-002"});
  proven.script.Open(std::nullopt, std::nullopt);
  proven.Exchanges(1, 1);
  proven.Msgp(5);
  proven.Reply(5);
  EXPECT_EQ(proven.Ids(true), Id{});

  LegacyChecker lost(Profile::kRfc8166, {"MSGP-002"});
  lost.script.Open();
  lost.Exchanges(1, 1);
  lost.Msgp(5);
  lost.script.Gap(kServer);
  lost.Exchanges(10, 20);
  EXPECT_EQ(lost.Ids(true), Id{});
}

// WRITE3args of RFC 1813: file, offset, count, stable, data; `pad` bytes of padding before the data.
Buffer PaddedWrite(uint32_t xid, uint32_t count, size_t pad) {
  const Buffer head = MakeCall(xid, kNfs, 3, kWrite, Join({FileHandle(), Words({0, 0, count, 2, count})}));
  return Join({head, Buffer(pad), Pattern(count)});
}

TEST(Msgp005, PaddingIsWhereItIsAnnounced) {
  // The data begins at byte 40 + 36 + 20 = 96 of the RPC message; the header has 36 bytes.
  const auto ids = [](uint32_t align, uint32_t thresh, size_t pad) {
    LegacyChecker c(Profile::kRfc5666, {"MSGP-005"});
    c.script.Open();
    c.Exchanges(1, 1);
    c.Msgp(5, align, thresh, PaddedWrite(5, 512, pad));
    return c.Ids(true);
  };
  EXPECT_EQ(ids(128, 256, 32), Id{});   // 96 + 32 = 128
  EXPECT_EQ(ids(128, 256, 124), Id{});  // 36 + 96 + 124 = 256: counted from the Send's start
  EXPECT_EQ(ids(128, 256, 16), Id{"MSGP-005"});
  EXPECT_EQ(ids(128, 256, 0), Id{"MSGP-005"});  // none at all
  EXPECT_EQ(ids(32, 256, 0), Id{});             // none is needed
  EXPECT_EQ(ids(128, 512, 0), Id{});            // "at or above" or "exceeds": either may be meant
  EXPECT_EQ(ids(128, 4096, 0), Id{});           // too short for padding
  EXPECT_EQ(ids(0, 0, 0), Id{});
}

TEST(Msgp005, NotWhereTheUpperLayerIsUnknownOrCut) {
  LegacyChecker c(Profile::kRfc5666, {"MSGP-005"});
  c.script.Open();
  c.Exchanges(1, 1);
  c.Msgp(5, 128, 256, MakeCall(5, 400000, 1, 1, Pattern(600)));
  rpcrdma::Header header = MakeHeader(rpcrdma::kMsgp, 6);
  header.align = 128;
  header.thresh = 256;
  c.script.SendTruncated(kClient, header, PaddedWrite(6, 512, 16), 200);
  EXPECT_EQ(c.Ids(true), Id{});
}

TEST(Msgp006, TheAlignmentOfConfRdma) {
  const auto ids = [](bool configured, uint32_t align) {
    LegacyChecker c(Profile::kRfc5666, {"MSGP-006"});
    c.script.Open(std::nullopt, std::nullopt);
    if (configured) c.Configure(1, {4096, 4096, 4}, {4096, 4096, 4});
    if (!configured) c.Exchanges(1, 1);
    c.Msgp(5, align, 4096);
    return c.Ids(true);
  };
  EXPECT_EQ(ids(true, 512), Id{"MSGP-006"});
  EXPECT_EQ(ids(true, 4096), Id{});
  EXPECT_EQ(ids(false, 512), Id{});
}

TEST(Done005, ADoneTakesACredit) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-005", "CRED-003"});
  c.script.Open();
  c.ReadReply(1, 1);
  c.Call(2);
  c.Done(1);
  EXPECT_EQ(c.Ids(), Id{});  // until the server is heard again
  c.Reply(2, 1);
  ASSERT_EQ(c.Ids(), Id{"DONE-005"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
  EXPECT_TRUE(c.findings.all[0].client_to_server);
}

TEST(Done005, ACallAfterIt) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-005", "CRED-003"});
  c.script.Open();
  c.ReadReply(1, 2);
  c.Done(1);
  c.Call(2);
  EXPECT_EQ(c.Ids(), Id{});
  c.Call(3);  // two Calls and one RDMA_DONE of two
  c.Reply(2, 2);
  EXPECT_EQ(c.Ids(), Id{"DONE-005"});
  c.Call(4);  // the answer has freed it
  c.Reply(3, 2);
  EXPECT_EQ(c.Ids(), Id{"DONE-005"});
}

TEST(Done005, OverTheGrantIsCred003) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-005", "CRED-003"});
  c.script.Open();
  c.ReadReply(1, 1);
  c.Done(1);
  c.Call(2);  // the second credit of one
  c.Call(3);
  c.Reply(2, 1);
  EXPECT_EQ(c.Ids(), (Id{"DONE-005", "CRED-003"}));
}

TEST(Done006, AGrantOfOneLeavesNoRoom) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-006"});
  c.script.Open();
  c.ReadReply(1, 2);
  c.Done(1);
  EXPECT_EQ(c.Ids(true), Id{});
  c.Call(2);
  c.Reply(2, 1);
  EXPECT_EQ(c.Ids(true), Id{});
  c.ReadReply(3, 1);
  ASSERT_EQ(c.Ids(true), Id{"DONE-006"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kNote);
}

TEST(Done007, NoCreditForAClientThatWaitsForNothing) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-007"});
  c.script.Open();
  c.ReadReply(1, 4);
  c.Call(2);
  c.Call(3);
  c.Reply(2, 0);  // another Reply is to come
  EXPECT_EQ(c.Ids(true), Id{});
  c.Reply(3, 0);
  ASSERT_EQ(c.Ids(), Id{"DONE-007"});
  EXPECT_FALSE(c.findings.all[0].client_to_server);
}

TEST(Done007, WithoutDonesItIsCred011) {
  LegacyChecker c(Profile::kRfc5666, {"DONE-007", "CRED-011"});
  c.script.Open();
  c.ReadReply(1, 4);
  c.Done(1);
  c.Call(2);
  c.Reply(2, 0);
  ASSERT_EQ(c.Ids(), Id{"CRED-011"});
  EXPECT_TRUE(c.findings.all[0].see_also.empty());
  c.ReadReply(3, 0);
  ASSERT_EQ(c.Ids(), (Id{"CRED-011", "CRED-011"}));
  EXPECT_EQ(c.findings.all[1].see_also, std::vector<std::string_view>{"DONE-007"});
}

TEST(Done008, AnsweredByTheDraftOf2016) {
  const auto ids = [](Profile profile, bool answered, bool lost = false) {
    LegacyChecker c(profile, {"DONE-008"});
    c.script.Open();
    c.Exchanges(1, 1);
    c.script.Send(kClient, MakeHeader(rpcrdma::kDone, 1));
    if (answered) c.Error(1);
    if (lost) c.script.Gap(kServer);
    c.Exchanges(10, 20);
    return c.Ids(true);
  };
  EXPECT_EQ(ids(Profile::kRfc5666bis, false), Id{"DONE-008"});
  EXPECT_EQ(ids(Profile::kRfc5666bis, true), Id{});
  EXPECT_EQ(ids(Profile::kRfc5666bis, false, true), Id{});
  EXPECT_EQ(ids(Profile::kRfc8166, false), Id{});
  EXPECT_EQ(ids(Profile::kRfc5666, false), Id{});
}

TEST(Ccp, Sizes) {
  Checker c(Profile::kRfc5666);
  c.script.Open(std::nullopt, std::nullopt);
  Buffer arguments, results;
  rpcrdma::Encode(rpcrdma::CcpArguments{2048, 1024, 4}, arguments);
  rpcrdma::Encode(rpcrdma::CcpResults{2048, 0, 4}, results);
  c.script.Send(kClient, Msg(1), MakeCall(1, rpcrdma::kCcpProgramDraft, 1, 1, arguments));
  c.script.Send(kServer, Msg(1), MakeReply(1, results));
  c.script.Send(kClient, Msg(2), MakeCall(2, 300000, 1, 1, Pattern(1900)));
  EXPECT_EQ(c.Ids(), Id{"CCP-009"});
  c.script.Send(kServer, Msg(2), MakeReply(2, Pattern(1100)));
  EXPECT_EQ(c.Ids(), (Id{"CCP-009", "CCP-006"}));
  c.script.Send(kClient, Msg(3), MakeCall(3, 300000, 1, 1, Pattern(2100)));
  EXPECT_EQ(c.Ids(), (Id{"CCP-009", "CCP-006", "CCP-005"}));
}

TEST(Ccp001, Identity) {
  const auto ids = [](Profile profile, uint32_t version, uint32_t procedure, bool private_data = true) {
    LegacyChecker c(profile, {"CCP-001"});
    private_data ? c.script.Open() : c.script.Open(std::nullopt, std::nullopt);
    for (const uint32_t program : {rpcrdma::kCcpProgramDraft, rpcrdma::kCcpProgramRfc5666})
      c.script.Send(kClient, Msg(program), MakeCall(program, program, version, procedure, Words({1024, 1024, 1})));
    return c.Ids(true);
  };
  const Id both = {"CCP-001", "CCP-001"};
  EXPECT_EQ(ids(Profile::kRfc5666, 1, 1), Id{});
  EXPECT_EQ(ids(Profile::kRfc5666, 1, 0), Id{});
  EXPECT_EQ(ids(Profile::kRfc5666, 1, 2), both);
  EXPECT_EQ(ids(Profile::kRfc5666, 2, 1), both);
  EXPECT_EQ(ids(Profile::kRfc8166, 1, 1), both);
  EXPECT_EQ(ids(Profile::kAuto, 1, 1), both);
  EXPECT_EQ(ids(Profile::kAuto, 1, 1, false), Id{});  // they may prove to be legacy
  EXPECT_EQ(ids(Profile::kRfc5666bis, 1, 1), Id{});   // the draft of 2016 does not speak of it
}

TEST(Ccp004, TheFirstMessageOrAlone) {
  const Buffer words = Words({4096, 4096, 4});
  LegacyChecker c(Profile::kRfc5666, {"CCP-004"});
  c.script.Open(std::nullopt, std::nullopt);
  c.Call(1);
  c.script.Send(kClient, Msg(2), MakeCall(2, rpcrdma::kCcpProgramDraft, 1, 1, words));
  c.Reply(1);
  EXPECT_EQ(c.Ids(), Id{"CCP-004"});

  LegacyChecker with_credits(Profile::kRfc5666, {"CCP-004", "CRED-005"});
  with_credits.script.Open(std::nullopt, std::nullopt);
  with_credits.Call(1);
  with_credits.script.Send(kClient, Msg(2), MakeCall(2, rpcrdma::kCcpProgramDraft, 1, 1, words));
  with_credits.Reply(1);
  ASSERT_EQ(with_credits.Ids(), Id{"CRED-005"});
  EXPECT_EQ(with_credits.findings.all[0].see_also, std::vector<std::string_view>{"CCP-004"});

  LegacyChecker later(Profile::kRfc5666, {"CCP-004"});
  later.script.Open(std::nullopt, std::nullopt);
  later.Exchanges(1, 1);
  later.Call(2);
  later.Configure(3, {4096, 4096, 4}, {4096, 4096, 4});
  later.Reply(2);
  EXPECT_EQ(later.Ids(), Id{});
}

TEST(Ccp004, SmallUntilItIsConfigured) {
  const auto ids = [](size_t more, std::optional<rpcrdma::PrivateData> data) {
    LegacyChecker c(Profile::kRfc5666, {"CCP-004"});
    c.script.Open(data, data);
    c.script.Send(kClient, Msg(1), MakeCall(1, rpcrdma::kCcpProgramDraft, 1, 1, Pattern(more)));
    return c.Ids();
  };
  // 28 bytes of transport header and 40 of the Call's.
  EXPECT_EQ(ids(1024 - 68, std::nullopt), Id{});
  EXPECT_EQ(ids(1028 - 68, std::nullopt), Id{"CCP-004"});
  EXPECT_EQ(ids(1028 - 68, rpcrdma::PrivateData{1, 0, 3, 3}), Id{});
}

TEST(Ccp007, ReadsInFlight) {
  const auto ids = [](uint32_t client, uint32_t server, fabric::Side reader, uint32_t reads) {
    LegacyChecker c(Profile::kRfc5666, {"CCP-007"});
    c.script.Open(std::nullopt, std::nullopt);
    c.Configure(1, {4096, 4096, client}, {4096, 4, server});
    for (uint32_t handle = 1; handle <= reads; ++handle) c.script.ReadRequest(reader, handle, 0, 100);
    for (uint32_t handle = 1; handle <= reads; ++handle)
      c.script.ReadResponse(fabric::Side(1 - reader), handle, 0, Pattern(100));
    return c.Ids();
  };
  EXPECT_EQ(ids(2, 8, kServer, 4), Id{"CCP-007"});
  EXPECT_EQ(ids(2, 8, kServer, 2), Id{});
  EXPECT_EQ(ids(8, 2, kServer, 4), Id{});
  EXPECT_EQ(ids(8, 2, kClient, 4), Id{"CCP-007"});
  EXPECT_EQ(ids(0, 8, kServer, 4), Id{});  // CCP-008
}

TEST(Ccp008, NoReadsWhereNoneAreServed) {
  const auto severity = [](uint32_t client, uint32_t server, bool by_reply) -> std::optional<Severity> {
    LegacyChecker c(Profile::kRfc5666, {"CCP-008"});
    c.script.Open(std::nullopt, std::nullopt);
    c.Configure(1, {4096, 4096, client}, {4096, 4, server});
    if (by_reply) {
      c.ReadReply(5);
    } else {
      rpcrdma::Header header = Msg(5);
      AddRead(header, 96, {7, 100, 0});
      c.script.Send(kClient, header, WriteCall(5, 100));
    }
    if (c.findings.all.empty()) return std::nullopt;
    return c.findings.all[0].severity;
  };
  EXPECT_EQ(severity(0, 4, false), Severity::kWarning);
  EXPECT_EQ(severity(4, 0, true), Severity::kWarning);
  EXPECT_EQ(severity(4, 0, false), Severity::kNote);
  EXPECT_EQ(severity(4, 4, false), std::nullopt);
  EXPECT_EQ(severity(0, 4, true), std::nullopt);
}

TEST(Ccp010, Alignment) {
  for (const uint32_t align : {0u, 1u, 4096u, 3000u}) {
    LegacyChecker c(Profile::kRfc5666, {"CCP-010"});
    c.script.Open(std::nullopt, std::nullopt);
    c.Configure(1, {4096, 4096, 4}, {4096, align, 4});
    EXPECT_EQ(c.Ids(true), align == 3000 ? Id{"CCP-010"} : Id{}) << align;
  }
}

TEST(Ccp011, ReceivesAreAdequate) {
  const auto start = [](LegacyChecker& c) {
    c.script.Open(std::nullopt, std::nullopt);
    c.Configure(1, {4096, 2048, 4}, {4096, 4, 4});
    c.script.Send(kClient, Msg(2), MakeCall(2, 300000, 1, 1, Pattern(3000)));
  };
  LegacyChecker length(Profile::kRfc5666, {"CCP-011"});
  start(length);
  length.script.Nak(kServer, fabric::NakKind::kInvalidRequest);  // 3068 bytes; it takes 4096
  EXPECT_EQ(length.Ids(), Id{"CCP-011"});

  LegacyChecker reply(Profile::kRfc5666, {"CCP-011"});
  start(reply);
  reply.script.Send(kServer, Msg(2), MakeReply(2, Pattern(3000)));
  reply.script.Nak(kClient, fabric::NakKind::kInvalidRequest);  // it takes 2048
  EXPECT_EQ(reply.Ids(), Id{});

  // From the first Call on; with CRED-007 and CRED-008 once they say it.
  LegacyChecker first(Profile::kRfc5666, {"CCP-011", "CRED-007", "CRED-008"});
  first.script.Open(std::nullopt, std::nullopt);
  first.Call(1);
  first.script.Nak(kServer, fabric::NakKind::kRnr);
  EXPECT_EQ(first.Ids(), Id{"CCP-011"});
  first.Reply(1);
  first.script.Nak(kClient, fabric::NakKind::kRnr);
  first.Call(2);
  first.script.Nak(kServer, fabric::NakKind::kRnr);
  EXPECT_EQ(first.Ids(), (Id{"CCP-011", "CRED-008", "CRED-007"}));

  LegacyChecker overrun(Profile::kRfc5666, {"CCP-011"});
  overrun.script.Open(std::nullopt, std::nullopt);
  overrun.Call(1);
  overrun.Reply(1, 1);
  overrun.Call(2);
  overrun.Call(3);
  overrun.script.Nak(kServer, fabric::NakKind::kRnr);
  overrun.script.Nak(kServer, fabric::NakKind::kInvalidRequest);
  EXPECT_EQ(overrun.Ids(), Id{});
}

}  // namespace
}  // namespace stag::test
