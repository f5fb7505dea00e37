// SPDX-License-Identifier: GPL-2.0-or-later
//
// Loads on connections that break, and Calls that are never answered.
#include "tests/replay/generate/loads.h"

namespace stag::generate::test {
namespace {

// Accepts connections, one after the other, and hangs up on each after so many of its Calls.
class HangsUp {
 public:
  explicit HangsUp(std::vector<uint64_t> answers) : answers_(std::move(answers)) {
    listener_ = std::move(*transport_->Listen({"127.0.0.1", 0}));
    thread_ = std::thread([this] {
      const auto service = serve::MakeEchoService();
      for (const uint64_t most : answers_) {
        auto incoming = listener_->Wait(milliseconds(120'000));
        ASSERT_TRUE(incoming && *incoming);
        rpcrdma::ResponderOptions options;
        endpoint::EndpointOptions end;
        rpcrdma::Responder::Prepare(options, end);
        auto endpoint = (*incoming)->Accept(end);
        ASSERT_TRUE(endpoint);
        rpcrdma::Responder responder(std::move(*endpoint), options, *service);
        while (responder.open() && responder.stats().replies < most) responder.Poll(milliseconds(100));
      }
    });
  }
  ~HangsUp() { thread_.join(); }
  uint16_t port() const { return listener_->port(); }

 private:
  const std::vector<uint64_t> answers_;
  std::unique_ptr<endpoint::Transport> transport_ = endpoint::MakeSoftIwarp();
  std::unique_ptr<endpoint::Listener> listener_;
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

// Never answers.
class Silent : public rpcrdma::Service {
 public:
  void OnCall(Bytes, rpcrdma::ServiceReply&) override {}
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

}  // namespace
}  // namespace stag::generate::test
