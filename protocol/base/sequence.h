// SPDX-License-Identifier: GPL-2.0-or-later
//
// Positions of 64 bits for numbers that wrap: TCP sequence numbers (32 bits), packet sequence numbers (24 bits).
#pragma once

#include <cstdint>

namespace stag {

// The position of the first number of a sequence: room below, so that older positions do not wrap.
constexpr uint64_t FirstPosition(uint32_t number) { return (uint64_t{1} << 32) + number; }

// The position that is nearest to `reference` of those whose low bits are `number` (RFC 9293 section 3.4; InfiniBand
// Architecture volume 1, section 9.7.2).
template <unsigned kBits>
constexpr uint64_t NearestPosition(uint64_t reference, uint32_t number) {
  constexpr unsigned kUnused = 32 - kBits;
  const int32_t distance = static_cast<int32_t>((number - static_cast<uint32_t>(reference)) << kUnused) >> kUnused;
  return reference + static_cast<uint64_t>(static_cast<int64_t>(distance));
}

}  // namespace stag
