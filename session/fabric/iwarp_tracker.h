// SPDX-License-Identifier: GPL-2.0-or-later
//
// IwarpTracker: TCP segments in, fabric events out (MPA RFC 5044 and RFC 6581, DDP RFC 5041, RDMAP RFC 5040). Follows
// every TCP connection that opens with an MPA exchange, and those joined mid-stream whose FPDU boundaries lengths or
// CRCs prove; every other TCP connection costs almost nothing.
#pragma once

#include <memory>

#include "session/fabric/tracker.h"

namespace stag::fabric {

class IwarpTracker {
 public:
  explicit IwarpTracker(TrackerContext& context);
  ~IwarpTracker();

  // `packet.carrier` is kTcp; `frame` is the one that carried it. No bytes are kept past the call.
  void OnPacket(const link::Packet& packet, const FrameRef& frame);
  // End of capture: gives out what was held back, closes every connection.
  // Between packets: gives up what is over the memory budget.
  void Relieve();
  void Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stag::fabric
