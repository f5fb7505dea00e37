// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/range_set.h"

#include <algorithm>

namespace stag::session {

uint64_t RangeSet::Add(uint64_t begin, uint64_t end) {
  if (begin >= end) return 0;
  // In-order traffic: extends the last range, or comes after it.
  if (ranges_.empty() || begin > ranges_.back().end) {
    ranges_.push_back({begin, end});
    total_ += end - begin;
    return 0;
  }
  if (begin == ranges_.back().end) {
    ranges_.back().end = end;
    total_ += end - begin;
    return 0;
  }
  // The first range that touches or follows `begin`, and the first one past `end`.
  auto first = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                [](const Range& r, uint64_t value) { return r.end < value; });
  auto last = first;
  uint64_t old = 0, merged_begin = begin, merged_end = end, overlap = 0;
  while (last != ranges_.end() && last->begin <= end) {
    old += last->end - last->begin;
    uint64_t low = std::max(begin, last->begin), high = std::min(end, last->end);
    if (low < high) overlap += high - low;
    merged_begin = std::min(merged_begin, last->begin);
    merged_end = std::max(merged_end, last->end);
    ++last;
  }
  if (first == last) {
    ranges_.insert(first, {begin, end});
  } else {
    *first = {merged_begin, merged_end};
    ranges_.erase(first + 1, last);
  }
  total_ += merged_end - merged_begin - old;
  return overlap;
}

bool RangeSet::Covers(uint64_t begin, uint64_t end) const { return begin >= end || Prefix(begin) >= end - begin; }

uint64_t RangeSet::Prefix(uint64_t begin) const {
  auto it = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                             [](uint64_t value, const Range& r) { return value < r.end; });
  return it != ranges_.end() && it->begin <= begin ? it->end - begin : 0;
}

}  // namespace stag::session
