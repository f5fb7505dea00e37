// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whole loads against servers in the same process, over software iWARP on loopback.
#include "replay/generate/generator.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <climits>
#include <optional>
#include <thread>

#include "conformance/engine/engine.h"
#include "replay/endpoint/soft_iwarp.h"
#include "replay/generate/report_carry.h"
#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/nfs_memory.h"
#include "replay/serve/server.h"
#include "tests/replay/generate/scripted_nfs4.h"

namespace stag::replay {
namespace {

using namespace stag::test;
using std::chrono::milliseconds;

struct Findings : conformance::FindingSink {
  void OnFinding(const conformance::Finding& f) override {
    if (f.severity == conformance::Severity::kError) all.push_back(std::string(f.rule->id) + ": " + f.message);
  }
  std::vector<std::string> all;
};

// A server in a thread of its own.
class Running {
 public:
  explicit Running(Service& service, ServerOptions options = {}, uint16_t port = 0) : options_(options) {
    listener_ = std::move(*transport->Listen({"127.0.0.1", port}));
    options_.stop = stop_;
    server.emplace(*listener_, service, nullptr, options_);
    thread_ = std::thread([this] { EXPECT_TRUE(server->Run()); });
  }
  ~Running() {
    EXPECT_EQ(::eventfd_write(stop_, 1), 0);
    thread_.join();
    ::close(stop_);
  }
  uint16_t port() const { return listener_->port(); }
  std::unique_ptr<Transport> transport = MakeSoftIwarp();
  std::optional<Server> server;

