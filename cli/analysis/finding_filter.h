// SPDX-License-Identifier: GPL-2.0-or-later
//
// FindingFilter: passes on the findings that a Filter asks for: by their connection, their frame, and the RPC that they
// are about. A finding about an RPC waits for its end where the filter asks how it ended.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/filter.h"
#include "conformance/engine/engine.h"
#include "session/rpcrdma/session.h"

namespace stag::cli {

// An observer of the Session that the engine observes, behind it; `openings` comes before it, for the engine finds some
// things in the set-up of a connection. REQUIRES: the filter is not empty.
class FindingFilter final : public conformance::FindingSink, public session::Observer {
 public:
  // The others must outlive this. `start_ns`: time of the first frame, once it is known.
  FindingFilter(const analysis::Filter& filter, const int64_t& start_ns, conformance::FindingSink& next)
      : filter_(filter), start_ns_(start_ns), next_(next) {}

  session::Observer& openings() { return openings_; }
  void OnFinding(const conformance::Finding& finding) override;
  void OnTransaction(const session::Connection&, const session::Transaction& t) override;
  void OnConnectionClosed(const session::Connection& connection, const fabric::Event&) override;

 private:
  static constexpr size_t kMostFitting = 32768;
  struct Open {
    const session::Connection* connection = nullptr;
    // Numbers of RPCs that have ended; the newest, so many at most.
    std::unordered_set<uint64_t> fitting, fitted_before;
    std::unordered_map<uint64_t, std::vector<conformance::Finding>> waiting;
  };

  class Openings final : public session::Observer {
   public:
    explicit Openings(FindingFilter& filter) : filter_(filter) {}
    void OnConnection(const session::Connection& connection, const fabric::Event&) override;

   private:
    FindingFilter& filter_;
  };

  const analysis::Filter& filter_;
  const int64_t& start_ns_;
  conformance::FindingSink& next_;
  std::unordered_map<fabric::ConnectionId, Open> open_;
  Openings openings_{*this};
};

}  // namespace stag::cli
