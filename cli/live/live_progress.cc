// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/live_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/live/latency_text.h"

namespace stag::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{500};

}  // namespace

std::string LiveLine(const LiveCounts& before, const LiveCounts& now, std::chrono::nanoseconds passed,
                     std::chrono::nanoseconds since_start) {
  const double seconds = Seconds(passed);
  const auto rate = [seconds](uint64_t from, uint64_t to) {
    return seconds > 0 ? static_cast<double>(to - from) / seconds : 0.0;
  };
  return fmt::format("{:.1f} s  {:.0f} calls/s  {:.1f} MB/s  outstanding {}  errors {}", Seconds(since_start),
                     rate(before.answers, now.answers), rate(before.bytes, now.bytes) / 1e6, now.outstanding,
                     now.errors);
}

LiveProgress::LiveProgress(bool wanted)
    : active_(wanted && isatty(STDERR_FILENO)), start_(Clock::now()), last_(start_), next_(start_ + kInterval) {}

void LiveProgress::Update(const LiveCounts& counts) {
  if (!due()) return;
  const auto now = Clock::now();
  fmt::print(stderr, "\r\x1b[K{}", LiveLine(before_, counts, now - last_, now - start_));
  std::fflush(stderr);
  shown_ = true;
  before_ = counts;
  last_ = now;
  next_ = now + kInterval;
}

void LiveProgress::Clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace stag::cli