 private:
  ServerOptions options_;
  const int stop_ = ::eventfd(0, EFD_CLOEXEC);
  std::unique_ptr<Listener> listener_;
  std::thread thread_;
};

LoadOptions To(uint16_t port, LoadMode mode, uint64_t calls) {
  LoadOptions load;
  load.mode = mode;
  load.to = {"127.0.0.1", port};
  load.calls = calls;
  load.depth = load.requester.credits = 16;
  load.file_size = 256 << 10;
  load.verify = mode != LoadMode::kNull;
  if (mode == LoadMode::kNull) Weight(load.jobs.mix, Operation::kNull) = 1;
  if (mode == LoadMode::kEcho) Weight(load.jobs.mix, Operation::kEcho) = 1;
  if (mode == LoadMode::kNfs3 || mode == LoadMode::kNfs4) {
    Weight(load.jobs.mix, Operation::kRead) = 5;
    Weight(load.jobs.mix, Operation::kWrite) = 4;
    Weight(load.jobs.mix, Operation::kGetattr) = 1;
  } else {
    load.files = 0;
  }
  return load;
}

// Runs it; what both sides did on the wire is without errors.
struct Ran {
  explicit Ran(const LoadOptions& load, bool judged = true) {
    Findings findings;
    conformance::Engine engine({}, findings);
    session::Session session({}, {&engine});
    EventLog log(session);
    const auto transport = MakeSoftIwarp();
    Generator generator(*transport, load, judged ? &log : nullptr);
    const auto ran = generator.Run();
    error = ran ? "" : ran.error().message;
    session.Finish();
    EXPECT_EQ(findings.all, std::vector<std::string>{});
    report = std::make_unique<LoadReport>(generator.report());
    for (const auto& [text, times] : report->troubles) troubles += text + "\n";
  }
  const OperationReport& of(Operation operation) const { return report->of(operation); }
  std::unique_ptr<LoadReport> report;
  std::string error, troubles;
};

TEST(Generator, Null) {
  const auto service = MakeNullService();
  Running running(*service);
  const Ran ran(To(running.port(), LoadMode::kNull, 1000));
  EXPECT_EQ(ran.error, "");
  EXPECT_TRUE(ran.report->fine());
  EXPECT_EQ(ran.of(Operation::kNull).ok, 1000u);
  EXPECT_EQ(ran.of(Operation::kNull).latency.count(), 1000u);
  EXPECT_EQ(ran.report->max_outstanding, 16u);
  EXPECT_EQ(service->counts().at({100003, 3, 0}).calls, 1000u);
}

TEST(Generator, BeginsWhenItIsLet) {
  const auto service = MakeNullService();
  Running running(*service);
  LoadOptions load = To(running.port(), LoadMode::kNull, 10);
  int asked = 0;
  load.ready = [&](const std::string& trouble) {
    ++asked;
    EXPECT_EQ(trouble, "");
    EXPECT_EQ(service->counts().size(), 0u);  // connected, nothing sent
    return std::optional(Job::Clock::now());
  };
  EXPECT_EQ(Ran(load).of(Operation::kNull).ok, 10u);
  EXPECT_EQ(asked, 1);
}

TEST(Generator, DoesNotBeginWhenItIsNotLet) {
  const auto service = MakeNullService();
  Running running(*service);
  LoadOptions load = To(running.port(), LoadMode::kNull, 10);
  std::string said;
  load.ready = [&](const std::string& trouble) -> std::optional<Job::Clock::time_point> {
    said = trouble;
    return std::nullopt;
  };
  const auto transport = MakeSoftIwarp();
  Generator other(*transport, load, nullptr);
  const auto ran = other.Run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, "");
  EXPECT_EQ(said, "");
  EXPECT_EQ(service->counts().size(), 0u);
  load.to.port = 1;
  Generator nobody(*transport, load, nullptr);
  const auto failed = nobody.Run();
  ASSERT_FALSE(failed);
  EXPECT_NE(said, "");
  EXPECT_EQ(failed.error().message, said);
}

TEST(LoadReport, GoesToAnotherProcessWhole) {
  LoadReport report;
  report.of(Operation::kRead).calls = 5;
  report.of(Operation::kRead).latency.Record(uint64_t{1000});
  report.of(Operation::kWrite).Fail("NFS3ERR_IO", "at 0");
  report.lost = 1;
  report.credit_stalled = std::chrono::nanoseconds(77);
  report.grant = 12;
  report.backward_calls = 3;
  report.seconds = 1.25;
  report.Trouble("connection refused");
  LoadReport copy;
  const std::string bytes = Pack(report);
  ASSERT_TRUE(Unpack(bytes, copy));
  EXPECT_EQ(Pack(copy), bytes);
  copy.Merge(report);
  EXPECT_EQ(copy.of(Operation::kRead).calls, 10u);
  EXPECT_EQ(copy.of(Operation::kRead).latency.count(), 2u);
  EXPECT_EQ(copy.of(Operation::kWrite).failures.at("NFS3ERR_IO").calls, 2u);
  EXPECT_EQ(copy.of(Operation::kWrite).failures.at("NFS3ERR_IO").sample, "at 0");
  EXPECT_EQ(copy.credit_stalled.count(), 154);
  EXPECT_EQ(copy.troubles.at("connection refused"), 2u);
  EXPECT_EQ(copy.seconds, 1.25);
  EXPECT_FALSE(Unpack(std::string_view(bytes).substr(1), copy));
}

TEST(Generator, EchoOfAllSizesByAllWays) {
  const auto service = MakeEchoService();
  Running running(*service);
  LoadOptions load = To(running.port(), LoadMode::kEcho, 300);
  load.jobs.sizes = {{1, 9000, 1}, {100'000, 120'000, 1}};
  load.jobs.position_zero_percent = 20;
  load.requester.segments = 3;
  const Ran ran(load);
  EXPECT_TRUE(ran.report->fine()) << ran.troubles;
  EXPECT_EQ(ran.of(Operation::kEcho).ok, 300u);
  EXPECT_EQ(ran.report->verified_bytes * 2, ran.of(Operation::kEcho).bytes);
  load.reply_chunk = true;
  EXPECT_TRUE(Ran(load).report->fine());
}

class Nfs3 : public testing::Test {
 protected:
  LoadOptions Load(uint64_t calls) {
    LoadOptions load = To(running.port(), LoadMode::kNfs3, calls);
    std::vector<std::byte> handle;
    Writer out(handle);
    PutHandle(out, fs, fs.root());
    load.directory.assign(handle.begin() + 4, handle.end());
    return load;
  }
  MemoryFs fs{64 << 20};
  std::unique_ptr<RpcService> service = MakeNfsMemoryService(fs);
  Running running{*service};
};

TEST_F(Nfs3, EveryByteVerified) {
  LoadOptions load = Load(600);
  load.jobs.sizes = {{1, 5000, 3}, {65536, 65536, 1}, {100'000, 130'000, 1}};
  Weight(load.jobs.mix, Operation::kLookup) = 1;
  Weight(load.jobs.mix, Operation::kReaddirplus) = 1;
  Weight(load.jobs.mix, Operation::kNull) = 1;
  load.connections = 3;
  load.files = 2;
  const Ran ran(load);
  EXPECT_EQ(ran.error, "");
  EXPECT_TRUE(ran.report->fine()) << ran.troubles;
  uint64_t ok = 0;
  for (const OperationReport& o : ran.report->operations) ok += o.ok;
  EXPECT_EQ(ok, 600u);
  EXPECT_EQ(ran.report->verified_bytes, ran.of(Operation::kRead).bytes);
  EXPECT_GT(ran.report->verified_bytes, 1u << 20);
  EXPECT_EQ(ran.report->unknown_bytes, 0u);
  EXPECT_EQ(ran.report->short_transfers, 0u);
  EXPECT_TRUE(fs.root().entries.empty());  // cleaned up
}

TEST_F(Nfs3, ChunkLayouts) {
  LoadOptions load = Load(200);
  load.jobs.sizes = {{1, 9999, 1}};
  load.requester.segment_size = 1000;
  load.requester.send_size = load.requester.receive_size = 8192;
  load.requester.pad_read_chunks = true;
  load.requester.fresh_handles = true;
  load.always_chunks = true;
  load.jobs.position_zero_percent = 30;
  load.jobs.sequential = true;
  const Ran ran(load);
  EXPECT_TRUE(ran.report->fine()) << ran.troubles;
  EXPECT_EQ(ran.report->verified_bytes, ran.of(Operation::kRead).bytes);
}

TEST_F(Nfs3, FilesAreKept) {
  LoadOptions load = Load(10);
  load.keep = true;
  load.jobs.seed = 12;
  EXPECT_TRUE(Ran(load).report->fine());
  MemoryFs::Node* file = nullptr;
  EXPECT_EQ(fs.Lookup(fs.root(), "stag-generate.12.0", file), NfsStatus::kOk);
  EXPECT_EQ(file->size, load.file_size);
  EXPECT_TRUE(Ran(load).report->fine());  // and taken over
}

TEST_F(Nfs3, StaleHandleAndNoSpace) {
  LoadOptions load = Load(10);
  load.directory.back() ^= std::byte{1};
  EXPECT_EQ(Ran(load).error, "the directory's file handle is not good: FSINFO says NFS3ERR_STALE");
  load = Load(10);
  load.file_size = 65 << 20;
  EXPECT_EQ(Ran(load).error, "filling the files: WRITE says NFS3ERR_NOSPC");
  EXPECT_TRUE(fs.root().entries.empty());
  load = Load(10);
  load.jobs.sizes = {{2 << 20, 2 << 20, 1}};
  load.file_size = 4 << 20;
  EXPECT_NE(Ran(load).error.find("give a smaller --size"), std::string::npos);
}

// A server that gives a wrong byte in one READ, or spoils the WRITEs from one on.
class Faulty : public Service {
 public:
  explicit Faulty(Service& honest) : honest_(honest) {}
  void OnCall(Bytes call, ServiceReply& reply) override {
    const uint32_t procedure = rpc::DecodeCall(call, call.size()).procedure;
    if (procedure == nfs3::kWrite && ++writes >= lost_from) {
      std::vector<std::byte> other(call.begin(), call.end());
      for (size_t i = other.size() - 600; i < other.size(); ++i) other[i] ^= std::byte{0xff};
      return honest_.OnCall(other, reply);
    }
    honest_.OnCall(call, reply);
    if (procedure == nfs3::kRead && ++reads == wrong_read) reply.message[reply.items[0].offset + 7] ^= std::byte{1};
  }
  int reads = 0, writes = 0, wrong_read = 0, lost_from = INT_MAX;

