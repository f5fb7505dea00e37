// SPDX-License-Identifier: GPL-2.0-or-later
//
// SeenRanges: which numbers of a sequence (PSNs, TCP bytes) were seen, from the lowest to the highest, as the few
// ranges between them that were not. Positions have 64 bits; the caller unwraps what the wire has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocol/base/budget.h"

namespace stag::transport {

class SeenRanges {
 public:
  struct Range {
    uint64_t begin = 0, end = 0;  // half open
    uint64_t size() const { return end - begin; }
  };

  // Holes beyond the first few are charged to `budget`. The owner charges kFewBytes for these.
  static constexpr size_t kFew = 4, kFewBytes = kFew * sizeof(Range);
  explicit SeenRanges(Budget& budget) : budget_(budget), charge_(budget) {}
  SeenRanges(const SeenRanges&) = delete;
  SeenRanges& operator=(const SeenRanges&) = delete;

  // Nothing is seen yet; numbers from `at` on that are passed over are holes.
  void Start(uint64_t at);
  bool started() const { return started_; }
  uint64_t first() const { return first_; }
  // One past the highest number seen or passed over.
  uint64_t next() const { return next_; }
  bool Contains(uint64_t at) const { return at < next_ && at >= first_ && started_ && IsNoHole(at); }
  // Returns how many were not seen before. Starts at `begin`, if it is the first.
  uint64_t Add(uint64_t begin, uint64_t end) {
    if (begin != next_ || !started_ || begin >= end) return AddAnywhere(begin, end);
    next_ = end;
    return end - begin;
  }
  // Numbers before `end` that are not seen are holes.
  void PassOver(uint64_t end);
  // How many of [begin, end) are not seen.
  uint64_t Missing(uint64_t begin, uint64_t end) const;
  // Calls fn(begin, end) for the parts of [begin, end) that are seen, in order.
  template <typename Fn>
  void ForEachSeen(uint64_t begin, uint64_t end, Fn fn) const {
    if (!started_) return;
    begin = begin < first_ ? first_ : begin;
    end = end > next_ ? next_ : end;
    for (size_t i = FirstHole(begin); begin < end; ++i) {
      const bool more = i < holes_.size() && holes_[i].begin < end;
      const uint64_t until = more ? holes_[i].begin : end;
      if (begin < until) fn(begin, until);
      if (!more) return;
      begin = holes_[i].end;
    }
  }

  size_t holes() const { return holes_.size(); }
  // There are too many holes, for the set or for the budget: the caller takes the oldest away, which then counts as
  // seen.
  bool full() const { return holes_.size() > (budget_.over() ? kFew : kMost); }
  Range TakeOldest();

 private:
  static constexpr size_t kMost = 1024;
  bool IsNoHole(uint64_t at) const;
  uint64_t AddAnywhere(uint64_t begin, uint64_t end);
  size_t FirstHole(uint64_t at) const;  // index of the first hole that ends behind `at`
  void Insert(size_t index, Range hole);
  void CountIn();

  const Budget& budget_;
  Charge charge_;
  bool started_ = false;
  uint64_t first_ = 0, next_ = 0;
  std::vector<Range> holes_;  // ascending, within [first_, next_)
};

}  // namespace stag::transport
