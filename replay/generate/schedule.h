// SPDX-License-Identifier: GPL-2.0-or-later
//
// Schedule: when the Calls of one connection are to be sent in an open loop, whatever the server does. It counts in
// units (Calls, or bytes) that fall due at a constant rate, from the start, without drift.
#pragma once

#include <chrono>
#include <cstdint>

namespace stag::generate {

class Schedule {
 public:
  using Clock = std::chrono::steady_clock;
  // `per_second`: units, more than 0. `phase`, 0 to 1: by what part of the first Call's time it begins later, so that
  // connections take turns.
  Schedule(Clock::time_point start, double per_second, double phase)
      : start_(start), nanoseconds_(1e9 / per_second), phase_(phase) {}

  // When the next Call of `units` is due. The one after it is due when these units have passed.
  Clock::time_point Next(uint64_t units) {
    if (first_) passed_ = phase_ * static_cast<double>(units);
    first_ = false;
    const auto due = start_ + std::chrono::nanoseconds(static_cast<int64_t>(passed_ * nanoseconds_));
    passed_ += static_cast<double>(units);
    return due;
  }

 private:
  Clock::time_point start_;
  double nanoseconds_;  // of a unit
  double phase_, passed_ = 0;
  bool first_ = true;
};

}  // namespace stag::generate
