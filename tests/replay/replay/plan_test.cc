// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "replay/replay/plan_account.h"
#include "replay/replay/plan_builder.h"
#include "tests/replay/replay/planned.h"

namespace stag::replay {
namespace {

using namespace test;
using What = PlannedCall::What;

const PlannedCall& Of(const std::vector<PlannedCallPtr>& plan, uint32_t xid) {
  return **std::ranges::find(plan, xid, [](const PlannedCallPtr& planned) { return planned->rpc.xid; });
}

struct Account : PlanAccount {
  explicit Account(const std::vector<PlannedCallPtr>& plan) : PlanAccount(1 << 20) {
    for (const PlannedCallPtr& planned : plan) Add(*planned);
  }
};

TEST(Plan, ACallWaitsForTheAnswersThatTheRecordedClientHad) {
  PlanMaker maker;
  maker.Call(GetattrCall(1)).Call(GetattrCall(2)).Reply(GetattrReply(2)).Call(GetattrCall(3)).Reply(GetattrReply(1));
  maker.Call(GetattrCall(4)).Reply(GetattrReply(4));  // 3 is never answered
  const auto plan = Sent(maker.Finish());
  ASSERT_EQ(plan.size(), 4u);
  EXPECT_EQ(maker.totals().unanswered, 1u);
  EXPECT_EQ(Of(plan, 2).answer, 0u);
  EXPECT_EQ(Of(plan, 1).answer, 1u);
  EXPECT_EQ(Of(plan, 4).answer, 2u);
  EXPECT_EQ(Of(plan, 3).answer, kUnanswered);
  EXPECT_EQ(Of(plan, 1).after, 0u);
  EXPECT_EQ(Of(plan, 2).after, 0u) << "both were under way at once";
  EXPECT_EQ(Of(plan, 3).after, 1u);
  EXPECT_EQ(Of(plan, 4).after, 2u);
}

TEST(Plan, HandlesAreKnownFromTheRepliesBefore) {
  const Buffer root = Handle(1), file = Handle(2), strange = Handle(3);
  const auto record = [&](PlanMaker& maker) {
    maker.Call(LookupCall(1, root, Pattern(4))).Reply(LookupReply(1, file));
    maker.Call(GetattrOf(2, file)).Reply(GetattrReply(2));
    maker.Call(GetattrOf(3, strange)).Reply(GetattrReply(3));
    return Sent(maker.Finish());
  };
  PlanMaker maker;
  const auto plan = record(maker);
  EXPECT_TRUE(plan[0]->gives);
  EXPECT_FALSE(plan[1]->gives);
  const Account account(plan);
  EXPECT_TRUE(std::ranges::equal(account.root(), root)) << "the handle that was used first";
  const auto unknown = account.unknown();
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].kind, nfs::ValueKind::kHandle);
  EXPECT_EQ(unknown[0].values, 2u) << "the root, and the one that came from nowhere";
  EXPECT_EQ(unknown[0].calls, 2u);
  EXPECT_EQ(unknown[0].first_frame, plan[0]->rpc.call_frame.number);
  PlanOptions options;
  options.root.assign(strange.begin(), strange.end());
  PlanMaker other(options);
  const auto otherwise = record(other);
  EXPECT_TRUE(otherwise[0]->root.empty());
  EXPECT_FALSE(Of(otherwise, 3).root.empty());
}

TEST(Plan, AReplyThatComesLaterIsTooLate) {
  PlanMaker maker;
  const Buffer file = Handle(2);
  maker.Call(LookupCall(1, Handle(1), Pattern(4))).Call(GetattrOf(2, file));
  maker.Reply(LookupReply(1, file)).Reply(GetattrReply(2));
  const auto unknown = Account(maker.Finish()).unknown();
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].values, 2u);
}

TEST(Plan, WhatCannotBeSentHasAReason) {
  PlanMaker maker;
  maker.Call(GetattrCall(1)).Reply(GetattrReply(1));
  maker.script.SendTruncated(0, MakeHeader(rpcrdma::kMsg, 2), GetattrCall(2), 90);
  // RPCSEC_GSS.
  rpc::CallHeader header;
  header.xid = 3;
  header.rpc_version = 2;
  header.program = kNfs;
  header.version = 3;
  header.procedure = 1;
  std::vector<std::byte> body;
  rpc::EncodeGssCredential(rpc::kGssData, 1, rpc::kGssNone, Pattern(8), body);
  header.credential = {rpc::kRpcsecGss, body};
  Buffer message;
  rpc::Encode(header, message);
  maker.Call(message);
  // 5 TiB of Write chunks.
  rpcrdma::Header offer = MakeHeader(rpcrdma::kMsg, 4);
  std::vector<rpcrdma::Segment> segments(20, {1, 0xffffffff, 0});
  AddWriteChunk(offer, segments);
  maker.script.Send(0, offer, ReadCall(4, 100));
  maker.script.Send(1, MakeHeader(rpcrdma::kMsg, 5), MakeCall(5, 0x40000000, 1, 0));
  auto plan = maker.Finish();
  EXPECT_EQ(std::ranges::count(plan, What::kBackward, [](auto& p) { return p->what; }), 1)
      << "a Call of the server is none of ours";
  std::erase_if(plan, [](const PlannedCallPtr& planned) { return planned->what != What::kRefused; });
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0]->reason, "bytes of it were not captured");
  EXPECT_NE(plan[1]->reason.find("RPCSEC_GSS"), std::string_view::npos);
  EXPECT_NE(plan[2]->reason.find("chunks"), std::string_view::npos);
  EXPECT_EQ(maker.totals().calls, 1u);
  EXPECT_EQ(maker.totals().refused, 3u);
}

