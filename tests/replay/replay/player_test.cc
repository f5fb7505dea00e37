// SPDX-License-Identifier: GPL-2.0-or-later
//
// Plans played over loopback against servers that do what the test wants: answer, not answer, hang up, keep to
// NFSv4.1's sessions. The account must come out right each time.
#include "replay/replay/player.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "replay/endpoint/soft_iwarp.h"
#include "replay/rpcrdma/responder.h"
#include "tests/replay/replay/planned.h"

namespace stag::replay {
namespace {

using namespace test;
using std::chrono::milliseconds;
using Handler = std::function<void(Bytes call, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply)>;

// A server in a thread of its own.
class LiveServer final : public rpcrdma::Service {
 public:
  explicit LiveServer(Handler handler, rpcrdma::ResponderOptions options = {}, uint64_t hang_up_after = 0)
      : handler_(std::move(handler)), options_(options), hang_up_after_(hang_up_after) {
    listener_ = std::move(*transport_->Listen({"127.0.0.1", 0}));
    thread_ = std::thread([this] { Run(); });
  }
  ~LiveServer() override {
    stop_ = true;
    thread_.join();
  }
  endpoint::HostPort address() const { return {"127.0.0.1", listener_->port()}; }

  // To be looked at when the clients are gone.
  std::vector<Buffer> calls;
  std::vector<Buffer> private_data;

 private:
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override {
    calls.emplace_back(call.begin(), call.end());
    handler_(call, rpc::DecodeCall(call, call.size()), reply);
  }
  void Run() {
    std::vector<std::unique_ptr<rpcrdma::Responder>> connections;
    while (!stop_) {
      auto incoming = listener_->Wait(milliseconds{connections.empty() ? 20 : 0});
      if (incoming && *incoming) {
        private_data.emplace_back((*incoming)->private_data().begin(), (*incoming)->private_data().end());
        endpoint::EndpointOptions endpoint;
        rpcrdma::Responder::Prepare(options_, endpoint);
        auto accepted = (*incoming)->Accept(endpoint);
        if (accepted)
          connections.push_back(std::make_unique<rpcrdma::Responder>(std::move(*accepted), options_, *this));
      }
      for (const auto& connection : connections) connection->Poll(std::chrono::microseconds{500});
      std::erase_if(connections, [](const auto& connection) { return !connection->open(); });
      if (hang_up_after_ > 0 && calls.size() >= hang_up_after_) {
        hang_up_after_ = 0;
        connections.clear();
      }
    }
  }

  const Handler handler_;
  const rpcrdma::ResponderOptions options_;
  uint64_t hang_up_after_;
  std::unique_ptr<endpoint::Transport> transport_ = endpoint::MakeSoftIwarp();
  std::unique_ptr<endpoint::Listener> listener_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

void AnswerGetattr(Bytes, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply) {
  reply.message = GetattrReply(header.xid);
}

struct Played {
  PlayReport report;
  ProcedureReport total;
};

struct PlayerTest : testing::Test {
  PlanMaker maker;
  PlayOptions options;

  // Three Calls one after the other, then three at once.
  void RecordGetattrs() {
    for (const uint32_t xid : {1u, 2u, 3u}) maker.Call(GetattrCall(xid)).Reply(GetattrReply(xid));
    for (const uint32_t xid : {4u, 5u, 6u}) maker.Call(GetattrCall(xid));
    for (const uint32_t xid : {4u, 5u, 6u}) maker.Reply(GetattrReply(xid));
  }
  std::unique_ptr<Played> Play(LiveServer& server) {
    if (!plans) plans.emplace(maker.Finish());
    options.to = server.address();
    Player player(*plans, *transport, options);
    const auto ran = player.Run();
    EXPECT_TRUE(ran) << ran.error().message;
    auto played = std::make_unique<Played>(Played{player.report(), player.report().Total()});
    const ProcedureReport& total = played->total;
    EXPECT_EQ(total.sent, total.answered + total.lost + total.timed_out);
    EXPECT_EQ(total.sent + total.not_sent, plans->calls() * played->report.loops);
    return played;
  }

