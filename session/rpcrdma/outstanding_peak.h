// SPDX-License-Identifier: GPL-2.0-or-later
//
// OutstandingPeak: the most Calls of one side that were outstanding at a time, where it is learnt later of some that
// they were not: their answers are missing from the capture, not from the wire.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stag::session {

class OutstandingPeak {
 public:
  // A Call makes so many outstanding, without those that Without named. Returns its place.
  uint64_t Add(uint32_t outstanding) {
    if (outstanding <= 1) Settle(counts_.size());  // nothing older matters
    if (counts_.size() == kMost) Settle(kMost / 2);
    counts_.push_back(outstanding);
    return first_ + counts_.size() - 1;
  }
  // A Call was not outstanding when those from the place `from` on were sent, nor at its own; or it was, after all.
  void Without(uint64_t from) {
    for (size_t i = At(from); i < counts_.size(); ++i) counts_[i] -= counts_[i] > 0 ? 1 : 0;
  }
  void With(uint64_t from) {
    for (size_t i = At(from); i < counts_.size(); ++i) ++counts_[i];
  }
  uint32_t peak() const { return counts_.empty() ? peak_ : std::max(peak_, *std::ranges::max_element(counts_)); }
  // Bytes of storage.
  uint64_t storage() const { return counts_.capacity() * sizeof(uint32_t); }

 private:
  static constexpr size_t kMost = 256;  // Calls that something is learnt of

  size_t At(uint64_t place) const { return place > first_ ? static_cast<size_t>(place - first_) : 0; }
  void Settle(size_t count) {
    const auto end = counts_.begin() + static_cast<ptrdiff_t>(count);
    if (count > 0) peak_ = std::max(peak_, *std::max_element(counts_.begin(), end));
    counts_.erase(counts_.begin(), end);
    first_ += count;
  }

  std::vector<uint32_t> counts_;
  uint64_t first_ = 0;
  uint32_t peak_ = 0;
};

}  // namespace stag::session
