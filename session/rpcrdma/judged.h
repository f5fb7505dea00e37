// SPDX-License-Identifier: GPL-2.0-or-later
//
// Judged: how many of the RPCs that were seen could be judged, and what kept the others from it. Code that says how
// much of a capture was looked at asks this.
#pragma once

#include <cstdint>

namespace stag::session {

struct Judged {
  uint64_t rpcs = 0;     // whose Call was captured (of a sample, or one direction: or Reply); counted once below, too:
  uint64_t cut = 0;      // frames are cut so short that the header, or what it carries, cannot be read
  uint64_t missing = 0;  // packets are missing: the Call, the Reply, or parts of them
  // Of connections of which the capture has the packets of one side alone, or a sample.
  uint64_t one_direction = 0, sampled = 0;
  uint64_t foreign = 0;  // of users of the header who do not keep its rules
  uint64_t dropped = 0;  // for lack of memory

  uint64_t judged() const { return rpcs - cut - missing - one_direction - sampled - foreign - dropped; }
  Judged& operator+=(const Judged& other) {
    rpcs += other.rpcs;
    cut += other.cut;
    missing += other.missing;
    one_direction += other.one_direction;
    sampled += other.sampled;
    foreign += other.foreign;
    dropped += other.dropped;
    return *this;
  }
};

}  // namespace stag::session
