// SPDX-License-Identifier: GPL-2.0-or-later
//
// TopIntervals cuts the time of a capture into intervals, and gives a block of rows for each: an RPC counts in the
// interval in which its Reply was sent. Time is the capture's own, and does not go back. Intervals in which nothing
// happens are given as one. TopShard observes what counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/filter.h"
#include "analysis/latency_keys.h"
#include "analysis/top_row.h"
#include "analysis/top_table.h"
#include "cli/analysis/shard.h"

namespace stag::cli {

struct TopBlock {
  bool whole = false;  // all intervals
  analysis::TopInterval interval;
  uint64_t outstanding = 0;  // Calls, at the end
  std::vector<analysis::TopEntry> rows;
};

class TopSink {
 public:
  virtual ~TopSink() = default;
  virtual void OnBlock(TopBlock&& block) = 0;
};

// The intervals, and what counts in them; in order of the events.
class TopIntervals {
 public:
  // `interval_ns` 0: everything is one interval. `sink` must outlive this. `memory`: bytes, of names of files.
  TopIntervals(int64_t interval_ns, uint64_t memory, TopSink& sink)
      : interval_ns_(interval_ns), sink_(sink), names_(memory) {}

  // It is so late now: intervals that are over are given. `first_ns`: of the first frame, where one was seen.
  void Tick(int64_t now_ns, std::optional<int64_t> first_ns = std::nullopt);
  // The Call `call`, a number of its own, is outstanding, in this row, as far as is known.
  void Open(uint64_t call, const std::string& key);
  void Close(uint64_t call);
  // An RPC was answered.
  void Add(const std::string& key, std::optional<int64_t> rtt_ns, uint64_t data, bool failed);
  void Name(const std::string& key, analysis::FileNames::Name&& name) { names_.Take(key, std::move(name)); }
  // After the last frame. The current interval, which may be shorter, and all of them as a whole.
  void Finish(int64_t last_ns);

  // Whether any RPC was seen.
  bool any() const { return begun_; }

 private:
  static constexpr size_t kMostOpen = 1u << 20;

  void Give(int64_t length_ns);
  std::vector<analysis::TopEntry> Named(std::vector<analysis::TopEntry> rows) const;

  const int64_t interval_ns_;
  TopSink& sink_;
  analysis::TopTable table_;
  analysis::FileNames names_;
  std::unordered_map<uint64_t, analysis::TopTable::Key> open_;  // outstanding Calls
  bool begun_ = false;
  int64_t first_ns_ = 0, start_ns_ = 0, latest_ns_ = 0;  // of all, of the interval; the latest time that was seen
};

// Observes some of the connections, or all: RPCs that `filter` asks for, as they are when they count. A Call that is
// outstanding has no answer and no round-trip time.
class TopShard final : public CallingShard, private session::Observer {
 public:
  // `number`: of this one among the shards. `filter` and `intervals` must outlive this.
  TopShard(analysis::LatencyKey by, size_t number, const analysis::Filter& filter, TopIntervals& intervals)
      : filter_(filter), keys_(by, std::nullopt), first_call_(uint64_t{number} << 58), intervals_(intervals) {}
  std::vector<session::Observer*> Observers() override { return {this}; }

 private:
  void OnMessage(const session::Connection& c, const session::Message& message, const session::Transaction* t) override;
  void OnCallComplete(const session::Connection& c, const session::Transaction& t) override;
  void OnAnswerInDoubt(const session::Connection& c, const session::Transaction& t) override;
  void OnTransaction(const session::Connection& c, const session::Transaction& t) override;
  void Assign(const session::Connection& c, const session::Transaction& t);
  bool Wants(const session::Connection& c, const session::Transaction& t) const {
    return filter_.HasConnection(c) && filter_.HasRpc(t, clock().first_time_ns);
  }
  const std::string& KeyOf(const session::Connection& c, const session::Transaction& t);
  uint64_t CallOf(const session::Transaction& t) const { return first_call_ + t.serial; }

  const analysis::Filter& filter_;
  analysis::LatencyKeys keys_;
  const uint64_t first_call_;  // serials of transactions are those of a shard
  TopIntervals& intervals_;
  std::string subject_, key_;
};

}  // namespace stag::cli
