// SPDX-License-Identifier: GPL-2.0-or-later
//
// ConnectionRow: a connection (session/rpcrdma/connection.h), when it has closed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/row_head.h"
#include "analysis/transport_row.h"

namespace stag::analysis {

struct EndpointRow {
  std::string address;
  results::Omittable<std::optional<uint32_t>> port;  // iWARP
  results::Omittable<std::optional<uint32_t>> qp;    // InfiniBand, RoCE
};

struct PrivateDataRow {
  uint64_t frame = 0;
  std::string_view kind;
  bool truncated = false;
  std::vector<std::byte> hex;
  results::Omittable<uint32_t> version, send_bytes, receive_bytes;
  results::Omittable<bool> remote_invalidation;
};

template <typename T>
struct BothEnds {
  T client, server;
};

struct ThresholdRow {
  std::optional<uint32_t> c2s, s2c;
};

struct RangeRow {
  uint32_t min = 0, max = 0, last = 0;
};
inline std::optional<RangeRow> RangeOf(const session::MinMaxLast& range) {
  return range.any ? std::optional(RangeRow{range.min, range.max, range.last}) : std::nullopt;
}
struct CreditsRow {
  std::optional<RangeRow> requested, granted;
  uint32_t max_outstanding = 0;
};
struct CreditsOfBoth {
  std::optional<CreditsRow> forward, backward;
};

struct SentRow {
  uint64_t messages = 0, send_bytes = 0, write_operations = 0, write_bytes = 0, read_operations = 0, read_bytes = 0,
           sends_with_invalidate = 0;
};

struct LossesRow {
  uint64_t gaps = 0, truncated_messages = 0, naks = 0, evicted_transactions = 0;
};

// "8 (Invalid service ID: nobody listens on port 20050)".
std::string RejectText(const session::Connection& connection);

struct ConnectionRow {
  ConnectionRow() = default;
  ConnectionRow(const session::Connection& connection, int64_t origin_ns);

  RowHead head;
  bool rpcrdma = false;
  std::string_view fabric;
  bool roles_known = false;
  EndpointRow client, server;
  std::optional<uint32_t> service_port;
  bool setup_seen = false, opened = false, rejected = false;
  std::optional<uint32_t> reject_reason;
  std::optional<std::string_view> reject_name;
  std::string_view closed;
  std::optional<uint64_t> close_frame;
  BothEnds<std::optional<PrivateDataRow>> private_data;
  ThresholdRow threshold;
  std::optional<bool> remote_invalidation;
  CreditsOfBoth credits;
  uint64_t messages = 0, calls = 0, replies = 0, errors = 0, backward_calls = 0, replies_without_call = 0,
           other_messages = 0;
  BothEnds<SentRow> sent;
  LossesRow losses;
  uint64_t first_frame = 0, last_frame = 0;
  results::Time first_time, last_time;
};

// A row of `stag connections`.
struct ListedConnection {
  ConnectionRow connection;
  std::optional<BothEnds<TransportCounts>> transport;  // nullopt: nothing is known of its packets
};
ListedConnection ListConnection(const session::Connection& connection, const transport::Health* health,
                                int64_t origin_ns);

}  // namespace stag::analysis

