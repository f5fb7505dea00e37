// SPDX-License-Identifier: GPL-2.0-or-later
//
// PacketObserver: sees the packets of connections as the capture has them: in its order, with acknowledgments, copies
// and retransmissions, which events leave out. For statistics of the fabric; a Decoder without one does nothing for it.
#pragma once

#include "session/fabric/fabric_event.h"

namespace stag::link {
struct Packet;
}

namespace stag::fabric {

struct RcPacket;

class PacketObserver {
 public:
  // A connection, or one that may turn out to be one; counts from 1.
  using Track = uint64_t;

  virtual ~PacketObserver() = default;

  // The track is this connection, whose side 0 is end `first_end` of the packets. InfiniBand and RoCE: comes before its
  // packets, and the end is 0. iWARP: comes when the TCP connection proves to be iWARP.
  virtual void OnConnection(Track track, const ConnectionInfo& info, Side first_end) = 0;
  // The track is no RDMA connection: nothing more comes of it.
  virtual void OnForgotten(Track track) = 0;

  // InfiniBand and RoCE: what the CM exchange says, the first PSN of a side's requests and the path MTU in bytes; a
  // packet, whose status is kOk, or kTruncatedByCapture behind the BTH; a congestion notification packet.
  virtual void OnFirstPsn(Track track, Side requester, uint32_t psn) = 0;
  virtual void OnPathMtu(Track track, uint32_t bytes) = 0;
  virtual void OnPacket(Track track, const RcPacket& packet) = 0;
  virtual void OnCongestionNotification(Track track, Side from, const FrameRef& frame) = 0;

  // iWARP: a TCP segment of end `from`, also one without payload; an FPDU whose CRC is wrong.
  virtual void OnSegment(Track track, Side from, const link::Packet& packet, const FrameRef& frame) = 0;
  virtual void OnCrcError(Track track, Side from, const FrameRef& frame) = 0;
};

}  // namespace stag::fabric
