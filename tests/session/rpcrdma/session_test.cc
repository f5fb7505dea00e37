// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/session.h"

#include <gtest/gtest.h>

#include "tests/session/rpcrdma/recorder.h"
#include "tests/support/event_script.h"

namespace stag::session {
namespace {

using namespace test;

Buffer Getattr(uint32_t xid) { return MakeCall(xid, nfs::kNfsProgram, 3, 1, Opaque(Pattern(32))); }
Buffer Stale(uint32_t xid) { return MakeReply(xid, Words({70})); }

struct Fixture : testing::Test {
  Recorder recorder;
  Session session{SessionOptions{}, {&recorder}};
  EventScript script{session};

  void Call(uint32_t xid) { script.Send(0, MakeHeader(rpcrdma::kMsg, xid), Getattr(xid)); }
  void Reply(uint32_t xid) { script.Send(1, MakeHeader(rpcrdma::kMsg, xid), Stale(xid)); }
};
using SessionTest = Fixture;

TEST_F(SessionTest, ThresholdsAreTheMinimumOfBothSides) {
  script.Open(rpcrdma::PrivateData{1, 1, 3, 0}, rpcrdma::PrivateData{1, 0, 7, 1});
  // RFC 8797 section 4.2: client sends 4096, server receives 2048; server sends 8192, client receives 1024.
  EXPECT_EQ(recorder.last.threshold(0), 2048u);
  EXPECT_EQ(recorder.last.threshold(1), 1024u);
  EXPECT_EQ(recorder.last.remote_invalidation(), false);
  EXPECT_EQ(recorder.last.proof, Proof::kRpcRdma);
}

TEST_F(SessionTest, AbsentPrivateDataMeansDefaultsAndUnseenMeansUnknown) {
  script.Open(rpcrdma::PrivateData{1, 1, 3, 3}, std::nullopt);
  EXPECT_EQ(recorder.last.threshold(0), 1024u);
  EXPECT_EQ(recorder.last.remote_invalidation(), false);

  Recorder other;
  Session midstream(SessionOptions{}, {&other});
  EventScript late(midstream);
  late.OpenMidstream();
  late.Send(1, MakeHeader(rpcrdma::kMsg, 5), Getattr(5));
  EXPECT_EQ(other.last.threshold(0), std::nullopt);
  EXPECT_EQ(other.last.remote_invalidation(), std::nullopt);
}

TEST_F(SessionTest, RepliesAreMatchedByXidAndDirection) {
  script.Open();
  Call(1);
  Call(2);
  // The server calls back with an xid that the client uses too (RFC 8167).
  script.Send(1, MakeHeader(rpcrdma::kMsg, 1), MakeCall(1, 0x40000000, 1, 1, Words({0, 0, 0, 0})));
  Reply(2);
  script.Send(0, MakeHeader(rpcrdma::kMsg, 1), MakeReply(1, Words({0, 0, 0})));
  Reply(1);
  ASSERT_EQ(recorder.ended.size(), 3u);
  EXPECT_EQ(recorder.ended[0].xid, 2u);
  EXPECT_TRUE(recorder.ended[1].backward);
  EXPECT_FALSE(recorder.ended[2].backward);
  script.Close();
  EXPECT_EQ(recorder.closed[0].backward_calls, 1u);
  EXPECT_EQ(recorder.closed[0].credits[0].max_outstanding, 2u);
  EXPECT_EQ(recorder.closed[0].credits[0].requested.max, 32u);
  EXPECT_EQ(recorder.closed[0].credits[0].granted.last, 32u);
}

TEST_F(SessionTest, ClientIsFoundMidstream) {
  script.OpenMidstream();
  script.Send(1, MakeHeader(rpcrdma::kMsg, 9), Getattr(9));  // side 1 calls: it is the client
  script.Send(0, MakeHeader(rpcrdma::kMsg, 9), Stale(9));
  script.Close();
  ASSERT_EQ(recorder.ended.size(), 1u);
  EXPECT_FALSE(recorder.ended[0].backward);
  EXPECT_TRUE(recorder.closed[0].client_known);
  EXPECT_EQ(recorder.closed[0].client, 1);
}

TEST_F(SessionTest, CallbackProgramMidstreamIsFromTheServer) {
  script.OpenMidstream();
  script.Send(1, MakeHeader(rpcrdma::kMsg, 9), MakeCall(9, 0x40000000, 1, 1, Words({0, 0, 0, 0})));
  script.Close();
  EXPECT_EQ(recorder.closed[0].client, 0);
  EXPECT_TRUE(recorder.ended[0].backward);
}

TEST_F(SessionTest, OtherTrafficIsNotTaken) {
  script.OpenMidstream();
  script.SendBytes(0, Pattern(200));
  script.SendBytes(1, Buffer(64));
  script.SendBytes(0, Words({1, 1, 1, 0, 0, 0, 0, 99, 0, 2, 3}));  // RDMA_MSG with another xid inside
  script.SendBytes(0, Words({1, 1, 32, 1, 0, 0, 0}));              // RDMA_NOMSG without any chunk
  script.Close();
  EXPECT_TRUE(recorder.roles.empty());
  EXPECT_EQ(recorder.closed[0].proof, Proof::kUnknown);
  EXPECT_EQ(recorder.closed[0].other_messages, 4u);
  EXPECT_EQ(session.stats().connections, 0u);
}

TEST_F(SessionTest, SwappedCallAndReplyStillMatch) {
  script.Open();
  Reply(1);
  EXPECT_EQ(recorder.roles, std::vector<Role>{Role::kReply});  // at once
  EXPECT_EQ(recorder.early, 1);
  Call(1);
  ASSERT_EQ(recorder.ended.size(), 1u);
  EXPECT_EQ(recorder.ended[0].outcome, Outcome::kReplied);
  EXPECT_EQ(recorder.ended[0].reply_frame + 1, recorder.ended[0].call_frame);
  EXPECT_EQ(recorder.orphans, 0);
  script.Close();
  EXPECT_EQ(recorder.closed[0].replies_without_call, 0u);
  EXPECT_EQ(recorder.closed[0].counters[1].messages, 1u);
}

TEST_F(SessionTest, AnOrphanAtTheEndIsOne) {
  script.Open();
  Reply(7);
  EXPECT_EQ(recorder.orphans, 0);
  script.Close(fabric::CloseReason::kEndOfCapture);
  EXPECT_EQ(recorder.orphans, 1);
  EXPECT_EQ(recorder.closed[0].replies_without_call, 1u);
  EXPECT_EQ(recorder.closed[0].counters[1].messages, 1u);
}

// Of set-up and shutdown, only a disconnect shows that no Call comes.
TEST_F(SessionTest, ReadyToUseBehindAnEarlyReply) {
  script.Open();
  const auto say = [&](fabric::SetupMessage message) {
    fabric::Setup setup;
    setup.message = message;
    const FrameRef frame{script.frame(), 0};
    session.OnEvent({script.info(), 0, frame, frame, setup});
  };
  Reply(1);
  say(fabric::SetupMessage::kReady);
  EXPECT_EQ(recorder.orphans, 0);
  Call(1);
  ASSERT_EQ(recorder.ended.size(), 1u);
  EXPECT_EQ(recorder.ended[0].outcome, Outcome::kReplied);
  Reply(2);
  say(fabric::SetupMessage::kDisconnectRequest);
  EXPECT_EQ(recorder.orphans, 1);
}

// Its sender acknowledges, with it or after it, that it had received nothing that was not seen.
TEST_F(SessionTest, NoCallComesForAnOrphanThatAcknowledges) {
  script.Open();
  Call(1);
  script.info().acknowledged_in[1] = script.frame() + 1;
  Reply(7);
  EXPECT_EQ(recorder.early, 0);
  EXPECT_EQ(recorder.orphans, 1);
  Reply(8);
  EXPECT_EQ(recorder.early, 1);
  script.info().acknowledged_in[1] = script.frame() + 1;
  Reply(1);
  EXPECT_EQ(recorder.orphans, 2);
}

TEST_F(SessionTest, ReplyMayOvertakeTwoCallsAmongOthers) {
  script.Open();
  Call(5);
  Reply(2);
  Call(1);
  Call(2);
  EXPECT_EQ(recorder.orphans, 0);
  EXPECT_EQ(recorder.ended.size(), 1u);
}

TEST_F(SessionTest, OrphansComeOutInOrder) {
  script.Open();
  Call(1);
  Reply(1);
  Reply(7);
  EXPECT_EQ(recorder.orphans, 0);  // its Call may come yet
  Call(2);
  EXPECT_EQ(recorder.orphans, 1);  // had it been sent, it would have come before this one
  Reply(2);
  // A requester's RDMA_ERROR and what it is answered with.
  recorder.roles.clear();
  script.Send(0, MakeHeader(rpcrdma::kError, 2));
  script.Send(1, MakeHeader(rpcrdma::kMsg, 2), Stale(2));
  Call(3);
  EXPECT_EQ(recorder.roles, (std::vector<Role>{Role::kError, Role::kReply, Role::kCall}));
}

TEST_F(SessionTest, ReplyWithoutCallIsAnOrphan) {
  script.Open();
  Reply(1);
  for (uint32_t xid = 10; xid < 30; ++xid) {
    Call(xid);
    Reply(xid);
  }
  EXPECT_EQ(recorder.orphans, 1);
  script.Close();
  EXPECT_EQ(recorder.closed[0].replies_without_call, 1u);
  EXPECT_EQ(recorder.closed[0].counters[1].messages, 21u);
}

TEST_F(SessionTest, SecondReplyIsRepeated) {
  script.Open();
  Call(1);
  Reply(1);
  Reply(1);
  script.Close();
  EXPECT_EQ(recorder.orphans, 1);
  EXPECT_EQ(recorder.repeated, 1);
}

TEST_F(SessionTest, SameXidAgainEndsTheFirst) {
  script.Open();
  Call(1);
  Call(1);
  Reply(1);
  ASSERT_EQ(recorder.ended.size(), 2u);
  EXPECT_EQ(recorder.ended[0].outcome, Outcome::kReissued);
  EXPECT_EQ(recorder.ended[1].outcome, Outcome::kReplied);
  EXPECT_EQ(recorder.repeated, 1);
}

TEST_F(SessionTest, RdmaErrorEndsItsCall) {
  script.Open();
  // Version 99: only the fixed words have a meaning, and the answer echoes the version (RFC 8166 section 4.5.1).
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 7);
  call.vers = 99;
  script.Send(0, call, Getattr(7));
  rpcrdma::Header error = MakeHeader(rpcrdma::kError, 7);
  error.vers = 99;
  error.err = rpcrdma::kErrVers;
  error.vers_low = error.vers_high = 1;
  error.error_range = true;
  script.Send(1, error);
  ASSERT_EQ(recorder.ended.size(), 1u);
  EXPECT_EQ(recorder.ended[0].outcome, Outcome::kErrored);
  EXPECT_EQ(recorder.ended[0].reply_form, ReplyForm::kError);
  EXPECT_FALSE(recorder.ended[0].call_complete);
}

TEST_F(SessionTest, HandleOfALaterCallBelongsToTheLaterCall) {
  script.Open();
  for (uint32_t xid : {1u, 2u}) {
    rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, xid);
    AddWriteChunk(call, {{5, 16, 100}});
    script.Send(0, call, MakeCall(xid, nfs::kNfsProgram, 3, 6, Join({Opaque(Pattern(32)), Words({0, 0, 16})})));
    const Buffer data = Pattern(16, static_cast<uint8_t>(xid));
    script.Write(1, 5, 100, data);
    script.Send(1, call, MakeReply(xid, Words({0, 0, 16, 1, 16})));
    EXPECT_EQ(recorder.ended.back().data, data);
  }
  script.Write(1, 5, 100, Pattern(4));
  EXPECT_EQ(recorder.late, 1);
  script.Write(1, 6, 100, Pattern(4));
  EXPECT_EQ(recorder.unresolved, 1);
  EXPECT_EQ(recorder.ended.size(), 2u);
}

