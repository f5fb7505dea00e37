// SPDX-License-Identifier: GPL-2.0-or-later
//
// Awake: whether who polls should look again rather than sleep. What follows work usually comes within microseconds,
// and to be woken costs more than that; so a loop stays awake for a short time after its last work, and lets others run
// between its looks.
#pragma once

#include <sched.h>

#include <chrono>

namespace stag::endpoint {

class Awake {
 public:
  // Something came.
  void Worked() { worked_ = true; }
  // Nothing came: true to look again, false to sleep.
  bool Stay() {
    const auto now = std::chrono::steady_clock::now();
    if (worked_) since_ = now;
    worked_ = false;
    if (now - since_ >= kAwake) return false;
    ::sched_yield();
    return true;
  }
  // The same of a loop that knows after each look whether something came.
  bool Again(bool worked) {
    if (worked) Worked();
    return worked || Stay();
  }

 private:
  static constexpr std::chrono::microseconds kAwake{50};
  bool worked_ = false;
  std::chrono::steady_clock::time_point since_{};
};

}  // namespace stag::endpoint
