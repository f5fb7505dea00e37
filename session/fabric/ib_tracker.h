// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbTracker: InfiniBand transport packets (native, RoCEv1, RoCEv2) in, fabric events out (InfiniBand Architecture
// volume 1, chapters 9 and 12). Pairs queue pairs by CM messages or, without them, by evidence; follows PSNs both ways.
#pragma once

#include "session/fabric/ib_cm.h"

namespace stag::fabric {

class IbTracker {
 public:
  explicit IbTracker(TrackerContext& context)
      : context_(context), plain_(!context.options().verify_crc), flows_(context), cm_(context, flows_) {}

  // `packet.carrier` is kRoceV2, kRoceV1 or kInfiniBand. `frame` is the one that carried it. No bytes are kept past the
  // call.
  void OnPacket(const link::Packet& packet, const FrameRef& frame);
  // Between packets: gives up what is over the memory budget.
  void Relieve() {
    cm_.Relieve();
    flows_.Relieve();
  }
  // End of capture: gives out what was held back, closes every connection.
  void Finish();

 private:
  bool Intact(const link::Packet& packet);
  bool ShowOnly(const link::Packet& packet, const FlowEnds& ends);
  void Route(const link::Packet& packet, const FlowEnds& ends);
  void RouteByAddresses(const link::Packet& packet);
  void OnDatagram(const link::Packet& packet, const FlowEnds& ends);
  void OnUnreliable(const link::Packet& packet);

  TrackerContext& context_;
  const bool plain_;  // ICRCs need not be looked after
  RcPacket current_;  // the packet being processed
  IbFlows flows_;
  IbCm cm_;
};

}  // namespace stag::fabric
