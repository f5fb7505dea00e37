// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/top_table.h"

#include <utility>

namespace stag::analysis {

void TopCounts::Add(std::optional<int64_t> rtt_ns, uint64_t data, bool error) {
  ++calls;
  errors += error ? 1 : 0;
  bytes += data;
  if (rtt_ns) times.Record(static_cast<uint64_t>(*rtt_ns));
}

void TopCounts::Merge(const TopCounts& other) {
  calls += other.calls;
  errors += other.errors;
  bytes += other.bytes;
  times.Merge(other.times);
}

TopTable::Key TopTable::Find(std::string_view key) {
  wanted_ = key;
  const auto found = keys_.find(wanted_);
  if (found != keys_.end()) return found->second;
  if (rows_.size() > kMaxKeys) return kMaxKeys;
  const auto index = static_cast<Key>(rows_.size());
  rows_.emplace_back();
  rows_.back().key = index == kMaxKeys ? kOthers : key;
  if (index < kMaxKeys) keys_.emplace(wanted_, index);
  return index;
}

void TopTable::Add(Key key, std::optional<int64_t> rtt_ns, uint64_t data, bool error) {
  rows_[key].now.Add(rtt_ns, data, error);
}

std::vector<TopEntry> TopTable::TakeInterval() {
  std::vector<TopEntry> taken;
  for (Row& row : rows_) {
    if (row.now.calls == 0 && row.outstanding == 0) continue;
    if (row.now.calls > 0) row.before.Merge(row.now);
    taken.push_back({row.key, std::exchange(row.now, {}), row.outstanding});
  }
  return taken;
}

std::vector<TopEntry> TopTable::Total() const {
  std::vector<TopEntry> all;
  for (const Row& row : rows_) {
    TopCounts counts = row.before;
    counts.Merge(row.now);
    if (counts.calls > 0 || row.outstanding > 0) all.push_back({row.key, std::move(counts), row.outstanding});
  }
  return all;
}

uint64_t TopTable::outstanding() const {
  uint64_t sum = 0;
  for (const Row& row : rows_) sum += row.outstanding;
  return sum;
}

}  // namespace stag::analysis
