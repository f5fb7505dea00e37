// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/scrubbed_reader.h"

namespace stag::scrub {

capture::Reader::Next ScrubbedReader::ReadFrame(Frame& frame) {
  if (current_) {
    after_(*current_);
    current_.reset();
    window_.Pop();
  }
  while (!(current_ = window_.Front())) {
    if (end_) return *end_;
    Take();
  }
  frame = *current_;
  return Next::kFrame;
}

// What comes from the device: a packet, nothing for a while, or the end.
void ScrubbedReader::Take() {
  Frame packet;
  const auto next = live_.Poll(packet);
  const auto now = std::chrono::steady_clock::now();
  if (!next) {
    // What a silent network leaves open stays so.
    if (now - last_ >= std::chrono::nanoseconds(WindowSize{}.ns)) window_.Release();
    return;
  }
  last_ = now;
  if (*next == Next::kFrame) {
    const auto taken = scrubber_.OnFrame(packet);
    if (taken) return;
    error_ = taken.error().message;
    end_ = Next::kDamaged;
    live_.End();
  } else {
    error_ = live_.error();
    end_ = next;
  }
  scrubber_.Finish();
  window_.Release();
}

}  // namespace stag::scrub
