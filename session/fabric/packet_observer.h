// SPDX-License-Identifier: GPL-2.0-or-later
//
// PacketObserver: sees the packets of connections as the capture has them: in its order, with acknowledgments, copies
// and retransmissions, which events leave out. For statistics of the fabric; a Decoder without one does nothing for it.
#pragma once

#include "session/fabric/fabric_event.h"

namespace stag::link {
struct Packet;
}
namespace stag::iwarp {
struct Fpdu;
}

namespace stag::fabric {

struct RcPacket;

// A stretch of one direction of a TCP connection.
struct StreamPart {
  uint32_t sequence = 0;  // of its first byte
  uint32_t size = 0;      // bytes
  Bytes bytes;            // the captured prefix
  // FPDUs: where the first byte stands in the stream of FPDUs (protocol/iwarp/fpdu.h), and whether that has markers.
  uint64_t position = 0;
  bool markers = false;
};

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
  // A stretch of end `from`'s TCP stream that was understood, before its events: an MPA set-up frame; an FPDU, also one
  // whose CRC is wrong.
  virtual void OnMpaFrame(Track, Side /*from*/, const StreamPart&) {}
  virtual void OnFpdu(Track, Side /*from*/, const StreamPart&, const iwarp::Fpdu&) {}
  virtual void OnCrcError(Track track, Side from, const FrameRef& frame) = 0;
};

}  // namespace stag::fabric
