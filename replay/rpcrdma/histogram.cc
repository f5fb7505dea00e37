// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/rpcrdma/histogram.h"

#include <cmath>

namespace stag::rpcrdma {

void Histogram::Merge(const Histogram& other) {
  for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

uint64_t Histogram::Percentile(double percent) const {
  if (count_ == 0) return 0;
  // The rank of the value, from 1; what the product of two decimals is too large by does not make it the next one.
  const double exact = percent / 100 * static_cast<double>(count_);
  const auto rank = static_cast<uint64_t>(std::clamp(std::ceil(exact * (1 - 1e-12)), 1.0, static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::clamp(Last(i), min_, max_);
  }
  return max_;
}

}  // namespace stag::rpcrdma
