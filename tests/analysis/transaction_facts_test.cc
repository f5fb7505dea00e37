// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/transaction_facts.h"

#include <gtest/gtest.h>

#include "text/put.h"

namespace stag::analysis {
namespace {

using session::Transaction;

// A version 3 call with one Write chunk of two segments and a Reply chunk, not answered yet.
Transaction Call(uint32_t procedure) {
  Transaction t;
  t.call.rpc.status = ParseStatus::kOk;
  t.call.rpc.words = 6;
  t.call.rpc.program = nfs::kNfsProgram;
  t.call.rpc.version = 3;
  t.call.rpc.procedure = procedure;
  t.call.present = true;
  t.call.walk.status = ParseStatus::kOk;
  t.call.header.status = ParseStatus::kOk;
  t.call.header.segments = {{1, 100, 0}, {2, 50, 0}, {3, 500, 0}};
  t.call.header.write_chunks = {{0, 2}};
  t.call.header.reply_chunk = rpcrdma::Chunk{2, 1};
  return t;
}

void Answer(Transaction& t) {
  t.reply.frame.number = 2;
  t.reply.form = session::ReplyForm::kChunked;
  t.reply.present = true;
  t.reply.walk.status = ParseStatus::kOk;
  t.reply.header.status = ParseStatus::kOk;
  t.reply.header.proc = rpcrdma::kMsg;
}

TEST(TransactionFacts, WhatWasReturnedIsUnknownWithoutAReply) {
  const Transaction t = Call(6);
  EXPECT_EQ(ReturnedInWriteChunk(t, 0), std::nullopt);
  EXPECT_EQ(ReturnedInReplyChunk(t), std::nullopt);
  EXPECT_EQ(ChunkBytes(t.call.header, t.call.header.write_chunks[0]), 150u);
}

TEST(TransactionFacts, WhatWasReturnedIsWhatTheReplySays) {
  Transaction t = Call(6);
  Answer(t);
  t.reply.header.segments = {{1, 100, 0}, {2, 3, 0}};
  t.reply.header.write_chunks = {{0, 2}};
  EXPECT_EQ(ReturnedInWriteChunk(t, 0), 103u);
  EXPECT_EQ(ReturnedInReplyChunk(t), 0u);  // not in the reply: nothing came
}

TEST(TransactionFacts, ACutReplyHeaderOrAnErrorReturnsNothingKnown) {
  Transaction t = Call(6);
  Answer(t);
  t.reply.header.segments = {{1, 100, 0}};
  t.reply.header.write_chunks = {{0, 1}};
  t.reply.header.status = ParseStatus::kTruncatedByCapture;
  EXPECT_EQ(ReturnedInWriteChunk(t, 0), std::nullopt);  // more segments may have followed
  EXPECT_EQ(ReturnedInReplyChunk(t), std::nullopt);
  t.reply.header.status = ParseStatus::kOk;
  t.reply.header.proc = rpcrdma::kError;
  EXPECT_EQ(ReturnedInWriteChunk(t, 0), std::nullopt);
}

TEST(TransactionFacts, DataOfAReadIsUnknownUntilItsReplyIsSeen) {
  Transaction t = Call(6);
  EXPECT_FALSE(SummarizeData(t).known);
  Answer(t);
  EXPECT_TRUE(SummarizeData(t).known);  // an error status: no data, and that is known
  EXPECT_FALSE(SummarizeData(t).any);
  t.reply.items.resize(1);
  t.reply.items[0].item.length = 10;
  EXPECT_FALSE(SummarizeData(t).known);
  t.reply.items[0].complete = true;
  EXPECT_TRUE(SummarizeData(t).known);
  EXPECT_EQ(SummarizeData(t).bytes, 10u);
}

TEST(TransactionFacts, NothingIsEligibleInAGetattr) {
  const Transaction t = Call(1);
  EXPECT_TRUE(SummarizeData(t).known);
  EXPECT_EQ(SummarizeData(t).bytes, 0u);
}

TEST(TransactionFacts, AWriteThatTheCaptureCutIsUnknown) {
  Transaction t = Call(7);
  t.call.walk.status = ParseStatus::kTruncatedByCapture;
  EXPECT_FALSE(SummarizeData(t).known);
  t.call.rpc.words = 5;  // not even the procedure: nothing is claimed
  EXPECT_TRUE(SummarizeData(t).known);
}

// What stands behind another type, or another version of RPC, is no program (RFC 5531 section 9).
TEST(TransactionFacts, ProceduresOfOtherMessagesAreNotKnown) {
  Transaction t = Call(7);
  t.call.rpc.status = ParseStatus::kMalformed;  // behind these words
  t.call.rpc.rpc_version = 2;
  EXPECT_TRUE(ProcedureKnown(t));
  t.call.rpc.rpc_version = 3;
  EXPECT_FALSE(ProcedureKnown(t));
  t.call.rpc.rpc_version = 2;
  t.call.rpc.msg_type = 1;
  EXPECT_FALSE(ProcedureKnown(t));
}

TEST(TransactionFacts, OperationsOfACompoundThatWasCutAreNotListed) {
  Transaction t = Call(1);
  EXPECT_FALSE(IsCompound(t));
  t.call.rpc.version = 4;
  EXPECT_TRUE(OperationsKnown(t));
  t.call.walk.status = ParseStatus::kTruncatedByCapture;
  EXPECT_TRUE(IsCompound(t));
  EXPECT_FALSE(OperationsKnown(t));
}

// FIPS 180-4 examples.
TEST(Sha256, KnownDigests) {
  const auto hex = [](const Sha256::Value& value) {
    std::string out;
    PutHex(out, value);
    return std::string(out.data(), out.size());
  };
  Sha256 sha;
  sha.Start();
  EXPECT_EQ(hex(sha.Finish()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  sha.Start();
  for (const char c : {'a', 'b', 'c'}) sha.Update(std::as_bytes(std::span(&c, 1)));
  EXPECT_EQ(hex(sha.Finish()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace stag::analysis
