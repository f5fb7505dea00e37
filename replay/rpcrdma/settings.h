// SPDX-License-Identifier: GPL-2.0-or-later
//
// What both sides of a live connection agree on by their private data (RFC 8797).
#pragma once

#include <vector>

#include "protocol/base/bytes.h"

namespace stag::rpcrdma {

// `send_size`, `receive_size`: bytes; rounded down to what RFC 8797 section 4 can say (1024 to 262144).
std::vector<std::byte> EncodeSettings(uint32_t send_size, uint32_t receive_size, bool remote_invalidation);

struct Settings {
  uint32_t send_threshold = 1024, receive_threshold = 1024;  // the largest Send of this side, and of the peer
  bool remote_invalidation = false;                          // both set the R flag
};
// From the private data of both sides; empty, or without RFC 8797's, means its defaults (section 5.1).
Settings Agree(Bytes ours, Bytes theirs);

}  // namespace stag::rpcrdma
