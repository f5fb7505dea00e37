// SPDX-License-Identifier: GPL-2.0-or-later
//
// Requester and Responder on both ends of a connection (fabric.h says over what): every form of Call and Reply arrives
// byte for byte, and the conformance engine, which sees both directions, finds nothing.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <future>
#include <map>

#include "conformance/engine/engine.h"
#include "replay/endpoint/event_log.h"
#include "replay/rpcrdma/requester.h"
#include "replay/rpcrdma/responder.h"
#include "tests/replay/endpoint/fabric.h"
#include "tests/support/finding_sinks.h"
#include "tests/support/nfs_messages.h"

namespace stag::rpcrdma {
namespace {

using namespace stag::test;
using endpoint::test::Fabric;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{120'000};

// READDIR3resok with one entry whose name has `size` bytes.
Buffer ReaddirReply(uint32_t xid, uint32_t size) {
  return MakeReply(xid, Join({Words({0, 0, 0, 0, 1, 0, 7}), Opaque(Pattern(size)), Words({0, 1, 0, 1})}));
}

// One file of NFSv3: what WRITE stores, READ gives.
class OneFile : public Service {
 public:
  void OnCall(Bytes call, ServiceReply& reply) override {
    calls.emplace_back(call.begin(), call.end());
    const rpc::CallHeader header = rpc::DecodeCall(call, call.size());
    const uint32_t xid = header.xid;
    if (header.procedure == kWrite) {
      const Bytes arguments = call.subspan(header.length + 36 + 16);  // handle, offset, count, stable
      const uint32_t count = LoadBe32(arguments.data());
      content.assign(arguments.begin() + 4, arguments.begin() + 4 + count);
      reply.message = WriteReply(xid, count);
    } else if (header.procedure == kRead) {
      const auto count = static_cast<uint32_t>(content.size());
      reply.message = MakeReply(xid, Join({Words({0, 0, count, 1}), Opaque(content)}));
      reply.items.push_back({24 + 20, count});
    } else if (header.procedure == 99) {
      return;  // is never answered
    } else if (header.procedure == kReaddir) {
      reply.message = ReaddirReply(xid, LoadBe32(call.data() + call.size() - 4));
    } else {
      reply.message = MakeReply(xid);
    }
  }
  Buffer content;
  std::vector<Buffer> calls;
};

struct Got {
  AnswerKind kind;
  uint64_t cookie;
  Buffer message;
  std::vector<Buffer> chunks;
  std::string text;
};

struct Answers : AnswerSink {
  void OnAnswer(const Answer& a) override {
    Got got{a.kind, a.cookie, {a.message.begin(), a.message.end()}, {}, std::string(a.text)};
    for (const Bytes chunk : a.chunks) got.chunks.emplace_back(chunk.begin(), chunk.end());
    all.push_back(std::move(got));
  }
  std::deque<Got> all;
};

// The conformance engine on the events of one end.
struct Judge {
  FindingTexts findings;
  conformance::Engine engine{{}, findings};
  session::Session session{{}, {&engine}};
  endpoint::EventLog log{session};
};

// Client and server, driven by one thread; what they do is judged.
class Link {
 public:
  // `other`: answers in place of `service`.
  explicit Link(RequesterOptions client = {}, ResponderOptions server = {}, Service* other = nullptr) {
    endpoint::EndpointOptions client_end, server_end;
    Requester::Prepare(Fabric().client(), client, client_end);
    Responder::Prepare(server, server_end);
    client_end.events = &judge.log;
    if (Fabric().hidden()) server_end.events = &server_judge.log;  // sees more
    auto listener = Fabric().server().Listen({Fabric().address(), 0});
    EXPECT_TRUE(listener);
    auto accepted = std::async(std::launch::async, [&] { return (*(*listener)->Wait(kPatience))->Accept(server_end); });
    auto connected = Fabric().client().Connect({Fabric().address(), (*listener)->port()}, client_end);
    auto answer = accepted.get();
    EXPECT_TRUE(connected && answer);
    requester = std::make_unique<Requester>(std::move(*connected), client, answers);
    responder = std::make_unique<Responder>(std::move(*answer), server, other ? *other : service);
  }
  ~Link() {
    requester->endpoint().Disconnect();
    Drive([&] { return !requester->open() && !responder->open(); });
    EXPECT_EQ(findings.all, allowed);
    if (allowed.empty()) {
      EXPECT_EQ(server_judge.findings.all, allowed);
    }
  }

  bool Drive(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!done() && std::chrono::steady_clock::now() < end) requester->Poll({}), responder->Poll({});
    return done();
  }
  // The answer to one Call.
  Got Ask(const CallSpec& call) {
    const auto sent = requester->Send(call);
    if (!sent) ADD_FAILURE() << sent.error().message;
    EXPECT_TRUE(Drive([&] { return !answers.all.empty(); }));
    if (answers.all.empty()) return {};
    Got got = std::move(answers.all.front());
    answers.all.pop_front();
    return got;
  }

  Judge judge, server_judge;
  FindingTexts& findings = judge.findings;
  std::vector<std::string> allowed;
  OneFile service;
  Answers answers;
  std::unique_ptr<Requester> requester;
  std::unique_ptr<Responder> responder;
};

// The whole, unreduced WRITE of `data`, and where the data stands.
struct Write {
  explicit Write(const Buffer& data)
      : message(MakeCall(0, kNfs, 3, kWrite,
                         Join({FileHandle(), Words({0, 0, static_cast<uint32_t>(data.size()), 2}), Opaque(data)}))),
        item(message.size() - RoundUp4(data.size())) {}
  Buffer message;
  uint64_t item;
};

Buffer WithXid(Buffer message, const Buffer& like) {
  std::copy_n(like.begin(), 4, message.begin());
  return message;
}

constexpr uint32_t kSizes[] = {1, 2, 3, 4, 1000, 4095, 4096, 65537, 300'001};

TEST(Engine, ReadChunks) {
  Link link;
  for (const uint32_t size : kSizes) {
    const Buffer data = Pattern(size, size);
    const Write write(data);
    const Got got =
        link.Ask({.message = write.message, .item_offset = write.item, .item_length = size, .cookie = size});
    EXPECT_EQ(got.kind, AnswerKind::kReply) << got.text;
    EXPECT_EQ(got.cookie, size);
    EXPECT_EQ(link.service.content, data);
    EXPECT_EQ(link.service.calls.back(), WithXid(write.message, link.service.calls.back()));
    EXPECT_EQ(got.message, WithXid(WriteReply(0, size), got.message));
  }
}

TEST(Engine, ReadChunksOfManySegmentsWithPadding) {
  Link link({.segment_size = 5000, .pad_read_chunks = true});
  const Buffer data = Pattern(65537);
  const Write write(data);
  EXPECT_EQ(link.Ask({.message = write.message, .item_offset = write.item, .item_length = 65537}).kind,
            AnswerKind::kReply);
  EXPECT_EQ(link.service.content, data);
  EXPECT_EQ(link.service.calls.back().size(), write.message.size());
  for (Judge* judge : {&link.judge, &link.server_judge})
    std::erase_if(judge->findings.all,
                  [](const std::string& f) { return f.starts_with("PAD-002"); });  // a note, on purpose
}

TEST(Engine, LongCalls) {
  Link link;
  for (const uint32_t size : kSizes) {  // small ones are sent so on purpose, large ones do not fit
    const Write write(Pattern(size));
    EXPECT_EQ(link.Ask({.message = write.message, .position_zero = true}).kind, AnswerKind::kReply);
    EXPECT_EQ(link.service.calls.back(), WithXid(write.message, link.service.calls.back()));
  }
  const Write inline_write(Pattern(900));
  EXPECT_EQ(link.Ask({.message = inline_write.message}).kind, AnswerKind::kReply);
  EXPECT_EQ(link.service.content, Pattern(900));
}

// Arguments that are not in the message: reduced, inline and in a Long Call, made in the Requester's memory, or lying
// where the caller has them. A handle of those is good for one Call.
TEST(Engine, ArgumentsThatLieElsewhere) {
  for (const bool fresh : {false, true}) {
    Link link({.segment_size = 50'000, .fresh_handles = fresh});
    for (const uint32_t size : kSizes) {
      const Buffer data = Pattern(size, size);
      const Write write(data);
      const Buffer head(write.message.begin(), write.message.begin() + static_cast<ptrdiff_t>(write.item));
      for (const bool reduced : {true, false}) {
        for (const bool made : {true, false}) {
          CallSpec call{.message = head, .item_offset = write.item, .item_length = reduced ? size : 0, .item = data};
          if (made) {
            const Requester::Room room = link.requester->ItemRoom(size);
            ASSERT_EQ(room.bytes.size(), size);
            std::ranges::copy(data, room.bytes.begin());
            call.item = room.bytes;
          }
          EXPECT_EQ(link.Ask(call).kind, AnswerKind::kReply);
          EXPECT_EQ(link.service.content, data);
          EXPECT_EQ(link.service.calls.back(), WithXid(write.message, link.service.calls.back()));
        }
      }
    }
    const Requester::Room room = link.requester->ItemRoom(1000);
    EXPECT_FALSE(room.fresh);
    EXPECT_EQ(link.requester->stats().sent_bytes % 4, 0u);
  }
}

// More RDMA operations than may be posted at a time: they wait for each other, and none is left out.
TEST(Engine, MoreOperationsThanMayBePosted) {
  constexpr uint32_t kCalls = 8, kSize = 300'001;
  Link link({.credits = kCalls, .send_size = 16384, .receive_size = 16384, .segment_size = 1024},
            {.credits = kCalls, .send_size = 16384, .receive_size = 16384});
  const Write write(Pattern(kSize));
  const auto ask = [&](const CallSpec& call) {
    for (uint32_t i = 0; i < kCalls; ++i) {
      ASSERT_TRUE(link.Drive([&] { return link.requester->CanSend(); }));
      ASSERT_TRUE(link.requester->Send(call));
    }
    ASSERT_TRUE(link.Drive([&] { return link.answers.all.size() == kCalls; }));
    for (const Got& got : link.answers.all) EXPECT_EQ(got.kind, AnswerKind::kReply) << got.text;
  };
  ask({.message = write.message, .item_offset = write.item, .item_length = kSize});
  EXPECT_EQ(link.service.content, Pattern(kSize));
  link.answers.all.clear();
  const Buffer read = MakeCall(0, kNfs, 3, kRead, Join({FileHandle(), Words({0, 0, kSize})}));
  constexpr uint32_t kOffered[] = {kSize};
  ask({.message = read, .write_chunks = kOffered});
  for (const Got& got : link.answers.all) EXPECT_EQ(got.chunks.at(0), Pattern(kSize));
}

// Results that stay where they are go out whole in every form of Reply, and are given back once.
TEST(Engine, RepliesWithViews) {
  struct Lends final : Service, Lender {
    void OnCall(Bytes call, ServiceReply& reply) override {
      // READ: `pieces` views of what there is, in the order of the file.
      const uint32_t xid = LoadBe32(call.data()), count = LoadBe32(call.data() + call.size() - 4);
      reply.message = MakeReply(xid, Words({0, 0, count, 1, count}));
      reply.items.push_back({reply.message.size(), count});
      for (uint32_t i = 0, at = 0; i < pieces; ++i) {
        const uint32_t n = i + 1 < pieces ? count / pieces : count - at;
        reply.views.push_back({reply.message.size(), Bytes(memory).subspan(at, n), memory});
        at += n;
      }
      reply.lender = this;
      lent += pieces;
      reply.message.resize(reply.message.size() + (RoundUp4(count) - count));
    }
    void Return(Bytes) override { ++returned; }
    Buffer memory = Pattern(100'000);
    uint32_t pieces = 1, lent = 0, returned = 0;
  };
  Lends lends;
  {
    Link link({}, {}, &lends);
    for (const uint32_t pieces : {1u, 2u, 7u, 100u}) {
      lends.pieces = pieces;
      for (const uint32_t size : {101u, 900u, 4000u, 99'999u}) {
        const Buffer read = MakeCall(0, kNfs, 3, kRead, Join({FileHandle(), Words({0, 0, size})}));
        const Buffer expected(lends.memory.begin(), lends.memory.begin() + size);
        const uint32_t offered[] = {size};
        EXPECT_EQ(link.Ask({.message = read, .write_chunks = offered}).chunks.at(0), expected);
        const Buffer whole = MakeReply(0, Join({Words({0, 0, size, 1}), Opaque(expected)}));
        const Got got = link.Ask({.message = read, .reply_chunk = static_cast<uint32_t>(whole.size())});
        EXPECT_EQ(got.message, WithXid(whole, got.message)) << pieces << ' ' << size;
      }
    }
    // Only of a Reply inline with more pieces than a Send takes: with some devices 7.
    EXPECT_LE(link.responder->stats().copied_bytes, 2 * (101u + 900u + 4000u));
  }
  EXPECT_EQ(lends.lent, 2 * 4 * (1u + 2u + 7u + 100u));
  EXPECT_EQ(lends.returned, lends.lent);
}

TEST(Engine, WriteChunks) {
  for (const uint32_t segment : {1u << 20, 4096u}) {
    Link link({.segment_size = segment});
    for (const uint32_t size : kSizes) {
      link.service.content = Pattern(size, size);
      const uint32_t offered[] = {size};
      const Buffer call = ReadCall(0, size);
      const Got got = link.Ask({.message = call, .write_chunks = offered});
      ASSERT_EQ(got.kind, AnswerKind::kReply) << got.text;
      ASSERT_EQ(got.chunks.size(), 1u);
      EXPECT_EQ(got.chunks[0], link.service.content);
      EXPECT_EQ(got.message, WithXid(ReadReply(0, size, true), got.message));
    }
    link.service.content.clear();  // nothing to read: the chunk comes back unused
    const uint32_t offered[] = {100};
    const Buffer call = ReadCall(0, 100);
    const Got got = link.Ask({.message = call, .write_chunks = offered});
    EXPECT_EQ(got.kind, AnswerKind::kReply);
    EXPECT_TRUE(got.chunks.at(0).empty());
  }
}

TEST(Engine, ReplyChunks) {
  Link link({.segment_size = 3000});
  for (const uint32_t size : {100u, 4000u, 20'000u}) {
    const Buffer call = ReaddirCall(0, size);
    const Got got = link.Ask({.message = call, .reply_chunk = 32'768});
    ASSERT_EQ(got.kind, AnswerKind::kReply) << got.text;
    EXPECT_EQ(got.message, WithXid(ReaddirReply(0, size), got.message));
  }
}

TEST(Engine, ARefusalIsAnErrChunk) {
  Link link;
  const Buffer call = ReaddirCall(0, 20'000);
  EXPECT_EQ(link.Ask({.message = call, .reply_chunk = 1000}).kind, AnswerKind::kErrChunk);
  EXPECT_EQ(link.responder->stats().err_chunk, 1u);
  const Buffer fine = MakeCall(0, kNfs, 3, 0);
  EXPECT_EQ(link.Ask({.message = fine}).kind, AnswerKind::kReply);  // the connection goes on
  link.allowed = link.findings.all;  // the Call itself offers too little (REPLY-001 or its like)
}

TEST(Engine, CreditsAreKept) {
  Link link({.credits = 8}, {.credits = 4});
  const Buffer call = MakeCall(0, kNfs, 3, 0);
  size_t sent = 0;
  EXPECT_TRUE(link.Drive([&] {
    while (sent < 500 && link.requester->CanSend()) {
      EXPECT_TRUE(link.requester->Send({.message = call, .cookie = sent}));
      ++sent;
    }
    return link.answers.all.size() == 500;
  }));
  EXPECT_EQ(link.requester->stats().max_outstanding, 4u);
  EXPECT_GT(link.requester->stats().credit_stalls, 0u);
  EXPECT_EQ(link.requester->stats().answers, 500u);
  EXPECT_EQ(link.requester->outstanding(), 0u);
}

TEST(Engine, ThresholdsAreThoseOfBoth) {
  Link link({.send_size = 8192, .receive_size = 2048}, {.send_size = 4096, .receive_size = 4096});
  EXPECT_EQ(link.requester->call_threshold(), 4096u);
  EXPECT_EQ(link.requester->reply_threshold(), 2048u);
  Link none({.send_private_data = false});
  EXPECT_EQ(none.requester->call_threshold(), 1024u);
  EXPECT_EQ(none.requester->reply_threshold(), 1024u);
  const Write write(Pattern(2000));
  EXPECT_EQ(none.Ask({.message = write.message}).kind, AnswerKind::kReply);  // as a Long Call
  EXPECT_EQ(none.service.content, Pattern(2000));
}

TEST(Engine, RemoteInvalidationAndFreshHandles) {
  for (const bool invalidation : {false, true})
    for (const bool fresh : {false, true}) {
      Link link({.remote_invalidation = invalidation, .fresh_handles = fresh});
      for (uint32_t i = 1; i <= 20; ++i) {
        link.service.content = Pattern(i * 100);
        const uint32_t offered[] = {i * 100};
        const Buffer call = ReadCall(0, i * 100);
        const Got got = link.Ask({.message = call, .write_chunks = offered});
        ASSERT_EQ(got.chunks.at(0), link.service.content);
      }
    }
}

TEST(Engine, EveryCallIsAccountedFor) {
  Link link;
  const Buffer call = MakeCall(0, kNfs, 3, 0), silent = MakeCall(0, kNfs, 3, 99);
  EXPECT_EQ(link.Ask({.message = call}).kind, AnswerKind::kReply);
  EXPECT_TRUE(link.requester->Send({.message = silent, .cookie = 7}));
  EXPECT_TRUE(link.Drive([&] { return link.service.calls.size() == 2; }));
  link.responder->endpoint().Disconnect();
  EXPECT_TRUE(link.Drive([&] { return !link.answers.all.empty(); }));
  EXPECT_EQ(link.answers.all.at(0).kind, AnswerKind::kLost);
  EXPECT_EQ(link.answers.all.at(0).cookie, 7u);
  EXPECT_EQ(link.requester->stats().lost, 1u);
  EXPECT_FALSE(link.requester->CanSend());
  EXPECT_FALSE(link.requester->Send({.message = call}));
}

TEST(Engine, ContradictionsAreRefused) {
  Link link;
  const Buffer call = MakeCall(0, kNfs, 3, 0);
  EXPECT_FALSE(link.requester->Send({.message = Bytes(call).first(36)}));
  EXPECT_FALSE(link.requester->Send({.message = call, .item_offset = 40, .item_length = 8}));
  EXPECT_FALSE(link.requester->Send({.message = call, .item_offset = 38, .item_length = 1}));
  EXPECT_EQ(link.Ask({.message = call}).kind, AnswerKind::kReply);
}

}  // namespace
}  // namespace stag::rpcrdma
