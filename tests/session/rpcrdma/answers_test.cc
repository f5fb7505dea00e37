// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is known of the answer to each Call, and what proves it where it was not captured.
#include <gtest/gtest.h>

#include <map>

#include "session/rpcrdma/session.h"
#include "tests/support/event_script.h"

namespace stag::session {
namespace {

using namespace test;
using fabric::CloseReason;
using fabric::Gap;

struct AnswersTest : testing::Test, Observer {
  struct Known {
    Answer answer = Answer::kCaptured;
    uint64_t proof = 0;  // frame
    std::optional<int64_t> waited_ns;
    bool disturbed = false;
  };
  std::map<uint32_t, Known> known;  // by xid
  uint32_t most_outstanding = 0;
  bool counts = false;  // what is outstanding is known, at the end
  Session session{SessionOptions{}, {this}};
  EventScript script{session};

  AnswersTest() { script.Open(); }

  void OnTransaction(const Connection&, const Transaction& t) override {
    known[t.xid] = {t.answer, t.answer_proof.number, t.waited_ns, t.disturbed};
  }
  void OnConnectionClosed(const Connection& connection, const fabric::Event&) override {
    most_outstanding = connection.credits[0].max_outstanding;
    counts = connection.credits[0].known;
  }
  uint64_t Call(uint32_t xid, uint32_t credit = 32, uint32_t handle = 0) {
    rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, xid, credit);
    if (handle != 0) AddWriteChunk(header, {{handle, 16, 0}});
    script.Send(0, header, MakeCall(xid, nfs::kNfsProgram, 3, 1, Opaque(Pattern(32))));
    return script.frame();
  }
  uint64_t Reply(uint32_t xid, uint32_t credit = 32) {
    script.Send(1, MakeHeader(rpcrdma::kMsg, xid, credit), MakeReply(xid, Words({0})));
    return script.frame();
  }
  FrameRef Now() const { return {script.frame(), static_cast<int64_t>(script.frame()) * 1000}; }
};

TEST_F(AnswersTest, ThatIsThere) {
  Call(1);
  script.Gap(1);
  Reply(1);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(known[1].answer, Answer::kCaptured);
}

TEST_F(AnswersTest, ItsDirectionHasAGapSinceTheCall) {
  Call(1);
  script.Gap(1);
  Call(2);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(known[1].answer, Answer::kNotCaptured);
  EXPECT_EQ(known[2].answer, Answer::kPending);
}

TEST_F(AnswersTest, OtherGapsHoldNoAnswer) {
  Call(1);
  script.Gap(0);
  script.Gap(1, {.size = 1, .of = Gap::Of::kResponses});
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(known[1].answer, Answer::kPending);
}

TEST_F(AnswersTest, AMessageThatIsCutTooShort) {
  Call(1);
  script.SendTruncated(1, MakeHeader(rpcrdma::kMsg, 1, 32), MakeReply(1, Words({0})), 12);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(known[1].answer, Answer::kNotCaptured);
}

TEST_F(AnswersTest, PendingUntilTheEndOfTheCapture) {
  Call(1);
  script.Nak(1, fabric::NakKind::kInvalidRequest);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(known[1].answer, Answer::kPending);
  EXPECT_EQ(known[1].waited_ns, 2000);
}

TEST_F(AnswersTest, NoneWhenTheConnectionEnds) {
  for (const CloseReason reason : {CloseReason::kDisconnect, CloseReason::kReset, CloseReason::kSuperseded}) {
    known.clear();
    Session another(SessionOptions{}, {this});
    EventScript its(another);
    its.Open();
    its.Send(0, MakeHeader(rpcrdma::kMsg, 1, 32), MakeCall(1, nfs::kNfsProgram, 3, 1, Opaque(Pattern(32))));
    its.Close(reason);
    EXPECT_EQ(known[1].answer, Answer::kNone);
    EXPECT_EQ(known[1].waited_ns, std::nullopt);
  }
}

TEST_F(AnswersTest, OfOneDirectionNothingIsKnown) {
  Call(1);
  script.CloseWith({.packets = 3, .extent = {fabric::Extent{true, 3, 0}, fabric::Extent{}}});
  EXPECT_EQ(known[1].answer, Answer::kNotCaptured);
}

TEST_F(AnswersTest, OfASampleNothingIsKnown) {
  Call(1);
  script.CloseWith({.packets = 100, .extent = {fabric::Extent{true, 60, 0}, fabric::Extent{true, 60, 7}}});
  EXPECT_EQ(known[1].answer, Answer::kNotCaptured);
}

TEST_F(AnswersTest, ATenthIsNoSample) {
  Call(1);
  script.CloseWith({.packets = 100, .extent = {fabric::Extent{true, 60, 0}, fabric::Extent{true, 60, 6}}});
  EXPECT_EQ(known[1].answer, Answer::kPending);
}

TEST_F(AnswersTest, ProvenByAnAcknowledgement) {
  Call(1);
  script.Nak(0, fabric::NakKind::kInvalidRequest);
  const FrameRef acknowledged = Now();
  script.Gap(1, {.size = 1, .acknowledged = acknowledged});
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(known[1].proof, acknowledged.number);
}

TEST_F(AnswersTest, ProvenByItsHandle) {
  Call(1, 32, 7);
  script.Gap(1);
  const uint64_t again = Call(2, 32, 7);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(known[1].proof, again);
}

TEST_F(AnswersTest, ProvenByTheLastCredit) {
  Call(1, 2);
  Reply(1, 2);
  Call(2, 2);
  script.Gap(1);
  Call(3, 2);
  const uint64_t third = Call(4, 2);  // two are allowed
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(known[2].proof, third);
  EXPECT_EQ(known[3].answer, Answer::kPending);
}

TEST_F(AnswersTest, ProvenByALaterReplyWhereThereIsOneCallAtATime) {
  Call(1);
  Reply(1);
  Call(2);
  script.Gap(1);
  Call(3);
  const uint64_t reply = Reply(3);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(known[2].proof, reply);
}

TEST_F(AnswersTest, NotWhereThereAreSeveral) {
  Call(1);
  Call(2);
  Reply(1);
  script.Gap(1);
  Call(3);
  Reply(3);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(known[2].answer, Answer::kNotCaptured);
  EXPECT_EQ(known[2].proof, 0u);
}

TEST_F(AnswersTest, TheMostOutstandingAreThoseThatWere) {
  Call(1);
  script.Gap(1);
  Call(2);
  Reply(2);
  Call(3);
  Reply(3);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(most_outstanding, 1u);
}

TEST_F(AnswersTest, AnAnswerThatComesAfterAllCounts) {
  Call(1);
  Call(2);
  script.Gap(1);
  Call(3);
  Reply(2);
  Reply(3);
  Reply(1);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(most_outstanding, 3u);
}

// A Call whose answer is proven keeps nothing from being known again, though it stays without one.
TEST_F(AnswersTest, HistoryIsKnownAgainBehindAProof) {
  Call(1);
  Reply(1);
  Call(2);
  script.Gap(1, {.size = 1, .acknowledged = Now()});
  for (uint32_t xid = 3; xid < 6; ++xid) {
    Call(xid);
    Reply(xid);
  }
  EXPECT_TRUE(known[3].disturbed);
  EXPECT_FALSE(known[5].disturbed);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_TRUE(counts);
  EXPECT_EQ(known[2].answer, Answer::kNotCaptured);
}

TEST_F(AnswersTest, NotWithoutOne) {
  Call(1);
  Call(2);
  Reply(1);
  script.Gap(1);
  for (uint32_t xid = 3; xid < 6; ++xid) {
    Call(xid);
    Reply(xid);
  }
  EXPECT_TRUE(known[5].disturbed);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_FALSE(counts);
}

// That a requester does what it may is no proof for rules that ask whether it does.
TEST_F(AnswersTest, NorByWhatRequestersDo) {
  Call(1, 1);
  Reply(1, 1);
  Call(2, 1, 7);
  script.Gap(1);
  Call(3, 1, 7);
  Reply(3, 1);
  Call(4, 1);
  Reply(4, 1);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_NE(known[2].proof, 0u);
  EXPECT_TRUE(known[4].disturbed);
  EXPECT_FALSE(counts);
}

// Behind a proof the answer may still come, where the capture has frames in another order: it is counted once.
TEST_F(AnswersTest, AnAnswerBehindItsProofIsCountedOnce) {
  Call(1);
  Reply(1);
  Call(2);
  script.Gap(1, {.size = 1, .acknowledged = Now()});
  Call(3);
  Reply(3);
  Call(4);
  Reply(2);
  Reply(4);
  Call(5);
  Reply(5);
  script.Close(CloseReason::kEndOfCapture);
  EXPECT_EQ(known[2].answer, Answer::kCaptured);
  EXPECT_TRUE(counts);
}

TEST_F(AnswersTest, HowMuchWasJudged) {
  Call(1);
  Reply(1);
  Call(2);
  script.Gap(1);
  script.SendTruncated(0, MakeHeader(rpcrdma::kMsg, 3, 32), MakeCall(3, nfs::kNfsProgram, 3, 1), 18);
  Reply(3);
  script.Close(CloseReason::kEndOfCapture);
  const Judged& judged = session.stats().judged;
  EXPECT_EQ(judged.rpcs, 3u);
  EXPECT_EQ(judged.cut, 1u);
  EXPECT_EQ(judged.missing, 1u);
  EXPECT_EQ(judged.judged(), 1u);
}

TEST_F(AnswersTest, OfOneDirectionNothingWasJudged) {
  Call(1);
  Reply(1);
  Reply(2);
  script.CloseWith({.packets = 3, .extent = {fabric::Extent{true, 3, 0}, fabric::Extent{}}});
  EXPECT_EQ(session.stats().judged.rpcs, 2u);
  EXPECT_EQ(session.stats().judged.one_direction, 2u);
  EXPECT_EQ(session.stats().judged.judged(), 0u);
}

TEST_F(AnswersTest, OfASampleWhatIsWholeWasJudged) {
  Call(1);
  Reply(1);
  Call(2);
  script.CloseWith({.packets = 100, .extent = {fabric::Extent{true, 60, 0}, fabric::Extent{true, 60, 7}}});
  EXPECT_EQ(session.stats().judged.rpcs, 2u);
  EXPECT_EQ(session.stats().judged.sampled, 1u);
  EXPECT_EQ(session.stats().judged.missing, 0u);
}

}  // namespace
}  // namespace stag::session
