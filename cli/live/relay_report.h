// SPDX-License-Identifier: GPL-2.0-or-later
//
// The report of `stag relay`, as text and as rows.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/live/live_rows.h"
#include "replay/relay/report.h"

namespace stag::cli {

struct RelayListeningRow {
  std::string_view transport, address;
  uint16_t port = 0;
  std::string server;
};
struct DirectionRow {
  std::string_view direction;
  const relay::RelayDirectionReport* report = nullptr;
};
struct FaultRow {
  std::string_view rule;
  uint64_t calls = 0, injected = 0;
};
struct SideRow {
  std::string_view side;
  uint64_t connections = 0, ended = 0, broken = 0;
};
struct RelayedRow {
  uint64_t connections = 0, rejected = 0, dismissed = 0, calls = 0, replies = 0, errors = 0, callbacks = 0;
  uint64_t in_flight = 0, dropped = 0, faults = 0;
};

// `faults`: the rules as they were given.
void PutRelayText(std::string& out, const relay::RelayReport& report, std::span<const std::string> faults,
                  const Style& style);
void PutRelayRows(RowOutput& rows, const relay::RelayReport& report, std::span<const std::string> faults);

}  // namespace stag::cli

namespace stag::results {

template <>
struct Record<cli::RelayListeningRow> : Of<cli::RelayListeningRow> {
  static constexpr std::string_view kType = "listening", kDoc = "Clients can connect; the first of these lines.";
  static constexpr std::array kMembers = {
      Member<&Row::transport>("transport", "iwarp, or the RDMA device."),
      Member<&Row::address>("address", "Address that clients connect to; empty: every one of this machine."),
      Member<&Row::port>("port", "Port that clients connect to."),
      Member<&Row::server>("server", "Address and port of the server."),
  };
};
template <>
struct Record<relay::RelayTraffic> : Part<relay::RelayTraffic> {
  static constexpr std::array kMembers = {
      Member<&Row::calls>("calls", "Calls.").Column("calls"),
      Member<&Row::call_bytes>("call_bytes", "RPC messages of these, with their chunks.").In("bytes"),
      Member<&Row::replies>("replies", "Replies.").Column("replies"),
      Member<&Row::reply_bytes>("reply_bytes", "RPC messages of these, with their chunks.").In("bytes"),
      Member<&Row::errors>("errors", "RDMA_ERROR messages.").Column("errors"),
  };
};
template <>
struct Record<relay::RelayDirectionReport> : Part<relay::RelayDirectionReport> {
  static constexpr std::array kMembers = {
      Member<&Row::caller>("caller", "Traffic between the relay and the side that calls.").Column("caller"),
      Member<&Row::answerer>("answerer", "Traffic between the relay and the side that answers.").Column("answerer"),
      Member<&Row::credit_stalls>("credit_stalls", "Calls that waited in the relay for a credit."),
      Member<&Row::made_long>("made_long", "Messages that were inline on one side and too long for that on the other."),
      Member<&Row::refused>("refused", "Calls that the relay answered with RDMA_ERROR."),
      Member<&Row::in_flight>("in_flight", "Calls that were unanswered when a connection ended."),
      Member<&Row::bad_replies>("bad_replies", "Answers that could not be passed on, by the reason."),
      Member<&Row::no_memory>("no_memory", "The last reason that there was no memory for a message; empty: none."),
      Member<&Row::call_rest>("call_rest_us", "Time that Calls rested in the relay."),
      InNanoseconds<&Row::call_rest>("call_rest_ns", "call_rest_us"),
      Member<&Row::reply_rest>("reply_rest_us", "Time that answers rested in the relay."),
      InNanoseconds<&Row::reply_rest>("reply_rest_ns", "reply_rest_us"),
  };
};
template <>
struct Record<cli::DirectionRow> : Of<cli::DirectionRow> {
  static constexpr std::string_view kType = "direction", kDoc = "The calls in one direction.";
  static constexpr std::array kMembers = {
      Member<&Row::direction>("direction", "forward: the client calls; backward: the server.").Column("direction"),
      Inline<&Row::report>(),
  };
};
template <>
struct Record<cli::FaultRow> : Of<cli::FaultRow> {
  static constexpr std::string_view kType = "fault", kDoc = "A rule of --fault.";
  static constexpr std::array kMembers = {
      Member<&Row::rule>("rule", "The rule as it was given."),
      Member<&Row::calls>("calls", "Calls that the rule means."),
      Member<&Row::injected>("injected", "Calls that it disturbed."),
  };
};
template <>
struct Record<cli::SideRow> : Of<cli::SideRow> {
  static constexpr std::string_view kType = "side", kDoc = "The connections on one side of the relay.";
  static constexpr std::array kMembers = {
      Member<&Row::side>("side", "client or server."),
      Member<&Row::connections>("connections", "Connections."),
      Member<&Row::ended>("ended", "Connections that ended in order."),
      Member<&Row::broken>("broken", "Connections that ended otherwise."),
  };
};
template <>
struct Record<cli::RelayedRow> : Of<cli::RelayedRow> {
  static constexpr std::string_view kType = "relayed", kDoc = "All together; the last of these lines.";
  static constexpr std::array kMembers = {
      Member<&Row::connections>("connections", "Connections of clients."),
      Member<&Row::rejected>("rejected", "Clients that were rejected."),
      Member<&Row::dismissed>("dismissed", "Idle clients that gave way to a new one."),
      Member<&Row::calls>("calls", "Calls of clients."),
      Member<&Row::replies>("replies", "Replies that they got."),
      Member<&Row::errors>("errors", "RDMA_ERROR messages that they got."),
      Member<&Row::callbacks>("callbacks", "Calls of the server."),
      Member<&Row::in_flight>("in_flight", "Calls that were unanswered when a connection ended, of both."),
      Member<&Row::dropped>("dropped", "Messages that were too short, or that nobody waited for."),
      Member<&Row::faults>("faults", "Calls that --fault disturbed."),
  };
};

}  // namespace stag::results
