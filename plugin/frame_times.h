// SPDX-License-Identifier: GPL-2.0-or-later
//
// FrameTimes: the times of frames, of captures that have two clocks on one of them (session/clocks/clock_finder.h), as
// the command line has them. How far the clocks are apart is known only behind the frames that it takes to tell: until
// then no time is known across them.
#pragma once

#include <vector>

#include "session/clocks/clock_finder.h"

namespace stag::plugin {

class FrameTimes {
 public:
  // A frame as it was captured, in order; gives it the time by which the pipeline goes.
  void Take(Frame& frame);
  // There are no more frames.
  void Finish();

  // The frame with its time as it is known now.
  FrameRef Of(const FrameRef& frame) const;
  // Nanoseconds from the time that was captured to that one, or to that of the last frame before it whose time is
  // known.
  int64_t ShiftOf(uint64_t number) const;

  // The frames that were taken so far show two clocks, whether or not it is decided yet.
  bool two() const { return finder_.looking() ? finder_.has_turned() : finder_.two_clocks().found; }
  const clocks::TwoClocks& clocks() const { return finder_.two_clocks(); }

 private:
  struct Entry {
    int64_t captured_ns = 0, time_ns = 0;
    unsigned clock = 0;
    bool timed = true;
  };

  const Entry* Find(uint64_t number) const;
  void Stamp(Entry& entry);
  void Settle();

  clocks::ClockFinder finder_{clocks::Policy::kAuto};
  std::vector<Entry> entries_;  // from the first frame on that may have another clock; those before go by one clock
  uint64_t first_ = 0;          // its number
  size_t settled_ = 0;          // entries whose clock is decided
  int64_t last_known_ = 0;
};

}  // namespace stag::plugin