TEST_F(SessionTest, WriteBeyondASegmentIsCutAtItsEnd) {
  script.Open();
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(call, {{5, 16, 100}});
  script.Send(0, call, MakeCall(1, nfs::kNfsProgram, 3, 6, Join({Opaque(Pattern(32)), Words({0, 0, 16})})));
  script.Write(1, 5, 108, Pattern(16));
  EXPECT_EQ(recorder.overruns, 1);
  script.Close();
  EXPECT_EQ(recorder.ended[0].moved, 8u);
}

TEST_F(SessionTest, WithoutBulkBytesItemsAreStillComplete) {
  Recorder lean;
  SessionOptions options;
  options.keep_bulk = false;
  Session other(options, {&lean});
  EventScript play(other);
  play.Open();
  rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(call, {{5, 16, 100}});
  play.Send(0, call, MakeCall(1, nfs::kNfsProgram, 3, 6, Join({Opaque(Pattern(32)), Words({0, 0, 16})})));
  play.Write(1, 5, 100, Pattern(16));
  play.Send(1, call, MakeReply(1, Words({0, 0, 16, 1, 16})));
  ASSERT_EQ(lean.ended.size(), 1u);
  EXPECT_TRUE(lean.ended[0].reply_complete);
  EXPECT_TRUE(lean.ended[0].reply.empty());
}

