// SPDX-License-Identifier: GPL-2.0-or-later
//
// The line on stderr while a command sends Calls to a live server: rates of the last moment, and what is outstanding.
// Only on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace stag::cli {

// Since the start.
struct LiveCounts {
  uint64_t answers = 0, bytes = 0;  // `bytes`: of data, in both directions
  uint64_t outstanding = 0;         // now
  uint64_t errors = 0;              // of any kind
};

// "3.2 s  51234 calls/s  209.9 MB/s  outstanding 32  errors 0": rates between `before` and `now`, `passed` apart.
std::string LiveLine(const LiveCounts& before, const LiveCounts& now, std::chrono::nanoseconds passed,
                     std::chrono::nanoseconds since_start);

class LiveProgress {
 public:
  using Clock = std::chrono::steady_clock;
  explicit LiveProgress(bool wanted);
  ~LiveProgress() { Clear(); }
  LiveProgress(const LiveProgress&) = delete;
  LiveProgress& operator=(const LiveProgress&) = delete;
  // Whether a line would be written now; so that counting it all up is not for nothing.
  bool due() const { return active_ && Clock::now() >= next_; }
  void Update(const LiveCounts& counts);
  // Before something else is written to the terminal.
  void Clear();

 private:
  bool active_ = false, shown_ = false;
  Clock::time_point start_, last_, next_;
  LiveCounts before_;
};

}  // namespace stag::cli
