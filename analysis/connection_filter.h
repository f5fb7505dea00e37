// SPDX-License-Identifier: GPL-2.0-or-later
//
// ConnectionFilter: which connections a Filter asks for: by their numbers and ends, and, where it asks for RPCs, those
// that have such an RPC; by frames and times alone, those that have some frame there.
#pragma once

#include <unordered_set>
#include <vector>

#include "analysis/filter.h"
#include "session/rpcrdma/session.h"

namespace stag::analysis {

class ConnectionFilter final : public session::Observer {
 public:
  // `origin_ns`: the time of the first frame, once it is known. Both must outlive this.
  ConnectionFilter(const Filter& filter, const int64_t& origin_ns) : filter_(filter), origin_ns_(origin_ns) {}

  const Filter& filter() const { return filter_; }
  // The observers that ask, and this behind them, if it has to see RPCs.
  std::vector<session::Observer*> Behind(std::vector<session::Observer*> observers) {
    if (filter_.of_rpcs()) observers.push_back(this);
    return observers;
  }
  // REQUIRES: asked when the connection has closed, in OnConnectionClosed or before.
  bool Takes(const session::Connection& connection) const {
    if (!filter_.HasConnection(connection)) return false;
    if (filter_.of_rpcs()) return found_.contains(connection.info.id);
    return !filter_.ranged() || filter_.InRanges(connection.first_frame, connection.last_frame, origin_ns_);
  }

  // An RPC that has ended.
  bool Takes(const session::Connection& connection, const session::Transaction& t) const {
    return filter_.HasConnection(connection) && filter_.HasRpc(t, origin_ns_);
  }

 private:
  bool WantsDeliveries() const override { return filter_.slower_than_ns.has_value(); }
  void OnTransaction(const session::Connection& connection, const session::Transaction& t) override {
    if (filter_.HasRpc(t, origin_ns_)) found_.insert(connection.info.id);
  }
  void OnConnectionClosed(const session::Connection& connection, const fabric::Event&) override {
    found_.erase(connection.info.id);
  }

  const Filter& filter_;
  const int64_t& origin_ns_;
  std::unordered_set<fabric::ConnectionId> found_;  // of connections that are open
};

}  // namespace stag::analysis