TEST(Plan, OnlyWhatIsSelected) {
  PlanOptions options;
  ASSERT_TRUE(options.selection.Add("procedure=READ"));
  PlanMaker maker(options);
  maker.Call(GetattrCall(1)).Reply(GetattrReply(1)).Call(ReadCall(2, 5)).Reply(ReadReply(2, 5, false));
  maker.Call(ReadCall(3, 6)).Reply(ReadReply(3, 6, false));
  const auto plan = Sent(maker.Finish());
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(maker.totals().not_selected, 1u);
  EXPECT_EQ(plan[0]->after, 0u) << "what is not played is not waited for";
  EXPECT_EQ(plan[1]->after, 1u);
  EXPECT_EQ(plan[0]->procedure.Name(), "NFSv3 READ");
}

TEST(Plan, CompoundsAreNamedByWhatTheyAreAbout) {
  PlanMaker maker;
  maker.Call(CompoundCall(1, {PutRootFh(), Read4(10)}))
      .Reply(CompoundReply(1, {PutRootFhResult(), Read4Result(10, false)}));
  maker.Call(CompoundCall(2, {PutRootFh()})).Reply(CompoundReply(2, {PutRootFhResult()}));
  const auto plan = Sent(maker.Finish());
  EXPECT_EQ(plan[0]->procedure.Name(), "NFSv4 READ");
  EXPECT_EQ(plan[1]->procedure.Name(), "NFSv4 PUTROOTFH");
}

TEST(Plan, CallsLeaveTheWindowWhileTheCaptureIsRead) {
  PlanOptions options;
  options.slack = 4;
  PlanMaker maker(options);
  for (uint32_t xid = 1; xid <= 10; ++xid) maker.Call(GetattrCall(xid)).Reply(GetattrReply(xid));
  EXPECT_GE(maker.planned().size(), 7u);
  EXPECT_LT(maker.planned().size(), 10u);
  const auto plan = Sent(maker.Finish());
  ASSERT_EQ(plan.size(), 10u);
  for (uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(plan[i]->rpc.xid, i + 1);
    EXPECT_EQ(plan[i]->after, i);
    EXPECT_EQ(plan[i]->answer, i);
  }
}

// The Call that nobody answers would hold all others up: it goes as it is, and its late answer is counted.
TEST(Plan, TheWindowHasACap) {
  PlanOptions options;
  options.slack = 4;
  options.window = 20'000;
  PlanMaker maker(options);
  maker.Call(GetattrCall(1));
  for (uint32_t xid = 2; xid <= 100; ++xid) maker.Call(GetattrCall(xid)).Reply(GetattrReply(xid));
  EXPECT_GE(maker.planned().size(), 80u);
  EXPECT_EQ(maker.planned()[0]->rpc.xid, 1u);
  EXPECT_EQ(maker.planned()[0]->answer, kUnanswered);
  maker.Reply(GetattrReply(1));
  maker.Call(GetattrCall(101)).Reply(GetattrReply(101));
  const auto plan = Sent(maker.Finish());
  ASSERT_EQ(plan.size(), 101u);
  EXPECT_EQ(maker.totals().late, 1u);
  EXPECT_EQ(maker.totals().unanswered, 1u);
  EXPECT_EQ(Of(plan, 101).after, 99u) << "the late answer is not waited for";
}

// A Call whose Read chunk was not pulled when the window was full is refused.
TEST(Plan, ACallThatIsNotWholeWhenTheWindowIsFull) {
  PlanOptions options;
  options.window = 1;
  PlanMaker maker(options);
  rpcrdma::Header header = MakeHeader(rpcrdma::kNomsg, 1);
  AddRead(header, 0, {7, 100, 0});
  maker.script.Send(0, header, Buffer{});
  maker.Call(GetattrCall(2)).Reply(GetattrReply(2));
  const auto plan = maker.Finish();
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0]->what, What::kRefused);
  EXPECT_NE(plan[0]->reason.find("--memory"), std::string_view::npos);
  EXPECT_EQ(maker.totals().late, 2u);
}

TEST(Plan, ConnectionsEndBehindTheirCalls) {
  PlanMaker maker;
  maker.Call(GetattrCall(1)).Reply(GetattrReply(1)).Call(GetattrCall(2));
  maker.script.Close();
  const auto plan = maker.Finish();
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[1]->rpc.xid, 2u);
  EXPECT_EQ(plan[2]->what, What::kClosed);
  EXPECT_EQ(plan[2]->connection, plan[0]->connection);
}

}  // namespace
}  // namespace stag::replay
