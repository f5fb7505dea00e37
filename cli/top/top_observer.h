// SPDX-License-Identifier: GPL-2.0-or-later
//
// TopObserver: an Observer that cuts the time of a capture into intervals, and gives a block of rows for each: an RPC
// counts in the interval in which its Reply was sent. Time is the capture's own, and does not go back. Intervals in
// which nothing happens are given as one.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/analysis/shard.h"
#include "cli/latency/latency_keys.h"
#include "cli/top/top_table.h"

namespace stag::cli {

struct TopBlock {
  bool whole = false;        // all intervals
  int64_t start_ns = 0;      // since 1970
  int64_t length_ns = 0;     // 0: everything has the same time
  uint64_t outstanding = 0;  // Calls, at the end
  std::vector<TopRow> rows;
};

class TopSink {
 public:
  virtual ~TopSink() = default;
  virtual void OnBlock(TopBlock&& block) = 0;
};

class TopObserver final : public session::Observer {
 public:
  // `interval_ns` 0: everything is one interval. `clock`: of the analysis. `sink`, `clock` must outlive this.
  TopObserver(LatencyKey by, int64_t interval_ns, const Clock& clock, TopSink& sink)
      : keys_(by, std::nullopt), interval_ns_(interval_ns), clock_(clock), sink_(sink) {}

  void OnMessage(const session::Connection& c, const session::Message& message, const session::Transaction* t) override;
  void OnCallComplete(const session::Connection& c, const session::Transaction& t) override;
  void OnTransaction(const session::Connection& c, const session::Transaction& t) override;

  // Whether any RPC was seen.
  bool any() const { return begun_; }
  // It is so late now: intervals that are over are given.
  void Tick(int64_t now_ns);
  // After the last frame. The current interval, which may be shorter, and all of them as a whole.
  void Finish(int64_t last_ns);

 private:
  static constexpr size_t kMostOpen = 1u << 20;

  void Assign(const session::Connection& c, const session::Transaction& t);
  void Give(int64_t length_ns);
  std::vector<TopRow> Named(std::vector<TopRow> rows) const;

  LatencyKeys keys_;
  const int64_t interval_ns_;
  const Clock& clock_;
  TopSink& sink_;
  TopTable table_;
  std::unordered_map<uint64_t, TopTable::Key> open_;  // outstanding Calls, by serial
  bool begun_ = false;
  int64_t first_ns_ = 0, start_ns_ = 0, latest_ns_ = 0;  // of all, of the interval; the latest time that was seen
  std::string subject_, key_;
};

}  // namespace stag::cli
