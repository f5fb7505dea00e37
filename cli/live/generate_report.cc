// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/generate_report.h"

#include "cli/live/latency_text.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using generate::LoadReport;
using generate::Operation;
using generate::OperationReport;

double PerSecond(uint64_t n, double seconds) { return seconds > 0 ? static_cast<double>(n) / seconds : 0; }

// To the right of a column of `width`.
template <typename PutValue>
void PutRight(std::string& out, size_t width, PutValue put) {
  std::string value;
  put(value);
  Put(out, "{:>{}}", value, width);
}

void PutRow(std::string& out, std::string_view name, const OperationReport& row) {
  Put(out, "{:12}{:>10}{:>10}", name, row.calls, row.ok);
  PutRight(out, 11, [&](std::string& b) { PutSize(b, row.bytes); });
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

void PutLoadText(std::string& out, const LoadContext& context, const LoadReport& report, const Style& style) {
  const OperationReport total = report.Total();
  Put(out, "{}{:.2f} s of load by {}, seed {}", report.interrupted ? "interrupted: " : "", report.seconds,
      context.transport, context.options.jobs.seed);
  if (context.ranks > 1) Put(out, ", {} ranks", context.ranks);
  Put(out, ": {:.0f} calls/s, {:.1f} MB/s of data\n", PerSecond(total.calls, report.seconds),
      PerSecond(total.bytes, report.seconds) / 1e6);
  PutTable(out, report, total, style);
  PutFailures(out, report, style);
  if (context.options.verify) {
    Put(out, "verified ");
    PutSize(out, report.verified_bytes);
    Put(out, ", {} wrong", Count(report.wrong, "answer"));
    if (report.unknown_bytes > 0) {
      Put(out, "; ");
      PutSize(out, report.unknown_bytes);
      Put(out, " could not be, after WRITEs that failed");
    }
    Put(out, "; {} waited for one that overlapped\n", Count(report.range_waits, "call"));
  }
  Put(out, "{}, {} lost, {}; at most {} outstanding, {} granted, {}", Count(report.connections, "connection"),
      report.connections_lost, Count(report.reconnects, "reconnect"), report.max_outstanding,
      Count(report.grant, "credit"), Count(report.credit_stalls, "credit stall"));
  if (report.credit_stalls > 0) {
    Put(out, " (");
    PutDuration(out, report.credit_stalled.count());
    Put(out, ")");
  }
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

void PutLoadJsonl(std::string& out, const LoadContext& context, const LoadReport& report) {
  JsonWriter json(out);
  for (size_t i = 0; i < generate::kOperations; ++i) {
    const OperationReport& row = report.operations[i];
    if (row.calls == 0) continue;
    json.BeginObject().Member("type", "operation").Member("name", generate::OperationName(static_cast<Operation>(i)));
    json.Member("calls", row.calls).Member("ok", row.ok).Member("bytes", row.bytes).Key("latency_ns");
    PutLatencyJson(json, row.latency);
    json.Key("failures").BeginArray();
    for (const auto& [what, failure] : row.failures) {
      json.BeginObject().Member("status", what).Member("calls", failure.calls).Member("first", failure.sample);
      json.EndObject();
    }
    json.EndArray().EndObject().EndLine();
  }
  PutTroublesJson(json, report.troubles);
  const OperationReport total = report.Total();
  json.BeginObject().Member("type", "generated").Member("transport", context.transport);
  json.Member("ranks", context.ranks).Member("seed", context.options.jobs.seed).Key("seconds").Fixed(report.seconds, 6);
  json.Member("interrupted", report.interrupted).Member("calls", total.calls).Member("ok", total.ok);
  json.Member("bytes", total.bytes).Key("calls_per_second").Fixed(PerSecond(total.calls, report.seconds), 1);
  json.Key("bytes_per_second").Fixed(PerSecond(total.bytes, report.seconds), 0).Key("latency_ns");
  PutLatencyJson(json, total.latency);
  json.Member("lost", report.lost).Member("resent", report.resent).Member("unsent", report.unsent);
  json.Member("wrong", report.wrong).Member("short_transfers", report.short_transfers);
  json.Member("verified_bytes", report.verified_bytes).Member("unknown_bytes", report.unknown_bytes);
  json.Member("range_waits", report.range_waits).Member("credits", report.grant);
  json.Member("max_outstanding", report.max_outstanding).Member("credit_stalls", report.credit_stalls);
  json.Member("credit_stalled_ns", report.credit_stalled.count()).Member("connections", report.connections);
  json.Member("connections_lost", report.connections_lost).Member("abandoned", report.abandoned);
  json.Member("reconnects", report.reconnects).Member("backward_calls", report.backward_calls).EndObject().EndLine();
}

}  // namespace stag::cli
