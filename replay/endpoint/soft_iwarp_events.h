// SPDX-License-Identifier: GPL-2.0-or-later
//
// SoftIwarpEvents: the fabric events of one live connection. The segments of both directions, in the order in which
// they were handed to TCP or came from it, go through the very RdmapLayer that reads captures.
#pragma once

#include "protocol/iwarp/mpa.h"
#include "replay/endpoint/shown_bytes.h"
#include "session/fabric/iwarp_rdmap.h"

namespace stag::endpoint {

class SoftIwarpEvents {
 public:
  // `log` and `info` must outlive this. `peer_to_peer`: the initiator's first FPDU may be no operation.
  SoftIwarpEvents(EventLog& log, const fabric::ConnectionInfo& info, bool peer_to_peer);

  void OnSetup(const iwarp::MpaFrame& frame);
  void OnOpened();
  // `payload` in pieces, in memory of the endpoint's; `length` is more than they have when the rest was not received
  // because it is refused.
  void OnSegment(fabric::Side from, const iwarp::DdpHeader& header, std::span<const Bytes> payload, uint32_t length);
  void OnClosed(fabric::CloseReason reason, fabric::Side from);
  ShownBytes& shown() { return shown_; }

 private:
  template <typename Kind>
  void Emit(fabric::Side from, const Kind& what);

  EventLog& log_;
  ShownBytes shown_;
  const fabric::ConnectionInfo& info_;
  fabric::TrackerContext context_;
  fabric::RdmapLayer rdmap_;
  std::vector<std::byte> scratch_;
};

}  // namespace stag::endpoint
