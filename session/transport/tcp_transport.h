// SPDX-License-Identifier: GPL-2.0-or-later
//
// TcpTransport: the segments of one TCP connection (iWARP) in the order of the capture, counted (RFC 9293).
#pragma once

#include <optional>

#include "protocol/link/packet.h"
#include "session/transport/byte_history.h"
#include "session/transport/transport.h"

namespace stag::transport {

class TcpTransport {
 public:
  // `charge` holds its memory, and outlives it.
  TcpTransport(Shared& shared, Charge& charge) : charge_(charge), half_{Half(shared), Half(shared)} {}
  static constexpr size_t kFewBytes = 4 * SeenRanges::kFewBytes;  // of all its sets

  // End `end_of` sent it, which is `side` of `health`. `notes` may be null.
  void OnSegment(Side end_of, Side side, const link::Packet& packet, const FrameRef& frame, Health& health,
                 NoteSink* notes);
  // Segments that come yet are late: whether they change bytes is not looked at.
  void OnClosed() {
    for (Half& half : half_) half.history.Close();
  }
  // Bytes that `end` sent and the capture has not.
  uint64_t LostFromCapture(Side end) const;

 private:
  struct Half {
    explicit Half(Shared& shared) : seen(shared.budget), history(shared) {}
    SeenRanges seen;  // bytes of payload
    ByteHistory history;
    uint64_t acknowledged = 0;
    uint64_t lost = 0;     // in holes that are no longer followed
    bool running = false;  // the last segment was a retransmission, of the episode `run`
    size_t run = 0;
    bool closed = false;  // the window, in the episode `stall`
    size_t stall = 0;
    FrameRef last;
  };

  static uint64_t Unwrap(const Half& half, uint32_t sequence);
  void OnWindow(Half& half, const link::Packet& packet, Health& health, Note& note);

  Charge& charge_;
  std::array<Half, 2> half_;  // by the end that sends
};

}  // namespace stag::transport
