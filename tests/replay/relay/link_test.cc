// SPDX-License-Identifier: GPL-2.0-or-later
//
// RelayLink between a client and a server whose messages are made here: what the other side gets. Sections are those of
// RFC 8166.
#include "tests/replay/relay/between.h"

namespace stag::relay {
namespace {

using namespace test;
using rpcrdma::Segment;

TEST(RelayLink, ShortCallAndReply) {
  Between between;
  Header header;
  ASSERT_TRUE(Post(between.client, Message(Call(7, 300), NullCall(7))));
  EXPECT_EQ(between.Next(between.server, header), NullCall(7));
  EXPECT_EQ(header.xid, 7u);
  EXPECT_EQ(header.credit, 128u);  // what the relay can hold
  EXPECT_FALSE(header.has_chunks());
  ASSERT_TRUE(Post(between.server, Message(MakeHeader(rpcrdma::kMsg, 7, 20), MakeReply(7))));
  EXPECT_EQ(between.Next(between.client, header), MakeReply(7));
  EXPECT_EQ(header.xid, 7u);
  EXPECT_EQ(header.credit, 20u);  // what the server grants
  const RelayDirectionReport& d = between.report.forward;
  EXPECT_EQ(d.caller.calls, 1u);
  EXPECT_EQ(d.answerer.call_bytes, NullCall(7).size());
  EXPECT_EQ(d.caller.replies, 1u);
  EXPECT_EQ(d.caller.reply_bytes, MakeReply(7).size());
  EXPECT_EQ(d.call_rest.count(), 1u);
  EXPECT_EQ(d.reply_rest.count(), 1u);
}

TEST(RelayLink, ChunksCrossWithOtherHandles) {
  Between between;
  const Buffer data = Pattern(10'001, 3), result = Pattern(5'003, 4), rest = Pattern(300, 5);
  const endpoint::Region read = Registered(between.client, data, endpoint::Access::kRemoteRead);
  endpoint::Region write = Registered(between.client, Buffer(8192), endpoint::Access::kRemoteWrite);
  endpoint::Region reply_chunk = Registered(between.client, Buffer(1000), endpoint::Access::kRemoteWrite);
  Header call = Call(9);
  AddRead(call, 48, {read.handle, 4000, read.offset});
  AddRead(call, 48, {read.handle, 6001, read.offset + 4000});
  AddWriteChunk(call, {{write.handle, 4096, write.offset}, {write.handle, 4096, write.offset + 4096}});
  AddWriteChunk(call, {});
  SetReplyChunk(call, {SegmentOf(reply_chunk)});
  ASSERT_TRUE(Post(between.client, Message(call, NullCall(9))));

  Header onward;
  EXPECT_EQ(between.Next(between.server, onward), NullCall(9));
  ASSERT_EQ(onward.reads.size(), 2u);
  EXPECT_EQ(onward.reads[0].position, 48u);
  EXPECT_EQ(onward.reads[1].target.length, 6001u);
  EXPECT_NE(onward.reads[0].target.handle, read.handle);
  EXPECT_EQ(onward.write_chunks, call.write_chunks);
  EXPECT_EQ(onward.reply_chunk, call.reply_chunk);
  // The server pulls what the client offered, and writes results.
  endpoint::Region pulled = Registered(between.server, Buffer(10'001), endpoint::Access::kLocal);
  for (size_t i = 0, at = 0; i < 2; at += onward.reads[i++].target.length)
    ASSERT_TRUE(between.server->Read(pulled.bytes.subspan(at, onward.reads[i].target.length),
                                     onward.reads[i].target.handle, onward.reads[i].target.offset, i));
  ASSERT_TRUE(between.Drive([&] { return between.server.Count(endpoint::Work::kRead) == 2; }));
  EXPECT_EQ(Content(pulled.bytes), data);
  const endpoint::Region source = Registered(between.server, Join({result, rest}), endpoint::Access::kLocal);
  const auto write_to = [&](size_t segment, size_t from, size_t size) {
    const Segment& s = onward.segments[segment];
    ASSERT_TRUE(between.server->Write(source.bytes.subspan(from, size), s.handle, s.offset, 0));
  };
  write_to(0, 0, 4096);
  write_to(1, 4096, 907);
  write_to(2, 5003, 300);
  ASSERT_TRUE(Post(between.server, Message(ReplyTo(onward, rpcrdma::kNomsg, {4096, 907, 300}))));

  Header reply;
  EXPECT_EQ(between.Next(between.client, reply), Buffer{});
  EXPECT_EQ(reply.proc, rpcrdma::kNomsg);
  EXPECT_EQ(reply.write_chunks, call.write_chunks);
  ASSERT_EQ(reply.segments.size(), 3u);
  EXPECT_EQ(reply.segments[0], (Segment{write.handle, 4096, write.offset}));
  EXPECT_EQ(reply.segments[1], (Segment{write.handle, 907, write.offset + 4096}));
  EXPECT_EQ(reply.segments[2], (Segment{reply_chunk.handle, 300, reply_chunk.offset}));
  EXPECT_EQ(Content(write.bytes.first(5003)), result);
  EXPECT_EQ(Content(reply_chunk.bytes.first(300)), rest);
  EXPECT_EQ(between.report.forward.caller.call_bytes, NullCall(9).size() + data.size());
  EXPECT_EQ(between.report.forward.caller.reply_bytes, result.size() + rest.size());
}

// The server takes 1024 bytes, the client sends 3000: a Position-zero Read chunk. Other chunks keep their Positions.
TEST(RelayLink, CallBecomesLong) {
  Said said;
  said.server = rpcrdma::EncodeSettings(4096, 1024, true);
  Between between({}, said);
  const Buffer data = Pattern(500), payload = Join({NullCall(5), Pattern(2960)});
  const endpoint::Region read = Registered(between.client, data, endpoint::Access::kRemoteRead);
  Header call = Call(5);
  AddRead(call, 40, SegmentOf(read));
  ASSERT_TRUE(Post(between.client, Message(call, payload)));
  Header onward;
  EXPECT_EQ(between.Next(between.server, onward), Buffer{});
  EXPECT_EQ(onward.proc, rpcrdma::kNomsg);
  ASSERT_EQ(onward.reads.size(), 2u);
  EXPECT_EQ(onward.reads[0].position, 0u);
  EXPECT_EQ(onward.reads[1].position, 40u);
  for (const auto& [index, expected] : {std::pair<size_t, const Buffer&>(0, payload), {1, data}}) {
    const size_t done = index;
    const Segment& s = onward.reads[index].target;
    ASSERT_EQ(s.length, expected.size());
    endpoint::Region pulled = Registered(between.server, Buffer(s.length), endpoint::Access::kLocal);
    ASSERT_TRUE(between.server->Read(pulled.bytes, s.handle, s.offset, index));
    ASSERT_TRUE(between.Drive([&] { return between.server.Count(endpoint::Work::kRead) == done + 1; }));
    EXPECT_EQ(Content(pulled.bytes), expected);
  }
  EXPECT_EQ(between.report.forward.made_long, 1u);
}

// The client takes 1024 bytes, the server sends 2000 inline: they go to the Reply chunk; without one, ERR_CHUNK.
TEST(RelayLink, ReplyBecomesLong) {
  Said said;
  said.client = rpcrdma::EncodeSettings(4096, 1024, true);
  Between between({}, said);
  endpoint::Region chunk = Registered(between.client, Buffer(4096), endpoint::Access::kRemoteWrite);
  const Buffer payload = Join({MakeReply(5), Pattern(1976)});
  for (const bool offered : {true, false}) {
    Header call = Call(5), header;
    if (offered) SetReplyChunk(call, {{chunk.handle, 1500, chunk.offset}, {chunk.handle, 1500, chunk.offset + 1500}});
    ASSERT_TRUE(Post(between.client, Message(call, NullCall(5))));
    between.Next(between.server, header);
    ASSERT_TRUE(Post(between.server, Message(MakeHeader(rpcrdma::kMsg, 5), payload)));
    between.Next(between.client, header);
    if (!offered) {
      EXPECT_TRUE(IsError(header, 5, rpcrdma::kErrChunk));
      continue;
    }
    EXPECT_EQ(header.proc, rpcrdma::kNomsg);
    ASSERT_EQ(header.segments.size(), 2u);
    EXPECT_EQ(header.segments[0].length, 1500u);
    EXPECT_EQ(header.segments[1].length, 500u);
    EXPECT_EQ(Content(chunk.bytes.first(2000)), payload);
  }
  EXPECT_EQ(between.report.forward.made_long, 1u);
  EXPECT_EQ(between.report.forward.bad_replies.size(), 1u);
}

// The client takes 4096 bytes inline, the server may send 1024: it is offered a Reply chunk that the client did not.
TEST(RelayLink, OffersAReplyChunkOfItsOwn) {
  Said said;
  said.to_server = rpcrdma::EncodeSettings(4096, 1024, true);
  Between between({}, said);
  const Buffer payload = Join({MakeReply(5), Pattern(2976)});
  for (const bool used : {true, false}) {
    Header onward, reply;
    ASSERT_TRUE(Post(between.client, Message(Call(5), NullCall(5))));
    between.Next(between.server, onward);
    ASSERT_TRUE(onward.reply_chunk);
    ASSERT_EQ(onward.segments.size(), 1u);
    EXPECT_EQ(onward.segments[0].length, 4096u - rpcrdma::kMinimumHeader);
    if (used) {
      const endpoint::Region source = Registered(between.server, payload, endpoint::Access::kLocal);
      ASSERT_TRUE(between.server->Write(source.bytes, onward.segments[0].handle, onward.segments[0].offset, 0));
      ASSERT_TRUE(Post(between.server, Message(ReplyTo(onward, rpcrdma::kNomsg, {3000}))));
    } else {
      ASSERT_TRUE(Post(between.server, Message(MakeHeader(rpcrdma::kMsg, 5), MakeReply(5))));
    }
    EXPECT_EQ(between.Next(between.client, reply), used ? payload : MakeReply(5));
    EXPECT_EQ(reply.proc, rpcrdma::kMsg);
    EXPECT_FALSE(reply.has_chunks());
  }
}

// Section 3.3.1: one Call until the first answer says how many; the others wait in the relay.
TEST(RelayLink, CreditsOfTheServerAreKept) {
  Between between({.credits = 8});
  Header header;
  for (uint32_t xid = 1; xid <= 5; ++xid) ASSERT_TRUE(Post(between.client, Message(Call(xid), NullCall(xid))));
  between.Next(between.server, header);
  EXPECT_EQ(header.credit, 8u);
  between.Settle();
  EXPECT_EQ(between.server.messages.size(), 1u);
  ASSERT_TRUE(Post(between.server, Message(MakeHeader(rpcrdma::kMsg, 1, 3), MakeReply(1))));
  between.Next(between.client, header);
  EXPECT_EQ(header.credit, 3u);
  ASSERT_TRUE(between.Drive([&] { return between.server.messages.size() == 4; }));
  between.Settle();
  EXPECT_EQ(between.server.messages.size(), 4u);
  ASSERT_TRUE(Post(between.server, Message(MakeHeader(rpcrdma::kMsg, 2, 100), MakeReply(2))));
  between.Next(between.client, header);
  EXPECT_EQ(header.credit, 8u);  // not more than the relay holds
  ASSERT_TRUE(between.Drive([&] { return between.server.messages.size() == 5; }));
  EXPECT_EQ(between.report.forward.credit_stalls, 4u);
}

// RFC 8167: Calls of the server, with xids of their own, while one of the client's is under way.
TEST(RelayLink, CallbacksCross) {
  Between between;
  Header header;
  ASSERT_TRUE(Post(between.client, Message(Call(5), NullCall(5))));
  between.Next(between.server, header);
  const Buffer callback = MakeCall(5, 0x40000000, 1, 0);
  ASSERT_TRUE(Post(between.server, Message(Call(5, 16), callback)));
  EXPECT_EQ(between.Next(between.client, header), callback);
  EXPECT_EQ(header.credit, 16u);
  ASSERT_TRUE(Post(between.client, Message(MakeHeader(rpcrdma::kMsg, 5, 2), Join({MakeReply(5), Words({1})}))));
  EXPECT_EQ(between.Next(between.server, header), Join({MakeReply(5), Words({1})}));
  EXPECT_EQ(header.credit, 2u);
  ASSERT_TRUE(Post(between.server, Message(MakeHeader(rpcrdma::kMsg, 5), Join({MakeReply(5), Words({2})}))));
  EXPECT_EQ(between.Next(between.client, header), Join({MakeReply(5), Words({2})}));
  EXPECT_EQ(between.report.backward.caller.calls, 1u);
  EXPECT_EQ(between.report.backward.answerer.replies, 1u);
  EXPECT_EQ(between.report.forward.answerer.replies, 1u);
}

// RFC 8167 section 5: there is no Long Call in that direction.
TEST(RelayLink, CallbackThatIsTooLong) {
  Said said;
  said.client = rpcrdma::EncodeSettings(4096, 1024, true);
  Between between({}, said);
  Header header;
  ASSERT_TRUE(Post(between.client, Message(Call(1), NullCall(1))));  // RFC 5044 section 7.1: the initiator sends first
  between.Next(between.server, header);
  ASSERT_TRUE(Post(between.server, Message(Call(5), Join({MakeCall(5, 0x40000000, 1, 0), Pattern(1000)}))));
  between.Next(between.server, header);
  EXPECT_TRUE(IsError(header, 5, rpcrdma::kErrChunk));
  EXPECT_TRUE(between.client.messages.empty());
}

TEST(RelayLink, InvalidatesWhatTheServerInvalidated) {
  Between between;
  const endpoint::Region read = Registered(between.client, Pattern(100), endpoint::Access::kRemoteRead);
  endpoint::Region write = Registered(between.client, Buffer(100), endpoint::Access::kRemoteWrite);
  Header call = Call(5), onward, reply;
  AddRead(call, 40, SegmentOf(read));
  AddWriteChunk(call, {SegmentOf(write)});
  for (const int what : {0, 1, 2}) {
    ASSERT_TRUE(Post(between.client, Message(call, NullCall(5))));
    between.Next(between.server, onward);
    std::optional<uint32_t> handle;
    if (what == 1) handle = onward.reads[0].target.handle;
    if (what == 2) handle = onward.segments[0].handle;
    ASSERT_TRUE(Post(between.server, Message(ReplyTo(onward, rpcrdma::kMsg, {0}), MakeReply(5)), handle));
    between.Next(between.client, reply);
    EXPECT_EQ(between.client.receives.back().invalidated, what == 0   ? std::nullopt
                                                          : what == 1 ? std::optional(read.handle)
                                                                      : std::optional(write.handle));
    if (what > 0) break;  // the handle of the client's is gone
  }
}

TEST(RelayLink, NoInvalidationForAClientThatDoesNotAllowIt) {
  Said said;
  said.client = rpcrdma::EncodeSettings(4096, 4096, false);
  Between between({}, said);
  const endpoint::Region read = Registered(between.client, Pattern(100), endpoint::Access::kRemoteRead);
  Header call = Call(5), onward, reply;
  AddRead(call, 40, SegmentOf(read));
  for (size_t i = 0; i < 3; ++i) {  // and the relay's memory is used again
    ASSERT_TRUE(Post(between.client, Message(call, NullCall(5))));
    between.Next(between.server, onward);
    const Segment& s = onward.reads[0].target;
    endpoint::Region pulled = Registered(between.server, Buffer(100), endpoint::Access::kLocal);
    ASSERT_TRUE(between.server->Read(pulled.bytes, s.handle, s.offset, 1));
    ASSERT_TRUE(between.Drive([&] { return between.server.Count(endpoint::Work::kRead) == i + 1; }));
    ASSERT_TRUE(Post(between.server, Message(MakeHeader(rpcrdma::kMsg, 5), MakeReply(5)), s.handle));
    between.Next(between.client, reply);
    EXPECT_EQ(between.client.receives.back().invalidated, std::nullopt);
    EXPECT_EQ(Content(pulled.bytes), Pattern(100));
  }
}

TEST(RelayLink, TooMuchForOneCall) {
  Between between({.max_message = 10'000});
  const endpoint::Region read = Registered(between.client, Buffer(6000), endpoint::Access::kRemoteRead);
  endpoint::Region write = Registered(between.client, Buffer(6000), endpoint::Access::kRemoteWrite);
  Header call = Call(5), header;
  AddRead(call, 40, SegmentOf(read));
  AddWriteChunk(call, {SegmentOf(write)});
  ASSERT_TRUE(Post(between.client, Message(call, NullCall(5))));
  between.Next(between.client, header);
  EXPECT_TRUE(IsError(header, 5, rpcrdma::kErrChunk));
  EXPECT_TRUE(between.server.messages.empty());
}

// The most segments that a header can have, with the fewest credits; and more than that.
TEST(RelayLink, ManySegments) {
  Said said;
  for (Buffer* data : {&said.client, &said.to_client, &said.server, &said.to_server})
    *data = rpcrdma::EncodeSettings(65536, 65536, true);
  Between between({.credits = 1}, said, 65536);
  endpoint::Region write = Registered(between.client, Buffer(4096), endpoint::Access::kRemoteWrite);
  for (const uint32_t count : {1000u, 1100u}) {
    Header call = Call(count), onward, reply;
    std::vector<Segment> segments;
    for (uint32_t i = 0; i < count; ++i) segments.push_back({write.handle, 1, write.offset + i});
    AddWriteChunk(call, segments);
    ASSERT_TRUE(Post(between.client, Message(call, NullCall(count))));
    if (count > 1000) {
      between.Next(between.client, reply);
      EXPECT_TRUE(IsError(reply, count, rpcrdma::kErrChunk));
      continue;
    }
    between.Next(between.server, onward);
    ASSERT_EQ(onward.segments.size(), count);
    const endpoint::Region source = Registered(between.server, Pattern(count), endpoint::Access::kLocal);
    ASSERT_TRUE(between.server->Write(source.bytes, onward.segments[0].handle, onward.segments[0].offset, 0));
    ASSERT_TRUE(
        Post(between.server, Message(ReplyTo(onward, rpcrdma::kMsg, std::vector(count, 1u)), MakeReply(count))));
    between.Next(between.client, reply);
    EXPECT_EQ(reply.segments, segments);
    EXPECT_EQ(Content(write.bytes.first(count)), Pattern(count));
  }
}

// Half of the memory is for two Calls at a time: the third waits until one is answered.
TEST(RelayLink, CallsWaitForMemory) {
  Between between({}, {}, 4096, 40'000);
  Header header;
  for (uint32_t xid = 1; xid <= 2; ++xid) {  // for credits
    ASSERT_TRUE(Post(between.client, Message(Call(xid), NullCall(xid))));
    between.Next(between.server, header);
    ASSERT_TRUE(Post(between.server, Message(MakeHeader(rpcrdma::kMsg, xid), MakeReply(xid))));
    between.Next(between.client, header);
  }
  endpoint::Region write = Registered(between.client, Buffer(8192), endpoint::Access::kRemoteWrite);
  for (uint32_t xid = 3; xid <= 6; ++xid) {
    Header call = Call(xid);
    AddWriteChunk(call, {SegmentOf(write)});
    ASSERT_TRUE(Post(between.client, Message(call, NullCall(xid))));
  }
  between.Settle();
  EXPECT_EQ(between.server.messages.size(), 4u);
  for (uint32_t xid = 3; xid <= 6; ++xid) {
    between.Next(between.server, header);
    EXPECT_EQ(header.xid, xid);
    ASSERT_TRUE(Post(between.server, Message(ReplyTo(header, rpcrdma::kMsg, {0}), MakeReply(xid))));
    between.Next(between.client, header);
    EXPECT_EQ(header.xid, xid);
  }
}

}  // namespace
}  // namespace stag::relay
