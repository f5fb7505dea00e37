// SPDX-License-Identifier: GPL-2.0-or-later
//
// Histogram: how often which value came, for latencies in nanoseconds. Log-linear: values up to 255 have a bucket each,
// and every power of two above has 128 of them, so what a percentile says is at most 1/128 (0.8 %) above the value that
// came. Fixed memory (58 KiB); recording is a few instructions and allocates nothing. Threads: one at a time; each
// thread records into its own, and they are merged.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "protocol/base/serialize.h"

namespace stag {

template <typename Archive>
void Serialize(Archive& archive, std::chrono::nanoseconds& v) {
  int64_t count = v.count();
  Serialize(archive, count);
  v = std::chrono::nanoseconds(count);
}

}  // namespace stag

namespace stag::rpcrdma {

class Histogram {
 public:
  void Record(uint64_t value) {
    ++buckets_[Index(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }
  // A negative one counts as 0.
  void Record(std::chrono::nanoseconds latency) {
    Record(static_cast<uint64_t>(std::max<int64_t>(latency.count(), 0)));
  }
  void Merge(const Histogram& other);

  template <typename Archive>
  friend void Serialize(Archive& archive, Histogram& v) {
    std::vector<std::pair<uint32_t, uint64_t>> used;  // buckets, by their index
    for (uint32_t i = 0; i < kBuckets; ++i)
      if (v.buckets_[i] > 0) used.emplace_back(i, v.buckets_[i]);
    for (uint64_t* number : {&v.count_, &v.min_, &v.max_}) Serialize(archive, *number);
    Serialize(archive, v.sum_);
    Serialize(archive, used);
    v.buckets_.fill(0);
    for (const auto& [index, n] : used)
      if (index < kBuckets) v.buckets_[index] = n;
  }

  uint64_t count() const { return count_; }
  // Exact; 0 when there is no value.
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The smallest value that `percent` (0 to 100) of all values do not exceed, to the resolution above; never less than
  // the value that came, nor more than max(). 0 when there is no value.
  uint64_t Percentile(double percent) const;

 private:
  static constexpr unsigned kBits = 7;  // of a value that its bucket keeps, besides the first
  static constexpr size_t kBuckets = (64 - kBits + 1) << kBits;
  static constexpr size_t Index(uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    const unsigned shift = std::max(width, kBits + 1) - (kBits + 1);
    return (size_t{shift} << kBits) + static_cast<size_t>(value >> shift);
  }
  static constexpr uint64_t Last(size_t index) {  // of the values of a bucket
    const size_t shift = index < (2u << kBits) ? 0 : (index >> kBits) - 1;
    const uint64_t first = index - (shift << kBits);
    return (first << shift) + ((uint64_t{1} << shift) - 1);
  }

  uint64_t count_ = 0, min_ = UINT64_MAX, max_ = 0;
  double sum_ = 0;
  std::array<uint64_t, kBuckets> buckets_{};
};

}  // namespace stag::rpcrdma