TEST_F(SessionTest, GapDisturbsUntilWhatWasOutstandingHasEnded) {
  script.Open();
  Call(1);
  script.Gap(0);
  Call(2);
  Reply(1);
  Reply(2);
  Call(3);
  Reply(3);
  ASSERT_EQ(recorder.ended.size(), 3u);
  EXPECT_TRUE(recorder.ended[0].disturbed);
  EXPECT_TRUE(recorder.ended[1].disturbed);
  EXPECT_FALSE(recorder.ended[2].disturbed);
}

TEST_F(SessionTest, EachGapDisturbsWhatIsOutstandingThen) {
  script.Open();
  Call(1);
  script.Gap(0);
  Call(2);
  Reply(1);
  Reply(2);
  Call(3);  // nothing was outstanding before it
  script.Gap(1);
  Call(4);
  Reply(4);
  Reply(3);
  ASSERT_EQ(recorder.ended.size(), 4u);
  for (const Ended& ended : recorder.ended) EXPECT_TRUE(ended.disturbed) << ended.xid;
  Call(5);
  Reply(5);
  EXPECT_FALSE(recorder.ended.back().disturbed);
}

// All under one handle, and none where the peer writes: what that belongs to is not looked for to the end.
TEST_F(SessionTest, WithVeryManySegmentsOfOneHandleItIsNotTold) {
  script.Open();
  constexpr uint32_t kCalls = 100, kSegments = 50;
  for (uint32_t xid = 1; xid <= kCalls; ++xid) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, xid, 1024);
    std::vector<rpcrdma::Segment> segments;
    for (uint32_t i = 0; i < kSegments; ++i) segments.push_back({77, 64, (uint64_t{xid} * kSegments + i) * 64});
    AddWriteChunk(header, segments);
    script.Send(0, header, Getattr(xid));
  }
  script.Write(1, 77, uint64_t{kCalls} * kSegments * 64, Pattern(64));  // the newest Call's
  EXPECT_EQ(recorder.unresolved, 0);
  script.Write(1, 77, 1 << 30, Pattern(64));  // nobody's
  EXPECT_EQ(recorder.unresolved, 0) << "not found, but not all were looked at";
  EXPECT_EQ(recorder.gaps, 1);
  script.Write(1, 78, 1 << 30, Pattern(64));  // nobody's, and that is certain
  EXPECT_EQ(recorder.unresolved, 1);
  EXPECT_EQ(recorder.gaps, 1);
}

