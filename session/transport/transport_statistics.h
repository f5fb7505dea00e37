// SPDX-License-Identifier: GPL-2.0-or-later
//
// TransportStatistics: what the fabric did to every connection of a capture, from each of its packets. Given to a
// Decoder; asked by the number of a connection, while it runs or afterwards. Memory is bounded: there are so many
// connections, so many episodes of each, and buffers of so many bytes.
#pragma once

#include <memory>
#include <unordered_map>

#include "session/fabric/packet_observer.h"
#include "session/transport/transport.h"

namespace stag::transport {

class TransportStatistics final : public fabric::PacketObserver {
 public:
  // `memory`: bytes that buffers may take. `notes`: gets a note for each packet, or is null. `late`: whether packets
  // count that come when their connection was closed.
  enum class Late : uint8_t { kCount, kLeave };
  explicit TransportStatistics(uint64_t memory, NoteSink* notes = nullptr, Late late = Late::kCount);
  ~TransportStatistics() override;

  // What is known of the connection now; null when nothing is.
  std::unique_ptr<Health> Find(fabric::ConnectionId connection) const;
  // Connections that there was no room for.
  uint64_t left_out() const { return left_out_; }

  void OnLasting(const Lasting* lasting) override;
  void OnConnection(Track track, const fabric::ConnectionInfo& info, Side first_end) override;
  void OnClosed(Track track) override;
  void OnForgotten(Track track) override;
  void OnFirstPsn(Track track, Side requester, uint32_t psn) override;
  void OnPathMtu(Track track, uint32_t bytes) override;
  void OnPacket(Track track, const fabric::RcPacket& packet) override;
  void OnCongestionNotification(Track track, Side from, const FrameRef& frame) override;
  void OnSegment(Track track, Side from, const link::Packet& packet, const FrameRef& frame) override;
  void OnCrcError(Track track, Side from, const FrameRef& frame) override;

 private:
  struct Followed;
  Followed* Get(Track track);
  void Tell(Followed& followed, Note::Kind kind, Side from, const FrameRef& frame);

  std::unique_ptr<struct Shared> shared_;
  NoteSink* notes_;
  const Late late_;
  std::unordered_map<Track, std::unique_ptr<Followed>> tracks_;
  std::unordered_map<fabric::ConnectionId, Track> connections_;
  Track last_track_ = 0;  // of Get, and what it returned
  Followed* last_ = nullptr;
  uint64_t left_out_ = 0;
};

}  // namespace stag::transport