  std::optional<MadePlans> plans;
  std::unique_ptr<endpoint::Transport> transport = endpoint::MakeSoftIwarp();
};

TEST_F(PlayerTest, EverythingOnceAndAsRecorded) {
  RecordGetattrs();
  LiveServer server(AnswerGetattr);
  const auto played = Play(server);
  EXPECT_EQ(played->total.sent, 6u);
  EXPECT_EQ(played->total.matched, 6u);
  EXPECT_EQ(played->total.identical, 6u);
  EXPECT_EQ(played->report.MatchPercent(), 100);
  EXPECT_LE(played->report.max_outstanding, 3u) << "never more at once than was recorded";
  EXPECT_EQ(server.calls.size(), 6u);
  // The private data of the recorded client (EventScript opens with thresholds of 4096 bytes and the R flag).
  std::vector<std::byte> data;
  rpcrdma::Encode(rpcrdma::PrivateData{1, 1, 3, 3}, data);
  EXPECT_EQ(server.private_data, std::vector<Buffer>{data});
}

TEST_F(PlayerTest, OtherStatusesAreDifferences) {
  RecordGetattrs();
  LiveServer server([](Bytes, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply) {
    reply.message = MakeReply(header.xid, Words({70}));
  });
  const auto played = Play(server);
  EXPECT_EQ(played->total.answered, 6u);
  EXPECT_EQ(played->total.matched, 0u);
  ASSERT_EQ(played->report.differences.size(), 6u);
  EXPECT_EQ(played->report.differences[0].live, (AnswerStatus{AnswerStatus::Kind::kStatus, 70}));
  EXPECT_EQ(played->report.MatchPercent(), 0);
}

TEST_F(PlayerTest, ACallWithoutAnAnswerTimesOutAndTheRestGoesOn) {
  RecordGetattrs();
  options.timeout = milliseconds{2000};  // the other answers take less on any machine
  uint32_t calls = 0;
  LiveServer server([&calls](Bytes call, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply) {
    if (++calls != 2) AnswerGetattr(call, header, reply);
  });
  const auto played = Play(server);
  EXPECT_EQ(played->total.timed_out, 1u);
  EXPECT_EQ(played->total.answered, 5u);
  ASSERT_EQ(played->report.differences.size(), 1u);
  EXPECT_EQ(played->report.differences[0].live.kind, AnswerStatus::Kind::kTimeout);
}

// What is not answered keeps its credit: with none left, the rest is told rather than waited for.
TEST_F(PlayerTest, AServerThatNeverAnswers) {
  RecordGetattrs();
  options.timeout = milliseconds{100};
  LiveServer server([](Bytes, const rpc::CallHeader&, rpcrdma::ServiceReply&) {});
  const auto played = Play(server);
  EXPECT_EQ(played->total.timed_out, 1u) << "one credit before the first answer (RFC 8166 section 3.3.3)";
  EXPECT_EQ(played->total.not_sent, 5u);
  ASSERT_EQ(played->report.troubles.size(), 1u);
  EXPECT_NE(played->report.troubles.begin()->first.find("does not answer"), std::string::npos);
}

// What the recording has no answer for is not waited for as long.
TEST_F(PlayerTest, NobodyAnsweredThenEither) {
  maker.Call(GetattrCall(1)).Reply(GetattrReply(1)).Call(GetattrCall(2));
  options.timeout = std::chrono::hours{1};
  LiveServer server([](Bytes call, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply) {
    static int calls = 0;
    if (++calls == 1) AnswerGetattr(call, header, reply);
  });
  const auto played = Play(server);
  EXPECT_EQ(played->total.timed_out, 1u);
  EXPECT_EQ(played->total.compared, 1u);
  EXPECT_EQ(played->report.MatchPercent(), 100);
}

TEST_F(PlayerTest, WithoutReconnectionTheRestIsNotSent) {
  RecordGetattrs();
  LiveServer server(AnswerGetattr, {}, 2);
  const auto played = Play(server);
  EXPECT_LE(played->total.answered, 2u);
  EXPECT_GE(played->total.not_sent, 3u);
  EXPECT_FALSE(played->report.troubles.empty());
  EXPECT_LT(played->report.MatchPercent(), 50);
}

TEST_F(PlayerTest, AfterAReconnectionNothingIsLost) {
  RecordGetattrs();
  options.reconnects = 1;
  LiveServer server(AnswerGetattr, {}, 2);
  const auto played = Play(server);
  EXPECT_EQ(played->report.reconnects, 1u);
  EXPECT_EQ(played->report.connections, 2u);
  EXPECT_EQ(played->total.answered, 6u);
  EXPECT_EQ(played->total.lost + played->total.not_sent, 0u);
  EXPECT_EQ(played->total.matched, 6u);
}

TEST_F(PlayerTest, CreditsAreWaitedFor) {
  RecordGetattrs();
  rpcrdma::ResponderOptions stingy;
  stingy.credits = 1;
  LiveServer server(AnswerGetattr, stingy);
  const auto played = Play(server);
  EXPECT_EQ(played->total.matched, 6u);
  EXPECT_EQ(played->report.max_outstanding, 1u);
  EXPECT_GE(played->report.credit_stalls, 2u);
}

// NFSv4.1: a server that has other ids, counts from elsewhere, has two slots, and takes sequences seriously.
TEST_F(PlayerTest, SessionsOfAnotherServer) {
  maker.Call(Compound(1, {ExchangeId(5, Name("client"))})).Reply(CompoundReply(1, {ExchangeIdResult(7, 1)}));
  maker.Call(Compound(2, {CreateSession(7, 1)})).Reply(CompoundReply(2, {CreateSessionResult(Session(1), 1, 64)}));
  const auto sequence = [](uint32_t xid, uint32_t n, uint32_t slot) {
    return Compound(xid, {Sequence(Session(1), n, slot, slot), PutRootFh()});
  };
  const auto done = [](uint32_t xid, const Buffer& session, uint32_t n, uint32_t slot) {
    return CompoundReply(xid, {SequenceResult(session, n, slot), PutRootFhResult()});
  };
  for (uint32_t round = 1; round <= 3; ++round) {
    for (uint32_t slot = 0; slot < 4; ++slot) maker.Call(sequence(round * 10 + slot, round, slot));
    for (uint32_t slot = 0; slot < 4; ++slot) maker.Reply(done(round * 10 + slot, Session(1), round, slot));
  }
  struct State {
    uint32_t next[2] = {1, 1};
  } state;
  LiveServer server([&](Bytes call, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply) {
    const Bytes operation = call.subspan(header.length + 12);  // behind an empty tag, the minor version and the count
    const uint32_t xid = header.xid;
    switch (LoadBe32(operation.data())) {
      case 42: reply.message = CompoundReply(xid, {ExchangeIdResult(99, 40)}); break;
      case 43: reply.message = CompoundReply(xid, {CreateSessionResult(Session(9), 40, 2)}); break;
      default: {
        const uint32_t n = LoadBe32(operation.data() + 20), slot = LoadBe32(operation.data() + 24);
        const bool known = std::ranges::equal(operation.subspan(4, 16), Session(9));
        if (!known || slot > 1 || state.next[slot] != n) {
          reply.message = CompoundReply(xid, {SequenceResult(Session(9), n, slot, 10063)}, 10063);  // SEQ_MISORDERED
        } else {
          ++state.next[slot];
          reply.message = done(xid, Session(9), n, slot);
        }
      }
    }
  });
  const auto played = Play(server);
  EXPECT_EQ(played->total.matched, 14u);
  EXPECT_GE(played->report.slot_stalls, 3u) << "of four at once two had to wait, in each round";
  EXPECT_EQ(played->report.unknown, 0u);
  EXPECT_EQ(state.next[0] + state.next[1], 14u);
}

constexpr uint32_t kDelay = 10008, kGrace = 10013;  // RFC 8881 sections 15.1.1.3 and 15.1.9.2

// Whoever comes too early comes again, and what follows waits.
TEST_F(PlayerTest, WhatTheServerPutsOffIsSentAgain) {
  RecordGetattrs();
  std::vector<uint32_t> statuses = {0, kDelay, kDelay, 0, 0, 0, kDelay};  // 0 from then on
  size_t calls = 0;
  LiveServer server([&](Bytes call, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply) {
    const uint32_t status = calls < statuses.size() ? statuses[calls] : 0;
    ++calls;
    if (status == 0) return AnswerGetattr(call, header, reply);
    reply.message = MakeReply(header.xid, Words({status}));
  });
  const auto played = Play(server);
  EXPECT_EQ(played->total.sent, 6u);
  EXPECT_EQ(played->total.answered, 6u);
  EXPECT_EQ(played->total.matched, 6u);
  EXPECT_EQ(played->total.put_off, 3u);
  EXPECT_EQ(played->total.resent, 0u) << "of lost connections";
  EXPECT_EQ(server.calls.size(), 9u);
  EXPECT_GE(played->report.elapsed, milliseconds{300}) << "with pauses";
}

TEST_F(PlayerTest, WhatIsPutOffForTooLongIsADifference) {
  maker.Call(GetattrCall(1)).Reply(GetattrReply(1));
  LiveServer server([&](Bytes, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply) {
    reply.message = MakeReply(header.xid, Words({kDelay}));
  });
  for (const uint32_t patience : {0u, 250u}) {
    options.put_off = milliseconds{patience};
    const auto played = Play(server);
    EXPECT_EQ(played->total.answered, 1u);
    // After 0.1 and 0.3 s; on a busy machine the second answer may come when the patience is over.
    EXPECT_GE(played->total.put_off, patience == 0 ? 0u : 1u);
    EXPECT_LE(played->total.put_off, patience == 0 ? 0u : 2u);
    ASSERT_EQ(played->report.differences.size(), 1u);
    EXPECT_EQ(played->report.differences[0].live, (AnswerStatus{AnswerStatus::Kind::kStatus, kDelay}));
  }
}

TEST_F(PlayerTest, WhatIsPutOffEndsWithAStop) {
  maker.Call(GetattrCall(1)).Reply(GetattrReply(1));
  options.duration = milliseconds{1000};  // the first Call is sent in that time on any machine
  LiveServer server([&](Bytes, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply) {
    reply.message = MakeReply(header.xid, Words({kDelay}));
  });
  plans.emplace(maker.Finish());
  options.to = server.address();
  Player player(*plans, *transport, options);
  ASSERT_TRUE(player.Run());
  const ProcedureReport total = player.report().Total();
  EXPECT_EQ(total.sent, 1u);
  EXPECT_EQ(total.answered, 1u);
  EXPECT_GE(total.put_off, 1u);
  EXPECT_EQ(total.compared - total.matched, 1u);
  EXPECT_TRUE(player.report().stopped);
}

// The SEQUENCE of a COMPOUND that is put off was taken: the next one has the next number, unless it was it that was.
TEST_F(PlayerTest, SessionsOfAServerInItsGracePeriod) {
  maker.Call(Compound(1, {ExchangeId(5, Name("client"))})).Reply(CompoundReply(1, {ExchangeIdResult(7, 1)}));
  maker.Call(Compound(2, {CreateSession(7, 1)})).Reply(CompoundReply(2, {CreateSessionResult(Session(1), 1, 64)}));
  maker.Call(Compound(3, {Sequence(Session(1), 1, 0, 0), PutRootFh()}));
  maker.Reply(CompoundReply(3, {SequenceResult(Session(1), 1, 0), PutRootFhResult()}));
  std::vector<uint32_t> numbers;
  LiveServer server([&](Bytes call, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply) {
    const Bytes operation = call.subspan(header.length + 12);
    const uint32_t xid = header.xid;
    switch (LoadBe32(operation.data())) {
      case 42: reply.message = CompoundReply(xid, {ExchangeIdResult(99, 40)}); return;
      case 43: reply.message = CompoundReply(xid, {CreateSessionResult(Session(9), 40, 1)}); return;
      default: break;
    }
    const uint32_t n = LoadBe32(operation.data() + 20);
    numbers.push_back(n);
    if (numbers.size() == 1) {
      reply.message = CompoundReply(xid, {SequenceResult(Session(9), n, 0, kDelay)}, kDelay);
    } else if (numbers.size() == 2) {
      reply.message = CompoundReply(xid, {SequenceResult(Session(9), n, 0), Words({24, kGrace})}, kGrace);
    } else {
      reply.message = CompoundReply(xid, {SequenceResult(Session(9), n, 0), PutRootFhResult()});
    }
  });
  const auto played = Play(server);
  EXPECT_EQ(played->total.matched, 3u);
  EXPECT_EQ(played->total.put_off, 2u);
  EXPECT_EQ(numbers, (std::vector<uint32_t>{1, 1, 2}));
}

// NFSv4.0: the server would repeat its answer to the same open_seqid, but for an owner that is new to it.
TEST_F(PlayerTest, OpensOfNfsv40) {
  const Buffer open = Join({Words({18, 1, 1, 0, 0, 7}), Opaque(Name("owner")), Words({0, 0}), Opaque(Name("file"))});
  const Buffer opened = Join({Words({18, 0}), Pattern(16), Words({0, 0, 0, 0, 0, 0, 0, 0})});
  maker.Call(Compound(1, {PutRootFh(), open}, 0)).Reply(CompoundReply(1, {PutRootFhResult(), opened}));
  for (const uint32_t status : {kDelay, kGrace}) {
    size_t calls = 0;
    LiveServer server([&](Bytes, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply) {
      reply.message = ++calls == 1 ? CompoundReply(header.xid, {PutRootFhResult(), Words({18, status})}, status)
                                   : CompoundReply(header.xid, {PutRootFhResult(), opened});
    });
    const auto played = Play(server);
    EXPECT_EQ(played->total.put_off, status == kGrace ? 1u : 0u);
    EXPECT_EQ(played->total.matched, status == kGrace ? 1u : 0u);
  }
}

// The same client twice is two clients to the server.
TEST_F(PlayerTest, ClientsAreTold) {
  maker.Call(Compound(1, {ExchangeId(5, Name("client"))})).Reply(CompoundReply(1, {ExchangeIdResult(7, 1)}));
  options.clients = 3;
  LiveServer server([](Bytes, const rpc::CallHeader& header, rpcrdma::ServiceReply& reply) {
    reply.message = CompoundReply(header.xid, {ExchangeIdResult(99, 40)});
  });
  const auto played = Play(server);
  EXPECT_EQ(played->report.connections, 3u);
  ASSERT_EQ(server.calls.size(), 3u);
  for (Buffer& call : server.calls) std::fill_n(call.begin(), 4, std::byte{});  // the xid
  std::ranges::sort(server.calls);
  EXPECT_EQ(std::ranges::adjacent_find(server.calls), server.calls.end());
}

}  // namespace
}  // namespace stag::replay