 private:
  Service& honest_;
};

TEST_F(Nfs3, OneWrongByteIsFound) {
  Faulty faulty(*service);
  Running bad(faulty);
  LoadOptions load = Load(100);
  load.to.port = bad.port();
  load.jobs.sizes = {{1000, 1000, 1}};
  faulty.wrong_read = 20;
  const Ran ran(load);
  EXPECT_EQ(ran.report->wrong, 1u);
  EXPECT_FALSE(ran.report->fine());
  EXPECT_EQ(ran.of(Operation::kRead).failures.at("wrong data").calls, 1u);
}

TEST_F(Nfs3, WritesThatWereNotKeptAreFound) {
  Faulty faulty(*service);
  Running bad(faulty);
  LoadOptions load = Load(200);
  load.to.port = bad.port();
  load.file_size = 8192;  // two places
  load.jobs.sizes = {{1000, 1000, 1}};
  faulty.lost_from = 10;
  EXPECT_GT(Ran(load).report->wrong, 0u);
}

TEST(Generator, Nfs4) {
  ScriptedNfs4 server;
  server.grace_answers = 1;
  Running running(server);
  LoadOptions load = To(running.port(), LoadMode::kNfs4, 400);
  load.path = "/export";
  load.jobs.sizes = {{1, 5000, 1}, {65536, 100'000, 1}};
  load.connections = 2;
  load.files = 3;
  const Ran ran(load);
  EXPECT_EQ(ran.error, "");
  EXPECT_TRUE(ran.report->fine()) << ran.troubles;
  EXPECT_EQ(ran.report->Total().ok, 400u);
  EXPECT_EQ(ran.report->verified_bytes, ran.of(Operation::kRead).bytes);
  EXPECT_EQ(server.complaints, std::vector<std::string>{});
  EXPECT_EQ(server.highest_slot_used, 7u);  // as many as it gave
  EXPECT_EQ(server.sessions_made, 2u);
  EXPECT_EQ(server.clients + server.open_sessions + server.open_states + server.files.size(), 0u);
}

TEST(Generator, Nfs4SessionLostAndMadeAgain) {
  ScriptedNfs4 server;
  server.bad_session_at = 100;
  Running running(server);
  LoadOptions load = To(running.port(), LoadMode::kNfs4, 400);
  load.path = "/export";
  load.reconnects = 3;
  const Ran ran(load);
  EXPECT_EQ(ran.error, "");
  // What was told BADSESSION has failed; what was outstanding has been sent again.
  uint64_t bad = 0;
  for (const OperationReport& o : ran.report->operations)
    for (const auto& [what, failure] : o.failures) {
      EXPECT_EQ(what, "NFS4ERR_BADSESSION from SEQUENCE");
      bad += failure.calls;
    }
  EXPECT_GE(bad, 1u);
  EXPECT_EQ(ran.report->Total().ok + bad, 400u);
  EXPECT_EQ(ran.report->lost, 0u);
  EXPECT_EQ(ran.report->reconnects, 1u);
  EXPECT_EQ(server.sessions_made, 2u);
  EXPECT_EQ(server.files.size(), 0u);
}

TEST(Generator, Nfs4NoSuchDirectory) {
  ScriptedNfs4 server;
  Running running(server);
  LoadOptions load = To(running.port(), LoadMode::kNfs4, 1);
  load.path = "/export/sub";
  EXPECT_EQ(Ran(load).error, "sub in /export/sub: NFS4ERR_NOENT from LOOKUP");
  EXPECT_EQ(server.clients, 0u);  // left in order all the same
}

// Accepts connections, one after the other, and hangs up on each after so many of its Calls.
class HangsUp {
 public:
  explicit HangsUp(std::vector<uint64_t> answers) : answers_(std::move(answers)) {
    listener_ = std::move(*transport_->Listen({"127.0.0.1", 0}));
    thread_ = std::thread([this] {
      const auto service = MakeEchoService();
      for (const uint64_t most : answers_) {
        auto incoming = listener_->Wait(milliseconds(20'000));
        ASSERT_TRUE(incoming && *incoming);
        ResponderOptions options;
        EndpointOptions end;
        Responder::Prepare(options, end);
        auto endpoint = (*incoming)->Accept(end);
        ASSERT_TRUE(endpoint);
        Responder responder(std::move(*endpoint), options, *service);
        while (responder.open() && responder.stats().replies < most) responder.Poll(milliseconds(100));
      }
    });
  }
  ~HangsUp() { thread_.join(); }
  uint16_t port() const { return listener_->port(); }

 private:
  const std::vector<uint64_t> answers_;
  std::unique_ptr<Transport> transport_ = MakeSoftIwarp();
  std::unique_ptr<Listener> listener_;
  std::thread thread_;
};

TEST(Generator, CallsOfABrokenConnectionAreLost) {
  HangsUp server({50});
  const Ran ran(To(server.port(), LoadMode::kEcho, 200), false);
  EXPECT_EQ(ran.error, "");
  EXPECT_FALSE(ran.report->fine());
  const OperationReport& echo = ran.of(Operation::kEcho);
  EXPECT_GE(ran.report->lost, 1u);
  EXPECT_EQ(echo.failures.at("lost with the connection").calls, ran.report->lost);
  EXPECT_EQ(echo.calls, echo.ok + ran.report->lost);
  EXPECT_EQ(ran.report->connections_lost, 1u);
}

TEST(Generator, NoneLostWhenItMayReconnect) {
  HangsUp server({50, 50, 50, UINT64_MAX});
  LoadOptions load = To(server.port(), LoadMode::kEcho, 1000);
  load.reconnects = 1;
  const Ran ran(load, false);
  EXPECT_EQ(ran.error, "");
  EXPECT_TRUE(ran.report->fine()) << ran.troubles;
  EXPECT_EQ(ran.of(Operation::kEcho).ok, 1000u);
  EXPECT_EQ(ran.report->connections_lost, 3u);
  EXPECT_EQ(ran.report->reconnects, 3u);
  EXPECT_GT(ran.report->resent, 0u);
}

TEST(Generator, OpenLoopLatencyCountsFromTheIntendedTime) {
  const auto service = MakeEchoService();
  // 2 ms for each Call, one at a time: 500 a second, and 1000 are wanted.
  Running running(*service, {.responder = {.credits = 1, .delay = milliseconds(2)}});
  LoadOptions load = To(running.port(), LoadMode::kEcho, 100);
  load.rate = 1000;
  const Ran ran(load, false);
  EXPECT_TRUE(ran.report->fine());
  const OperationReport& echo = ran.of(Operation::kEcho);
  EXPECT_EQ(echo.ok, 100u);
  // The last was due after 99 ms, and could not be answered before 200 ms.
  EXPECT_GE(echo.latency.max(), 100'000'000u);
  EXPECT_GE(ran.report->credit_stalls, 1u);
}

TEST(Generator, WhatWasDueAndNotSentIsCounted) {
  const auto service = MakeEchoService();
  Running running(*service, {.responder = {.credits = 1, .delay = milliseconds(10)}});
  LoadOptions load = To(running.port(), LoadMode::kEcho, 0);
  load.duration = milliseconds(300);
  load.rate = 1000;
  const Ran ran(load, false);
  EXPECT_EQ(ran.of(Operation::kEcho).calls + ran.report->unsent, 300u);
  EXPECT_GE(ran.report->unsent, 250u);
}

// Never answers.
class Silent : public Service {
 public:
  void OnCall(Bytes, ServiceReply&) override {}
};

TEST(Generator, CallsWithoutAnswerAreLost) {
  Silent service;
  Running running(service);
  LoadOptions load = To(running.port(), LoadMode::kEcho, 100);
  load.timeout = milliseconds(300);
  const Ran ran(load, false);
  EXPECT_FALSE(ran.report->fine());
  EXPECT_EQ(ran.report->lost, 1u);  // one credit until the first Reply
  EXPECT_EQ(ran.troubles, "no answer within 0.3 s\n");
}

TEST(Generator, StopsWhenTold) {
  const auto service = MakeNullService();
  Running running(*service);
  LoadOptions load = To(running.port(), LoadMode::kNull, 0);
  const auto transport = MakeSoftIwarp();
  Generator generator(*transport, load, nullptr);
  std::thread stop([&] {
    while (generator.counts().answers < 100) std::this_thread::yield();
    generator.Stop();
  });
  EXPECT_TRUE(generator.Run());
  stop.join();
  EXPECT_TRUE(generator.report().interrupted);
  EXPECT_TRUE(generator.report().fine());
  EXPECT_GE(generator.report().Total().ok, 100u);
}

TEST(Generator, Threads) {
  const auto service = MakeNullService();
  Running running(*service);
  LoadOptions load = To(running.port(), LoadMode::kNull, 1001);
  load.connections = 7;
  load.threads = 3;
  const Ran ran(load, false);
  EXPECT_TRUE(ran.report->fine());
  EXPECT_EQ(ran.of(Operation::kNull).ok, 1001u);
  EXPECT_EQ(ran.report->connections, 7u);
}

TEST(Generator, NobodyThere) {
  LoadOptions load = To(1, LoadMode::kNull, 1);
  EXPECT_NE(Ran(load).error.find("connection refused"), std::string::npos);
}

}  // namespace
}  // namespace stag::replay
