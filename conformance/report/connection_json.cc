// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/connection_json.h"

#include "session/fabric/names.h"

namespace stag::conformance {

namespace {

using session::Connection;
using session::MinMaxLast;
using session::SetupData;
using session::Side;

// 0 is none.
template <typename T>
std::optional<T> NotZero(T value) {
  return value != 0 ? std::optional(value) : std::nullopt;
}

void PutEndpoint(JsonWriter& json, std::string_view key, const Connection& c, Side side) {
  const Endpoint& endpoint = c.info.endpoint[side];
  json.Key(key).BeginObject().Member("address", fabric::AddressText(endpoint.address));
  json.Member(c.info.fabric == fabric::FabricKind::kIwarp ? "port" : "qp", NotZero(endpoint.number)).EndObject();
}

// null: the message that would hold it was not captured.
void PutSetup(JsonWriter& json, std::string_view key, const SetupData& setup) {
  json.Key(key);
  if (!setup.seen) {
    json.Value(nullptr);
    return;
  }
  json.BeginObject().Member("frame", setup.frame.number).Member("kind", setup.kind());
  json.Member("truncated", setup.truncated).Key("hex").Hex(setup.meaningful());
  if (setup.has_data()) {
    const rpcrdma::PrivateData& data = setup.search.data;
    json.Member("version", data.version).Member("remote_invalidation", data.remote_invalidation());
    json.Member("send_bytes", data.send_bytes()).Member("receive_bytes", data.receive_bytes());
  }
  json.EndObject();
}

void PutRange(JsonWriter& json, std::string_view key, const MinMaxLast& range) {
  json.Key(key);
  if (!range.any) {
    json.Value(nullptr);
    return;
  }
  json.BeginObject().Member("min", range.min).Member("max", range.max).Member("last", range.last).EndObject();
}

void PutCredits(JsonWriter& json, std::string_view key, const session::CreditState& credits) {
  json.Key(key);
  if (!credits.requested.any && !credits.granted.any) {
    json.Value(nullptr);
    return;
  }
  json.BeginObject();
  PutRange(json, "requested", credits.requested);
  PutRange(json, "granted", credits.granted);
  json.Member("max_outstanding", credits.max_outstanding).EndObject();
}

void PutCounters(JsonWriter& json, std::string_view key, const session::SideCounters& n) {
  json.Key(key).BeginObject().Member("messages", n.messages).Member("send_bytes", n.send_bytes);
  json.Member("write_operations", n.write_operations).Member("write_bytes", n.write_bytes);
  json.Member("read_operations", n.read_operations).Member("read_bytes", n.read_bytes);
  json.Member("sends_with_invalidate", n.send_with_invalidate).EndObject();
}

}  // namespace

void PutConnectionMembers(JsonWriter& json, const Connection& c, const std::optional<std::string>& file) {
  const Side client = c.client, server = static_cast<Side>(1 - client);
  json.Member("type", "connection");
  if (file) json.Member("file", *file);
  json.Member("connection", c.info.id).Member("rpcrdma", c.proof == session::Proof::kRpcRdma);
  json.Member("fabric", fabric::FabricName(c.info.fabric)).Member("roles_known", c.client_known);
  PutEndpoint(json, "client", c, client);
  PutEndpoint(json, "server", c, server);
  json.Member("service_port", NotZero(c.info.service_port)).Member("setup_seen", c.setup_seen);
  json.Member("opened", c.opened).Member("rejected", c.rejected);
  json.Member("reject_reason", c.rejected ? std::optional(c.reject_reason) : std::nullopt);
  json.Member("closed", fabric::CloseName(c.close_reason)).Member("close_frame", NotZero(c.close_frame.number));
  json.Key("private_data").BeginObject();
  PutSetup(json, "client", c.setup[client]);
  PutSetup(json, "server", c.setup[server]);
  json.EndObject().Key("threshold").BeginObject();
  json.Member("c2s", c.threshold(client)).Member("s2c", c.threshold(server)).EndObject();
  json.Member("remote_invalidation", c.remote_invalidation()).Key("credits").BeginObject();
  PutCredits(json, "forward", c.credits[client]);
  PutCredits(json, "backward", c.credits[server]);
  json.EndObject().Member("messages", c.counters[0].messages + c.counters[1].messages).Member("calls", c.calls);
  json.Member("replies", c.replies).Member("errors", c.errors).Member("backward_calls", c.backward_calls);
  json.Member("replies_without_call", c.replies_without_call).Member("other_messages", c.other_messages);
  json.Key("sent").BeginObject();
  PutCounters(json, "client", c.counters[client]);
  PutCounters(json, "server", c.counters[server]);
  json.EndObject().Key("losses").BeginObject().Member("gaps", c.counters[0].gaps + c.counters[1].gaps);
  json.Member("truncated_messages", c.truncated_messages).Member("naks", c.counters[0].naks + c.counters[1].naks);
  json.Member("evicted_transactions", c.evicted_transactions).EndObject();
  json.Member("first_frame", c.first_frame.number).Member("last_frame", c.last_frame.number);
  json.Key("first_time").Time(c.first_frame.time_ns).Key("last_time").Time(c.last_frame.time_ns);
}

}  // namespace stag::conformance
