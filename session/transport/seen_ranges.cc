// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/transport/seen_ranges.h"

#include <algorithm>

namespace stag::transport {

void SeenRanges::Start(uint64_t at) {
  holes_.clear();
  started_ = true;
  first_ = next_ = at;
}

size_t SeenRanges::FirstHole(uint64_t at) const {
  if (holes_.empty() || holes_.back().end <= at) return holes_.size();
  const auto found =
      std::upper_bound(holes_.begin(), holes_.end(), at, [](uint64_t n, const Range& hole) { return n < hole.end; });
  return static_cast<size_t>(found - holes_.begin());
}

void SeenRanges::Insert(size_t index, Range hole) {
  if (holes_.size() == holes_.capacity()) {
    holes_.reserve(std::max(kFew, holes_.capacity() * 2));
    CountIn();
  }
  holes_.insert(holes_.begin() + static_cast<ptrdiff_t>(index), hole);
}

void SeenRanges::CountIn() { charge_.Set((holes_.capacity() - std::min(holes_.capacity(), kFew)) * sizeof(Range)); }

bool SeenRanges::IsNoHole(uint64_t at) const {
  const size_t i = FirstHole(at);
  return i == holes_.size() || at < holes_[i].begin;
}

void SeenRanges::PassOver(uint64_t end) {
  if (!started_ || end <= next_) return;
  if (!holes_.empty() && holes_.back().end == next_) {
    holes_.back().end = end;
  } else {
    Insert(holes_.size(), {next_, end});
  }
  next_ = end;
}

uint64_t SeenRanges::AddAnywhere(uint64_t begin, uint64_t end) {
  if (begin >= end) return 0;
  if (!started_) Start(begin);
  if (begin >= next_) {
    PassOver(begin);
    next_ = end;
    return end - begin;
  }
  uint64_t added = 0;
  if (begin < first_) {
    const uint64_t until = std::min(end, first_);
    if (until < first_) Insert(0, {until, first_});
    added += until - begin;
    first_ = begin;
  }
  size_t i = FirstHole(begin);
  while (i < holes_.size() && holes_[i].begin < end) {
    Range& hole = holes_[i];
    const uint64_t from = std::max(hole.begin, begin), to = std::min(hole.end, end);
    added += to - from;
    if (from == hole.begin && to == hole.end) {
      holes_.erase(holes_.begin() + static_cast<ptrdiff_t>(i));
    } else if (from == hole.begin) {
      hole.begin = to;
      break;
    } else {
      const Range rest{to, hole.end};
      hole.end = from;
      ++i;
      if (rest.begin < rest.end) Insert(i, rest);
    }
  }
  if (end > next_) {
    added += end - next_;
    next_ = end;
  }
  return added;
}

uint64_t SeenRanges::Missing(uint64_t begin, uint64_t end) const {
  if (begin >= end) return 0;
  uint64_t seen = 0;
  ForEachSeen(begin, end, [&](uint64_t from, uint64_t to) { seen += to - from; });
  return end - begin - seen;
}

SeenRanges::Range SeenRanges::TakeOldest() {
  const Range oldest = holes_.front();
  holes_.erase(holes_.begin());
  if (holes_.size() <= kFew && holes_.capacity() > kFew) {
    holes_ = std::vector<Range>(holes_.begin(), holes_.end());  // shrink_to_fit does nothing without exceptions
    CountIn();
  }
  return oldest;
}

}  // namespace stag::transport
