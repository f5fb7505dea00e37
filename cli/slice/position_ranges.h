// SPDX-License-Identifier: GPL-2.0-or-later
//
// PositionRanges: which positions of one direction of a connection are wanted (packet sequence numbers, bytes of a TCP
// stream), as sorted ranges. There is a cap on their number: past it neighbours are joined, so that more is wanted than
// was added, never less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stag::cli {

class PositionRanges {
 public:
  static constexpr size_t kMost = size_t{1} << 18;

  // Half open.
  void Add(uint64_t begin, uint64_t end);
  // False for an empty range.
  bool Intersects(uint64_t begin, uint64_t end) const;
  bool Contains(uint64_t at) const { return Intersects(at, at + 1); }
  bool empty() const { return ranges_.empty(); }
  size_t size() const { return ranges_.size(); }

 private:
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  void JoinNeighbours();
  std::vector<Range> ranges_;  // ascending, not touching
};

}  // namespace stag::cli
