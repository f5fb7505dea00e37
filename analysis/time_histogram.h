// SPDX-License-Identifier: GPL-2.0-or-later
//
// TimeHistogram: how often which time came, in nanoseconds. The first 256 values are kept as they are. With more, every
// power of two has 1,024 buckets, so that what a percentile says is within 0.05 % of the value that came; only buckets
// that have values take memory. When memory is short, neighbours become one (Coarsen), so that it has an end.
// (replay::Histogram, for load as it runs, is coarser, and never allocates.)
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace stag::analysis {

class TimeHistogram {
 public:
  using Bucket = std::pair<uint32_t, uint64_t>;  // index, count

  // Halvings of the number of buckets: with all, a power of two has 8 of them, and a percentile is within 6.3 %.
  static constexpr unsigned kCoarsest = 7;

  void Record(uint64_t ns);
  void Merge(const TimeHistogram& other);
  // Has half as many buckets from now on, for each step that it is not as coarse already. At most kCoarsest.
  void Coarsen(unsigned coarseness);
  unsigned coarseness() const { return coarseness_; }
  // How far a percentile may be from the value that came, in percent, where histograms are as coarse as that.
  static double ErrorPercent(unsigned coarseness);
  // That it takes beside its own size.
  uint64_t bytes() const { return buckets_.capacity() * sizeof(Bucket) + few_.capacity() * sizeof(uint64_t); }

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }  // exact, as max is
  uint64_t max() const { return max_; }
  // By nearest rank: the smallest value that `thousandths` of a thousand values do not exceed. 0 when there is none.
  uint64_t Percentile(uint64_t thousandths) const;
  // The buckets in order: by index; the values of a bucket are as good as equal. As they would be if it were as coarse
  // as that.
  std::vector<Bucket> Buckets(unsigned coarseness) const;

 private:
  static uint32_t IndexOf(uint64_t ns);
  uint64_t MiddleOf(uint32_t index) const;
  std::vector<Bucket> FewInBuckets() const;
  void Sort();

  uint64_t count_ = 0, sum_ = 0, max_ = 0;
  unsigned coarseness_ = 0;
  std::vector<Bucket> buckets_;  // in order; of the neighbours that became one, it has the first one's index
  std::vector<uint64_t> few_;    // values that are not in buckets_ yet
};

}  // namespace stag::analysis
