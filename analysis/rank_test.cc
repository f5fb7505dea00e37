// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/rank_test.h"

#include <algorithm>
#include <cmath>

namespace stag::analysis {

RankTest CompareRanks(const TimeHistogram& a, const TimeHistogram& b) {
  const unsigned coarseness = std::max(a.coarseness(), b.coarseness());
  const std::vector<TimeHistogram::Bucket> of_a = a.Buckets(coarseness), of_b = b.Buckets(coarseness);
  double below = 0;  // values of a that are smaller than those of b that come now
  double u = 0;      // pairs in which b is larger; half of those that are equal
  double ties = 0;   // sum of t^3 - t
  size_t i = 0, j = 0;
  while (i < of_a.size() || j < of_b.size()) {
    const uint32_t index =
        std::min(i < of_a.size() ? of_a[i].first : UINT32_MAX, j < of_b.size() ? of_b[j].first : UINT32_MAX);
    double in_a = 0, in_b = 0;
    if (i < of_a.size() && of_a[i].first == index) in_a = static_cast<double>(of_a[i++].second);
    if (j < of_b.size() && of_b[j].first == index) in_b = static_cast<double>(of_b[j++].second);
    u += in_b * (below + in_a / 2);
    below += in_a;
    const double t = in_a + in_b;
    ties += t * t * t - t;
  }
  const auto n = static_cast<double>(a.count()), m = static_cast<double>(b.count());
  const double all = n + m, mean = n * m / 2;
  RankTest test;
  test.effect = (u - mean) / mean;
  const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
  if (variance > 0) {
    const double z = std::max(std::abs(u - mean) - 0.5, 0.0) / std::sqrt(variance);
    test.p = std::erfc(z / std::sqrt(2.0));
  }
  return test;
}

}  // namespace stag::analysis
