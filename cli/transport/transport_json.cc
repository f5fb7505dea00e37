// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/transport/transport_report.h"
#include "session/fabric/names.h"

namespace stag::cli {
namespace {

using fabric::FabricKind;
using fabric::Side;
using transport::Counters;

void PutNaks(JsonWriter& json, const Counters& n) {
  json.Key("naks").BeginObject().Member("sequence", n.nak_sequence).Member("rnr", n.nak_rnr);
  json.Member("invalid_request", n.nak_invalid_request).Member("remote_access", n.nak_remote_access);
  json.Member("remote_operation", n.nak_remote_operation).EndObject();
}

void PutCounters(JsonWriter& json, const transport::Health& health, Side side, bool iwarp) {
  const Counters& n = health.sent[side];
  if (iwarp) {
    json.Member("segments", n.packets).Member("bytes", n.bytes).Member("retransmitted_segments", n.retransmitted);
    json.Member("out_of_order", n.out_of_order).Member("zero_windows", n.zero_windows).Member("resets", n.resets);
    json.Member("crc_errors", n.crc_errors).Member("damaged_segments", uint64_t{n.damaged});
    json.Member("changed_retransmissions", n.changed);
    json.Member("lost_from_capture_bytes", n.lost_from_capture).Member("largest_segment", n.largest);
  } else {
    json.Member("packets", n.packets).Member("bytes", n.bytes).Member("retransmitted_packets", n.retransmitted);
    json.Member("repeated_responses", n.repeated_responses).Member("lost_from_capture", n.lost_from_capture);
    json.Member("out_of_order", n.out_of_order);
    PutNaks(json, n);
    json.Key("rnr_stall_us").Thousandths(n.rnr_stall_ns).Member("go_back_n", n.go_back_n);
    json.Member("timeouts", n.timeouts).Member("ce_packets", n.ce).Member("cnp", n.cnp);
    json.Member("changed_retransmissions", n.changed).Member("fecn_packets", n.fecn).Member("becn_packets", n.becn);
    json.Member("path_mtu", health.path_mtu != 0 ? std::optional(health.path_mtu) : std::nullopt);
  }
  json.Member("max_bytes_in_flight", n.max_in_flight);
}

}  // namespace

void PutTransportJson(std::string& out, const session::Connection& c, const transport::Health& health,
                      const std::optional<std::string>& file) {
  JsonWriter json(out);
  for (const Side side : {c.client, transport::Other(c.client)}) {
    json.BeginObject().Member("type", "transport");
    if (file) json.Member("file", *file);
    json.Member("connection", c.info.id).Member("direction", side == c.client ? "c2s" : "s2c");
    json.Member("fabric", fabric::FabricName(c.info.fabric));
    PutCounters(json, health, side, c.info.fabric == FabricKind::kIwarp);
    json.EndObject().EndLine();
  }
}

void PutTransportMember(JsonWriter& json, const session::Connection& c, const transport::Health* health) {
  json.Key("transport");
  if (!health) {
    json.Value(nullptr);
    return;
  }
  json.BeginObject();
  for (const Side side : {c.client, transport::Other(c.client)}) {
    json.Key(side == c.client ? "client" : "server").BeginObject();
    PutCounters(json, *health, side, c.info.fabric == FabricKind::kIwarp);
    json.EndObject();
  }
  json.EndObject();
}

}  // namespace stag::cli
