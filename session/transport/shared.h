// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the statistics of all connections share: the memory of packets, and what bounds the memory that each may take.
#pragma once

#include <algorithm>
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
  explicit PacketMemory(size_t entries) : entries_(entries) {}
  Entry& At(uint64_t stream, uint64_t position) {
    return entries_[(stream * 0x9e3779b97f4a7c15u + position) % entries_.size()];
  }

 private:
  std::vector<Entry> entries_;
};

struct Shared {
  static constexpr uint64_t kFewPackets = 1 << 10, kMostPackets = 1 << 16, kPerPacket = 512;

  // `memory`: bytes that buffers may take; a small part more is for packets.
  explicit Shared(uint64_t memory)
      : packets(static_cast<size_t>(std::clamp(memory / kPerPacket, kFewPackets, kMostPackets))), room(memory) {}
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
