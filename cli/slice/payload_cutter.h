// SPDX-License-Identifier: GPL-2.0-or-later
//
// PayloadCutter: how much of each frame analysis needs, for --snap headers. What goes is the data of RDMA Writes into
// Write chunks and of RDMA Reads of chunks that have a Position: bulk data, which no rule looks into. Sends stay, and
// so do Reply chunks and Position-zero Read chunks, which hold RPC headers.
#pragma once

#include <deque>

#include "cli/slice/packet_positions.h"
#include "session/rpcrdma/session.h"

namespace stag::cli {

class PayloadCutter final : public session::Observer, public fabric::PacketObserver {
 public:
  explicit PayloadCutter(const link::TunnelPorts& tunnel_ports) : tunnel_ports_(tunnel_ports) {}

  // The bytes of the frame that are to be kept, from its start.
  size_t Keep(const Frame& frame) const;
  // Of frames up to this one nobody asks again.
  void Forget(uint64_t frame);

  void OnRdma(const session::Connection&, const session::RdmaOperation& operation) override;
  void OnForgotten(Track track) override { places_.Forget(track); }
  void OnSegment(Track track, fabric::Side from, const link::Packet& packet, const FrameRef& frame) override {
    places_.OnSegment(track, from, packet, frame);
  }
  void OnFpdu(Track track, fabric::Side from, const fabric::StreamPart& part, const iwarp::Fpdu&) override {
    fpdu_ = {track, from, part.sequence, part.size};
  }

 private:
  // Of a frame: kWhole, kHeaders, or kPayload plus the bytes of TCP payload that are kept.
  static constexpr uint16_t kWhole = 0, kHeaders = 1, kPayload = 2;
  struct Fpdu {
    Track track = 0;
    fabric::Side from = 0;
    uint32_t sequence = 0, size = 0;
  };
  void Set(uint64_t frame, uint16_t value);
  void CutFpdu(uint64_t first, uint64_t last);

  const link::TunnelPorts tunnel_ports_;
  PacketPositions places_;
  Fpdu fpdu_;                  // the one that events come of
  std::deque<uint16_t> keep_;  // of the frames behind forgotten_
  uint64_t forgotten_ = 0;
};

}  // namespace stag::cli
