// SPDX-License-Identifier: GPL-2.0-or-later
//
// RangeSet: which bytes of a segment were moved. Half-open ranges, kept sorted and merged. In-order traffic makes one
// range, which needs no storage beside the set.
#pragma once

#include <cstddef>
#include <cstdint>
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
    if (several_.empty() && (total_ == 0 || begin == one_.end)) {
      if (total_ == 0) one_.begin = begin;
      one_.end = end;
      total_ += end - begin;
      return 0;
    }
    return Merge(begin, end);
  }
  bool Covers(uint64_t begin, uint64_t end) const { return begin >= end || Prefix(begin) >= end - begin; }
  // Bytes from `begin` on that are there without a hole.
  uint64_t Prefix(uint64_t begin) const {
    if (!several_.empty()) return PrefixOfSeveral(begin);
    return one_.begin <= begin && begin < one_.end ? one_.end - begin : 0;
  }
  uint64_t total() const { return total_; }
  bool empty() const { return total_ == 0; }
  size_t count() const { return several_.empty() ? size_t{total_ > 0} : several_.size(); }  // of ranges
  // End of the last range (0 when empty).
  uint64_t end() const { return several_.empty() ? one_.end : several_.back().end; }
  std::span<const Range> ranges() const {
    if (!several_.empty()) return several_;
    return {&one_, size_t{total_ > 0}};
  }
  void Clear() {
    if (total_ == 0) return;  // as it was made
    one_ = {};
    if (several_.capacity() > 0) std::vector<Range>().swap(several_);
    total_ = 0;
  }

 private:
  uint64_t Merge(uint64_t begin, uint64_t end);
  uint64_t PrefixOfSeveral(uint64_t begin) const;

  Range one_;                   // the only range, while there are not several
  std::vector<Range> several_;  // all of them
  uint64_t total_ = 0;
};

}  // namespace stag::session
