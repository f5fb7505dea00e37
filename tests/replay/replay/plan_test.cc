// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/plan.h"

#include <algorithm>

#include "tests/replay/recording/recorded.h"

namespace stag::replay {
namespace {

using namespace recording::test;

Plan Make(const recording::Recording& recording, const PlanOptions& options = {}) {
  auto plan = MakePlan(recording, options);
  EXPECT_TRUE(plan);
  return std::move(*plan);
}

TEST(Plan, ACallWaitsForTheAnswersThatTheRecordedClientHad) {
  RecordingMaker maker;
  maker.Call(GetattrCall(1)).Call(GetattrCall(2)).Reply(GetattrReply(2)).Call(GetattrCall(3)).Reply(GetattrReply(1));
  maker.Call(GetattrCall(4)).Reply(GetattrReply(4));  // 3 is never answered
  const recording::Recording recording = maker.Finish();
  const Plan plan = Make(recording);
  ASSERT_EQ(plan.calls.size(), 4u);
  EXPECT_EQ(plan.answers, 3u);
  const auto call = [&](uint32_t xid) {
    return *std::ranges::find(plan.calls, xid, [](auto& c) { return c.rpc->xid; });
  };
  EXPECT_EQ(call(2).answer, 0u);
  EXPECT_EQ(call(1).answer, 1u);
  EXPECT_EQ(call(4).answer, 2u);
  EXPECT_EQ(call(3).answer, kUnanswered);
  EXPECT_EQ(call(1).after, 0u);
  EXPECT_EQ(call(2).after, 0u) << "both were under way at once";
  EXPECT_EQ(call(3).after, 1u);
  EXPECT_EQ(call(4).after, 2u);
}

TEST(Plan, HandlesAreKnownFromTheRepliesBefore) {
  RecordingMaker maker;
  const Buffer root = Handle(1), file = Handle(2), strange = Handle(3);
  maker.Call(LookupCall(1, root, Pattern(4))).Reply(LookupReply(1, file));
  maker.Call(GetattrOf(2, file)).Reply(GetattrReply(2));
  maker.Call(GetattrOf(3, strange)).Reply(GetattrReply(3));
  const recording::Recording recording = maker.Finish();
  const Plan plan = Make(recording);
  EXPECT_TRUE(plan.calls[0].gives);
  EXPECT_FALSE(plan.calls[1].gives);
  EXPECT_TRUE(std::ranges::equal(plan.root, root)) << "the handle that was used first";
  ASSERT_EQ(plan.unknown.size(), 1u);
  EXPECT_EQ(plan.unknown[0].kind, nfs::ValueKind::kHandle);
  EXPECT_EQ(plan.unknown[0].values, 2u) << "the root, and the one that came from nowhere";
  EXPECT_EQ(plan.unknown[0].calls, 2u);
  PlanOptions options;
  options.root.assign(strange.begin(), strange.end());
  const Plan other = Make(recording, options);
  EXPECT_EQ(other.root_user->xid, 3u);
}

TEST(Plan, AReplyThatComesLaterIsTooLate) {
  RecordingMaker maker;
  const Buffer file = Handle(2);
  maker.Call(LookupCall(1, Handle(1), Pattern(4))).Call(GetattrOf(2, file));
  maker.Reply(LookupReply(1, file)).Reply(GetattrReply(2));
  const recording::Recording recording = maker.Finish();
  const Plan plan = Make(recording);
  ASSERT_EQ(plan.unknown.size(), 1u);
  EXPECT_EQ(plan.unknown[0].values, 2u);
}

TEST(Plan, WhatCannotBeSentHasAReason) {
  RecordingMaker maker;
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
  const recording::Recording recording = maker.Finish();
  const Plan plan = Make(recording);
  ASSERT_EQ(plan.calls.size(), 1u);
  ASSERT_EQ(plan.refused.size(), 3u);
  EXPECT_EQ(plan.refused[0].reason, "bytes of it were not captured");
  EXPECT_NE(plan.refused[1].reason.find("RPCSEC_GSS"), std::string_view::npos);
  EXPECT_NE(plan.refused[2].reason.find("chunks"), std::string_view::npos);
  EXPECT_EQ(plan.backward.size(), 1u) << "a Call of the server is none of ours";
}

TEST(Plan, OnlyWhatIsSelected) {
  RecordingMaker maker;
  maker.Call(GetattrCall(1)).Reply(GetattrReply(1)).Call(ReadCall(2, 5)).Reply(ReadReply(2, 5, false));
  maker.Call(ReadCall(3, 6)).Reply(ReadReply(3, 6, false));
  const recording::Recording recording = maker.Finish();
  PlanOptions options;
  ASSERT_TRUE(options.selection.Add("procedure=READ"));
  const Plan plan = Make(recording, options);
  ASSERT_EQ(plan.calls.size(), 2u);
  EXPECT_EQ(plan.not_selected, 1u);
  EXPECT_EQ(plan.calls[0].after, 0u) << "what is not played is not waited for";
  EXPECT_EQ(plan.calls[1].after, 1u);
  EXPECT_EQ(plan.procedures[plan.calls[0].procedure].Name(), "NFSv3 READ");
}

TEST(Plan, CompoundsAreNamedByWhatTheyAreAbout) {
  RecordingMaker maker;
  maker.Call(CompoundCall(1, {PutRootFh(), Read4(10)}))
      .Reply(CompoundReply(1, {PutRootFhResult(), Read4Result(10, false)}));
  maker.Call(CompoundCall(2, {PutRootFh()})).Reply(CompoundReply(2, {PutRootFhResult()}));
  const recording::Recording recording = maker.Finish();
  const Plan plan = Make(recording);
  EXPECT_EQ(plan.procedures[plan.calls[0].procedure].Name(), "NFSv4 READ");
  EXPECT_EQ(plan.procedures[plan.calls[1].procedure].Name(), "NFSv4 PUTROOTFH");
}

TEST(Plan, ItsMemoryHasACap) {
  RecordingMaker maker;
  for (uint32_t xid = 1; xid < 100; ++xid) maker.Call(GetattrOf(xid, Handle(xid)));
  const recording::Recording recording = maker.Finish();
  PlanOptions options;
  options.memory = 4096;
  const auto plan = MakePlan(recording, options);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("--memory"), std::string::npos);
}

}  // namespace
}  // namespace stag::replay
