// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/recording/recording.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/replay/recording/recorded.h"

namespace stag::recording {
namespace {

using namespace test;
using rpcrdma::kMsg;
using rpcrdma::kNomsg;

struct RecordingTest : testing::Test {
  RecordingBuilder recorder{1 << 20};
  session::Session session{session::SessionOptions{}, {&recorder}};
  EventScript script{session};

  Recording Finish() {
    session.Finish();
    auto recording = recorder.Finish();
    EXPECT_TRUE(recording) << recording.error().message;
    return std::move(*recording);
  }
};

bool Same(Bytes a, const Buffer& b) { return std::ranges::equal(a, b); }

TEST_F(RecordingTest, ReducedArgumentsAndResultsAreWholeAgain) {
  script.Open();
  // WRITE of 10 bytes by a Read chunk; the reply inline.
  rpcrdma::Header write = MakeHeader(kMsg, 1, 20);
  const Buffer reduced = WriteCall(1, 10);
  AddRead(write, static_cast<uint32_t>(reduced.size()), {7, 10, 100});
  script.Send(0, write, reduced);
  script.Read(1, 7, 100, Pattern(10));
  const uint64_t answered = script.frame() + 1;
  script.Send(1, MakeHeader(kMsg, 1, 16), WriteReply(1, 10));
  // READ of 5 bytes by a Write chunk of two segments.
  rpcrdma::Header read = MakeHeader(kMsg, 2);
  AddWriteChunk(read, {{8, 4, 0}, {9, 12, 0}});
  script.Send(0, read, ReadCall(2, 16));
  script.Write(1, 8, 0, Join({Pattern(5)}));
  script.Close();
  // ... which no reply ends.
  const Recording recording = Finish();

  ASSERT_EQ(recording.rpcs.size(), 2u);
  const RecordedRpc& first = *recording.rpcs[0];
  EXPECT_EQ(first.program, kNfs);
  EXPECT_EQ(first.procedure, kWrite);
  EXPECT_EQ(first.credits, 20u);
  EXPECT_EQ(first.call_form, session::CallForm::kChunked);
  EXPECT_TRUE(Same(first.call.bytes, Join({reduced, Pattern(10), Buffer(2)})));
  ASSERT_EQ(first.call.items.size(), 1u);
  EXPECT_TRUE(first.call.items[0].reduced);
  EXPECT_EQ(first.call.items[0].offset, reduced.size());
  EXPECT_EQ(first.call.items[0].length, 10u);
  ASSERT_EQ(first.read_chunks.size(), 1u);
  EXPECT_EQ(first.read_chunks[0].position, reduced.size());
  EXPECT_EQ(first.read_chunks[0].length, 10u);
  EXPECT_TRUE(Same(first.reply.bytes, WriteReply(1, 10)));
  EXPECT_EQ(first.reply_frame.number, answered);
  EXPECT_TRUE(first.replied && first.has_status);
  EXPECT_EQ(first.status, 0u);

  const RecordedRpc& second = *recording.rpcs[1];
  EXPECT_EQ(second.outcome, session::Outcome::kUnanswered);
  EXPECT_FALSE(second.reply.present);
  ASSERT_EQ(second.write_chunks.size(), 1u);
  EXPECT_EQ(second.write_chunks[0].segments, 2u);
  EXPECT_EQ(second.write_chunks[0].offered, 16u);
  EXPECT_EQ(second.write_chunks[0].returned, 0u);

  ASSERT_EQ(recording.connections.size(), 1u);
  const RecordedConnection& connection = recording.connections[0];
  EXPECT_EQ(connection.rpcs, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(connection.max_requested, 32u);
  EXPECT_EQ(connection.max_granted, 16u);
  ASSERT_TRUE(connection.client_private_data.has_value());
  std::vector<std::byte> data;
  rpcrdma::Encode(rpcrdma::PrivateData{1, 1, 3, 3}, data);
  EXPECT_TRUE(Same(*connection.client_private_data, data));
  EXPECT_TRUE(connection.closed);
}

TEST_F(RecordingTest, ResultsInAWriteChunk) {
  script.Open();
  rpcrdma::Header call = MakeHeader(kMsg, 1);
  AddWriteChunk(call, {{8, 16, 0}});
  script.Send(0, call, ReadCall(1, 16));
  script.Write(1, 8, 0, Pattern(7));
  rpcrdma::Header reply = MakeHeader(kMsg, 1);
  AddWriteChunk(reply, {{8, 7, 0}});
  script.Send(1, reply, ReadReply(1, 7, true));
  const Recording recording = Finish();
  ASSERT_EQ(recording.rpcs.size(), 1u);
  const RecordedRpc& rpc = *recording.rpcs[0];
  EXPECT_TRUE(Same(rpc.reply.bytes, ReadReply(1, 7, false)));
  ASSERT_EQ(rpc.reply.items.size(), 1u);
  EXPECT_TRUE(rpc.reply.items[0].reduced);
  EXPECT_TRUE(Same(rpc.reply.bytes.subspan(rpc.reply.items[0].offset, 7), Pattern(7)));
  EXPECT_EQ(rpc.write_chunks[0].returned, 7u);
}

TEST_F(RecordingTest, InOrderOfTheCallsWhateverTheRepliesDo) {
  script.Open();
  for (const uint32_t xid : {5u, 6u, 7u}) script.Send(0, MakeHeader(kMsg, xid), GetattrCall(xid));
  for (const uint32_t xid : {7u, 5u, 6u}) script.Send(1, MakeHeader(kMsg, xid), GetattrReply(xid));
  script.Send(1, MakeHeader(kMsg, 5), MakeCall(5, 0x40000000, 1, 0));
  const Recording recording = Finish();
  ASSERT_EQ(recording.rpcs.size(), 4u);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(recording.rpcs[i]->xid, 5 + i);
  EXPECT_TRUE(recording.rpcs[3]->backward);
}

TEST_F(RecordingTest, WhatWasNotCapturedHasNoBytesAndAReason) {
  script.Open();
  script.SendTruncated(0, MakeHeader(kMsg, 1), GetattrCall(1), 90);
  script.Send(1, MakeHeader(kMsg, 1), GetattrReply(1));
  rpcrdma::Header other = MakeHeader(kMsg, 2);
  other.vers = 99;
  script.Send(0, other, GetattrCall(2));
  rpcrdma::Header error = MakeHeader(rpcrdma::kError, 2);
  error.err = rpcrdma::kErrVers;
  error.error_range = true;
  error.vers_low = error.vers_high = 1;
  script.Send(1, error);
  rpcrdma::Header write = MakeHeader(kMsg, 3);
  AddRead(write, 100, {7, 12, 0});
  script.SendTruncated(0, write, WriteCall(3, 12), 44);  // of the lists the first segment, and no more
  const Recording recording = Finish();
  ASSERT_EQ(recording.rpcs.size(), 2u);
  EXPECT_EQ(recording.cut, 1u);
  EXPECT_TRUE(recording.rpcs[0]->call.bytes.empty());
  EXPECT_EQ(recording.rpcs[0]->call.missing, "bytes of it were not captured");
  EXPECT_FALSE(recording.rpcs[0]->reply.bytes.empty());
  EXPECT_EQ(recording.rpcs[1]->call.missing, "its RPC-over-RDMA version is not 1");
  EXPECT_EQ(recording.rpcs[1]->reply_form, session::ReplyForm::kError);
  EXPECT_EQ(recording.rpcs[1]->rdma_error, rpcrdma::kErrVers);
}

TEST(RecordingBuilder, WhatTheSessionGaveUpIsNotTakenForWhole) {
  RecordingBuilder recorder(0);  // all of it in a file
  session::SessionOptions options;
  options.keep_bulk = false;
  session::Session session(options, {&recorder});
  EventScript script(session);
  script.Open();
  rpcrdma::Header write = MakeHeader(kMsg, 1);
  const Buffer reduced = WriteCall(1, 12);
  AddRead(write, static_cast<uint32_t>(reduced.size()), {7, 12, 0});
  script.Send(0, write, reduced);
  script.Read(1, 7, 0, Pattern(12));
  script.Send(1, MakeHeader(kMsg, 1), WriteReply(1, 12));
  session.Finish();
  const auto recording = recorder.Finish();
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->rpcs.size(), 1u);
  EXPECT_TRUE(recording->rpcs[0]->call.bytes.empty());
  EXPECT_NE(recording->rpcs[0]->call.missing.find("--memory"), std::string_view::npos);
  EXPECT_TRUE(Same(recording->rpcs[0]->reply.bytes, WriteReply(1, 12)));
}

TEST(Recording, ItsIndexHasACap) {
  for (const uint64_t calls : {4u, 5u}) {
    Maker<RecordingBuilder> maker(4 * RecordingBuilder::kIndexed);
    for (uint32_t xid = 1; xid <= calls; ++xid) maker.Call(GetattrCall(xid)).Reply(GetattrReply(xid));
    maker.session.Finish();
    const auto recording = maker.recorder.Finish();
    ASSERT_EQ(recording.has_value(), calls == 4);
    if (!recording) {
      EXPECT_NE(recording.error().message.find("--memory"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace stag::recording
