// SPDX-License-Identifier: GPL-2.0-or-later
//
// CCP: the Connection Configuration Protocol of draft-08.
#include "tests/conformance/legacy_checker.h"

namespace stag::test {
namespace {

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
