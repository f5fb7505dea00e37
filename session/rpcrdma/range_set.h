// SPDX-License-Identifier: GPL-2.0-or-later
//
// RangeSet: which bytes of a segment were moved. Half-open ranges, kept sorted and merged. In-order traffic makes one
// range, which needs no storage beside the set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace stag::session {

class RangeSet {
 public:
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  // Adds [begin, end); returns how many of its bytes were already there.
  uint64_t Add(uint64_t begin, uint64_t end) {
    if (begin >= end) return 0;
    if (!several_ && (one_.end == 0 || begin == one_.end)) {
      if (one_.end == 0) one_.begin = begin;
      one_.end = end;
      return 0;
    }
    return Merge(begin, end);
  }
  bool Covers(uint64_t begin, uint64_t end) const { return begin >= end || Prefix(begin) >= end - begin; }
  // Bytes from `begin` on that are there without a hole.
  uint64_t Prefix(uint64_t begin) const {
    if (several_) return PrefixOfSeveral(begin);
    return one_.begin <= begin && begin < one_.end ? one_.end - begin : 0;
  }
  uint64_t total() const { return several_ ? several_->total : one_.end - one_.begin; }
  bool empty() const { return !several_ && one_.end == 0; }
  // Bytes of storage beside the set.
  uint64_t storage() const { return several_ ? sizeof(Several) + several_->ranges.capacity() * sizeof(Range) : 0; }
  size_t count() const { return ranges().size(); }
  // End of the last range (0 when empty).
  uint64_t end() const { return several_ ? several_->ranges.back().end : one_.end; }
  std::span<const Range> ranges() const {
    if (several_) return several_->ranges;
    return {&one_, size_t{one_.end > 0}};
  }
  void Clear() {
    one_ = {};
    several_.reset();
  }

 private:
  struct Several {
    std::vector<Range> ranges;
    uint64_t total = 0;  // bytes
  };

  uint64_t Merge(uint64_t begin, uint64_t end);
  uint64_t PrefixOfSeveral(uint64_t begin) const;

  Range one_;                         // the only range, where there are not several
  std::unique_ptr<Several> several_;  // all of them, two at least
};

}  // namespace stag::session
