// SPDX-License-Identifier: GPL-2.0-or-later
//
// RankTest: the Mann-Whitney U test, two-sided, with the normal approximation, corrected for ties and for continuity.
// It asks whether values of one sample tend to be larger than those of another, and assumes nothing of how they are
// distributed: latencies are skewed.
#pragma once

#include "analysis/time_histogram.h"

namespace stag::analysis {

struct RankTest {
  double p = 1;       // how likely a difference like this one is by chance
  double effect = 0;  // Cliff's delta: -1 to 1; positive: values of `b` are the larger ones
};

// No sample may be empty.
RankTest CompareRanks(const TimeHistogram& a, const TimeHistogram& b);

}  // namespace stag::analysis
