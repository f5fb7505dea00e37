// SPDX-License-Identifier: GPL-2.0-or-later
//
// PacketPositions: where the packets of a connection are in the order of its protocol, whatever frames carried them:
// packet sequence numbers (InfiniBand, RoCE) or bytes of a TCP stream (iWARP), in 64 bits. What has the same place is a
// copy or a retransmission; what answers a request has the place of the request. Remembers the places of recent frames,
// in a table of a fixed size. Over the same capture all passes find the same places.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

#include "protocol/link/packet.h"
#include "session/fabric/ib_packet.h"
#include "session/fabric/packet_observer.h"

namespace stag::cli {

struct PacketPosition {
  fabric::PacketObserver::Track track = 0;
  // Whose order it is: the requester's (PSNs), the end's that sent the bytes (TCP).
  uint8_t space = 0;
  uint64_t begin = 0, end = 0;  // half open; empty: a TCP segment without payload
};

class PacketPositions {
 public:
  using Track = fabric::PacketObserver::Track;

  PacketPositions() : recent_(kRecent) {}

  PacketPosition OnPacket(Track track, const fabric::RcPacket& packet);
  struct Segment {
    PacketPosition place;
    std::optional<uint64_t> acknowledged;  // how far its sender has the bytes of the other end
  };
  Segment OnSegment(Track track, fabric::Side from, const link::Packet& packet, const FrameRef& frame);
  void Forget(Track track) { spaces_.erase(track); }

  // The place of the packet of a recent frame; null: it has none, or is too long ago.
  const PacketPosition* Find(uint64_t frame) const {
    const Recent& recent = recent_[frame % kRecent];
    return recent.frame == frame && frame != 0 ? &recent.place : nullptr;
  }

 private:
  static constexpr size_t kRecent = size_t{1} << 16;
  static constexpr size_t kMostTracks = size_t{1} << 17;  // the oldest make room
  struct Space {
    bool started = false;
    uint64_t reference = 0;  // the highest position so far
  };
  struct Recent {
    uint64_t frame = 0;
    PacketPosition place;
  };
  std::array<Space, 2>& SpacesOf(Track track);
  void Remember(uint64_t frame, const PacketPosition& place) { recent_[frame % kRecent] = {frame, place}; }

  std::unordered_map<Track, std::array<Space, 2>> spaces_;
  Track oldest_ = 0;
  std::vector<Recent> recent_;
};

}  // namespace stag::cli
