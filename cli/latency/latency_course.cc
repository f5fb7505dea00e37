// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/latency/latency_course.h"

#include <algorithm>

namespace stag::cli {

void LatencyCourse::Add(int64_t time_ns, uint64_t rtt_ns) {
  if (bins_.empty()) start_ns_ = time_ns;
  const uint64_t since =
      time_ns > start_ns_ ? static_cast<uint64_t>(time_ns) - static_cast<uint64_t>(start_ns_) : uint64_t{0};
  while (since / static_cast<uint64_t>(bin_ns_) >= kMaxBins) Widen();
  const auto bin = static_cast<size_t>(since / static_cast<uint64_t>(bin_ns_));
  for (; bins_.size() <= bin; charge_.Add(sizeof(analysis::TimeHistogram))) bins_.emplace_back().Coarsen(coarseness_);
  const uint64_t before = bins_[bin].bytes();
  bins_[bin].Record(rtt_ns);
  charge_.Set(charge_.bytes() + bins_[bin].bytes() - before);
  while (budget_.over() && coarseness_ < analysis::TimeHistogram::kCoarsest) Coarsen();
  while (budget_.over() && bins_.size() > 1) Widen();
}

void LatencyCourse::Coarsen() {
  ++coarseness_;
  charge_.Set(bins_.size() * sizeof(analysis::TimeHistogram));
  for (analysis::TimeHistogram& bin : bins_) {
    bin.Coarsen(coarseness_);
    charge_.Add(bin.bytes());
  }
}

void LatencyCourse::Widen() {
  std::vector<analysis::TimeHistogram> wider((bins_.size() + 1) / 2);
  for (size_t i = 0; i < bins_.size(); ++i) wider[i / 2].Merge(bins_[i]);
  bins_ = std::move(wider);
  charge_.Set(bins_.size() * sizeof(analysis::TimeHistogram));
  for (const analysis::TimeHistogram& bin : bins_) charge_.Add(bin.bytes());
  bin_ns_ *= 2;
}

}  // namespace stag::cli
