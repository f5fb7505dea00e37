// SPDX-License-Identifier: GPL-2.0-or-later
//
// LatencyCourse: round-trip times over time, in a bounded number of bins that get wider as time goes on, and as memory
// gets short; and the picture of it and of a LatencyTable.
#pragma once

#include <vector>

#include "analysis/latency_table.h"
#include "cli/base/svg.h"
#include "protocol/base/budget.h"

namespace stag::cli {

class LatencyCourse {
 public:
  static constexpr size_t kMaxBins = 240;

  // `memory`: bytes, of the bins.
  explicit LatencyCourse(uint64_t memory) : budget_(memory), charge_(budget_) {}

  // Times that go back count in the first bin.
  void Add(int64_t time_ns, uint64_t rtt_ns);

  const std::vector<analysis::TimeHistogram>& bins() const { return bins_; }
  int64_t bin_ns() const { return bin_ns_; }

 private:
  void Widen();
  void Coarsen();

  Budget budget_;
  Charge charge_;  // of the bins
  unsigned coarseness_ = 0;
  int64_t start_ns_ = 0, bin_ns_ = 1'000'000;
  std::vector<analysis::TimeHistogram> bins_;
};

// Percentile curves of the round-trip times of the keys that took the most time, dashed those of `against` (null: there
// is none); below, median, p99 and the longest over time. `name`: of the capture.
void PutLatencySvg(std::string& out, const analysis::LatencyTable& table, const analysis::LatencyTable* against,
                   const LatencyCourse& course, const std::string& name, const SvgPlace& place = {});
extern const SvgStyle kLatencyStyle;

}  // namespace stag::cli
