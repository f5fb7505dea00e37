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
  RcPacket packet;  // its data points into `storage`
  std::vector<std::byte> storage;
};
using HeldPtr = std::unique_ptr<HeldPacket>;

class HoldPool {
 public:
  explicit HoldPool(TrackerContext& context) : context_(context) {}

  // A copy; null when the memory budget is used up.
  HeldPtr Copy(const RcPacket& packet) {
    if (!context_.Reserve(Cost(packet))) return nullptr;
    HeldPtr held;
    if (free_.empty()) {
      held = std::make_unique<HeldPacket>();
    } else {
      held = std::move(free_.back());
      free_.pop_back();
    }
    held->packet = packet;
    held->packet.wire = nullptr;
    held->storage.assign(packet.data.begin(), packet.data.end());
    held->packet.data = held->storage;
    return held;
  }

  void Release(HeldPtr held) {
    context_.Release(Cost(held->packet));
    if (free_.size() < kKeep && held->storage.capacity() <= kKeepBytes) free_.push_back(std::move(held));
  }

  static uint64_t Cost(const RcPacket& packet) { return sizeof(HeldPacket) + packet.data.size(); }

 private:
  static constexpr size_t kKeep = 1024, kKeepBytes = 8192;
  TrackerContext& context_;
  std::vector<HeldPtr> free_;
};

}  // namespace stag::fabric
