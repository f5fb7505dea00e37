// SPDX-License-Identifier: GPL-2.0-or-later
//
// SpinThenSleep: whether a loop that polls looks again or sleeps. After work, more usually follows within microseconds,
// and a wake-up costs more than that. So the loop polls for 50 microseconds after its last work, and yields the
// processor between two looks; then it sleeps.
#pragma once

#include <sched.h>

#include <chrono>

namespace stag::endpoint {

class SpinThenSleep {
 public:
  // Something came.
  void Worked() { worked_ = true; }
  // Nothing came: true to look again, false to sleep.
  bool Stay() {
    const auto now = std::chrono::steady_clock::now();
    if (worked_) since_ = now;
    worked_ = false;
    if (now - since_ >= kSpin) return false;
    ::sched_yield();
    return true;
  }
  // The same of a loop that knows after each look whether something came.
  bool Again(bool worked) {
    if (worked) Worked();
    return worked || Stay();
  }

 private:
  static constexpr std::chrono::microseconds kSpin{50};
  bool worked_ = false;
  std::chrono::steady_clock::time_point since_{};
};

}  // namespace stag::endpoint
