// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/connection_row.h"

#include "session/fabric/names.h"
#include "text/put.h"

namespace stag::analysis {
namespace {

using session::Connection;
using session::Side;

EndpointRow EndpointOf(const Connection& c, Side side) {
  const Endpoint& endpoint = c.info.endpoint[side];
  EndpointRow row;
  row.address = fabric::AddressText(endpoint.address);
  (c.info.fabric == fabric::FabricKind::kIwarp ? row.port : row.qp) = results::NotZero(endpoint.number);
  return row;
}

std::optional<PrivateDataRow> PrivateDataOf(const session::SetupData& setup) {
  if (!setup.seen) return std::nullopt;
  PrivateDataRow row;
  row.frame = setup.frame.number;
  row.kind = setup.kind();
  row.truncated = setup.truncated;
  const Bytes bytes = setup.meaningful();
  row.hex.assign(bytes.begin(), bytes.end());
  if (!setup.has_data()) return row;
  const rpcrdma::PrivateData& data = setup.search.data;
  row.version = data.version;
  row.remote_invalidation = data.remote_invalidation();
  row.send_bytes = data.send_bytes();
  row.receive_bytes = data.receive_bytes();
  return row;
}

std::optional<CreditsRow> CreditsOf(const session::CreditState& credits) {
  if (!credits.requested.any && !credits.granted.any) return std::nullopt;
  return CreditsRow{RangeOf(credits.requested), RangeOf(credits.granted), credits.max_outstanding};
}

SentRow SentBy(const session::SideCounters& n) {
  return {n.messages,        n.send_bytes, n.write_operations,    n.write_bytes,
          n.read_operations, n.read_bytes, n.send_with_invalidate};
}

}  // namespace

std::string RejectText(const session::Connection& c) {
  constexpr uint16_t kInvalidServiceId = 8;
  std::string text = fmt::format("{}", c.reject_reason);
  const std::string_view name = fabric::RejectName(c.reject_reason);
  if (name.empty()) return text;
  text += fmt::format(" ({}", name);
  if (c.reject_reason == kInvalidServiceId) {
    text += ": nobody listens";
    if (c.info.service_port != 0) text += fmt::format(" on port {}", c.info.service_port);
  }
  return text + ')';
}

ConnectionRow::ConnectionRow(const Connection& c, int64_t origin_ns)
    : head(c, origin_ns),
      rpcrdma(c.proof == session::Proof::kRpcRdma),
      fabric(fabric::FabricName(c.info.fabric)),
      roles_known(c.client_known),
      service_port(results::NotZero(uint32_t{c.info.service_port})),
      setup_seen(c.setup_seen),
      opened(c.opened),
      rejected(c.rejected),
      closed(fabric::CloseName(c.close_reason)),
      close_frame(results::NotZero(c.close_frame.number)),
      remote_invalidation(c.remote_invalidation()),
      messages(c.counters[0].messages + c.counters[1].messages),
      calls(c.calls),
      replies(c.replies),
      errors(c.errors),
      backward_calls(c.backward_calls),
      replies_without_call(c.replies_without_call),
      other_messages(c.other_messages),
      losses{c.counters[0].gaps + c.counters[1].gaps, c.truncated_messages, c.counters[0].naks + c.counters[1].naks,
             c.evicted_transactions},
      first_frame(c.first_frame.number),
      last_frame(c.last_frame.number),
      first_time{c.first_frame.time_ns},
      last_time{c.last_frame.time_ns} {
  const Side client_side = c.client, server_side = transport::Other(client_side);
  client = EndpointOf(c, client_side);
  server = EndpointOf(c, server_side);
  if (c.rejected) {
    reject_reason = c.reject_reason;
    reject_name = results::NotEmpty(fabric::RejectName(c.reject_reason));
  }
  private_data = {PrivateDataOf(c.setup[client_side]), PrivateDataOf(c.setup[server_side])};
  threshold = {c.threshold(client_side), c.threshold(server_side)};
  credits = {CreditsOf(c.credits[client_side]), CreditsOf(c.credits[server_side])};
  sent = {SentBy(c.counters[client_side]), SentBy(c.counters[server_side])};
}

ListedConnection ListConnection(const Connection& connection, const transport::Health* health, int64_t origin_ns) {
  ListedConnection row{ConnectionRow(connection, origin_ns), std::nullopt};
  if (!health) return row;
  const Side client = connection.client, server = transport::Other(client);
  row.transport = {TransportCounts(*health, connection, client), TransportCounts(*health, connection, server)};
  return row;
}

}  // namespace stag::analysis
