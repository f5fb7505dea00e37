// SPDX-License-Identifier: GPL-2.0-or-later
//
// Times and a Histogram, as protocol/base/carry.h carries them.
#pragma once

#include "protocol/base/carry.h"
#include "replay/engine/histogram.h"

namespace stag {

template <typename Carrier>
void Carry(Carrier& carrier, std::chrono::nanoseconds& v) {
  int64_t count = v.count();
  Carry(carrier, count);
  v = std::chrono::nanoseconds(count);
}

template <typename Fn>
void Members(replay::Histogram::State& v, Fn fn) {
  auto& [count, min, max, sum, buckets] = v;
  fn(count, min, max, sum, buckets);
}
template <typename Carrier>
void Carry(Carrier& carrier, replay::Histogram& v) {
  replay::Histogram::State state = v.state();
  Carry(carrier, state);
  v = replay::Histogram(state);
}

}  // namespace stag
