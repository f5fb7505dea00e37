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
  if (bin >= bins_.size()) bins_.resize(bin + 1);
  bins_[bin].Record(rtt_ns);
}

void LatencyCourse::Widen() {
  std::vector<TimeHistogram> wider((bins_.size() + 1) / 2);
  for (size_t i = 0; i < bins_.size(); ++i) wider[i / 2].Merge(bins_[i]);
  bins_ = std::move(wider);
  bin_ns_ *= 2;
}

}  // namespace stag::cli
