// SPDX-License-Identifier: GPL-2.0-or-later
//
// PacketObserver: sees the packets of connections as the capture has them: in its order, with acknowledgments, copies
// and retransmissions, which events leave out. A Decoder without one does nothing for it. What an observer does not
// override, it passes over.
#pragma once

#include <span>

#include "session/fabric/fabric_event.h"

namespace stag {
class Lasting;
}
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

  // DecoderOptions::lasting, before all else.
  virtual void OnLasting(const Lasting*) {}
  // The packet that comes next, or one around it, was put together from fragments: `frames` has their numbers, and what
  // is told of it has that of the last of them to come, `last`.
  virtual void OnFragments(std::span<const uint64_t> /*frames*/, const FrameRef& /*last*/) {}

  // The track is this connection, whose side 0 is end `first_end` of the packets. InfiniBand and RoCE: comes before its
  // packets, and the end is 0. iWARP: comes when the TCP connection proves to be iWARP.
  virtual void OnConnection(Track, const ConnectionInfo&, Side /*first_end*/) {}
  // The connection was closed (EventKind::kClosed): packets that come yet are late.
  virtual void OnClosed(Track) {}
  // The track is no RDMA connection: nothing more comes of it.
  virtual void OnForgotten(Track) {}

  // InfiniBand and RoCE: what the CM exchange says, the first PSN of a side's requests and the path MTU in bytes; a
  // packet, whose status is kOk, or kTruncatedByCapture behind the BTH; a congestion notification packet.
  virtual void OnFirstPsn(Track, Side /*requester*/, uint32_t /*psn*/) {}
  virtual void OnPathMtu(Track, uint32_t /*bytes*/) {}
  virtual void OnPacket(Track, const RcPacket&) {}
  virtual void OnCongestionNotification(Track, Side /*from*/, const FrameRef&) {}

  // iWARP: a TCP segment of end `from`, also one without payload; an FPDU whose CRC is wrong.
  virtual void OnSegment(Track, Side /*from*/, const link::Packet&, const FrameRef&) {}
  virtual void OnCrcError(Track, Side /*from*/, const FrameRef&) {}
  // A stretch of end `from`'s TCP stream that was understood, before its events: an MPA set-up frame; an FPDU, also one
  // whose CRC is wrong.
  virtual void OnMpaFrame(Track, Side /*from*/, const StreamPart&) {}
  virtual void OnFpdu(Track, Side /*from*/, const StreamPart&, const iwarp::Fpdu&) {}
};

}  // namespace stag::fabric