namespace stag::results {

template <>
struct Record<analysis::EndpointRow> : Part<analysis::EndpointRow> {
  static constexpr std::array kMembers = {
      Member<&Row::address>("address", "IPv4 or IPv6 address, GID, or LID.").Column("address"),
      Member<&Row::port>("port", "iWARP: TCP port; null: not known."),
      Member<&Row::qp>("qp", "InfiniBand, RoCE: queue pair; null: not known."),
  };
};

template <>
struct Record<analysis::PrivateDataRow> : Part<analysis::PrivateDataRow> {
  static constexpr std::array kMembers = {
      Member<&Row::frame>("frame", "The frame that holds it."),
      Member<&Row::kind>("kind",
                         "none, rfc8797, rfc8797 other version, rfc8797 byte-swapped, rfc8797 cut short, or other."),
      Member<&Row::truncated>("truncated", "The capture cut it."),
      Member<&Row::hex>("hex", "Its bytes, without the zeros that fill a field of fixed size."),
      Member<&Row::version>("version", "RFC 8797 section 4: version of the format."),
      Member<&Row::remote_invalidation>("remote_invalidation", "The side supports remote invalidation."),
      Member<&Row::send_bytes>("send_bytes", "Largest Send that the side makes.").In("bytes"),
      Member<&Row::receive_bytes>("receive_bytes", "Largest Send that the side takes.").In("bytes"),
  };
};

template <typename T>
struct Record<analysis::BothEnds<T>> {
  using Row = analysis::BothEnds<T>;
  static constexpr std::string_view kType = "", kDoc = "";
  static constexpr std::array kMembers = {
      Member<&Row::client>("client", "The client's."),
      Member<&Row::server>("server", "The server's."),
  };
};
template <>
struct Record<analysis::ThresholdRow> : Part<analysis::ThresholdRow> {
  static constexpr std::array kMembers = {
      Member<&Row::c2s>("c2s", "From the client to the server.").In("bytes"),
      Member<&Row::s2c>("s2c", "From the server to the client.").In("bytes"),
  };
};

template <>
struct Record<analysis::RangeRow> : Part<analysis::RangeRow> {
  static constexpr std::array kMembers = {
      Member<&Row::min>("min", "The smallest."),
      Member<&Row::max>("max", "The largest."),
      Member<&Row::last>("last", "The last.").Column("last"),
  };
};
template <>
struct Record<analysis::CreditsRow> : Part<analysis::CreditsRow> {
  static constexpr std::array kMembers = {
      Member<&Row::requested>("requested", "Credits that Calls ask for; null: none were seen."),
      Member<&Row::granted>("granted", "Credits that Replies grant; null: none were seen."),
      Member<&Row::max_outstanding>("max_outstanding",
                                    "Most Calls that were outstanding at a time, without those whose answer was not "
                                    "captured.")
          .Column("most outstanding"),
  };
};
template <>
struct Record<analysis::CreditsOfBoth> : Part<analysis::CreditsOfBoth> {
  static constexpr std::array kMembers = {
      Member<&Row::forward>("forward", "Credits of the client's Calls."),
      Member<&Row::backward>("backward", "Credits of the server's Calls (RFC 8167)."),
  };
};

template <>
struct Record<analysis::SentRow> : Part<analysis::SentRow> {
  static constexpr std::array kMembers = {
      Member<&Row::messages>("messages", "Sends."),
      Member<&Row::send_bytes>("send_bytes", "Bytes in them.").In("bytes"),
      Member<&Row::write_operations>("write_operations", "RDMA Writes."),
      Member<&Row::write_bytes>("write_bytes", "Bytes in them.").In("bytes"),
      Member<&Row::read_operations>("read_operations", "RDMA Reads that the side asked for."),
      Member<&Row::read_bytes>("read_bytes", "Bytes asked for.").In("bytes"),
      Member<&Row::sends_with_invalidate>("sends_with_invalidate", "Sends with Invalidate."),
  };
};

template <>
struct Record<analysis::LossesRow> : Part<analysis::LossesRow> {
  static constexpr std::array kMembers = {
      Member<&Row::gaps>("gaps", "Places where packets are missing.").Column("gaps"),
      Member<&Row::truncated_messages>("truncated_messages", "Messages that the capture cut.").Column("cut"),
      Member<&Row::naks>("naks", "NAKs.").Column("NAKs"),
      Member<&Row::evicted_transactions>("evicted_transactions", "RPCs given up to stay within --memory."),
  };
};

template <>
struct Record<analysis::ConnectionRow> : Of<analysis::ConnectionRow> {
  static constexpr std::string_view kType = "connection";
  static constexpr std::string_view kDoc = "A connection: its ends, set-up, credits, traffic and losses.";
  static constexpr std::array kMembers = {
      Inline<&Row::head>(),
      Member<&Row::rpcrdma>("rpcrdma", "It is proven to carry RPC-over-RDMA."),
      Member<&Row::fabric>("fabric", "InfiniBand, RoCEv1, RoCEv2 or iWARP.").Column("fabric"),
      Member<&Row::roles_known>("roles_known", "It is known which side is the client; else it is a guess."),
      Member<&Row::client>("client", "The active side.").Column("client"),
      Member<&Row::server>("server", "The passive side.").Column("server"),
      Member<&Row::service_port>("service_port", "Port that the client connected to; null: the set-up was not seen."),
      Member<&Row::setup_seen>("setup_seen", "The request was captured."),
      Member<&Row::opened>("opened", "The connection was established."),
      Member<&Row::rejected>("rejected", "The server refused it."),
      Member<&Row::reject_reason>("reject_reason", "Reason of the refusal, as on the wire."),
      Member<&Row::reject_name>("reject_name", "Its name; null: it has none."),
      Member<&Row::closed>("closed", "How it ended.").Column("closed"),
      Member<&Row::close_frame>("close_frame", "The frame that ended it."),
      Member<&Row::private_data>("private_data", "CM or MPA private data; null: the message was not captured."),
      Member<&Row::threshold>("threshold", "Inline thresholds (RFC 8166 section 3.3.2); null: not known."),
      Member<&Row::remote_invalidation>("remote_invalidation", "Both sides support it; null: not known."),
      Member<&Row::credits>("credits", "Credits; null: none were seen."),
      Member<&Row::messages>("messages", "Sends of both sides."),
      Member<&Row::calls>("calls", "Calls of the client.").Column("calls"),
      Member<&Row::replies>("replies", "Replies to them.").Column("replies"),
      Member<&Row::errors>("errors", "RDMA_ERROR messages.").Column("errors"),
      Member<&Row::backward_calls>("backward_calls", "Calls of the server (RFC 8167).").Column("backward"),
      Member<&Row::replies_without_call>("replies_without_call", "Replies whose Calls were not captured."),
      Member<&Row::other_messages>("other_messages", "Sends that are no RPC-over-RDMA message."),
      Member<&Row::sent>("sent", "Traffic by its sender."),
      Member<&Row::losses>("losses", "Packets and messages that the capture or the wire lost.").Column("lost"),
      Member<&Row::first_frame>("first_frame", "Its first frame."),
      Member<&Row::last_frame>("last_frame", "Its last frame."),
      Member<&Row::first_time>("first_time", "Time of its first frame.").Use("time"),
      Member<&Row::last_time>("last_time", "Time of its last frame."),
  };
};

template <>
struct Record<analysis::ListedConnection> : Of<analysis::ListedConnection> {
  static constexpr std::string_view kType = "connection", kDoc = Record<analysis::ConnectionRow>::kDoc;
  static constexpr std::array kMembers = {
      Inline<&Row::connection>(),
      Member<&Row::transport>("transport", "Counters of the fabric, by sender; null: memory had no room to count."),
  };
};

}  // namespace stag::results
