// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/position_ranges.h"

#include <algorithm>

namespace stag::cli {

void PositionRanges::Add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  // The first range that the new one touches or comes before.
  const auto first = std::ranges::lower_bound(ranges_, begin, {}, &Range::end);
  auto last = first;
  while (last != ranges_.end() && last->begin <= end) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
    ++last;
  }
  if (first != last) {
    *first = {begin, end};
    ranges_.erase(first + 1, last);
    return;
  }
  ranges_.insert(first, {begin, end});
  if (ranges_.size() > kMost) JoinNeighbours();
}

bool PositionRanges::Intersects(uint64_t begin, uint64_t end) const {
  if (begin >= end) return false;
  const auto first = std::ranges::upper_bound(ranges_, begin, {}, &Range::end);
  return first != ranges_.end() && first->begin < end;
}

void PositionRanges::JoinNeighbours() {
  size_t to = 0;
  for (size_t i = 0; i < ranges_.size(); i += 2) {
    const Range& last = ranges_[std::min(i + 1, ranges_.size() - 1)];
    ranges_[to++] = {ranges_[i].begin, last.end};
  }
  ranges_.resize(to);
}

}  // namespace stag::cli
