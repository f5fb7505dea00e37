// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/range_set.h"

#include <algorithm>

namespace stag::session {

uint64_t RangeSet::Merge(uint64_t begin, uint64_t end) {
  if (!several_) {
    // What is said again, or lies in front, is most often one range with what is there.
    if (begin <= one_.end && end >= one_.begin) {
      const uint64_t overlap = std::min(end, one_.end) - std::max(begin, one_.begin);
      one_ = {std::min(begin, one_.begin), std::max(end, one_.end)};
      return overlap;
    }
    several_ = std::make_unique<Several>();
    several_->ranges.push_back(one_);
    several_->total = one_.end - one_.begin;
  }
  std::vector<Range>& ranges = several_->ranges;
  // The first range that touches or follows `begin`, and the first one past `end`.
  auto first = std::lower_bound(ranges.begin(), ranges.end(), begin,
                                [](const Range& r, uint64_t value) { return r.end < value; });
  auto last = first;
  uint64_t old = 0, merged_begin = begin, merged_end = end, overlap = 0;
  while (last != ranges.end() && last->begin <= end) {
    old += last->end - last->begin;
    uint64_t low = std::max(begin, last->begin), high = std::min(end, last->end);
    if (low < high) overlap += high - low;
    merged_begin = std::min(merged_begin, last->begin);
    merged_end = std::max(merged_end, last->end);
    ++last;
  }
  if (first == last) {
    ranges.insert(first, {begin, end});
  } else {
    *first = {merged_begin, merged_end};
    ranges.erase(first + 1, last);
  }
  several_->total += merged_end - merged_begin - old;
  if (ranges.size() == 1) {
    one_ = ranges.front();
    several_.reset();
  }
  return overlap;
}

uint64_t RangeSet::PrefixOfSeveral(uint64_t begin) const {
  const std::vector<Range>& ranges = several_->ranges;
  const auto it = std::upper_bound(ranges.begin(), ranges.end(), begin,
                                   [](uint64_t value, const Range& r) { return value < r.end; });
  return it != ranges.end() && it->begin <= begin ? it->end - begin : 0;
}

}  // namespace stag::session
