// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency_table.h"

#include <algorithm>
#include <bit>

namespace stag::analysis {
namespace {

uint32_t EighthOf(uint64_t ns) {
  const auto width = static_cast<unsigned>(std::bit_width(ns));
  return width <= 4 ? static_cast<uint32_t>(ns) : (width << 3) + static_cast<uint32_t>(ns >> (width - 4) & 7);
}

// Orders of two RPCs: the slower one first, of equals the earlier.
bool IsSlower(const LatencySample& a, const LatencySample& b) {
  return a.rtt_ns != b.rtt_ns ? a.rtt_ns > b.rtt_ns : a.call_frame < b.call_frame;
}

constexpr uint64_t kNode = 64;  // of a table, and what the allocator takes

}  // namespace

std::optional<session::Phase> LatencySample::LongestPhase() const {
  if (!phases.complete) return std::nullopt;
  size_t longest = static_cast<size_t>(session::Phase::kService);
  for (size_t i = 0; i < session::kPhases; ++i)
    if (phases.ns[i].value_or(-1) > phases.ns[longest].value_or(-1)) longest = i;
  return static_cast<session::Phase>(longest);
}

void LatencyProfile::Add(const LatencyProfile& other) {
  count += other.count;
  complete += other.complete;
  for (size_t i = 0; i < phase_sums.size(); ++i) phase_sums[i] += other.phase_sums[i];
  for (size_t i = 0; i < meanwhile.size(); ++i) meanwhile[i] += other.meanwhile[i];
}

void LatencyHistograms::Add(const LatencySample& sample) {
  times[0].Record(static_cast<uint64_t>(sample.rtt_ns));
  LatencyProfile& profile = profiles[EighthOf(static_cast<uint64_t>(sample.rtt_ns))];
  ++profile.count;
  profile.complete += sample.phases.complete ? 1 : 0;
  for (size_t i = 0; i < session::kPhases; ++i) {
    if (!sample.phases.ns[i]) continue;
    const auto ns = static_cast<uint64_t>(*sample.phases.ns[i]);
    times[i + 1].Record(ns);
    if (sample.phases.complete) profile.phase_sums[i] += ns;
  }
  for (size_t i = 0; i < kMeanwhiles; ++i) profile.meanwhile[i] += sample.meanwhile[i] ? 1 : 0;
}

void LatencyHistograms::Merge(const LatencyHistograms& other) {
  for (size_t i = 0; i < times.size(); ++i) times[i].Merge(other.times[i]);
  for (const auto& [eighth, profile] : other.profiles) profiles[eighth].Add(profile);
}

void LatencyHistograms::Coarsen(unsigned coarseness) {
  for (TimeHistogram& histogram : times) histogram.Coarsen(coarseness);
}

uint64_t LatencyHistograms::bytes() const {
  uint64_t bytes = profiles.size() * (sizeof(decltype(profiles)::value_type) + kNode);
  for (const TimeHistogram& histogram : times) bytes += histogram.bytes();
  return bytes;
}

LatencyProfile LatencyHistograms::Slowest() const {
  LatencyProfile slowest;
  const uint64_t wanted = (times[0].count() + 99) / 100;
  for (auto at = profiles.rbegin(); at != profiles.rend() && slowest.count < wanted; ++at) slowest.Add(at->second);
  return slowest;
}

uint64_t LatencyTable::BytesOf(const Rows::value_type& row) {
  return sizeof(row) + kNode + row.first.capacity() + row.second.row.bytes();
}

const LatencyHistograms* LatencyTable::Find(const std::string& key) const {
  const auto row = rows_.find(key);
  return row == rows_.end() ? nullptr : &row->second.row;
}

// The row of another RPC; null when there is no room for its key.
LatencyTable::Rows::value_type* LatencyTable::CountIn(const std::string& key) {
  ++count_;
  auto row = rows_.find(key);
  if (row != rows_.end()) return &*row;
  Charge charge(budget_);
  if (full_ || rows_.size() >= kMaxKeys || !charge.TrySet(sizeof(Rows::value_type) + kNode + key.size())) {
    ++left_out_;
    return nullptr;
  }
  row = rows_.try_emplace(key, std::move(charge)).first;
  row->second.row.Coarsen(coarseness_);
  Settle(*row);
  return &*row;
}

void LatencyTable::Settle(Rows::value_type& row) {
  row.second.charge.Set(BytesOf(row));
  if (budget_.over()) Relieve();
}

// All histograms are as coarse as each other, so that rows can be compared. The last row stays.
void LatencyTable::Relieve() {
  while (budget_.over() && coarseness_ < TimeHistogram::kCoarsest) {
    ++coarseness_;
    for (auto& row : rows_) {
      row.second.row.Coarsen(coarseness_);
      row.second.charge.Set(BytesOf(row));
    }
  }
  while (budget_.over() && rows_.size() > 1) {
    full_ = true;
    const auto fewest = std::ranges::min_element(rows_, {}, [](const auto& row) {
      return std::pair(row.second.row.times[0].count(), std::string_view(row.first));
    });
    left_out_ += fewest->second.row.times[0].count();
    rows_.erase(fewest);
  }
}

void LatencyTable::AddRoundTrip(const std::string& key, uint64_t ns) {
  Rows::value_type* const row = CountIn(key);
  if (!row) return;
  TimeHistogram& times = row->second.row.times[0];
  const uint64_t bytes = times.bytes();
  times.Record(ns);
  if (times.bytes() != bytes) Settle(*row);
}

void LatencyTable::Add(const LatencySample& sample) {
  if (Rows::value_type* const row = CountIn(sample.key)) {
    row->second.row.Add(sample);
    Settle(*row);
  }
  if (kept_ == 0) return;
  if (slowest_.size() == kept_) {
    if (!IsSlower(sample, slowest_.front())) return;
    std::pop_heap(slowest_.begin(), slowest_.end(), IsSlower);
    slowest_.pop_back();
  }
  slowest_.push_back(sample);
  std::push_heap(slowest_.begin(), slowest_.end(), IsSlower);
}

void LatencyTable::Rename(const std::unordered_map<std::string, std::string>& names) {
  for (const auto& [key, name] : names) {
    auto row = rows_.extract(key);
    if (row.empty()) continue;
    if (const auto known = rows_.find(name); known != rows_.end()) {
      known->second.row.Merge(row.mapped().row);
      known->second.charge.Set(BytesOf(*known));
    } else {
      row.key() = name;
      auto& renamed = *rows_.insert(std::move(row)).position;
      renamed.second.charge.Set(BytesOf(renamed));
    }
  }
  Relieve();
  for (LatencySample& sample : slowest_)
    if (const auto name = names.find(sample.key); name != names.end()) sample.key = name->second;
}

std::vector<std::string> LatencyTable::Keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, row] : rows_) keys.push_back(key);
  std::sort(keys.begin(), keys.end(), [this](const std::string& a, const std::string& b) {
    const uint64_t of_a = Row(a).times[0].sum(), of_b = Row(b).times[0].sum();
    return of_a != of_b ? of_a > of_b : a < b;
  });
  return keys;
}

std::vector<LatencySample> LatencyTable::Slowest() const {
  std::vector<LatencySample> sorted = slowest_;
  std::sort(sorted.begin(), sorted.end(), IsSlower);
  return sorted;
}

}  // namespace stag::analysis
