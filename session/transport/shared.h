// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the statistics of all connections share: the memory of packets, and what bounds the memory that each may take.
#pragma once

#include <vector>

#include "session/transport/seen_ranges.h"

namespace stag::transport {

// The last packets by stream and position: frame and hash of the first copy. Newer ones take the place of older ones,
// so that its size is fixed.
class PacketMemory {
 public:
  struct Entry {
    uint64_t stream = 0, position = 0;  // of which packet it is; stream 0: of none
    uint64_t frame = 0;
    uint32_t hash = 0;
    uint32_t captured = 0, length = 0;  // bytes of its content
  };
  PacketMemory() : entries_(kEntries) {}
  Entry& At(uint64_t stream, uint64_t position) {
    return entries_[(stream * 0x9e3779b97f4a7c15u + position) % kEntries];
  }

 private:
  static constexpr size_t kEntries = size_t{1} << 16;
  std::vector<Entry> entries_;
};

struct Shared {
  explicit Shared(uint64_t memory) : room(memory) {}
  // False: there is not so much left.
  bool Take(uint64_t bytes) {
    if (bytes > room) return false;
    room -= bytes;
    return true;
  }

  PacketMemory packets;
  HoleBudget holes;
  uint64_t room;  // bytes that buffers may still take
};

}  // namespace stag::transport
