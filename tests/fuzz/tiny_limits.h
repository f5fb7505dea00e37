// SPDX-License-Identifier: GPL-2.0-or-later
//
// Limits that ten packets exhaust, drawn from bytes of a fuzz target's input: so that what a tracker, the Session and
// the engine do without room is reached by every mutation. 0: the limits of the product.
#pragma once

#include <cstdint>

#include "conformance/engine/engine.h"
#include "session/fabric/decoder.h"
#include "session/rpcrdma/session.h"

namespace stag::test {

class TinyLimits {
 public:
  explicit TinyLimits(uint32_t seed) : state_(seed * 0x9e3779b97f4a7c15u), tiny_(seed != 0) {}
  bool tiny() const { return tiny_; }

  fabric::DecoderOptions Decoder() {
    fabric::DecoderOptions options;
    if (!tiny_) return options;
    options.memory_limit = Draw(0, 1 << 16);
    fabric::DecoderLimits& l = options.limits;
    l.originals = size_t{1} << Draw(1, 6);
    for (size_t* count :
         {&l.flows, &l.searching, &l.held_packets, &l.waiting_packets, &l.reads, &l.cm_waiting, &l.cm_ended,
          &l.spare_packets, &l.followed, &l.candidates, &l.closed, &l.pieces, &l.pending_reads, &l.spare_pieces})
      *count = Draw(1, 8);
    for (uint64_t* bytes : {&l.held_bytes, &l.waiting_bytes, &l.piece_bytes, &l.send_bytes}) *bytes = Draw(0, 4096);
    return options;
  }
  session::SessionOptions Session() {
    session::SessionOptions options;
    if (!tiny_) return options;
    options.memory_limit = Draw(0, 1 << 16);
    options.max_outstanding = static_cast<uint32_t>(Draw(1, 8));
    return options;
  }
  conformance::EngineOptions Engine() {
    conformance::EngineOptions options;
    if (!tiny_) return options;
    options.memory_limit = Draw(0, 1 << 14);
    options.limits = {Draw(1, 4), Draw(1, 4), Draw(1, 4), 1};
    return options;
  }

 private:
  // From `least` to `most`, small values more often.
  size_t Draw(size_t least, size_t most) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const size_t range = (most - least) >> (state_ >> 61);
    return least + (state_ >> 33) % (range + 1);
  }

  uint64_t state_;
  const bool tiny_;
};

}  // namespace stag::test
