// SPDX-License-Identifier: GPL-2.0-or-later
//
// RcPacket: one parsed packet of a reliable connection; HoldPool: copies of such packets that wait for others, in
// reused storage and within the memory budget.
#pragma once

#include <memory>
#include <vector>

#include "protocol/ib/transport.h"
#include "session/fabric/tracker.h"

namespace stag::fabric {

// Its headers are where they were parsed; only those that `info` names mean something.
struct RcPacket : ib::Transport {
  FrameRef frame;
  Side from = 0;
  uint8_t ecn = 0;  // of the IP header (RFC 3168); only where a PacketObserver wants it
  const ib::OpcodeInfo* info = nullptr;
  const link::Packet* wire = nullptr;  // what it was parsed from; null once it had to wait
  bool verified = false;               // its ICRC was computed, and is right
  bool doubtful = false;               // its ICRC is wrong: it counts when its receiver acknowledges it

  uint32_t psn() const { return bth.psn; }
  // The side whose requests psn() counts.
  Side requester() const { return info->response ? static_cast<Side>(1 - from) : from; }
  bool Is(ib::Operation operation) const { return info->operation == operation; }
  bool IsNak() const { return info->aeth && ib::KindOf(aeth.syndrome) != ib::AethKind::kAck; }
  bool IsSequenceNak() const {
    return info->aeth && ib::KindOf(aeth.syndrome) == ib::AethKind::kNak && (aeth.syndrome & 31) == ib::kNakSequence;
  }
};

struct HeldPacket {
  explicit HeldPacket(Charge&& charged) : charge(std::move(charged)) {}
  Charge charge;    // of all of it
  RcPacket packet;  // its data points into `storage`
  std::vector<std::byte> storage;
};
using HeldPtr = std::unique_ptr<HeldPacket>;

class HoldPool {
 public:
  explicit HoldPool(TrackerContext& context) : context_(context) {}

  // A copy; null when the memory budget is used up.
  HeldPtr Copy(const RcPacket& packet) {
    const size_t bytes = packet.data.size();
    HeldPtr held = TakeSpare(bytes);
    if (!held) {
      Charge charge(context_.budget());
      if (!charge.TrySet(CostOf(bytes))) {
        free_.clear();  // storage for later gives way
        if (!charge.TrySet(CostOf(bytes))) return nullptr;
      }
      held = std::make_unique<HeldPacket>(std::move(charge));
    }
    held->packet = packet;
    held->packet.wire = nullptr;
    held->storage.assign(packet.data.begin(), packet.data.end());
    held->packet.data = held->storage;
    return held;
  }

  // Keeps the storage of a packet that no longer waits, which stays charged.
  void Keep(HeldPtr held) {
    if (free_.size() < context_.limits().spare_packets && held->storage.capacity() <= kKeepBytes)
      free_.push_back(std::move(held));
  }
  void Clear() { free_.clear(); }

  static uint64_t Cost(const RcPacket& packet) { return CostOf(packet.data.size()); }

 private:
  static constexpr size_t kKeepBytes = 8192;

  // With its places in a list that grows by doubling.
  static uint64_t CostOf(size_t bytes) { return sizeof(HeldPacket) + 4 * sizeof(HeldPtr) + bytes; }
  // Storage that was kept, with room for so many bytes; null: there is none, or the budget has no room.
  HeldPtr TakeSpare(size_t bytes) {
    if (free_.empty()) return nullptr;
    HeldPtr held = std::move(free_.back());
    free_.pop_back();
    if (bytes <= held->storage.capacity()) return held;
    if (!held->charge.TrySet(CostOf(bytes))) return nullptr;
    std::vector<std::byte>().swap(held->storage);  // its bytes are not worth a copy
    return held;
  }

  TrackerContext& context_;
  std::vector<HeldPtr> free_;
};

}  // namespace stag::fabric
