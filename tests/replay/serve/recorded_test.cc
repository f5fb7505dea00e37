// SPDX-License-Identifier: GPL-2.0-or-later
//
// --mode recorded: a client that makes the Calls of real captures gets their Replies byte for byte; the same Call gets
// its Replies in their order; and what is not recorded is refused in a way that clients understand.
#include "replay/serve/recorded.h"

#include "tests/replay/serve/nfs_client.h"
#include "tests/replay/serve/running.h"
#include "tests/support/event_script.h"

namespace stag::serve {
namespace {

using namespace test;

recording::Recording Load(const std::string& name) {
  recording::RecordingBuilder recorder(64 << 20);
  (void)Run(LoadFrames(STAG_SOURCE_DIR "/pcaps/real/" + name), {}, {}, {&recorder});
  auto recording = recorder.Finish();
  EXPECT_TRUE(recording);
  return std::move(*recording);
}

// The Call as it was sent then, with chunks of the recorded sizes.
struct Again {
  explicit Again(const recording::RecordedRpc& rpc) {
    spec.message = rpc.call.bytes;
    spec.position_zero = !rpc.read_chunks.empty() && rpc.read_chunks[0].position == 0;
    for (const recording::RecordedItem& item : rpc.call.items)
      if (item.reduced) spec.item_offset = item.offset, spec.item_length = item.length;
    for (const recording::RecordedChunk& chunk : rpc.write_chunks)
      offered.push_back(static_cast<uint32_t>(chunk.offered));
    spec.write_chunks = offered;
    if (rpc.reply_chunk) spec.reply_chunk = static_cast<uint32_t>(rpc.reply_chunk->offered);
  }
  rpcrdma::CallSpec spec;
  std::vector<uint32_t> offered;
};

// The unreduced Reply: what came in chunks is put in its place. With the recorded xid.
Buffer Whole(const Client& client, const recording::RecordedRpc& rpc) {
  Buffer whole;
  auto rest = client.message.begin();
  size_t chunk = 0;
  for (const recording::RecordedItem& item : rpc.reply.items) {
    if (chunk == client.chunks.size()) break;
    const Buffer& bytes = client.chunks[chunk++];
    if (bytes.empty()) continue;
    const auto until = rest + static_cast<ptrdiff_t>(item.offset - whole.size());
    whole.insert(whole.end(), rest, until);
    rest = until;
    whole.insert(whole.end(), bytes.begin(), bytes.end());
    whole.resize(RoundUp4(whole.size()));
  }
  whole.insert(whole.end(), rest, client.message.end());
  StoreBe32(whole.data(), rpc.xid);
  return whole;
}

class RealRecording : public testing::TestWithParam<const char*> {};

TEST_P(RealRecording, EveryReplyIsTheRecordedOne) {
  const recording::Recording recording = Load(GetParam());
  RecordedService service(recording);
  Running running(service);
  size_t asked = 0;
  for (const recording::RecordedConnection& connection : recording.connections) {
    Client client(running, {.credits = 4, .fresh_handles = true});
    for (const uint32_t index : connection.rpcs) {
      const recording::RecordedRpc& rpc = *recording.rpcs[index];
      if (rpc.backward || rpc.reply.bytes.empty()) continue;
      ++asked;
      const Again again(rpc);
      client.Exchange(again.spec);
      ASSERT_EQ(client.kind, rpcrdma::AnswerKind::kReply) << rpc.call_frame.number;
      const Buffer whole = Whole(client, rpc);
      ASSERT_TRUE(std::ranges::equal(whole, rpc.reply.bytes)) << rpc.call_frame.number;
    }
    client.requester->endpoint().Disconnect();
    while (client.requester->open()) client.requester->Poll(std::chrono::milliseconds(10));
  }
  EXPECT_GT(asked, 20u);
  EXPECT_EQ(service.stats().matched, asked);
  EXPECT_EQ(service.stats().repeated, 0u);
  EXPECT_EQ(service.stats().unmatched, 0u);
  EXPECT_TRUE(service.samples().empty());
}

INSTANTIATE_TEST_SUITE_P(Real, RealRecording,
                         testing::Values("rxe-nfs3.pcap.zst", "rxe-midstream-nfs3.pcap.zst", "rxe-nfs4.1.pcap.zst",
                                         "siw-nfs4.1.pcap.zst", "siw-midstream-nfs4.1.pcap.zst"));

// Recordings that are made.
struct Made : testing::Test {
  recording::RecordingBuilder recorder{1 << 20};
  session::Session session{session::SessionOptions{}, {&recorder}};
  uint32_t xid = 0;

