// SPDX-License-Identifier: GPL-2.0-or-later
//
// Times and a Histogram, as protocol/base/carry.h carries them.
#pragma once

#include "protocol/base/serialize.h"
#include "replay/rpcrdma/histogram.h"

namespace stag {

template <typename Archive>
void Serialize(Archive& archive, std::chrono::nanoseconds& v) {
  int64_t count = v.count();
  Serialize(archive, count);
  v = std::chrono::nanoseconds(count);
}

template <typename Fn>
void Members(rpcrdma::Histogram::State& v, Fn fn) {
  auto& [count, min, max, sum, buckets] = v;
  fn(count, min, max, sum, buckets);
}
template <typename Archive>
void Serialize(Archive& archive, rpcrdma::Histogram& v) {
  rpcrdma::Histogram::State state = v.state();
  Serialize(archive, state);
  v = rpcrdma::Histogram(state);
}

}  // namespace stag
