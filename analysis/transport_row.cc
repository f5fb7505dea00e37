// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/transport_row.h"

#include "session/fabric/names.h"

namespace stag::analysis {

TransportCounts::TransportCounts(const transport::Health& health, const session::Connection& connection,
                                 fabric::Side side) {
  const transport::Counters& n = health.sent[side];
  bytes = n.bytes;
  out_of_order = n.out_of_order;
  changed_retransmissions = n.changed;
  max_bytes_in_flight = n.max_in_flight;
  spurious_retransmissions = connection.spurious[side];
  if (connection.info.fabric == fabric::FabricKind::kIwarp) {
    segments = n.packets;
    retransmitted_segments = n.retransmitted;
    zero_windows = n.zero_windows;
    resets = n.resets;
    crc_errors = n.crc_errors;
    damaged_segments = n.damaged;
    lost_from_capture_bytes = n.lost_from_capture;
    largest_segment = n.largest;
    return;
  }
  packets = n.packets;
  retransmitted_packets = n.retransmitted;
  repeated_responses = n.repeated_responses;
  lost_from_capture = n.lost_from_capture;
  naks = NakCounts{n.nak_sequence, n.nak_rnr, n.nak_invalid_request, n.nak_remote_access, n.nak_remote_operation};
  rnr_stall = results::Duration{n.rnr_stall_ns};
  go_back_n = n.go_back_n;
  timeouts = n.timeouts;
  ce_packets = n.ce;
  cnp = n.cnp;
  fecn_packets = n.fecn;
  becn_packets = n.becn;
  path_mtu = results::NotZero(uint32_t{health.path_mtu});
}

TransportRow::TransportRow(const session::Connection& connection, const transport::Health& health, fabric::Side side,
                           int64_t origin_ns)
    : head(connection, origin_ns),
      direction(DirectionOf(side == connection.client)),
      fabric(fabric::FabricName(connection.info.fabric)),
      counts(health, connection, side) {}

}  // namespace stag::analysis
