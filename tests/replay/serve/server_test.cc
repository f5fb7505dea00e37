// SPDX-License-Identifier: GPL-2.0-or-later
//
// A Server and a Requester over loopback: files come back byte for byte whichever way they went; the conformance
// engine, on the server's side, finds nothing; and what is recorded there, read again, gives the same transactions.
#include "replay/serve/server.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "conformance/engine/engine.h"
#include "replay/endpoint/soft_iwarp.h"
#include "replay/engine/requester.h"
#include "replay/record/recorder.h"
#include "replay/serve/echo.h"
#include "tests/replay/serve/nfs_client.h"
#include "tests/session/rpcrdma/recorder.h"
#include "tests/support/run_capture.h"

namespace stag::replay {
namespace {

using namespace stag::test;

struct Findings : conformance::FindingSink {
  void OnFinding(const conformance::Finding& f) override {
    all.push_back(std::string(f.rule->id) + ": " + f.message + " (" + f.actual + ")");
  }
  std::vector<std::string> all;
};

// The server in a thread of its own, until Stop.
class Running : fabric::Sink {
 public:
  explicit Running(Service& service, ServerOptions options = {})
      : engine_({}, findings), session_({}, {&engine_, &seen_}), log_(*this), options_(options) {
    recorder_ = std::move(*FrameRecorder::Create(path_, "stag test", "a server"));
    listener_ = std::move(*transport_->Listen({"127.0.0.1", 0}));
    options_.events = &log_;
    options_.stop = stop_;
    server.emplace(*listener_, service, nullptr, options_);
    thread_ = std::thread([this] { EXPECT_TRUE(server->Run()); });
  }
  ~Running() override {
    Stop();
    ::close(stop_);
    std::remove(path_.c_str());
  }
  void Stop() {
    if (!thread_.joinable()) return;
    EXPECT_EQ(::eventfd_write(stop_, 1), 0);
    Join();
  }
  void Join() {
    thread_.join();
    session_.Finish();
    EXPECT_EQ(findings.all, std::vector<std::string>{});
    recorder_->Finish();
    ExpectRecorded();
  }
  auto Connect(const RequesterOptions& options) {
    EndpointOptions end;
    Requester::Prepare(options, end);
    return transport_->Connect({"127.0.0.1", listener_->port()}, end);
  }

  Findings findings;
  std::optional<Server> server;

 private:
  void OnEvent(const fabric::Event& event) override {
    session_.OnEvent(event);
    recorder_->OnEvent(event);
  }
  void ExpectRecorded() {
    session::Recorder again;
    conformance::Engine engine({}, findings);
    (void)Run(LoadFrames(path_), {}, {}, {&engine, &again});
    EXPECT_EQ(findings.all, std::vector<std::string>{});
    ASSERT_EQ(again.ended.size(), seen_.ended.size());
    for (size_t i = 0; i < again.ended.size(); ++i) {
      const session::Ended &a = again.ended[i], &b = seen_.ended[i];
      EXPECT_EQ(a.xid, b.xid);
      EXPECT_EQ(a.outcome, session::Outcome::kReplied);
      EXPECT_EQ(a.call_form, b.call_form);
      EXPECT_EQ(a.reply_form, b.reply_form);
      EXPECT_TRUE(a.call_complete && a.reply_complete && a.data_complete);
      EXPECT_EQ(a.call, b.call);
      EXPECT_EQ(a.reply, b.reply);
      EXPECT_EQ(a.data, b.data);
    }
  }

