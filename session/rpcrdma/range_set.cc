// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/range_set.h"

#include <algorithm>

namespace stag::session {

uint64_t RangeSet::Merge(uint64_t begin, uint64_t end) {
  if (several_.empty()) several_.push_back(one_);
  // The first range that touches or follows `begin`, and the first one past `end`.
  auto first = std::lower_bound(several_.begin(), several_.end(), begin,
                                [](const Range& r, uint64_t value) { return r.end < value; });
  auto last = first;
  uint64_t old = 0, merged_begin = begin, merged_end = end, overlap = 0;
  while (last != several_.end() && last->begin <= end) {
    old += last->end - last->begin;
    uint64_t low = std::max(begin, last->begin), high = std::min(end, last->end);
    if (low < high) overlap += high - low;
    merged_begin = std::min(merged_begin, last->begin);
    merged_end = std::max(merged_end, last->end);
    ++last;
  }
  if (first == last) {
    several_.insert(first, {begin, end});
  } else {
    *first = {merged_begin, merged_end};
    several_.erase(first + 1, last);
  }
  total_ += merged_end - merged_begin - old;
  if (several_.size() == 1) {
    one_ = several_.front();
    several_.clear();
  }
  return overlap;
}

uint64_t RangeSet::PrefixOfSeveral(uint64_t begin) const {
  const auto it = std::upper_bound(several_.begin(), several_.end(), begin,
                                   [](uint64_t value, const Range& r) { return value < r.end; });
  return it != several_.end() && it->begin <= begin ? it->end - begin : 0;
}

}  // namespace stag::session