// Every other byte of a segment: at some number of stretches the account of it ends, and it never becomes complete.
TEST_F(SessionTest, ScatteredWritesStayIncomplete) {
  script.Open();
  rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, 1);
  AddWriteChunk(header, {{77, 20000, 0}});
  script.Send(0, header, Getattr(1));
  for (uint32_t at = 0; at < 20000; at += 2) script.Write(1, 77, at, Pattern(1));
  EXPECT_GT(recorder.gaps, 0);
  Reply(1);
  ASSERT_EQ(recorder.ended.size(), 1u);
  EXPECT_LT(recorder.ended[0].moved, 10000u);
  EXPECT_GT(recorder.ended[0].moved, 1000u);
  EXPECT_TRUE(recorder.ended[0].disturbed);
}

TEST_F(SessionTest, JoinedMidstreamIsDisturbedUntilTheFirstDrain) {
  script.OpenMidstream();
  Call(1);
  Call(2);
  Reply(1);
  Reply(2);
  Call(3);
  Reply(3);
  ASSERT_EQ(recorder.ended.size(), 3u);
  EXPECT_TRUE(recorder.ended[0].disturbed);
  EXPECT_TRUE(recorder.ended[1].disturbed);
  EXPECT_FALSE(recorder.ended[2].disturbed);
}

