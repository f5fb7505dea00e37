// SPDX-License-Identifier: GPL-2.0-or-later
//
// IbRecovery: when a reliable connection waits for packets to be sent again: from an RNR NAK or a sequence NAK (IBA
// section 9.7.5.2) to the packet that mends it.
#pragma once

#include <array>

#include "session/fabric/ib_packet.h"

namespace stag::fabric {

class IbRecovery {
 public:
  // Whether a NAK waits for its packet: all packets are to be given then; else those with Begins.
  bool waits() const { return waiting_[0].waits || waiting_[1].waits; }
  static bool Begins(const RcPacket& p) {
    return p.info->response && p.IsNak() && p.Is(ib::Operation::kAck) && (IsRnr(p) || p.IsSequenceNak());
  }

  // In the order of the capture. Calls `tell` with a Recovery where the packet begins or ends one.
  template <typename Fn>
  void OnPacket(const RcPacket& p, const ConnectionInfo& info, Fn tell) {
    Waiting& waiting = waiting_[p.requester()];
    if (Begins(p)) {
      waiting = {true, p.psn()};
      return tell(Recovery{info.id, info.slot, p.requester(), IsRnr(p), false, p.frame});
    }
    if (!waiting.waits || !Mends(p, waiting.psn)) return;
    waiting.waits = false;
    tell(Recovery{info.id, info.slot, p.requester(), false, true, p.frame});
  }

 private:
  struct Waiting {
    bool waits = false;
    uint32_t psn = 0;  // that is to be sent again
  };

  static bool IsRnr(const RcPacket& p) { return ib::KindOf(p.aeth.syndrome) == ib::AethKind::kRnrNak; }
  // The packet itself, or, when the capture misses it, an answer to it or to a later one.
  static bool Mends(const RcPacket& p, uint32_t psn) {
    if (p.Is(ib::Operation::kAck) && p.IsNak()) return false;
    const int32_t ahead = ib::PsnDistance(p.psn(), psn);
    return p.info->response ? ahead >= 0 : ahead == 0;
  }

  std::array<Waiting, 2> waiting_;  // by requester
};

}  // namespace stag::fabric
