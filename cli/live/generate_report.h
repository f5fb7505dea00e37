// SPDX-License-Identifier: GPL-2.0-or-later
//
// The report of `stag generate`, as text and as rows (docs/generate.md).
#pragma once

#include <string_view>
#include <vector>

#include "cli/live/live_rows.h"
#include "replay/generate/report.h"

namespace stag::cli {

struct FailureRow {
  std::string_view status;
  uint64_t calls = 0;
  std::string_view first;
};

struct OperationRow {
  std::string_view name;
  const generate::OperationReport* report = nullptr;
  std::vector<FailureRow> failures;
};

struct GeneratedRow {
  explicit GeneratedRow(const generate::LoadReport& load) : report(&load), total(load.Total()) {}
  double CallsPerSecond() const { return PerSecond(total.calls); }
  double BytesPerSecond() const { return PerSecond(total.bytes); }

  const generate::LoadReport* report;
  generate::OperationReport total;
  std::string_view transport;
  size_t ranks = 1;  // of the team, whose reports were merged
  uint64_t seed = 0;

 private:
  double PerSecond(uint64_t n) const { return report->seconds > 0 ? static_cast<double>(n) / report->seconds : 0; }
};

inline int64_t CreditStalled(const generate::LoadReport& report) { return report.credit_stalled.count(); }

void PutLoadText(std::string& out, const GeneratedRow& row, bool verified, const Style& style);
void PutLoadRows(RowOutput& rows, const GeneratedRow& row);

}  // namespace stag::cli

namespace stag::results {

template <>
struct Record<cli::FailureRow> : Part<cli::FailureRow> {
  static constexpr std::array kMembers = {
      Member<&Row::status>("status", "The status, or the mistake in the answer."),
      Member<&Row::calls>("calls", "Calls that failed so."),
      Member<&Row::first>("first", "The first of them."),
  };
};
template <>
struct Record<generate::OperationReport> : Part<generate::OperationReport> {
  static constexpr std::array kMembers = {
      Member<&Row::calls>("calls", "Calls that ended: answered, or lost.").Column("calls"),
      Member<&Row::ok>("ok", "Calls that ended well.").Column("ok"),
      Member<&Row::bytes>("bytes", "Data of the calls that ended well; ECHO counts both directions.")
          .In("bytes")
          .Column("data"),
      Member<&Row::latency>("latency_us", "Latency of all answers.").Column("latency"),
      InNanoseconds<&Row::latency>("latency_ns", "latency_us"),
  };
};
template <>
struct Record<cli::OperationRow> : Of<cli::OperationRow> {
  static constexpr std::string_view kType = "operation", kDoc = "The calls of an operation.";
  static constexpr std::array kMembers = {
      Member<&Row::name>("name", "NULL, ECHO, GETATTR, LOOKUP, READ, WRITE or READDIRPLUS.").Column("operation"),
      Inline<&Row::report>(),
      Member<&Row::failures>("failures", "Calls that failed, by status."),
  };
};

template <>
struct Record<generate::LoadReport> : Part<generate::LoadReport> {
  static constexpr std::array kMembers = {
      Member<&Row::seconds, Decimal<6>>("seconds", "Time that calls were sent for.").In("seconds"),
      Member<&Row::interrupted>("interrupted", "A signal ended the load."),
      Member<&Row::lost>("lost", "Calls without an answer."),
      Member<&Row::resent>("resent", "Calls that were sent again on a new connection."),
      Member<&Row::unsent>("unsent", "Calls that were due and never sent."),
      Member<&Row::wrong>("wrong", "Answers that cannot be right."),
      Member<&Row::short_transfers>("short_transfers", "READs and WRITEs of fewer bytes than asked for."),
      Member<&Row::verified_bytes>("verified_bytes", "Data that --verify found right.").In("bytes"),
      Member<&Row::unknown_bytes>("unknown_bytes", "Data that --verify cannot judge, after a WRITE that failed.")
          .In("bytes"),
      Member<&Row::range_waits>("range_waits", "Calls that --verify made wait for one that overlapped."),
      Member<&Row::grant>("credits", "The smallest of the last grants."),
      Member<&Row::max_outstanding>("max_outstanding", "Most calls outstanding on one connection."),
      Member<&Row::credit_stalls>("credit_stalls", "Calls that waited for a credit."),
      Member<cli::CreditStalled, Duration>("credit_stalled_us", "Time that they waited."),
      Member<cli::CreditStalled>("credit_stalled_ns", "The same.").In("nanoseconds").Use("credit_stalled_us"),
      Member<&Row::connections>("connections", "Connections."),
      Member<&Row::connections_lost>("connections_lost", "Connections that broke."),
      Member<&Row::abandoned>("abandoned", "Connections that ended before their calls did."),
      Member<&Row::reconnects>("reconnects", "Connections that were made again."),
      Member<&Row::backward_calls>("backward_calls", "Calls of the server, which are not answered."),
  };
};
template <>
struct Record<cli::GeneratedRow> : Of<cli::GeneratedRow> {
  static constexpr std::string_view kType = "generated", kDoc = "The whole load; the last of these lines.";
  static constexpr std::array kMembers = {
      Member<&Row::transport>("transport", "iwarp, or the RDMA device."),
      Member<&Row::ranks>("ranks", "Ranks of --mpi; 1 without."),
      Member<&Row::seed>("seed", "The seed: the same one makes the same calls."),
      Inline<&Row::total>(),
      Member<&Row::CallsPerSecond, Decimal<1>>("calls_per_second", "Calls in a second."),
      Member<&Row::BytesPerSecond, Decimal<0>>("bytes_per_second", "Data in a second.").In("bytes"),
      Inline<&Row::report>(),
  };
};

}  // namespace stag::results
