// SPDX-License-Identifier: GPL-2.0-or-later
//
// RangeSet: which bytes of a segment were moved. Half-open ranges, kept sorted and merged; in-order traffic keeps it at
// one range, so nothing is allocated in the steady state.
#pragma once

#include <cstdint>
#include <vector>

namespace stag::session {

class RangeSet {
 public:
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  // Adds [begin, end); returns how many of its bytes were already there.
  uint64_t Add(uint64_t begin, uint64_t end);
  bool Covers(uint64_t begin, uint64_t end) const;
  // Bytes from `begin` on that are there without a hole.
  uint64_t Prefix(uint64_t begin) const;
  uint64_t total() const { return total_; }
  bool empty() const { return ranges_.empty(); }
  // End of the last range (0 when empty).
  uint64_t end() const { return ranges_.empty() ? 0 : ranges_.back().end; }
  const std::vector<Range>& ranges() const { return ranges_; }
  void Clear() {
    ranges_.clear();
    total_ = 0;
  }

 private:
  std::vector<Range> ranges_;
  uint64_t total_ = 0;
};

}  // namespace stag::session
