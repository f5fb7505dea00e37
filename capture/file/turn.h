// SPDX-License-Identifier: GPL-2.0-or-later
//
// Turn: when a frame that waits is due. Within an era frames go by time, those of one time by number; a later era comes
// behind all of an earlier one.
#pragma once

#include <cstdint>

namespace stag::capture {

struct Turn {
  uint64_t era = 0, number = 0;
  int64_t time_ns = 0;
  uint32_t slot = 0;  // where it waits
  bool operator>(const Turn& other) const {
    if (era != other.era) return era > other.era;
    return time_ns != other.time_ns ? time_ns > other.time_ns : number > other.number;
  }
};

}  // namespace stag::capture
