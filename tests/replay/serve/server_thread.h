// SPDX-License-Identifier: GPL-2.0-or-later
//
// ServerThread: a Server on a loopback port, in a thread of its own, until it is stopped or ends by itself.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <thread>

#include "replay/serve/server.h"

namespace stag::serve::test {

class ServerThread {
 public:
  // The transport and the service must outlive this. `port`: 0 for any.
  ServerThread(endpoint::Transport& transport, rpcrdma::Service& service, ServerOptions options = {},
               uint16_t port = 0) {
    listener_ = std::move(*transport.Listen({"127.0.0.1", port}));
    options.stop = stop_;
    server_.emplace(*listener_, service, nullptr, options);
    thread_ = std::thread([this] { EXPECT_TRUE(server_->Run()); });
  }
  ~ServerThread() {
    Stop();
    ::close(stop_);
  }
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  uint16_t port() const { return listener_->port(); }
  bool runs() const { return thread_.joinable(); }
  void Stop() {
    if (!runs()) return;
    EXPECT_EQ(::eventfd_write(stop_, 1), 0);
    Join();
  }
  // Until the server ends by itself.
  void Join() { thread_.join(); }
  // When it has ended.
  const ServerReport& report() const { return server_->report(); }

 private:
  const int stop_ = ::eventfd(0, EFD_CLOEXEC);
  std::unique_ptr<endpoint::Listener> listener_;
  std::optional<Server> server_;
  std::thread thread_;
};

}  // namespace stag::serve::test
