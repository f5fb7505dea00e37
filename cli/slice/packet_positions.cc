// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/packet_positions.h"

#include <algorithm>

#include "protocol/base/sequence.h"

namespace stag::cli {
std::array<PacketPositions::Space, 2>& PacketPositions::SpacesOf(Track track) {
  while (spaces_.size() > kMostTracks) spaces_.erase(oldest_++);
  return spaces_[track];
}

// The position with this PSN that is nearest to the highest one of these requests.
PacketPosition PacketPositions::OnPacket(Track track, const fabric::RcPacket& packet) {
  const auto space = static_cast<uint8_t>(packet.requester());
  Space& order = SpacesOf(track)[space];
  if (!order.started) {
    order.started = true;
    order.reference = FirstPosition(packet.psn());
  }
  const uint64_t at = NearestPosition<24>(order.reference, packet.psn());
  order.reference = std::max(order.reference, at);
  const PacketPosition place{track, space, at, at + 1};
  Remember(packet.frame.number, place);
  return place;
}

PacketPositions::Segment PacketPositions::OnSegment(Track track, fabric::Side from, const link::Packet& packet,
                                                    const FrameRef& frame) {
  std::array<Space, 2>& orders = SpacesOf(track);
  const auto unwrap = [](Space& order, uint32_t sequence) {
    if (!order.started) {
      order.started = true;
      order.reference = FirstPosition(sequence);
    }
    return NearestPosition<32>(order.reference, sequence);
  };
  Segment segment;
  segment.place.track = track;
  segment.place.space = from;
  const bool syn = packet.tcp_flags & link::kTcpSyn;
  segment.place.begin = unwrap(orders[from], packet.sequence + (syn ? 1 : 0));
  segment.place.end = segment.place.begin + packet.wire_length;
  orders[from].reference = std::max(orders[from].reference, segment.place.end);
  Space& other = orders[from ^ 1];
  if ((packet.tcp_flags & link::kTcpAck) && other.started) segment.acknowledged = unwrap(other, packet.acknowledgment);
  Remember(frame.number, segment.place);
  return segment;
}

}  // namespace stag::cli
