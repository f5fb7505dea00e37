// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the statistics of all connections share: the memory of packets, and what bounds the memory that each may take.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>

#include "protocol/base/budget.h"
#include "protocol/base/check.h"
#include "protocol/base/lasting.h"

namespace stag::transport {

// The last packets by stream and position: frame and content of the first copy. Newer ones take the place of older
// ones, so that its size is fixed.
class PacketMemory {
 public:
  struct Entry {
    uint32_t stream, position;   // of which packet it is, the lower bits; stream 0: of none
    uint64_t frame_and_lasting;  // the lowest bit: lasting. As one: to change a part of it waits for memory
    union {
      struct {
        uint64_t place;
        uint32_t size, whole;  // bytes of it that were captured, and on the wire
      } at;                    // lasting: where the packet is in the file
      struct {
        uint32_t hash;
        uint32_t captured, length;  // bytes of its content
      } had;                        // else what it had
    };
    uint64_t frame() const { return frame_and_lasting >> 1; }
    bool lasting() const { return frame_and_lasting & 1; }
    void SetFrame(uint64_t frame, bool lasting) { frame_and_lasting = frame << 1 | (lasting ? 1 : 0); }
  };
  // Memory that is zero, and is taken when it is used.
  explicit PacketMemory(size_t entries)
      : mask_(std::bit_floor(entries) - 1),
        entries_(static_cast<Entry*>(std::calloc(mask_ + 1, sizeof(Entry))), &std::free) {
    STAG_CHECK(entries_ != nullptr);
  }
  Entry& At(uint64_t stream, uint64_t position) {
    return entries_.get()[((stream * 0x9e3779b97f4a7c15u >> 32) + position) & mask_];
  }

 private:
  size_t mask_;
  std::unique_ptr<Entry, decltype(&std::free)> entries_;
};

struct Shared {
  static constexpr uint64_t kFewPackets = 1 << 10, kMostPackets = 1 << 15, kPerPacket = 512;

  // `memory`: bytes that all tracks may take; a small part more is for packets.
  explicit Shared(uint64_t memory)
      : packets(static_cast<size_t>(std::clamp(memory / kPerPacket, kFewPackets, kMostPackets))), budget(memory) {}
  // For a buffer that a track can do without: `charge` holds `bytes` more. False: there is too little memory left. A
  // quarter is for further tracks.
  bool TakeBuffer(Charge& charge, uint64_t bytes) {
    return budget.HasRoom(bytes + budget.limit() / 4) && charge.TryAdd(bytes);
  }

  PacketMemory packets;
  const Lasting* lasting = nullptr;  // what packets may be read from again
  Budget budget;
};

}  // namespace stag::transport
