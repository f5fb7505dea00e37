// SPDX-License-Identifier: GPL-2.0-or-later
//
// ConnectionList: an Observer that keeps the RPC-over-RDMA connections of a file, as they were when they closed.
#pragma once

#include <vector>

#include "session/rpcrdma/session.h"

namespace stag::conformance {

class ConnectionList final : public session::Observer {
 public:
  // Keeps at most `limit` connections.
  explicit ConnectionList(size_t limit) : limit_(limit) {}

  void OnConnectionClosed(const session::Connection& connection, const fabric::Event&) override { Add(connection); }
  void Add(const session::Connection& connection);

  // What was kept since the last call, in the order in which the connections appeared.
  std::vector<session::Connection> Take();
  // Connections, so far, that there was no room for.
  uint64_t left_out() const { return left_out_; }

 private:
  const size_t limit_;
  size_t kept_ = 0;
  uint64_t left_out_ = 0;
  std::vector<session::Connection> connections_;
};

}  // namespace stag::conformance
