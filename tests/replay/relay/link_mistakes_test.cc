// SPDX-License-Identifier: GPL-2.0-or-later
//
// RelayLink between a client and a server that make mistakes, or go: what the other side gets of it. Sections are those
// of RFC 8166.
#include "tests/replay/relay/between.h"

namespace stag::relay {
namespace {

using namespace test;
using rpcrdma::Segment;

// Section 4.5, on the side where the message came; the other sees nothing.
TEST(RelayLink, BadMessages) {
  Between between;
  Header header;
  ASSERT_TRUE(Post(between.client, Words({1, 1, 32})));               // too short: dropped
  ASSERT_TRUE(Post(between.client, Words({2, 2, 32, 0, 0, 0, 0})));   // version 2
  ASSERT_TRUE(Post(between.client, Words({3, 1, 32, 9, 0, 0, 0})));   // there is no rdma_proc 9
  ASSERT_TRUE(Post(between.client, Words({4, 1, 32, 0, 1, 0, 0})));   // the Read list ends in the middle
  ASSERT_TRUE(Post(between.client, Words({5, 1, 32, 1, 0, 0, 0})));   // RDMA_NOMSG without a Position-zero chunk
  ASSERT_TRUE(Post(between.client, Message(Call(6), MakeReply(6))));  // an answer: dropped
  ASSERT_TRUE(Post(between.client, Words({7, 1, 32, 3})));            // RDMA_DONE: dropped
  for (const uint32_t xid : {2u, 3u, 4u, 5u}) {
    between.Next(between.client, header);
    EXPECT_EQ(header.xid, xid);
    EXPECT_EQ(header.proc, rpcrdma::kError);
    EXPECT_EQ(header.err, xid == 2 ? rpcrdma::kErrVers : rpcrdma::kErrChunk);
    EXPECT_EQ(header.credit, 1u);  // as the server has granted none yet
  }
  between.Settle();
  EXPECT_EQ(between.client.messages.size(), 4u);
  EXPECT_TRUE(between.server.messages.empty());
  EXPECT_EQ(between.report.dropped, 3u);
  EXPECT_EQ(between.report.forward.refused, 4u);
}

TEST(RelayLink, ErrorsOfTheServerArePassedOn) {
  Between between;
  for (const uint32_t err : {rpcrdma::kErrVers, rpcrdma::kErrChunk}) {
    Header header;
    ASSERT_TRUE(Post(between.client, Message(Call(5), NullCall(5))));
    between.Next(between.server, header);
    Header error = MakeHeader(rpcrdma::kError, 5, 12);
    error.err = err;
    error.vers_low = 1;
    error.vers_high = 2;
    ASSERT_TRUE(Post(between.server, Message(error)));
    between.Next(between.client, header);
    EXPECT_TRUE(IsError(header, 5, err));
    EXPECT_EQ(header.credit, 12u);
    EXPECT_TRUE(err == rpcrdma::kErrChunk || header.vers_high == 2);
  }
  EXPECT_EQ(between.report.forward.answerer.errors, 2u);
  EXPECT_EQ(between.report.forward.caller.errors, 2u);
  EXPECT_EQ(between.report.forward.refused, 0u);
}

// Nothing is pushed that was not offered; the client gets ERR_CHUNK.
TEST(RelayLink, RepliesThatDoNotFitTheirCall) {
  Between between;
  endpoint::Region write = Registered(between.client, Buffer(4096), endpoint::Access::kRemoteWrite);
  Header call = Call(5), onward;
  AddWriteChunk(call, {{write.handle, 2048, write.offset}, {write.handle, 2048, write.offset + 2048}});
  const auto exchange = [&](const std::function<void(Header&)>& spoil) {
    ASSERT_TRUE(Post(between.client, Message(call, NullCall(5))));
    between.Next(between.server, onward);
    Header reply = ReplyTo(onward, rpcrdma::kMsg, {2048, 100}), got;
    spoil(reply);
    ASSERT_TRUE(Post(between.server, Message(reply, MakeReply(5))));
    between.Next(between.client, got);
    EXPECT_TRUE(IsError(got, 5, rpcrdma::kErrChunk));
  };
  exchange([](Header& h) { h.segments[0].length = 2049; });
  exchange([](Header& h) { h.write_chunks[0] = {0, 2}, AddWriteChunk(h, {}); });
  exchange([](Header& h) { h.segments.push_back({1, 1, 1}), h.write_chunks[0].count = 3; });
  exchange([](Header& h) { SetReplyChunk(h, {{1, 1, 1}}); });
  exchange([](Header& h) { h.proc = rpcrdma::kNomsg; });
  exchange([](Header& h) { h.proc = rpcrdma::kMsgp; });
  exchange([](Header& h) { AddRead(h, 40, {1, 1, 1}); });
  EXPECT_EQ(Content(write.bytes), Buffer(4096));
  EXPECT_EQ(between.report.forward.bad_replies.size(), 7u);
  // Nobody waits for it any more.
  ASSERT_TRUE(Post(between.server, Message(MakeHeader(rpcrdma::kMsg, 5), MakeReply(5))));
  between.Settle();
  EXPECT_EQ(between.client.messages.size(), 7u);
  EXPECT_EQ(between.report.dropped, 1u);
}

// What is wrong in a way that can be told to the client is for the client to see.
TEST(RelayLink, MistakesThatArePassedOn) {
  Between between;
  endpoint::Region write = Registered(between.client, Buffer(4096), endpoint::Access::kRemoteWrite);
  Header call = Call(5), onward;
  AddWriteChunk(call, {{write.handle, 2048, write.offset}, {write.handle, 2048, write.offset + 2048}});
  const auto exchange = [&](const std::function<void(Header&)>& spoil) {
    EXPECT_TRUE(Post(between.client, Message(call, NullCall(5))));
    between.Next(between.server, onward);
    Header reply = ReplyTo(onward, rpcrdma::kMsg, {2048, 100}), got;
    spoil(reply);
    EXPECT_TRUE(Post(between.server, Message(reply, MakeReply(5))));
    EXPECT_EQ(between.Next(between.client, got), MakeReply(5));
    return got;
  };
  Header got = exchange([](Header& h) { h.segments[0].length = 0; });  // not filled in order
  EXPECT_EQ(got.segments[0], (Segment{write.handle, 0, write.offset}));
  EXPECT_EQ(got.segments[1], (Segment{write.handle, 100, write.offset + 2048}));
  got = exchange([](Header& h) { h.write_chunks[0].count = 1; });
  EXPECT_EQ(got.segments, (std::vector<Segment>{{write.handle, 2048, write.offset}}));
  got = exchange([](Header& h) { h.write_chunks.clear(); });
  EXPECT_FALSE(got.has_chunks());
  got = exchange([](Header& h) { h.credit = 0; });
  EXPECT_EQ(got.credit, 0u);
  EXPECT_TRUE(between.report.forward.bad_replies.empty());
}

// A client that reads what it has no right to, or a server that ends: the other side ends, too, in order.
TEST(RelayLink, WhenOneSideEnds) {
  for (const bool by_client : {true, false}) {
    Between between;
    Header header;
    ASSERT_TRUE(Post(between.client, Message(Call(1), NullCall(1))));
    between.Next(between.server, header);
    ASSERT_TRUE(Post(between.client, Message(Call(2), NullCall(2))));
    between.Settle();
    (by_client ? between.client : between.server)->Disconnect();
    ASSERT_TRUE(between.Drive([&] { return between.client.over() && between.server.over() && between.link->over(); }));
    EXPECT_EQ(between.client->state(), endpoint::State::kClosed);
    EXPECT_EQ(between.server->state(), endpoint::State::kClosed);
    EXPECT_EQ(between.report.forward.in_flight, 2u);
    EXPECT_EQ(between.report.side[0].ended + between.report.side[1].ended, 2u);
  }
}

// What a server sent before it went still reaches the client.
TEST(RelayLink, LastWords) {
  Between between;
  Header header;
  ASSERT_TRUE(Post(between.client, Message(Call(1), NullCall(1))));
  between.Next(between.server, header);
  ASSERT_TRUE(Post(between.server, Message(MakeHeader(rpcrdma::kMsg, 1), MakeReply(1))));
  between.server->Disconnect();
  EXPECT_EQ(between.Next(between.client, header), MakeReply(1));
  ASSERT_TRUE(between.Drive([&] { return between.link->over(); }));
  EXPECT_EQ(between.report.forward.in_flight, 0u);
}

// A handle of the client's that is not valid: its connection breaks, the server's ends.
TEST(RelayLink, ABadHandleOfTheClient) {
  Between between;
  Header call = Call(1);
  AddRead(call, 40, {0x1234, 100, 0});
  ASSERT_TRUE(Post(between.client, Message(call, NullCall(1))));
  ASSERT_TRUE(between.Drive([&] { return between.link->over() && between.server.over(); }));
  EXPECT_EQ(between.server->state(), endpoint::State::kClosed);
  EXPECT_TRUE(between.server.messages.empty());
  EXPECT_EQ(between.report.side[kClientSide].broken, 1u);
  EXPECT_EQ(between.report.side[kServerSide].ended, 1u);
  EXPECT_EQ(between.report.forward.in_flight, 1u);
  EXPECT_EQ(between.report.forward.refused, 0u);
  EXPECT_EQ(between.report.troubles.size(), 1u);
}

}  // namespace
}  // namespace stag::relay
