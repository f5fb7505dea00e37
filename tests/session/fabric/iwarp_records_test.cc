// SPDX-License-Identifier: GPL-2.0-or-later
//
// TCP streams that carry record-marked RPC before they turn to MPA (RFC 8166 section 3.2).
#include "session/fabric/iwarp_records.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/session/fabric/iwarp_log.h"
#include "tests/support/messages.h"

namespace stag::fabric::test {
namespace {

using stag::test::Buffer;
using stag::test::Join;
using stag::test::MakeCall;
using stag::test::MakeReply;
using stag::test::Words;

Buffer Record(const Buffer& message, bool last = true) {
  return Join({Words({static_cast<uint32_t>(message.size()) | (last ? 0x80000000u : 0)}), message});
}
Buffer Call(uint32_t xid) { return Record(MakeCall(xid, 100003, 3, 0)); }
Buffer Reply(uint32_t xid) { return Record(MakeReply(xid)); }

struct Seen : Sink {
  struct Request {
    bool after, within;
    uint32_t unanswered;
    friend bool operator==(const Request&, const Request&) = default;
  };
  std::optional<Request> request;
  size_t sends = 0;
  void OnEvent(const Event& e) override {
    if (e.kind() == EventKind::kSetup && e.setup().message == SetupMessage::kRequest)
      request = {e.setup().after_records, e.setup().within_record, e.setup().unanswered_records};
    sends += e.kind() == EventKind::kSend;
  }
};

// The set-up and a Send each way, after what `before` wrote; in segments of at most `size` bytes.
Seen After(void (*before)(Conversation&), size_t size = 1448) {
  Conversation c({});
  before(c);
  c.Mpa(0);
  c.Mpa(1);
  c.Send(0, Pattern(40));
  c.Send(1, Pattern(40));
  Seen seen;
  TrackerContext context({}, seen);
  IwarpTracker tracker(context);
  Frame frame;
  for (const Segment& s : c.Cut(size)) {
    ++frame.ref.number;
    context.set_now(frame.ref);
    tracker.OnPacket(ToPacket(s, c.options()), frame.ref);
  }
  tracker.Finish();
  return seen;
}

using Request = Seen::Request;

TEST(IwarpRecords, OrdinaryConnections) {
  const Seen seen = After([](Conversation&) {});
  EXPECT_EQ(seen.request, (Request{false, false, 0}));
  EXPECT_EQ(seen.sends, 2u);
}

TEST(IwarpRecords, BetweenMessages) {
  const auto before = [](Conversation& c) {
    c.Put(0, Call(1));
    c.Put(1, Reply(1));
    c.Put(0, Join({Record(MakeCall(2, 100003, 3, 0), false), Record(Pattern(8))}));  // in two fragments
    c.Put(1, Reply(2));
  };
  for (const size_t size : {size_t{1448}, size_t{33}, size_t{20}}) {
    const Seen seen = After(before, size);
    EXPECT_EQ(seen.request, (Request{true, false, 0})) << size;
    EXPECT_EQ(seen.sends, 2u) << size;
  }
}

TEST(IwarpRecords, BeforeTheReply) {
  const Seen seen = After([](Conversation& c) {
    c.Put(0, Call(1));
    c.Put(1, Reply(1));
    c.Put(0, Call(2));
  });
  EXPECT_EQ(seen.request, (Request{true, false, 1}));
}

TEST(IwarpRecords, WithinARecord) {
  const Seen seen = After([](Conversation& c) {
    const Buffer call = Call(1);
    c.Put(0, {call.begin(), call.end() - 8});
  });
  EXPECT_EQ(seen.request, (Request{true, true, 1}));
  EXPECT_EQ(seen.sends, 2u);
}

TEST(IwarpRecords, RpcOverTcpThatStaysSoIsLetGo) {
  RecordStream stream;
  const Buffer record = Record(Join({MakeCall(1, 100003, 3, 7), Buffer(4096)}));
  uint64_t taken = 0;
  size_t records = 0;
  while (stream.Take(record, record.size()) > 0) taken += record.size(), ++records;
  EXPECT_FALSE(stream.active());
  EXPECT_GE(taken, RecordStream::kMaxBytes);
  EXPECT_LT(taken, RecordStream::kMaxBytes + record.size());
}

TEST(IwarpRecords, WhatIsNoRecord) {
  RecordStream stream;
  EXPECT_EQ(stream.Take(Pattern(64), 64), 0u);
  const Buffer call = Call(1);
  EXPECT_EQ(stream.Take(Bytes(call).first(15), call.size()), 0u);  // too little was captured to tell
  EXPECT_EQ(stream.Take(call, call.size()), call.size());
  EXPECT_EQ(stream.calls(), 1u);
  EXPECT_EQ(stream.Take({}, 4), 0u);  // a mark that was not captured
  EXPECT_FALSE(stream.active());
}

}  // namespace
}  // namespace stag::fabric::test
