// SPDX-License-Identifier: GPL-2.0-or-later
//
// Every kind of fault, on the messages of a RelayLink.
#include "tests/replay/relay/between.h"

namespace stag::relay {
namespace {

using namespace test;

RelayLinkOptions With(FaultRule rule) {
  RelayLinkOptions options;
  options.faults.rules = {std::move(rule)};
  return options;
}

// A link with one rule, whose `injected` is held against what was expected.
class Faulty {
 public:
  explicit Faulty(FaultRule rule) : between(With(std::move(rule))) {}
  ~Faulty() { EXPECT_EQ(between.report.faults.at(0).injected, expected); }

  // A Call of NULL as the server gets it.
  Header Forward(const Header& call) {
    Header onward;
    EXPECT_TRUE(Post(between.client, Message(call, NullCall(call.xid))));
    EXPECT_EQ(between.Next(between.server, onward), NullCall(call.xid));
    return onward;
  }
  // Its answer, as the client gets it.
  Header Answer(const Header& reply) {
    Header got;
    EXPECT_TRUE(Post(between.server, Message(reply, MakeReply(reply.xid))));
    EXPECT_EQ(between.Next(between.client, got), MakeReply(reply.xid));
    return got;
  }
  Header Exchange(uint32_t xid) {
    Forward(Call(xid));
    return Answer(MakeHeader(rpcrdma::kMsg, xid, 10));
  }

