// SPDX-License-Identifier: GPL-2.0-or-later
//
// TopTable: what stag top shows: by a key, the RPCs of the current interval and of all intervals, and the Calls that
// are outstanding. Bounded: keys over the limit share a row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/time_histogram.h"

namespace stag::analysis {

// Answered RPCs.
struct TopCounts {
  uint64_t calls = 0, errors = 0;
  uint64_t bytes = 0;   // of data
  TimeHistogram times;  // of those with a round-trip time
  void Add(std::optional<int64_t> rtt_ns, uint64_t data, bool error);
  void Merge(const TopCounts& other);
};

// `n` in `length_ns`, which is not 0.
inline double PerSecond(uint64_t n, int64_t length_ns) {
  return static_cast<double>(n) * 1e9 / static_cast<double>(length_ns);
}

// The counts of one key.
struct TopEntry {
  std::string key;
  TopCounts counts;
  uint64_t outstanding = 0;
};

class TopTable {
 public:
  static constexpr size_t kMaxKeys = 4096;
  static constexpr std::string_view kOthers = "other keys";
  using Key = uint32_t;

  Key Find(std::string_view key);
  void Begin(Key key) { ++rows_[key].outstanding; }
  void End(Key key) { --rows_[key].outstanding; }
  void Add(Key key, std::optional<int64_t> rtt_ns, uint64_t data, bool error);

  // Rows with RPCs in the interval or outstanding Calls, in the order in which their keys came first. The next interval
  // begins.
  std::vector<TopEntry> TakeInterval();
  // Rows over all intervals.
  std::vector<TopEntry> Total() const;
  uint64_t outstanding() const;

 private:
  struct Row {
    std::string key;
    TopCounts now, before;  // in the interval; in those before
    uint64_t outstanding = 0;
  };
  std::vector<Row> rows_;
  std::unordered_map<std::string, Key> keys_;
  std::string wanted_;
};

}  // namespace stag::analysis
