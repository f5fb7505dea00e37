// SPDX-License-Identifier: GPL-2.0-or-later
//
// DeviceClock: what a device's free-running counter says, as nanoseconds since 1970. Readings of both clocks at once
// set the line.
#pragma once

#include <cstdint>

namespace stag::capture {

class DeviceClock {
 public:
  // `hertz`: of the counter. `mask`: its largest value (2^n - 1); it wraps.
  DeviceClock(double hertz, uint64_t mask) : ns_per_tick_(1e9 / hertz), mask_(mask) {}

  // Both clocks read at (nearly) the same time; in order, at least twice per turn of the counter. Those that come
  // within a second of the last one are not needed.
  void Reading(uint64_t ticks, int64_t time_ns) {
    if (read_) {
      const uint64_t passed = (ticks - ticks_) & mask_;
      const int64_t ns = time_ns - time_ns_;
      if (passed == 0 || ns < kEnoughNs) return;
      // The real rate differs from the nominal one by parts in a million: over a second or more it is measured.
      ns_per_tick_ = static_cast<double>(ns) / static_cast<double>(passed);
    }
    read_ = true;
    ticks_ = ticks;
    time_ns_ = time_ns;
  }

  // Of an event within half a turn of the counter of the last reading.
  int64_t Time(uint64_t ticks) const {
    const uint64_t after = (ticks - ticks_) & mask_;
    if (after <= mask_ / 2) return time_ns_ + static_cast<int64_t>(static_cast<double>(after) * ns_per_tick_);
    const uint64_t before = (ticks_ - ticks) & mask_;
    return time_ns_ - static_cast<int64_t>(static_cast<double>(before) * ns_per_tick_);
  }

 private:
  static constexpr int64_t kEnoughNs = 1'000'000'000;
  double ns_per_tick_;
  uint64_t mask_;
  bool read_ = false;
  uint64_t ticks_ = 0;
  int64_t time_ns_ = 0;
};

}  // namespace stag::capture