  uint64_t expected = 1;
  Between between;
};

TEST(RelayFaults, Drop) {
  Faulty f({.kind = FaultKind::kDrop});
  ASSERT_TRUE(Post(f.between.client, Message(Call(5), NullCall(5))));
  f.between.Settle();
  EXPECT_TRUE(f.between.server.messages.empty());
  EXPECT_TRUE(f.between.client.messages.empty());
  EXPECT_EQ(f.between.report.forward.caller.calls, 1u);
  EXPECT_EQ(f.between.report.forward.answerer.calls, 0u);
}

TEST(RelayFaults, DropReply) {
  Faulty f({.kind = FaultKind::kDropReply});
  f.Forward(Call(5));
  ASSERT_TRUE(Post(f.between.server, Message(MakeHeader(rpcrdma::kMsg, 5), MakeReply(5))));
  f.between.Settle();
  EXPECT_TRUE(f.between.client.messages.empty());
  EXPECT_EQ(f.between.report.forward.answerer.replies, 1u);
  EXPECT_EQ(f.between.report.forward.caller.replies, 0u);
  EXPECT_EQ(f.between.report.dropped, 0u);
}

TEST(RelayFaults, Delay) {
  Faulty f({.kind = FaultKind::kDelay, .delay = milliseconds(30)});
  f.Forward(Call(5));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(f.between.link->due());
  ASSERT_TRUE(Post(f.between.server, Message(MakeHeader(rpcrdma::kMsg, 5), MakeReply(5))));
  ASSERT_TRUE(f.between.Drive([&] { return f.between.link->due().has_value(); }));
  EXPECT_GE(*f.between.link->due(), before + milliseconds(30));
  Header got;
  EXPECT_EQ(f.between.Next(f.between.client, got), MakeReply(5));
  EXPECT_GE(std::chrono::steady_clock::now(), before + milliseconds(30));
  EXPECT_GE(f.between.report.forward.reply_rest.min(), 29'000'000u);
}

TEST(RelayFaults, Error) {
  for (const uint32_t err : {rpcrdma::kErrVers, rpcrdma::kErrChunk}) {
    Faulty f({.kind = FaultKind::kError, .value = err});
    Header got;
    ASSERT_TRUE(Post(f.between.client, Message(Call(5), NullCall(5))));
    f.between.Next(f.between.client, got);
    EXPECT_TRUE(IsError(got, 5, err));
    EXPECT_TRUE(f.between.server.messages.empty());
    EXPECT_EQ(f.between.report.forward.caller.errors, 1u);
    EXPECT_EQ(f.between.report.forward.refused, 0u);
  }
}

TEST(RelayFaults, Credit) {
  for (const uint32_t credit : {0u, 1u, 1000u}) {
    Faulty f({.kind = FaultKind::kCredit, .value = credit});
    EXPECT_EQ(f.Exchange(5).credit, credit);
  }
}

TEST(RelayFaults, CorruptXid) {
  Faulty f({.kind = FaultKind::kCorruptXid});
  EXPECT_NE(f.Exchange(5).xid, 5u);  // the xid of the RPC Reply is the same
}

TEST(RelayFaults, Disconnect) {
  Faulty f({.kind = FaultKind::kDisconnect});
  ASSERT_TRUE(Post(f.between.client, Message(Call(5), NullCall(5))));
  ASSERT_TRUE(f.between.Drive([&] { return f.between.client.over() && f.between.server.over(); }));
  EXPECT_TRUE(f.between.server.messages.empty());
  EXPECT_EQ(f.between.client->state(), endpoint::State::kClosed);
  ASSERT_TRUE(f.between.Drive([&] { return f.between.link->over(); }));
  EXPECT_EQ(f.between.report.forward.in_flight, 1u);
}

TEST(RelayFaults, BadHandle) {
  Faulty f({.kind = FaultKind::kBadHandle});
  const endpoint::Region read = Registered(f.between.client, Pattern(100), endpoint::Access::kRemoteRead);
  f.Exchange(4);  // without chunks nothing is wrong
  Header call = Call(5);
  AddRead(call, 40, SegmentOf(read));
  AddRead(call, 40, SegmentOf(read));
  const Header onward = f.Forward(call);
  EXPECT_NE(onward.reads[0].target.handle, onward.reads[1].target.handle);
  endpoint::Region pulled = Registered(f.between.server, Buffer(100), endpoint::Access::kLocal);
  const auto& [handle, length, offset] = onward.reads[0].target;
  ASSERT_TRUE(f.between.server->Read(pulled.bytes, handle, offset, 0));
  ASSERT_TRUE(f.between.Drive([&] { return f.between.client.over() && f.between.server.over(); }));
  EXPECT_EQ(f.between.server->trouble().kind, endpoint::Trouble::Kind::kRemoteAccess);
  EXPECT_EQ(f.between.client->state(), endpoint::State::kClosed);
}

TEST(RelayFaults, ShortChunk) {
  Faulty f({.kind = FaultKind::kShortChunk});
  f.expected = 2;
  endpoint::Region write = Registered(f.between.client, Buffer(4096), endpoint::Access::kRemoteWrite);
  f.Exchange(4);
  Header call = Call(5);
  AddWriteChunk(call, {});
  AddWriteChunk(call, {{write.handle, 1000, write.offset}, {write.handle, 1000, write.offset + 1000}});
  SetReplyChunk(call, {{write.handle, 1000, write.offset + 2000}});
  Header onward = f.Forward(call);
  EXPECT_EQ(onward.segments[0].length, 1000u);
  EXPECT_EQ(onward.segments[1].length, 500u);
  EXPECT_EQ(onward.segments[2].length, 1000u);
  // What comes back within it is passed on, more is not.
  const Header got = f.Answer(ReplyTo(onward, rpcrdma::kMsg, {1000, 500, 0}));
  EXPECT_EQ(got.segments[1].length, 500u);
  call = Call(6);
  SetReplyChunk(call, {{write.handle, 1002, write.offset}});
  onward = f.Forward(call);
  EXPECT_EQ(onward.segments[0].length, 500u);
  ASSERT_TRUE(Post(f.between.server, Message(ReplyTo(onward, rpcrdma::kNomsg, {504}))));
  Header error;
  f.between.Next(f.between.client, error);
  EXPECT_TRUE(IsError(error, 6, rpcrdma::kErrChunk));
}

// A rule may mean Calls of the server, too.
TEST(RelayFaults, OfACallback) {
  Faulty f({.kind = FaultKind::kError, .value = rpcrdma::kErrChunk, .name = "CB_COMPOUND"});
  f.Exchange(4);
  ASSERT_TRUE(Post(f.between.server, Message(Call(5), MakeCall(5, 0x40000000, 1, 1, Words({0, 0, 0, 0})))));
  Header got;
  f.between.Next(f.between.server, got);
  EXPECT_TRUE(IsError(got, 5, rpcrdma::kErrChunk));
}

}  // namespace
}  // namespace stag::relay
