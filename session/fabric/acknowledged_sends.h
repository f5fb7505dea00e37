// SPDX-License-Identifier: GPL-2.0-or-later
//
// AcknowledgedSends: how many of a side's Sends its peer has acknowledged to their end, in the order in which they were
// given out. A Position says where a Send ends: a PSN, a place in a TCP stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stag::fabric {

template <typename Position>
class AcknowledgedSends {
 public:
  void Add(Position end) {
    if (sent_ - acknowledged_ < kMost) {
      ends_[sent_ % kMost] = end;
    } else {
      too_many_ = true;
    }
    last_ = end;
    ++sent_;
  }
  uint64_t sent() const { return sent_; }

  // `covers(end)`: whether what is acknowledged now reaches to there. Returns how many Sends are acknowledged so far;
  // of very many at a time, none before all of them are.
  template <typename Covers>
  uint64_t Acknowledge(Covers covers) {
    if (too_many_) {
      if (!covers(last_)) return acknowledged_;
      acknowledged_ = sent_;
      too_many_ = false;
    }
    while (acknowledged_ < sent_ && covers(ends_[acknowledged_ % kMost])) ++acknowledged_;
    return acknowledged_;
  }

 private:
  static constexpr size_t kMost = 8;
  std::array<Position, kMost> ends_{};
  Position last_{};
  uint64_t sent_ = 0, acknowledged_ = 0;
  bool too_many_ = false;
};

}  // namespace stag::fabric
