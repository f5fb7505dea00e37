// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "protocol/link/stop.h"

namespace stag::fabric {

// Frames by what kept them from being looked into.
class StopCounts {
 public:
  struct Entry {
    link::Stop stop;
    uint64_t frames = 0;
  };

  void Add(link::Stop stop, uint64_t frames = 1) {
    all_ += frames;
    for (Entry& entry : entries_) {
      if (entry.frames == 0) entry.stop = stop;
      if (entry.stop == stop) return void(entry.frames += frames);
    }
  }
  uint64_t all() const { return all_; }
  // The first kinds that came; all() has the others, too.
  std::span<const Entry> entries() const {
    size_t n = 0;
    while (n < entries_.size() && entries_[n].frames > 0) ++n;
    return std::span(entries_).first(n);
  }

 private:
  std::array<Entry, 16> entries_{};
  uint64_t all_ = 0;
};

}  // namespace stag::fabric
