// SPDX-License-Identifier: GPL-2.0-or-later
//
// Packets that the capture lost, and transactions that were given up for want of memory, accuse no peer of what they
// may explain.
#include "tests/conformance/checker.h"
#include "tests/conformance/chunks.h"

namespace stag::test {
namespace {

rpcrdma::Header ChunkError(uint32_t xid) {
  rpcrdma::Header header = MakeHeader(rpcrdma::kError, xid);
  header.err = rpcrdma::kErrChunk;
  return header;
}

void CallAndReply(Checker& c, uint32_t xid) {
  c.script.Send(kClient, Msg(xid), MakeCall(xid, kNfs, 3, 0));
  c.script.Send(kServer, Msg(xid), MakeReply(xid));
}

// A Call without lists that could hold its message, and its answer, with other Calls in between.
void FaultyCall(Checker& c) {
  c.script.Open();
  c.script.Send(kClient, MakeHeader(rpcrdma::kNomsg, 1, 32));
  CallAndReply(c, 2);
  c.script.Send(kServer, ChunkError(1));
  for (uint32_t xid = 3; xid < 12; ++xid) CallAndReply(c, xid);
}

TEST(Loss, ACallThatWasGivenUpIsNotUnanswered) {
  session::SessionOptions one;
  one.max_outstanding = 1;
  Checker c(Profile::kRfc8166, {"LONG-001", "ERR-008", "XID"}, {}, one);
  FaultyCall(c);
  EXPECT_EQ(c.Ids(), Id{"LONG-001"});
  EXPECT_GT(c.session.stats().evicted_transactions, 0u);
  Checker without_answer(Profile::kRfc8166, {"LONG-001", "ERR-008", "XID"});
  without_answer.script.Open();
  without_answer.script.Send(kClient, MakeHeader(rpcrdma::kNomsg, 1, 32));
  for (uint32_t xid = 2; xid < 12; ++xid) CallAndReply(without_answer, xid);
  EXPECT_EQ(without_answer.Ids(), (Id{"LONG-001", "ERR-008"}));
}

// That a message without an RPC header is a Call is a guess: it may answer a Call of the server that is missing. What
// is wrong with any message is found all the same.
TEST(Loss, AGuessIsNotJudged) {
  for (const bool lossy : {false, true}) {
    Checker c(Profile::kRfc8166, {"LONG", "ERR", "PVT"});
    c.script.Open();
    Greet(c);
    if (lossy) c.script.Gap(kServer);
    c.script.Send(kClient, MakeHeader(rpcrdma::kNomsg, 1, 32), {}, 7);
    for (uint32_t xid = 2; xid < 12; ++xid) CallAndReply(c, xid);
    EXPECT_EQ(c.Ids(), lossy ? Id{"LONG-001"} : (Id{"LONG-001", "PVT-018", "ERR-008"}));
  }
}

// A client's Long Call has its own shape.
TEST(Loss, ALongCallIsNoGuess) {
  Checker c(Profile::kRfc8166, {"LONG"});
  c.script.Open();
  Greet(c);
  c.script.Gap(kServer);
  c.script.Send(kClient, WithReads(MakeHeader(rpcrdma::kNomsg, 1, 32), {{0, 7, 16}}));
  EXPECT_EQ(c.Ids(), Id{"LONG-003"});  // too small for any Call
}

TEST(Loss, AnErrorMayAnswerACallThatIsMissing) {
  for (const bool lossy : {false, true}) {
    Checker c(Profile::kRfc8166, {"ERR-001"});
    c.script.Open();
    Greet(c, 1);
    if (lossy) c.script.Gap(kServer);
    c.script.Send(kClient, ChunkError(1));
    CallAndReply(c, 2);
    EXPECT_EQ(c.Ids(), lossy ? Id{} : Id{"ERR-001"});
  }
}

TEST(Loss, ASendMayBeOverAGrantThatIsNotKnown) {
  for (const bool lossy : {false, true}) {
    Checker c(Profile::kRfc8166, {"THRESH"});
    c.script.Open();
    Greet(c);
    if (lossy) c.script.Gap(kServer);
    c.script.Send(kClient, Msg(1), MakeCall(1, kNfs, 3, 0));
    c.script.Nak(kServer, fabric::NakKind::kInvalidRequest);
    EXPECT_EQ(c.Ids(), lossy ? Id{} : Id{"THRESH-004"});
  }
}

}  // namespace
}  // namespace stag::test
