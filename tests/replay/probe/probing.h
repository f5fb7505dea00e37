// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probing: a server in a thread of its own, and a Runner that probes it, over software iWARP on loopback.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <map>
#include <thread>

#include "protocol/base/writer.h"
#include "replay/endpoint/soft_iwarp.h"
#include "replay/probe/runner.h"
#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/nfs_memory.h"
#include "replay/serve/server.h"

namespace stag::replay::probe::test {

class Serving {
 public:
  // `listens`: the transport of the server; must outlive this.
  Serving(Service& service, ServerOptions options, Transport& listens) {
    listener_ = std::move(*listens.Listen({"127.0.0.1", 0}));
    options.stop = stop_;
    server_.emplace(*listener_, service, nullptr, options);
    thread_ = std::thread([this] { EXPECT_TRUE(server_->Run()); });
  }
  ~Serving() {
    EXPECT_EQ(::eventfd_write(stop_, 1), 0);
    thread_.join();
    ::close(stop_);
  }
  uint16_t port() const { return listener_->port(); }

 private:
  const int stop_ = ::eventfd(0, EFD_CLOEXEC);
  std::unique_ptr<Listener> listener_;
  std::optional<Server> server_;
  std::thread thread_;
};

// The NFSv3 handle of the root.
inline std::vector<std::byte> RootHandle(MemoryFs& fs) {
  std::vector<std::byte> handle;
  Writer out(handle);
  PutHandle(out, fs, fs.root());
  return {handle.begin() + 4, handle.end()};  // without its length
}

inline ProbeOptions To(uint16_t port) {
  ProbeOptions options;
  options.to = {"127.0.0.1", port};
  options.patience.answer = std::chrono::milliseconds{1000};
  options.patience.quiet = std::chrono::milliseconds{5};
  return options;
}

// How an outcome reads, for failing tests and for comparing.
inline std::string Text(const Outcome& outcome) {
  std::string text(VerdictName(outcome.verdict));
  if (!outcome.expected.empty()) text += "; expected " + outcome.expected + "; came " + outcome.came;
  if (!outcome.during.empty()) text += "; during " + outcome.during;
  if (!outcome.why.empty()) text += "; " + outcome.why;
  for (const std::string& finding : outcome.findings) text += "; " + finding;
  for (const std::string& advice : outcome.advice) text += "; advice: " + advice;
  return text;
}

}  // namespace stag::replay::probe::test
