// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/frame_times.h"

namespace stag::plugin {

void FrameTimes::Take(Frame& frame) {
  FrameRef& ref = frame.ref;
  const unsigned clock = finder_.Take(frame);
  if (entries_.empty()) {
    if (!finder_.looking()) {
      last_known_ = ref.time_ns;
      return;
    }
    first_ = ref.number;
  }
  const auto index = static_cast<size_t>(ref.number - first_);
  if (index >= entries_.size()) entries_.resize(index + 1);
  Entry& entry = entries_[index];
  entry = {ref.time_ns, ref.time_ns, clock, true};
  Stamp(entry);
  ref.time_ns = entry.time_ns;
  ref.timed = entry.timed;
  if (!finder_.looking()) Settle();
}

void FrameTimes::Finish() {
  finder_.Decide();
  Settle();
}

// By what is known of the clocks now.
void FrameTimes::Stamp(Entry& entry) {
  const clocks::TwoClocks& two = finder_.two_clocks();
  const bool second = two.found ? entry.clock != finder_.reference() : finder_.looking() && entry.clock != 0;
  entry.timed = !second || two.aligned;
  entry.time_ns = !second ? entry.captured_ns : two.aligned ? finder_.Align(entry.captured_ns) : last_known_;
  if (!second) last_known_ = entry.time_ns;
}

// The clocks of all entries are decided.
void FrameTimes::Settle() {
  for (size_t i = settled_; i < entries_.size(); ++i) Stamp(entries_[i]);
  settled_ = entries_.size();
}

const FrameTimes::Entry* FrameTimes::Find(uint64_t number) const {
  return number >= first_ && number - first_ < entries_.size() ? &entries_[static_cast<size_t>(number - first_)]
                                                               : nullptr;
}

FrameRef FrameTimes::Of(const FrameRef& frame) const {
  const Entry* entry = Find(frame.number);
  FrameRef known = frame;
  if (entry) {
    known.time_ns = entry->time_ns;
    known.timed = entry->timed;
  }
  if (finder_.looking() && !finder_.has_turned()) {
    // Perhaps the clock was set, or nothing came for an hour: then the frames since then have one.
    const bool pending = entry && static_cast<size_t>(entry - entries_.data()) >= settled_;
    known.timed = (pending ? entry->clock : 0) == finder_.newest();
    if (known.timed && entry) known.time_ns = entry->captured_ns;
  }
  return known;
}

int64_t FrameTimes::ShiftOf(uint64_t number) const {
  const Entry* entry = Find(number);
  return entry ? entry->time_ns - entry->captured_ns : 0;
}

}  // namespace stag::plugin
