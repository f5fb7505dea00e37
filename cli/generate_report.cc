// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/generate_report.h"

#include "cli/latency_text.h"
#include "cli/text.h"

namespace stag::cli {
namespace {

using replay::LoadReport;
using replay::Operation;
using replay::OperationReport;

double PerSecond(uint64_t n, double seconds) { return seconds > 0 ? static_cast<double>(n) / seconds : 0; }

// To the right of a column of `width`.
template <typename PutValue>
void PutRight(Buffer& out, size_t width, PutValue put) {
  Buffer value;
  put(value);
  Put(out, "{:>{}}", std::string_view(value.data(), value.size()), width);
}

void PutRow(Buffer& out, std::string_view name, const OperationReport& row) {
  Put(out, "{:12}{:>10}{:>10}", name, row.calls, row.ok);
  PutRight(out, 11, [&](Buffer& b) { PutSize(b, row.bytes); });
  PutLatencyCells(out, row.latency);
  Put(out, "\n");
}

void PutTable(Buffer& out, const LoadReport& report, const OperationReport& total, const Style& style) {
  Put(out, "{}{:12}{:>10}{:>10}{:>11}", style.bold, "operation", "calls", "ok", "data");
  PutLatencyHeads(out);
  Put(out, "{}\n", style.reset);
  size_t rows = 0;
  for (size_t i = 0; i < replay::kOperations; ++i) {
    if (report.operations[i].calls == 0) continue;
    PutRow(out, replay::OperationName(static_cast<Operation>(i)), report.operations[i]);
    ++rows;
  }
  if (rows != 1) PutRow(out, "all", total);
}

void PutFailures(Buffer& out, const LoadReport& report, const Style& style) {
  for (size_t i = 0; i < replay::kOperations; ++i) {
    for (const auto& [what, failure] : report.operations[i].failures)
      Put(out, "{}{:>12}  {} {}{}, the first: {}\n", style.red, fmt::format("{} x", failure.calls),
          replay::OperationName(static_cast<Operation>(i)), what, style.reset, failure.sample);
  }
  for (const auto& [text, times] : report.troubles)
    Put(out, "{}{:>12}  {}{}\n", style.yellow, fmt::format("{} x", times), text, style.reset);
}

}  // namespace

void PutLoadText(Buffer& out, const LoadContext& context, const LoadReport& report, const Style& style) {
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

void PutLoadJsonl(Buffer& out, const LoadContext& context, const LoadReport& report) {
  for (size_t i = 0; i < replay::kOperations; ++i) {
    const OperationReport& row = report.operations[i];
    if (row.calls == 0) continue;
    Put(out, "{{\"type\":\"operation\",\"name\":\"{}\",\"calls\":{},\"ok\":{},\"bytes\":{},\"latency_ns\":",
        replay::OperationName(static_cast<Operation>(i)), row.calls, row.ok, row.bytes);
    PutLatencyJson(out, row.latency);
    Put(out, ",\"failures\":[");
    std::string_view separator;
    for (const auto& [what, failure] : row.failures) {
      Put(out, "{}{{\"status\":", separator);
      PutJson(out, std::string_view(what));
      Put(out, ",\"calls\":{},\"first\":", failure.calls);
      PutJson(out, std::string_view(failure.sample));
      Put(out, "}");
      separator = ",";
    }
    Put(out, "]}\n");
  }
  for (const auto& [text, times] : report.troubles) {
    Put(out, "{\"type\":\"trouble\",\"text\":");
    PutJson(out, std::string_view(text));
    Put(out, ",\"times\":{}}}\n", times);
  }
  const OperationReport total = report.Total();
  Put(out, "{\"type\":\"generated\",\"transport\":");
  PutJson(out, context.transport);
  Put(out, ",\"ranks\":{},\"seed\":{},\"seconds\":{:.6f},\"interrupted\":{},\"calls\":{},\"ok\":{},\"bytes\":{}",
      context.ranks, context.options.jobs.seed, report.seconds, report.interrupted, total.calls, total.ok, total.bytes);
  Put(out, ",\"calls_per_second\":{:.1f},\"bytes_per_second\":{:.0f},\"latency_ns\":",
      PerSecond(total.calls, report.seconds), PerSecond(total.bytes, report.seconds));
  PutLatencyJson(out, total.latency);
  Put(out, ",\"lost\":{},\"resent\":{},\"unsent\":{},\"wrong\":{},\"short_transfers\":{}", report.lost, report.resent,
      report.unsent, report.wrong, report.short_transfers);
  Put(out, ",\"verified_bytes\":{},\"unknown_bytes\":{},\"range_waits\":{}", report.verified_bytes,
      report.unknown_bytes, report.range_waits);
  Put(out, ",\"credits\":{},\"max_outstanding\":{},\"credit_stalls\":{},\"credit_stalled_ns\":{}", report.grant,
      report.max_outstanding, report.credit_stalls, report.credit_stalled.count());
  Put(out, ",\"connections\":{},\"connections_lost\":{},\"abandoned\":{},\"reconnects\":{},\"backward_calls\":{}}}\n",
      report.connections, report.connections_lost, report.abandoned, report.reconnects, report.backward_calls);
}

}  // namespace stag::cli
