// SPDX-License-Identifier: GPL-2.0-or-later
//
// SpinThenSleep: whether a loop that polls looks again or sleeps. After work, more usually follows within microseconds,
// and a wake-up costs more than that. So the loop polls for 50 microseconds after its last work, and yields the
// processor between two looks; then it sleeps. Where work came soon after it had gone to sleep, time after time, it
// polls longer, up to a millisecond; where it came late, shorter again. Soon is twice that time: a part of it is
// the wake-up itself.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>

namespace stag::endpoint {

template <typename Clock>
class SpinThenSleepBy {
 public:
  static constexpr std::chrono::microseconds kLeast{50}, kMost{1'000};

  // Never polls longer than `most`.
  explicit SpinThenSleepBy(std::chrono::microseconds most = kMost) : most_(most) {}

  // Something came.
  void Worked() { worked_ = true; }
  // Nothing came: true to look again, false to sleep.
  bool Stay() {
    const auto now = Clock::now();
    if (worked_) {
      if (slept_) spin_ = now - since_ < 2 * most_ ? std::min(2 * spin_, most_) : std::max(spin_ / 2, kLeast);
      worked_ = slept_ = false;
      since_ = now;
    }
    slept_ = now - since_ >= spin_;
    if (!slept_) ::sched_yield();
    return !slept_;
  }
  // The same of a loop that knows after each look whether something came.
  bool Again(bool worked) {
    if (worked) Worked();
    return worked || Stay();
  }

 private:
  std::chrono::microseconds most_, spin_ = kLeast;
  bool worked_ = false, slept_ = false;
  typename Clock::time_point since_{};  // nothing came since then
};
using SpinThenSleep = SpinThenSleepBy<std::chrono::steady_clock>;

}  // namespace stag::endpoint
