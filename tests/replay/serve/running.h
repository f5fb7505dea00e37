// SPDX-License-Identifier: GPL-2.0-or-later
//
// Running: a Server in a thread, with the conformance engine and a FrameRecorder on its side; and Client: a Requester
// that asks and waits. At the end: no findings, and the recording, read again, gives the same transactions.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "conformance/engine/engine.h"
#include "protocol/rpc/message.h"
#include "replay/endpoint/soft_iwarp.h"
#include "replay/record/recorder.h"
#include "replay/rpcrdma/requester.h"
#include "tests/replay/serve/server_thread.h"
#include "tests/session/rpcrdma/recorder.h"
#include "tests/support/finding_sinks.h"
#include "tests/support/messages.h"
#include "tests/support/run_capture.h"

namespace stag::serve::test {

using namespace stag::test;

// The server in a thread of its own, until Stop.
class Running : fabric::Sink {
 public:
  explicit Running(rpcrdma::Service& service, ServerOptions options = {})
      : engine_({}, findings), session_({}, {&engine_, &seen_}), log_(*this) {
    recorder_ = std::move(*record::FrameRecorder::Create(path_, "stag test", "a server"));
    options.events = &log_;
    thread_.emplace(*transport_, service, options);
  }
  ~Running() override {
    Stop();
    std::remove(path_.c_str());
  }
  void Stop() {
    if (!thread_->runs()) return;
    thread_->Stop();
    Finish();
  }
  void Join() {
    thread_->Join();
    Finish();
  }
  const ServerReport& report() const { return thread_->report(); }
  auto Connect(rpcrdma::RequesterOptions options) {
    endpoint::EndpointOptions end;
    rpcrdma::Requester::Prepare(*transport_, options, end);
    return transport_->Connect({"127.0.0.1", thread_->port()}, end);
  }

  FindingTexts findings;

 private:
  void OnEvent(const fabric::Event& event) override {
    session_.OnEvent(event);
    recorder_->OnEvent(event);
  }
  void Finish() {
    session_.Finish();
    EXPECT_EQ(findings.all, std::vector<std::string>{});
    recorder_->Finish();
    ExpectRecorded();
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
      EXPECT_EQ(a.outcome, b.outcome);
      EXPECT_EQ(a.call_form, b.call_form);
      EXPECT_EQ(a.reply_form, b.reply_form);
      EXPECT_TRUE(a.call_complete);
      EXPECT_TRUE(a.outcome != session::Outcome::kReplied || (a.reply_complete && a.data_complete));
      EXPECT_EQ(a.call, b.call);
      EXPECT_EQ(a.reply, b.reply);
      EXPECT_EQ(a.data, b.data);
    }
  }

  session::Recorder seen_;
  conformance::Engine engine_;
  session::Session session_;
  const std::string path_ = testing::TempDir() + "stag_server_" + std::to_string(::getpid()) + ".pcapng";
  std::unique_ptr<record::FrameRecorder> recorder_;
  endpoint::EventLog log_;
  std::unique_ptr<endpoint::Transport> transport_ = endpoint::MakeSoftIwarp();
  std::optional<ServerThread> thread_;
};

class Client : public rpcrdma::AnswerSink {
 public:
  explicit Client(Running& running, const rpcrdma::RequesterOptions& options = {}) {
    auto connected = running.Connect(options);
    if (!connected) {
      ADD_FAILURE() << connected.error().message;
      return;
    }
    requester.emplace(std::move(*connected), options, *this);
  }
  // Sends it and waits for the answer: `kind`, `message` and `chunks`.
  void Exchange(const rpcrdma::CallSpec& call) {
    kind.reset();
    const auto sent = requester->Send(call);
    if (!sent) ADD_FAILURE() << sent.error().message;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!kind && std::chrono::steady_clock::now() < end) requester->Poll(std::chrono::milliseconds(10));
  }
  // The results.
  Buffer Ask(const rpcrdma::CallSpec& call) {
    Exchange(call);
    EXPECT_EQ(kind, rpcrdma::AnswerKind::kReply);
    const rpc::ReplyHeader header = rpc::DecodeReply(message, message.size());
    EXPECT_TRUE(header.success());
    return {message.begin() + static_cast<std::ptrdiff_t>(header.length), message.end()};
  }
  void OnAnswer(const rpcrdma::Answer& a) override {
    kind = a.kind;
    message.assign(a.message.begin(), a.message.end());
    chunks.clear();
    for (const Bytes chunk : a.chunks) chunks.emplace_back(chunk.begin(), chunk.end());
  }
  std::optional<rpcrdma::Requester> requester;
  std::optional<rpcrdma::AnswerKind> kind;
  Buffer message;
  std::vector<Buffer> chunks;
};

}  // namespace stag::serve::test
