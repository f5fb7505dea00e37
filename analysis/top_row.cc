// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/top_row.h"

namespace stag::analysis {

TopRow::TopRow(const TopEntry& entry, LatencyKey grouped_by, const TopInterval& of)
    : time{of.start_ns},
      time_s{of.start_ns - of.origin_ns},
      interval{of.length_ns},
      by(grouped_by),
      key(entry.key),
      calls(entry.counts.calls),
      outstanding(entry.outstanding),
      errors(entry.counts.errors) {
  if (of.length_ns > 0) {
    calls_per_s = {PerSecond(entry.counts.calls, of.length_ns)};
    bytes_per_s = {PerSecond(entry.counts.bytes, of.length_ns)};
  }
  if (const TimeHistogram& times = entry.counts.times; times.count() > 0) {
    p50 = {static_cast<int64_t>(times.Percentile(500))};
    p99 = {static_cast<int64_t>(times.Percentile(990))};
  }
}

}  // namespace stag::analysis
