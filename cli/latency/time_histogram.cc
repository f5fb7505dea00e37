// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/latency/time_histogram.h"

#include <algorithm>
#include <bit>

namespace stag::cli {
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

std::vector<TimeHistogram::Bucket> InBuckets(std::vector<uint32_t> indices) {
  std::sort(indices.begin(), indices.end());
  std::vector<TimeHistogram::Bucket> buckets;
  for (const uint32_t index : indices) {
    if (buckets.empty() || buckets.back().first != index) buckets.emplace_back(index, 0);
    ++buckets.back().second;
  }
  return buckets;
}

}  // namespace

uint32_t TimeHistogram::IndexOf(uint64_t ns) {
  const auto width = static_cast<unsigned>(std::bit_width(ns));
  const unsigned shift = std::max(width, kBits + 1) - (kBits + 1);
  return (shift << kBits) + static_cast<uint32_t>(ns >> shift);
}

uint64_t TimeHistogram::MiddleOf(uint32_t index) {
  const uint32_t shift = index < (2u << kBits) ? 0 : (index >> kBits) - 1;
  const uint64_t first = uint64_t{index - (shift << kBits)} << shift;
  return first + ((uint64_t{1} << shift) - 1) / 2;
}

void TimeHistogram::Record(uint64_t ns) {
  ++count_;
  sum_ += ns;
  max_ = std::max(max_, ns);
  few_.push_back(ns);
  if (few_.size() == kFew) Sort();
}

void TimeHistogram::Sort() {
  std::vector<uint32_t> indices(few_.size());
  std::transform(few_.begin(), few_.end(), indices.begin(), IndexOf);
  AddTo(buckets_, InBuckets(std::move(indices)));
  few_.clear();
}

void TimeHistogram::Merge(const TimeHistogram& other) {
  AddTo(buckets_, other.buckets_);
  count_ += other.count_ - other.few_.size();
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  for (const uint64_t ns : other.few_) {
    Record(ns);
    sum_ -= ns;
  }
}

std::vector<TimeHistogram::Bucket> TimeHistogram::Buckets() const {
  std::vector<Bucket> buckets = buckets_;
  std::vector<uint32_t> indices(few_.size());
  std::transform(few_.begin(), few_.end(), indices.begin(), IndexOf);
  AddTo(buckets, InBuckets(std::move(indices)));
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
  for (const auto& [index, n] : Buckets()) {
    seen += n;
    if (seen >= rank) return std::min(MiddleOf(index), max_);
  }
  return max_;
}

}  // namespace stag::cli