  void Rpc(EventScript& script, uint32_t procedure, const Buffer& arguments, const Buffer& results,
           uint32_t version = 3) {
    ++xid;
    script.Send(0, MakeHeader(0, xid), MakeCall(xid, kNfs3, version, procedure, arguments));
    script.Send(1, MakeHeader(0, xid), MakeReply(xid, results));
  }
  recording::Recording Finish() {
    session.Finish();
    auto recording = recorder.Finish();
    EXPECT_TRUE(recording);
    return std::move(*recording);
  }
};

using Buffers = std::vector<Buffer>;

Buffer Handle(uint32_t n) { return Opaque(Words({n, n})); }

// The results of a Call, or nothing when it is not accepted.
Buffer Results(rpcrdma::Service& service, const Buffer& call) {
  rpcrdma::ServiceReply reply;
  service.OnCall(call, reply);
  (void)reply.Flatten();
  const rpc::ReplyHeader header = rpc::DecodeReply(reply.message, reply.message.size());
  EXPECT_EQ(header.xid, LoadBe32(call.data()));
  if (!header.success()) return {};
  return {reply.message.begin() + header.length, reply.message.end()};
}
Buffer Lookup(uint32_t xid, uint32_t directory, std::string_view name) {
  return MakeCall(xid, kNfs3, 3, kLookup, At(Handle(directory), name));
}

TEST_F(Made, RepeatedCallsGetTheirRepliesInOrder) {
  EventScript script(session);
  script.Open();
  Rpc(script, kLookup, At(Handle(1), "a"), Words({2, 0}));  // NFS3ERR_NOENT
  Rpc(script, kLookup, At(Handle(1), "b"), Words({5, 0}));
  Rpc(script, kLookup, At(Handle(1), "a"), Words({13, 0}));
  script.Close();
  const recording::Recording recording = Finish();
  RecordedService service(recording);
  const std::unique_ptr<rpcrdma::Service> one = service.NewConnection(), two = service.NewConnection();
  EXPECT_EQ(Results(*one, Lookup(70, 1, "a")), Words({2, 0}));
  EXPECT_EQ(Results(*one, Lookup(71, 1, "a")), Words({13, 0}));
  EXPECT_EQ(Results(*two, Lookup(70, 1, "a")), Words({2, 0})) << "each connection begins anew";
  EXPECT_EQ(Results(*one, Lookup(72, 1, "a")), Words({13, 0})) << "the last again";
  EXPECT_EQ(Results(*one, Lookup(73, 1, "b")), Words({5, 0}));
  EXPECT_EQ(service.stats().matched, 5u);
  EXPECT_EQ(service.stats().repeated, 1u);
}

TEST_F(Made, ConnectionsGoByRecordedOnes) {
  EventScript first(session, 1), second(session, 2);
  for (EventScript* script : {&first, &second}) {
    script->Open();
    Rpc(*script, 0, {}, {});
  }
  Rpc(first, kGetattr, Handle(1), Words({1}));
  Rpc(second, kGetattr, Handle(1), Words({2}));
  Rpc(second, kGetattr, Handle(2), Words({3}));
  ++xid;
  first.Send(0, MakeHeader(0, xid), MakeCall(xid, kNfs3, 3, kGetattr, Handle(2)));  // without a reply
  for (EventScript* script : {&first, &second}) script->Close();
  const recording::Recording recording = Finish();
  RecordedService service(recording);
  const auto getattr = [](uint32_t handle) { return MakeCall(9, kNfs3, 3, kGetattr, Handle(handle)); };
  const std::unique_ptr<rpcrdma::Service> a = service.NewConnection();
  std::unique_ptr<rpcrdma::Service> b = service.NewConnection();
  EXPECT_EQ(Results(*b, MakeCall(1, kNfs3, 3, 0)), Buffer{});
  EXPECT_EQ(Results(*a, getattr(1)), Words({1}));
  EXPECT_EQ(Results(*b, getattr(1)), Words({2})) << "the other one";
  EXPECT_EQ(Results(*a, getattr(2)), Words({3})) << "answered only there";
  b.reset();
  b = service.NewConnection();
  EXPECT_EQ(Results(*b, getattr(1)), Words({2})) << "free again";
  EXPECT_EQ(service.stats().repeated, 0u);
}

// As a client that connects, works, disconnects, and comes again.
TEST_F(Made, ConnectionsOneAfterTheOther) {
  EventScript first(session, 1), second(session, 2);
  for (EventScript* script : {&first, &second}) {
    script->Open();
    Rpc(*script, kGetattr, Handle(1), Words({script == &first ? 1u : 2u}));
    script->Close();
  }
  const recording::Recording recording = Finish();
  RecordedService service(recording);
  for (const uint32_t expected : {1u, 2u, 1u}) {
    const std::unique_ptr<rpcrdma::Service> connection = service.NewConnection();
    EXPECT_EQ(Results(*connection, MakeCall(9, kNfs3, 3, kGetattr, Handle(1))), Words({expected}));
  }
}

// A client that kept a delegation, which the recorded one had returned, reads with its stateid.
TEST_F(Made, AnotherStateidGetsTheReplyIfNoCallHasTheSame) {
  const auto read = [](uint32_t stateid, uint32_t offset) {  // PUTFH, READ of 4 bytes
    return Words({0, 1, 2, 22, 4, 1, 25, stateid, 0, 0, 0, 0, offset, 4});
  };
  const auto result = [](uint32_t data) { return Words({0, 0, 2, 22, 0, 25, 0, 1, 4, data}); };
  EventScript script(session);
  script.Open();
  Rpc(script, 1, read(5, 0), result(100), 4);
  Rpc(script, 1, read(6, 0), result(200), 4);
  script.Close();
  const recording::Recording recording = Finish();
  RecordedService service(recording);
  const auto ask = [&](uint32_t stateid, uint32_t offset) {
    return Results(service, MakeCall(1, kNfs3, 4, 1, read(stateid, offset)));
  };
  EXPECT_EQ(ask(6, 0), result(200));
  EXPECT_EQ(service.stats().other_stateid, 0u);
  EXPECT_EQ(ask(7, 0), result(100));
  EXPECT_EQ(ask(8, 0), result(200)) << "the next Reply to such a Call";
  EXPECT_EQ(service.stats().other_stateid, 2u);
  EXPECT_EQ(service.stats().unmatched, 0u);
  EXPECT_EQ(ask(7, 4), Words({10004, 0, 1, 22, 10004})) << "other arguments";
  EXPECT_EQ(service.stats().unmatched, 1u);
}

// The second waits for the credit that the answer to the first brings.
TEST_F(Made, CallbacksAreMadeBehindTheirReplies) {
  const Buffer channel = Words({0, 4096, 4096, 4096, 8, 8, 0});
  const Buffer create = Join({Words({0, 1, 1, 43, 0, 7, 1, 2}), channel, channel, Words({0x40000000, 1, 0})});
  const Buffer created = Join({Words({0, 0, 1, 43, 0, 1, 2, 3, 4, 1, 2}), channel, channel});
  EventScript script(session);
  script.Open();
  Rpc(script, 1, create, created, 4);
  Buffers recorded;
  for (const uint32_t backward : {0xcb1u, 0xcb2u}) {
    recorded.push_back(MakeCall(backward, 0x40000000, 1, 0));  // CB_NULL
    script.Send(1, MakeHeader(0, backward), recorded.back());
    script.Send(0, MakeHeader(0, backward), MakeReply(backward));
  }
  Rpc(script, kGetattr, Handle(2), Words({2}));
  script.Close();
  const recording::Recording recording = Finish();
  RecordedService service(recording);
  Running running(service);
  struct Called : Client {
    using Client::Client;
    void OnBackwardCall(Bytes call, Buffer& reply) override {
      calls.emplace_back(call.begin(), call.end());
      reply = MakeReply(LoadBe32(call.data()));
    }
    Buffers calls;
  } client(running);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.Ask({.message = MakeCall(0, kNfs3, 4, 1, create)}), created);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (client.calls.size() < 2 && std::chrono::steady_clock::now() < end)
    client.requester->Poll(std::chrono::milliseconds(10));
  EXPECT_EQ(client.Ask({.message = MakeCall(0, kNfs3, 3, kGetattr, Handle(2))}), Words({2}));
  EXPECT_EQ(client.calls, recorded) << "once";
  client.requester.reset();
  running.Stop();
  EXPECT_EQ(service.stats().callbacks, 2u);
  EXPECT_EQ(running.report().stats.callbacks, 2u);
  EXPECT_EQ(running.report().stats.dropped, 0u);
}

TEST_F(Made, RdmaErrorsAreAnswersToo) {
  EventScript script(session);
  script.Open();
  for (const uint32_t err : {rpcrdma::kErrChunk, rpcrdma::kErrVers}) {
    ++xid;
    script.Send(0, MakeHeader(0, xid), MakeCall(xid, kNfs3, 3, kGetattr, Handle(err)));
    rpcrdma::Header error = MakeHeader(rpcrdma::kError, xid);
    error.err = err;
    error.vers_low = error.vers_high = 1;
    script.Send(1, error);
  }
  script.Close();
  const recording::Recording recording = Finish();
  RecordedService service(recording);
  EXPECT_EQ(service.answers(), 1u);
  Running running(service);
  Client client(running);
  const Buffer null = MakeCall(0, kNfs3, 3, 0);  // whose Reply grants credits
  EXPECT_EQ(client.Ask({.message = null}), Buffer{});
  const Buffer call = MakeCall(0, kNfs3, 3, kGetattr, Handle(rpcrdma::kErrChunk));
  client.Exchange({.message = call});
  EXPECT_EQ(client.kind, rpcrdma::AnswerKind::kErrChunk);
  const Buffer other = MakeCall(0, kNfs3, 3, kGetattr, Handle(rpcrdma::kErrVers));  // nobody sends another version
  EXPECT_EQ(client.Ask({.message = other}), Words({10004}));
}

TEST_F(Made, WhatIsNotRecordedIsRefused) {
  EventScript script(session);
  script.Open();
  Rpc(script, kGetattr, Handle(1), Words({2}));
  Rpc(script, 1, Words({0, 0, 1, 24}), Words({0, 0, 1, 24, 0}), 4);  // COMPOUND with PUTROOTFH
  ++xid;
  script.Send(0, MakeHeader(0, xid), MakeCall(xid, kNfs3, 3, kGetattr, Handle(7)));  // without a reply
  script.Close();
  const recording::Recording recording = Finish();
  RecordedService service(recording);
  EXPECT_EQ(service.answers(), 2u);
  EXPECT_EQ(service.unusable(), 1u);
  EXPECT_TRUE(std::ranges::equal(service.root(), Words({1, 1})));
  const std::unique_ptr<RpcService> mount = MakeMountService(service.root());
  EXPECT_EQ(Results(*mount, MakeCall(1, kMount3, 3, 1, Text("/any"))), Words({0, 8, 1, 1, 2, 1, 0}));

  EXPECT_EQ(Results(service, MakeCall(1, kNfs3, 3, 0)), Buffer{}) << "NULL needs no recording";
  EXPECT_EQ(service.stats().unmatched, 0u);
  // NFS3ERR_NOTSUPP and, as RFC 1813 section 3.3 has it, no attributes.
  EXPECT_EQ(Results(service, MakeCall(1, kNfs3, 3, kGetattr, Handle(2))), Words({10004}));
  EXPECT_EQ(Results(service, MakeCall(1, kNfs3, 3, kGetattr, Handle(7))), Words({10004}));
  EXPECT_EQ(Results(service, Lookup(1, 1, "x")), Words({10004, 0}));
  EXPECT_EQ(Results(service, MakeCall(1, kNfs3, 3, kRename, Join({At(Handle(1), "a"), At(Handle(1), "b")}))),
            Words({10004, 0, 0, 0, 0}));
  // The first operation fails, or the one behind SEQUENCE (RFC 8881 section 16.2.4).
  EXPECT_EQ(Results(service, MakeCall(1, kNfs3, 4, 1, Words({3, 0x61626300, 0, 1, 10}))),
            Words({10004, 3, 0x61626300, 1, 10, 10004}));
  EXPECT_EQ(
      Results(service, MakeCall(1, kNfs3, 4, 1, Words({0, 1, 2, 53, 1, 2, 3, 4, 5, 6, 7, 0, 34, 0, 0, 0, 0, 0, 0}))),
      Words({10004, 0, 2, 53, 0, 1, 2, 3, 4, 5, 6, 7, 7, 0, 34, 10004, 0}));
  // Programs, versions and procedures that there are none of.
  rpcrdma::ServiceReply reply;
  const auto accept_stat = [&](const Buffer& call) {
    reply.Clear();
    service.OnCall(call, reply);
    return rpc::DecodeReply(reply.message, reply.message.size()).accept_stat;
  };
  EXPECT_EQ(accept_stat(MakeCall(1, kMount3, 3, 1)), rpc::kProgUnavail);
  EXPECT_EQ(accept_stat(MakeCall(1, kNfs3, 2, 1)), rpc::kProgMismatch);
  EXPECT_EQ(accept_stat(MakeCall(1, kNfs3, 3, 22)), rpc::kProcUnavail);
  // A file handle that is longer than the Call.
  EXPECT_EQ(accept_stat(MakeCall(1, kNfs3, 3, kGetattr, Words({64, 1}))), rpc::kGarbageArgs);

  EXPECT_EQ(service.stats().matched, 0u);
  EXPECT_EQ(service.stats().unmatched, 10u);
  ASSERT_TRUE(service.samples().contains("NFSv3 GETATTR: no such Call"));
  EXPECT_EQ(service.samples().at("NFSv3 GETATTR: no such Call").text,
            "NFSv3 GETATTR: no such Call; arguments, 12 bytes: 000000080000000200000002");
  EXPECT_EQ(service.samples().at("NFSv3 GETATTR: it was not answered").times, 1u);
  EXPECT_TRUE(service.samples().contains("NFSv4 COMPOUND SEQUENCE,SETATTR: no such Call"));
  EXPECT_EQ(service.counts().at({kNfs3, 3, kGetattr}).refused, 3u);
}

}  // namespace
}  // namespace stag::serve
