// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/generate_report.h"

#include "cli/live/latency_text.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using generate::LoadReport;
using generate::Operation;
using generate::OperationReport;

void PutRow(std::string& out, std::string_view name, const OperationReport& row) {
  Put(out, "{:12}{:>10}{:>10}{:>11}", name, row.calls, row.ok, SizeText(row.bytes));
  PutLatencyCells(out, row.latency);
  Put(out, "\n");
}

void PutTable(std::string& out, const LoadReport& report, const OperationReport& total, const Style& style) {
  Put(out, "{}{:12}{:>10}{:>10}{:>11}", style.bold, "operation", "calls", "ok", "data");
  PutLatencyHeads(out);
  Put(out, "{}\n", style.reset);
  size_t rows = 0;
  for (size_t i = 0; i < generate::kOperations; ++i) {
    if (report.operations[i].calls == 0) continue;
    PutRow(out, generate::OperationName(static_cast<Operation>(i)), report.operations[i]);
    ++rows;
  }
  if (rows != 1) PutRow(out, "all", total);
}

void PutFailures(std::string& out, const LoadReport& report, const Style& style) {
  for (size_t i = 0; i < generate::kOperations; ++i) {
    for (const auto& [what, failure] : report.operations[i].failures)
      Put(out, "{}{:>12}  {} {}{}, the first: {}\n", style.red, fmt::format("{} x", failure.calls),
          generate::OperationName(static_cast<Operation>(i)), what, style.reset, failure.sample);
  }
  for (const auto& [text, times] : report.troubles)
    Put(out, "{}{:>12}  {}{}\n", style.yellow, fmt::format("{} x", times), text, style.reset);
}

}  // namespace

void PutLoadText(std::string& out, const GeneratedRow& row, bool verified, const Style& style) {
  const LoadReport& report = *row.report;
  Put(out, "{}{:.2f} s of load by {}, seed {}", report.interrupted ? "interrupted: " : "", report.seconds,
      row.transport, row.seed);
  if (row.ranks > 1) Put(out, ", {} ranks", row.ranks);
  Put(out, ": {:.0f} calls/s, {:.1f} MB/s of data\n", row.CallsPerSecond(), row.BytesPerSecond() / 1e6);
  PutTable(out, report, row.total, style);
  PutFailures(out, report, style);
  if (verified) {
    Put(out, "verified {}, {} wrong", SizeText(report.verified_bytes), Count(report.wrong, "answer"));
    if (report.unknown_bytes > 0)
      Put(out, "; {} could not be, after WRITEs that failed", SizeText(report.unknown_bytes));
    Put(out, "; {} waited for one that overlapped\n", Count(report.range_waits, "call"));
  }
  Put(out, "{}, {} lost, {}; at most {} outstanding, {} granted, {}", Count(report.connections, "connection"),
      report.connections_lost, Count(report.reconnects, "reconnect"), report.max_outstanding,
      Count(report.grant, "credit"), Count(report.credit_stalls, "credit stall"));
  if (report.credit_stalls > 0) Put(out, " ({})", DurationText(CreditStalled(report)));
  Put(out, "\n");
  if (report.resent > 0) Put(out, "{} sent again on a new connection\n", Count(report.resent, "call"));
  if (report.lost > 0) Put(out, "{}{} lost{}\n", style.red, Count(report.lost, "call"), style.reset);
  if (report.unsent > 0)
    Put(out, "{}{} due and never sent: the server, or this machine, is slower than that{}\n", style.yellow,
        Count(report.unsent, "call"), style.reset);
  if (report.short_transfers > 0)
    Put(out, "{} of fewer bytes than asked for\n", Count(report.short_transfers, "transfer"));
  if (report.backward_calls > 0) Put(out, "{} by the server, not answered\n", Count(report.backward_calls, "call"));
}

void PutLoadRows(RowOutput& rows, const GeneratedRow& row) {
  for (size_t i = 0; i < generate::kOperations; ++i) {
    const OperationReport& report = row.report->operations[i];
    if (report.calls == 0) continue;
    OperationRow operation{generate::OperationName(static_cast<Operation>(i)), &report, {}};
    for (const auto& [status, failure] : report.failures)
      operation.failures.push_back({status, failure.calls, failure.sample});
    rows.Put(operation);
  }
  PutTroubles(rows, row.report->troubles);
  rows.PutOther(row);
}

}  // namespace stag::cli
