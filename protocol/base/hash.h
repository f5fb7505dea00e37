// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

namespace stag {

// A word more in the hash of several, for tables in memory. Not secret, and nothing to be stored.
inline uint64_t MixHash(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

}  // namespace stag
