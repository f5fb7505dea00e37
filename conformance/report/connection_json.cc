// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/connection_json.h"

#include "conformance/engine/text.h"
#include "conformance/report/format.h"
#include "session/fabric/names.h"

namespace stag::conformance {

namespace {

using session::Connection;
using session::MinMaxLast;
using session::SetupData;
using session::Side;

std::string_view Bool(bool value) { return value ? "true" : "false"; }

template <typename T>
std::string OrNull(const std::optional<T>& value) {
  return value ? std::to_string(*value) : "null";
}
// 0 is none.
std::string OrNull(uint64_t value) { return value ? std::to_string(value) : "null"; }

void AppendEndpoint(std::string& out, const Connection& c, Side side) {
  const Endpoint& endpoint = c.info.endpoint[side];
  out.append(Text("{\"address\":\"", fabric::AddressText(endpoint.address), "\",\"",
                  c.info.fabric == fabric::FabricKind::kIwarp ? "port" : "qp", "\":", OrNull(endpoint.number), "}"));
}

// null: the message that would hold it was not captured.
void AppendSetup(std::string& out, const SetupData& setup) {
  if (!setup.seen) {
    out.append("null");
    return;
  }
  out.append(Text("{\"frame\":", setup.frame.number, ",\"kind\":\"", setup.kind(),
                  "\",\"truncated\":", Bool(setup.truncated), ",\"hex\":\""));
  AppendHex(out, setup.meaningful());
  out.push_back('"');
  if (setup.has_data()) {
    const rpcrdma::PrivateData& data = setup.search.data;
    out.append(Text(",\"version\":", data.version, ",\"remote_invalidation\":", Bool(data.remote_invalidation()),
                    ",\"send_bytes\":", data.send_bytes(), ",\"receive_bytes\":", data.receive_bytes()));
  }
  out.push_back('}');
}

std::string Range(const MinMaxLast& range) {
  if (!range.any) return "null";
  return Text("{\"min\":", range.min, ",\"max\":", range.max, ",\"last\":", range.last, "}");
}

std::string Credits(const session::CreditState& credits) {
  if (!credits.requested.any && !credits.granted.any) return "null";
  return Text("{\"requested\":", Range(credits.requested), ",\"granted\":", Range(credits.granted),
              ",\"max_outstanding\":", credits.max_outstanding, "}");
}

std::string Counters(const session::SideCounters& n) {
  return Text("{\"messages\":", n.messages, ",\"send_bytes\":", n.send_bytes,
              ",\"write_operations\":", n.write_operations, ",\"write_bytes\":", n.write_bytes,
              ",\"read_operations\":", n.read_operations, ",\"read_bytes\":", n.read_bytes,
              ",\"sends_with_invalidate\":", n.send_with_invalidate, "}");
}

}  // namespace

void AppendConnectionMembers(std::string& out, const Connection& c, const std::optional<std::string>& file) {
  const Side client = c.client, server = static_cast<Side>(1 - client);
  out.append("\"type\":\"connection\"");
  if (file) {
    out.append(",\"file\":");
    AppendJson(out, *file);
  }
  out.append(Text(",\"connection\":", c.info.id, ",\"rpcrdma\":", Bool(c.proof == session::Proof::kRpcRdma),
                  ",\"fabric\":\"", fabric::FabricName(c.info.fabric), "\",\"roles_known\":", Bool(c.client_known),
                  ",\"client\":"));
  AppendEndpoint(out, c, client);
  out.append(",\"server\":");
  AppendEndpoint(out, c, server);
  out.append(Text(",\"service_port\":", OrNull(c.info.service_port), ",\"setup_seen\":", Bool(c.setup_seen),
                  ",\"opened\":", Bool(c.opened), ",\"rejected\":", Bool(c.rejected),
                  ",\"reject_reason\":", c.rejected ? std::to_string(c.reject_reason) : "null", ",\"closed\":\"",
                  fabric::CloseName(c.close_reason), "\",\"close_frame\":", OrNull(c.close_frame.number),
                  ",\"private_data\":{\"client\":"));
  AppendSetup(out, c.setup[client]);
  out.append(",\"server\":");
  AppendSetup(out, c.setup[server]);
  const std::optional<bool> invalidation = c.remote_invalidation();
  out.append(Text("},\"threshold\":{\"c2s\":", OrNull(c.threshold(client)), ",\"s2c\":", OrNull(c.threshold(server)),
                  "},\"remote_invalidation\":", invalidation ? Bool(*invalidation) : "null",
                  ",\"credits\":{\"forward\":", Credits(c.credits[client]),
                  ",\"backward\":", Credits(c.credits[server]), "}"));
  out.append(Text(",\"messages\":", c.counters[0].messages + c.counters[1].messages, ",\"calls\":", c.calls,
                  ",\"replies\":", c.replies, ",\"errors\":", c.errors, ",\"backward_calls\":", c.backward_calls,
                  ",\"replies_without_call\":", c.replies_without_call, ",\"other_messages\":", c.other_messages,
                  ",\"sent\":{\"client\":", Counters(c.counters[client]), ",\"server\":", Counters(c.counters[server]),
                  "}"));
  out.append(Text(",\"losses\":{\"gaps\":", c.counters[0].gaps + c.counters[1].gaps, ",\"truncated_messages\":",
                  c.truncated_messages, ",\"naks\":", c.counters[0].naks + c.counters[1].naks,
                  ",\"evicted_transactions\":", c.evicted_transactions, "},\"first_frame\":", c.first_frame.number,
                  ",\"last_frame\":", c.last_frame.number, ",\"first_time\":\""));
  AppendTime(out, c.first_frame.time_ns);
  out.append("\",\"last_time\":\"");
  AppendTime(out, c.last_frame.time_ns);
  out.push_back('"');
}

}  // namespace stag::conformance