  session::Recorder seen_;
  conformance::Engine engine_;
  session::Session session_;
  const std::string path_ = testing::TempDir() + "stag_server_" + std::to_string(::getpid()) + ".pcapng";
  std::unique_ptr<FrameRecorder> recorder_;
  EventLog log_;
  ServerOptions options_;
  const int stop_ = ::eventfd(0, EFD_CLOEXEC);
  std::unique_ptr<Transport> transport_ = MakeSoftIwarp();
  std::unique_ptr<Listener> listener_;
  std::thread thread_;
};

class Client : public AnswerSink {
 public:
  explicit Client(Running& running, const RequesterOptions& options = {}) {
    auto connected = running.Connect(options);
    if (!connected) {
      ADD_FAILURE() << connected.error().message;
      return;
    }
    requester.emplace(std::move(*connected), options, *this);
  }
  // The Reply, without its header; the chunks go to `chunks`.
  Buffer Ask(const CallSpec& call) {
    kind.reset();
    const auto sent = requester->Send(call);
    if (!sent) ADD_FAILURE() << sent.error().message;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!kind && std::chrono::steady_clock::now() < end) requester->Poll(std::chrono::milliseconds(10));
    EXPECT_EQ(kind, AnswerKind::kReply);
    const rpc::ReplyHeader header = rpc::DecodeReply(message, message.size());
    EXPECT_TRUE(header.success());
    return {message.begin() + static_cast<std::ptrdiff_t>(header.length), message.end()};
  }
  void OnAnswer(const Answer& a) override {
    kind = a.kind;
    message.assign(a.message.begin(), a.message.end());
    chunks.clear();
    for (const Bytes chunk : a.chunks) chunks.emplace_back(chunk.begin(), chunk.end());
  }
  std::optional<Requester> requester;
  std::optional<AnswerKind> kind;
  Buffer message;
  std::vector<Buffer> chunks;
};

TEST(Server, FilesAndDirectories) {
  MemoryFs fs(64 << 20);
  const auto service = MakeNfsMemoryService(fs);
  NfsClient direct(*service);
  const Buffer root = direct.root;
  std::vector<std::pair<uint32_t, Buffer>> files;
  for (const uint32_t size : {0u, 1u, 3u, 4u, 4095u, 4096u, 4097u, 1u << 20})
    files.emplace_back(size, direct.Make(kCreate, root, std::to_string(size)));
  Running running(*service);
  {
    Client client(running);
    for (const auto& [size, file] : files) {
      const Buffer data = Pattern(size, size);
      const Buffer write = MakeCall(0, kNfs3, 3, kWrite, WriteArguments(file, 0, data));
      Buffer result = client.Ask(
          {.message = write, .item_offset = size > 0 ? write.size() - RoundUp4(size) : 0, .item_length = size});
      EXPECT_EQ(LoadBe32(result.data()), 0u) << size;
      const Buffer read = MakeCall(0, kNfs3, 3, kRead, ReadArguments(file, 0, 1 << 20));
      const uint32_t offered[] = {1 << 20};
      result = client.Ask({.message = read, .write_chunks = offered});
      EXPECT_EQ(LoadBe32(result.data()), 0u) << size;
      ASSERT_EQ(client.chunks.size(), 1u);
      EXPECT_EQ(client.chunks[0], data) << size;
    }
    const Buffer list = MakeCall(0, kNfs3, 3, kReaddirplus, Join({root, Words({0, 0, 0, 0, 32768, 32768})}));
    Buffer result = client.Ask({.message = list, .reply_chunk = 33'000});
    Cursor in(result);
    EXPECT_EQ(in.U32(), 0u);
    GetPostAttributes(in);
    in.U64();
    size_t entries = 0;
    for (; in.U32() == 1; ++entries) {
      in.U64();
      const std::string name = GetName(in);
      in.U64();
      const auto attributes = GetPostAttributes(in);
      in.U32();
      GetBytes(in);
      ASSERT_TRUE(attributes);
      if (name[0] != '.') {
        EXPECT_EQ(attributes->size, std::stoull(name));
      }
    }
    EXPECT_EQ(entries, files.size() + 2);
    EXPECT_EQ(in.U32(), 1u);
    EXPECT_TRUE(in.ok() && in.remaining() == 0);
    client.requester->endpoint().Disconnect();
    while (client.requester->open()) client.requester->Poll(std::chrono::milliseconds(10));
  }
  running.Stop();
  const ServerReport& report = running.server->report();
  EXPECT_EQ(report.connections, 1u);
  EXPECT_EQ(report.stats.calls, 17u);
  EXPECT_EQ(report.stats.replies, 17u);
  EXPECT_EQ(service->counts().at({kNfs3, 3, kRead}).calls, 8u);
}

TEST(Server, EchoInlineAndByReplyChunk) {
  const auto service = MakeEchoService();
  Running running(*service, {.responder = {.delay = std::chrono::milliseconds(3)}});
  Client client(running);
  for (const uint32_t size : {0u, 5u, 3000u, 100'001u}) {
    const Buffer whole = Opaque(Pattern(size));
    const Buffer call = MakeCall(0, kEchoProgram, 1, 1, whole);
    EXPECT_EQ(client.Ask({.message = call, .reply_chunk = size < 3500 ? 0 : 200'000u}), whole);
  }
}

TEST(Server, ManyConnectionsAndTheirLimit) {
  const auto service = MakeNullService();
  Running running(*service, {.responder = {}, .max_connections = 8});
  {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<Client>(running));
    EXPECT_FALSE(running.Connect({}));
    const Buffer call = MakeCall(0, kNfs3, 3, 0);
    for (int round = 0; round < 20; ++round)
      for (const auto& client : clients) EXPECT_TRUE(client->Ask({.message = call}).empty());
  }
  running.Stop();
  EXPECT_EQ(running.server->report().connections, 8u);
  EXPECT_EQ(running.server->report().rejected, 1u);
  EXPECT_EQ(running.server->report().stats.replies, 160u);
}

TEST(Server, Once) {
  const auto service = MakeNullService();
  Running running(*service, {.responder = {}, .once = true});
  {
    Client client(running);
    const Buffer call = MakeCall(0, kNfs3, 3, 0);
    EXPECT_TRUE(client.Ask({.message = call}).empty());
    client.requester->endpoint().Disconnect();
    while (client.requester->open()) client.requester->Poll(std::chrono::milliseconds(10));
  }
  running.Join();
  EXPECT_EQ(running.server->report().ended, 1u);
}

}  // namespace
}  // namespace stag::replay
