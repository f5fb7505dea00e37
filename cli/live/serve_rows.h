// SPDX-License-Identifier: GPL-2.0-or-later
//
// The report of `stag serve`, as rows.
#pragma once

#include <optional>
#include <string_view>

#include "cli/live/live_rows.h"
#include "replay/serve/connection_group.h"
#include "replay/serve/recorded.h"

namespace stag::cli {

struct ListeningRow {
  std::string_view mode, transport, address;
  uint16_t port = 0;
  std::optional<uint16_t> mount_port;
};
struct ServedProcedureRow {
  LiveProcedure procedure;
  uint64_t calls = 0, refused = 0;
};
struct RecordedRow {
  const serve::RecordedService::Stats* stats = nullptr;
  uint64_t answers = 0, unusable = 0;
};

}  // namespace stag::cli

namespace stag::results {

template <>
struct Record<cli::ListeningRow> : Of<cli::ListeningRow> {
  static constexpr std::string_view kType = "listening", kDoc = "Clients can connect; the first of these lines.";
  static constexpr std::array kMembers = {
      Member<&Row::mode>("mode", "null, echo, nfs-memory or recorded."),
      Member<&Row::transport>("transport", "iwarp, or the RDMA device."),
      Member<&Row::address>("address", "Address that clients connect to; empty: every one of this machine."),
      Member<&Row::port>("port", "Port that clients connect to."),
      Member<&Row::mount_port>("mount_port", "TCP port of MOUNT; null: there is none."),
  };
};
template <>
struct Record<cli::ServedProcedureRow> : Of<cli::ServedProcedureRow> {
  static constexpr std::string_view kType = "procedure", kDoc = "The calls of a procedure.";
  static constexpr std::array kMembers = {
      Inline<&Row::procedure>(),
      Member<&Row::calls>("calls", "Calls.").Column("calls"),
      Member<&Row::refused>("refused", "Calls that got an RPC error; with a recording: that are not in it.")
          .Column("refused"),
  };
};
template <>
struct Record<serve::RecordedService::Sample> : Of<serve::RecordedService::Sample> {
  static constexpr std::string_view kType = "unmatched", kDoc = "A kind of calls that are not in the recording.";
  static constexpr std::array kMembers = {
      Member<&Row::text>("text", "The first of them, and the difference."),
      Member<&Row::times>("times", "Calls of this kind."),
  };
};
template <>
struct Record<serve::RecordedService::Stats> : Part<serve::RecordedService::Stats> {
  static constexpr std::array kMembers = {
      Member<&Row::matched>("matched", "Calls that were answered from the recording."),
      Member<&Row::repeated>("repeated", "Calls of these that got a reply which the connection had got before."),
      Member<&Row::other_stateid>("other_stateid", "Calls of these that differ from the recorded one in a stateid."),
      Member<&Row::callbacks>("callbacks", "Calls of the recorded server that were made again."),
      Member<&Row::unmatched>("unmatched", "Calls that are not in the recording."),
  };
};
template <>
struct Record<cli::RecordedRow> : Of<cli::RecordedRow> {
  static constexpr std::string_view kType = "recorded", kDoc = "Use of the recording that was served.";
  static constexpr std::array kMembers = {
      Inline<&Row::stats>(),
      Member<&Row::answers>("answers", "Replies that the recording has."),
      Member<&Row::unusable>("unusable", "Calls of the recording that have no whole reply."),
  };
};
template <>
struct Record<rpcrdma::ResponderStats> : Part<rpcrdma::ResponderStats> {
  static constexpr std::array kMembers = {
      Member<&Row::calls>("calls", "Calls."),
      Member<&Row::replies>("replies", "Replies."),
      Member<&Row::err_vers>("err_vers", "RDMA_ERROR messages with ERR_VERS."),
      Member<&Row::err_chunk>("err_chunk", "RDMA_ERROR messages with ERR_CHUNK."),
      Member<&Row::dropped>("dropped", "Messages that were dropped."),
      Member<&Row::received_bytes>("received_bytes", "RPC messages of Calls, with their chunks.").In("bytes"),
      Member<&Row::sent_bytes>("sent_bytes", "RPC messages of Replies, with their chunks.").In("bytes"),
  };
};
template <>
struct Record<serve::ServerReport> : Of<serve::ServerReport> {
  static constexpr std::string_view kType = "served", kDoc = "All together; behind the other lines of the report.";
  static constexpr std::array kMembers = {
      Member<&Row::connections>("connections", "Connections."),
      Member<&Row::ended>("ended", "Connections that ended in order."),
      Member<&Row::broken>("broken", "Connections that ended otherwise."),
      Member<&Row::rejected>("rejected", "Connections that were rejected."),
      Member<&Row::dismissed>("dismissed", "Idle connections that gave way to a new one."),
      Inline<&Row::stats>(),
  };
};

}  // namespace stag::results
