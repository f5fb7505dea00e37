// SPDX-License-Identifier: GPL-2.0-or-later
//
// TimeBins: what happens over time, in stretches of equal width (bins). There are always few: when time goes past the
// last one, or the Budget has no room for more, neighbours are merged by Bin::Append. For pictures of a capture of any
// length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocol/base/budget.h"

namespace stag::cli {

template <typename Bin, size_t kMost>
class TimeBins {
 public:
  explicit TimeBins(Budget& budget) : charge_(budget) {}

  // The bin of that time; of an earlier one than the last, the last: events come in their order.
  Bin& At(int64_t time_ns) {
    if (bins_.empty()) {
      start_ns_ = end_ns_ = time_ns;
      charge_.Set(sizeof(Bin));
      bins_.emplace_back();
    }
    end_ns_ = std::max(end_ns_, time_ns);
    uint64_t index = (static_cast<uint64_t>(end_ns_) - static_cast<uint64_t>(start_ns_)) / width_ns_;
    while (index >= kMost || !MakeRoom(static_cast<size_t>(index) + 1)) {
      for (size_t i = 0; i < bins_.size(); i += 2) {
        Bin bin = bins_[i];
        if (i + 1 < bins_.size()) bin.Append(bins_[i + 1]);
        bins_[i / 2] = bin;
      }
      bins_.resize((bins_.size() + 1) / 2);
      width_ns_ *= 2;
      index /= 2;
    }
    if (index >= bins_.size()) bins_.resize(static_cast<size_t>(index) + 1);
    return bins_[static_cast<size_t>(index)];
  }

  const std::vector<Bin>& bins() const { return bins_; }  // from start_ns() on
  int64_t start_ns() const { return start_ns_; }
  int64_t end_ns() const { return end_ns_; }  // the latest time
  uint64_t width_ns() const { return width_ns_; }

 private:
  bool MakeRoom(size_t wanted) {
    if (wanted <= bins_.capacity()) return true;
    const size_t room = std::min(kMost, std::max(2 * bins_.capacity(), wanted));
    if (!charge_.TrySet(room * sizeof(Bin))) return false;
    bins_.reserve(room);
    return true;
  }

  Charge charge_;
  std::vector<Bin> bins_;
  int64_t start_ns_ = 0, end_ns_ = 0;
  uint64_t width_ns_ = 1000;
};

}  // namespace stag::cli
