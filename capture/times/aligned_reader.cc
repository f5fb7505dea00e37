// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/times/aligned_reader.h"

#include <algorithm>

namespace stag::capture {

Reader::Next AlignedReader::ReadFrame(Frame& frame) {
  if (next_held_ == held_.size()) {
    if (copied_) ForgetHeld();
    const Next next = reader_.ReadFrame(frame);
    if (next != Next::kFrame) return next;
    const unsigned clock = finder_.Take(frame);
    if (!finder_.looking()) {
      Stamp(frame, clock);
      return Next::kFrame;
    }
    Hold(frame, clock);
  }
  const Held& held = held_[next_held_++];
  frame = held.frame;
  copied_ = true;
  Stamp(frame, held.clock);
  return Next::kFrame;
}

// From `first` on, until it is known whether there are two clocks.
void AlignedReader::Hold(const Frame& first, unsigned clock) {
  Frame frame = first;
  bytes_.reserve(max_bytes_ + (64 << 10));  // in one piece: to grow would take it twice
  const auto hold = [&] {
    held_.push_back({frame, bytes_.size(), clock, reader_.comment()});
    bytes_.insert(bytes_.end(), frame.bytes.begin(), frame.bytes.end());
  };
  hold();
  while (finder_.looking() && reader_.ReadFrame(frame) == Next::kFrame) {
    clock = finder_.Take(frame);
    hold();
  }
  finder_.Decide();
  for (Held& held : held_) held.frame.bytes = Bytes(bytes_).subspan(held.at, held.frame.bytes.size());
  if (last_known_ || !finder_.two_clocks().found) return;
  const auto known =
      std::find_if(held_.begin(), held_.end(), [this](const Held& held) { return held.clock == finder_.reference(); });
  if (known != held_.end()) last_known_ = known->frame.ref.time_ns;
}

void AlignedReader::ForgetHeld() {
  copied_ = false;
  std::vector<Held>().swap(held_);
  std::vector<std::byte>().swap(bytes_);
  next_held_ = 0;
}

void AlignedReader::Stamp(Frame& frame, unsigned clock) {
  const clocks::TwoClocks& two = finder_.two_clocks();
  if (!frame.ref.timed) {  // by no clock
    frame.ref.time_ns = last_known_.value_or(frame.ref.time_ns);
    return;
  }
  if (!two.found || clock == finder_.reference()) {
    last_known_ = frame.ref.time_ns;
    return;
  }
  ++of_second_clock_;
  frame.ref.timed = two.aligned;
  frame.ref.time_ns = two.aligned ? finder_.Align(frame.ref.time_ns) : last_known_.value_or(frame.ref.time_ns);
}

}  // namespace stag::capture
