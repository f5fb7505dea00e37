// SPDX-License-Identifier: GPL-2.0-or-later
//
// Loads of NFS version 3 and 4: every byte is verified, and what goes wrong is found.
#include <atomic>
#include <climits>

#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/nfs_memory.h"
#include "tests/replay/generate/loads.h"
#include "tests/replay/generate/scripted_nfs4.h"

namespace stag::generate::test {
namespace {

class Nfs3 : public testing::Test {
 protected:
  LoadOptions Load(uint64_t calls) {
    LoadOptions load = To(running.port(), LoadMode::kNfs3, calls);
    std::vector<std::byte> handle;
    Writer out(handle);
    serve::PutHandle(out, fs, fs.root());
    load.directory.assign(handle.begin() + 4, handle.end());
    return load;
  }
  serve::MemoryFs fs{64 << 20};
  std::unique_ptr<serve::RpcService> service = serve::MakeNfsMemoryService(fs);
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

// Connections on several threads of both ends.
TEST(Nfs3OnThreads, EveryByteVerified) {
  serve::MemoryFs fs{64 << 20};
  const auto service = serve::MakeNfsMemoryService(fs);
  Running running(*service, {.responder = {}, .threads = 3});
  LoadOptions load = To(running.port(), LoadMode::kNfs3, 900);
  std::vector<std::byte> handle;
  Writer out(handle);
  serve::PutHandle(out, fs, fs.root());
  load.directory.assign(handle.begin() + 4, handle.end());
  load.jobs.sizes = {{1, 5000, 3}, {65536, 65536, 1}};
  Weight(load.jobs.mix, Operation::kLookup) = 1;
  Weight(load.jobs.mix, Operation::kReaddirplus) = 1;
  load.connections = 6;
  load.threads = 2;
  load.files = 2;
  const Ran ran(load, false);
  EXPECT_EQ(ran.error, "");
  EXPECT_TRUE(ran.report->fine()) << ran.troubles;
  EXPECT_EQ(ran.report->verified_bytes, ran.of(Operation::kRead).bytes);
  EXPECT_EQ(ran.report->unknown_bytes, 0u);
  EXPECT_TRUE(fs.root().entries.empty());
  running.thread.Stop();
  const serve::ServerReport& report = running.thread.report();
  EXPECT_EQ(report.connections, 6u);
  EXPECT_EQ(report.ended, 6u);
  EXPECT_EQ(report.broken, 0u);
  EXPECT_EQ(report.stats.calls, report.stats.replies);
  uint64_t calls = 0;
  for (const auto& [procedure, counts] : service->counts()) calls += counts.calls;
  EXPECT_EQ(calls, report.stats.calls);
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
  serve::MemoryFs::Node* file = nullptr;
  EXPECT_EQ(fs.Lookup(fs.root(), "stag-generate.12.0", file), serve::NfsStatus::kOk);
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
class Faulty : public rpcrdma::Service {
 public:
  explicit Faulty(rpcrdma::Service& honest) : honest_(honest) {}
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override {
    const uint32_t procedure = rpc::DecodeCall(call, call.size()).procedure;
    if (procedure == nfs_client::nfs3::kWrite && ++writes >= lost_from) {
      std::vector<std::byte> other(call.begin(), call.end());
      for (size_t i = other.size() - 600; i < other.size(); ++i) other[i] ^= std::byte{0xff};
      return honest_.OnCall(other, reply);
    }
    honest_.OnCall(call, reply);
    if (procedure == nfs_client::nfs3::kRead && ++reads == wrong_read)
      reply.message[reply.items[0].offset + 7] ^= std::byte{1};
  }
  int reads = 0, writes = 0, wrong_read = 0, lost_from = INT_MAX;

 private:
  rpcrdma::Service& honest_;
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

// Stops a load while it fills its first file.
class Interrupting final : public rpcrdma::Service {
 public:
  explicit Interrupting(rpcrdma::Service& inner) : inner_(inner) {}
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override {
    if (call.size() > 100'000) generator_.load()->Stop();
    inner_.OnCall(call, reply);
  }
  // Runs the load, which has nothing to say but that it was interrupted.
  void Interrupt(LoadOptions load) {
    Running running(*this);
    load.to.port = running.port();
    load.file_size = 8 << 20;
    const auto transport = endpoint::MakeSoftIwarp();
    Generator generator(*transport, load, nullptr);
    generator_ = &generator;
    EXPECT_TRUE(generator.Run());
    EXPECT_TRUE(generator.report().interrupted);
    EXPECT_TRUE(generator.report().troubles.empty());
    EXPECT_EQ(generator.report().Total().calls, 0u);
  }

 private:
  rpcrdma::Service& inner_;
  std::atomic<Generator*> generator_ = nullptr;
};

TEST_F(Nfs3, InterruptedWhileFillingLeavesNothing) {
  Interrupting(*service).Interrupt(Load(100));
  EXPECT_TRUE(fs.root().entries.empty());
}

TEST(Generator, Nfs4InterruptedWhileFillingLeavesNothing) {
  ScriptedNfs4 server;
  LoadOptions load = To(0, LoadMode::kNfs4, 100);
  load.path = "/export";
  Interrupting(server).Interrupt(load);
  EXPECT_EQ(server.complaints, std::vector<std::string>{});
  EXPECT_EQ(server.clients + server.open_sessions + server.open_states + server.files.size(), 0u);
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

}  // namespace
}  // namespace stag::generate::test
