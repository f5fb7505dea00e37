// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/time_histogram.h"

#include <algorithm>
#include <bit>

namespace stag::analysis {
namespace {

constexpr size_t kFew = 256;
constexpr unsigned kBits = 10;  // of a value that its bucket keeps, besides the first

// Adds sorted buckets to others, which are sorted, too.
void AddTo(std::vector<TimeHistogram::Bucket>& sum, const std::vector<TimeHistogram::Bucket>& more) {
  std::vector<TimeHistogram::Bucket> merged;
  merged.reserve(sum.size() + more.size());
  auto a = sum.begin();
  auto b = more.begin();
  while (a != sum.end() || b != more.end()) {
    if (b == more.end() || (a != sum.end() && a->first < b->first)) {
      merged.push_back(*a++);
    } else if (a == sum.end() || b->first < a->first) {
      merged.push_back(*b++);
    } else {
      merged.emplace_back(a->first, a->second + b->second);
      ++a, ++b;
    }
  }
  sum = std::move(merged);
}

// One bucket for each index; they are in order.
void Unite(std::vector<TimeHistogram::Bucket>& buckets) {
  size_t kept = 0;
  for (const auto& [index, n] : buckets) {
    if (kept > 0 && buckets[kept - 1].first == index) {
      buckets[kept - 1].second += n;
    } else {
      buckets[kept++] = {index, n};
    }
  }
  buckets.resize(kept);
}

uint32_t FirstOf(uint32_t index, unsigned coarseness) { return index >> coarseness << coarseness; }

void Coarsen(std::vector<TimeHistogram::Bucket>& buckets, unsigned coarseness) {
  for (auto& [index, n] : buckets) index = FirstOf(index, coarseness);
  Unite(buckets);
}

}  // namespace

uint32_t TimeHistogram::IndexOf(uint64_t ns) {
  const auto width = static_cast<unsigned>(std::bit_width(ns));
  const unsigned shift = std::max(width, kBits + 1) - (kBits + 1);
  return (shift << kBits) + static_cast<uint32_t>(ns >> shift);
}

uint64_t TimeHistogram::MiddleOf(uint32_t index) const {
  const uint32_t shift = index < (2u << kBits) ? 0 : (index >> kBits) - 1;
  const uint64_t first = uint64_t{index - (shift << kBits)} << shift;
  return first + ((uint64_t{1} << (shift + coarseness_)) - 1) / 2;
}

double TimeHistogram::ErrorPercent(unsigned coarseness) { return 50.0 * (1u << coarseness) / (1u << kBits); }

void TimeHistogram::Record(uint64_t ns) {
  ++count_;
  sum_ += ns;
  max_ = std::max(max_, ns);
  few_.push_back(ns);
  if (few_.size() == kFew) Sort();
}

std::vector<TimeHistogram::Bucket> TimeHistogram::FewInBuckets() const {
  std::vector<Bucket> buckets;
  buckets.reserve(few_.size());
  for (const uint64_t ns : few_) buckets.emplace_back(FirstOf(IndexOf(ns), coarseness_), 1);
  std::sort(buckets.begin(), buckets.end());
  Unite(buckets);
  return buckets;
}

void TimeHistogram::Sort() {
  AddTo(buckets_, FewInBuckets());
  few_.clear();
}

void TimeHistogram::Coarsen(unsigned coarseness) {
  if (coarseness <= coarseness_) return;
  coarseness_ = coarseness;
  analysis::Coarsen(buckets_, coarseness_);
  buckets_.shrink_to_fit();
}

void TimeHistogram::Merge(const TimeHistogram& other) {
  Coarsen(other.coarseness_);
  std::vector<Bucket> more = other.buckets_;
  analysis::Coarsen(more, coarseness_);
  AddTo(buckets_, more);
  count_ += other.count_ - other.few_.size();
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  for (const uint64_t ns : other.few_) {
    Record(ns);
    sum_ -= ns;
  }
}

std::vector<TimeHistogram::Bucket> TimeHistogram::Buckets(unsigned coarseness) const {
  std::vector<Bucket> buckets = buckets_;
  AddTo(buckets, FewInBuckets());
  analysis::Coarsen(buckets, coarseness);
  return buckets;
}

uint64_t TimeHistogram::Percentile(uint64_t thousandths) const {
  if (count_ == 0) return 0;
  // Of so many values that the product would wrap, the rank is as good without the last digits.
  const uint64_t rank = count_ <= UINT64_MAX / 1000 ? std::max<uint64_t>((count_ * thousandths + 999) / 1000, 1)
                                                    : count_ / 1000 * thousandths;
  if (rank >= count_) return max_;
  if (buckets_.empty()) {
    std::vector<uint64_t> sorted = few_;
    const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(sorted.begin(), at, sorted.end());
    return *at;
  }
  uint64_t seen = 0;
  for (const auto& [index, n] : Buckets(coarseness_)) {
    seen += n;
    if (seen >= rank) return std::min(MiddleOf(index), max_);
  }
  return max_;
}

}  // namespace stag::analysis
