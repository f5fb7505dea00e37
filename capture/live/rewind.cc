// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/rewind.h"

#include <algorithm>

namespace stag::capture {

Rewind::Rewind(std::chrono::nanoseconds span, size_t size)
    : span_ns_(span.count()), ring_(std::max<size_t>(size, 1u << 20)) {}

void Rewind::Put(const Frame& frame, std::string_view comment) {
  while (!entries_.empty() && entries_.front().ref.time_ns < frame.ref.time_ns - span_ns_) Forget();
  const size_t size = frame.bytes.size();
  if (size > ring_.size()) {
    short_of_room_ = true;
    return;
  }
  if (entries_.empty()) end_ = 0;
  // A frame is in one piece: what is between the youngest and the end of the ring may stay unused.
  size_t at = end_;
  if (at + size > ring_.size()) {
    while (!entries_.empty() && entries_.front().at >= end_) {
      short_of_room_ = true;
      Forget();
    }
    at = 0;
  }
  while (!entries_.empty() && entries_.front().at >= at && entries_.front().at < at + size) {
    short_of_room_ = true;
    Forget();
  }
  std::ranges::copy(frame.bytes, ring_.begin() + static_cast<std::ptrdiff_t>(at));
  end_ = at + size;
  entries_.push_back({frame.ref, frame.link, static_cast<uint32_t>(size), frame.wire_length, at, std::string(comment)});
}

void Rewind::Forget() { entries_.pop_front(); }

void Rewind::Clear() {
  entries_.clear();
  end_ = 0;
  short_of_room_ = false;
}

}  // namespace stag::capture