TEST_F(SessionTest, OutstandingCallsEndWithTheConnection) {
  script.Open();
  Call(1);
  Call(2);
  script.Close(fabric::CloseReason::kReset);
  ASSERT_EQ(recorder.ended.size(), 2u);
  EXPECT_EQ(recorder.ended[0].outcome, Outcome::kUnanswered);
  ASSERT_EQ(recorder.closed.size(), 1u);
  EXPECT_EQ(recorder.closed[0].close_reason, fabric::CloseReason::kReset);
}

// Its Reply may come, and is nobody's: until all have ended that were there, absence proves nothing.
TEST_F(SessionTest, AnEvictedTransactionIsAsGoodAsLost) {
  Recorder lean;
  SessionOptions options;
  options.max_outstanding = 1;
  Session other(options, {&lean});
  EventScript play(other);
  play.Open();
  play.Send(0, MakeHeader(rpcrdma::kMsg, 1), GetattrCall(1));
  play.Send(0, MakeHeader(rpcrdma::kMsg, 2), GetattrCall(2));
  play.Send(1, MakeHeader(rpcrdma::kMsg, 2), GetattrReply(2));
  play.Send(0, MakeHeader(rpcrdma::kMsg, 3), GetattrCall(3));
  play.Send(1, MakeHeader(rpcrdma::kMsg, 3), GetattrReply(3));
  ASSERT_EQ(lean.ended.size(), 3u);
  EXPECT_EQ(lean.ended[0].outcome, Outcome::kEvicted);
  EXPECT_TRUE(lean.ended[1].disturbed);
  EXPECT_FALSE(lean.ended[2].disturbed);
  EXPECT_EQ(lean.gaps, 0);  // nothing is missing from the capture
}

TEST_F(SessionTest, MemoryLimitEvictsTheOldest) {
  Recorder lean;
  SessionOptions options;
  options.memory_limit = 1u << 20;
  Session other(options, {&lean});
  EventScript play(other);
  play.Open();
  for (uint32_t xid = 1; xid <= 1000; ++xid) {
    rpcrdma::Header call = MakeHeader(rpcrdma::kMsg, xid);
    AddWriteChunk(call, {{xid, 0xffffffff, 0}});
    play.Send(0, call, MakeCall(xid, nfs::kNfsProgram, 3, 6, Join({Opaque(Pattern(32)), Words({0, 0, 16})})));
    play.Write(1, xid, 0, Pattern(4096));
    play.Write(1, xid, 0xf0000000, Pattern(4096));  // a hole of 3.75 GiB is not memory
  }
  EXPECT_GT(other.stats().evicted_transactions, 500u);
  EXPECT_GT(other.stats().dropped_bytes, 0u);
  EXPECT_EQ(lean.ended.front().outcome, Outcome::kEvicted);
  EXPECT_EQ(lean.ended.front().xid, 1u);
  play.Close();
  EXPECT_EQ(lean.ended.size(), 1000u);
}

}  // namespace
}  // namespace stag::session
