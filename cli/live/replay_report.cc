// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/replay_report.h"

#include <algorithm>
#include <map>

#include "cli/live/latency_text.h"
#include "session/fabric/names.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using recording::RecordedRpc;
using replay::Difference;
using replay::PlannedCall;
using replay::PlayReport;
using replay::ProcedureReport;

constexpr size_t kShown = 20;  // differences and refusals that text shows one by one

std::string CallName(const RecordedRpc& rpc) {
  if (!rpc.known) return "call";
  return replay::PlannedProcedure{rpc.program, rpc.version, rpc.procedure, 0}.Name();
}

void PutRow(std::string& out, std::string_view name, const ProcedureReport& row) {
  Put(out, "{:24}{:>9}{:>9}{:>9}{:>9}", name, row.sent, row.answered, row.matched, row.compared - row.matched);
  PutLatencyCells(out, row.latency);
  Put(out, "\n");
}

}  // namespace

void PlanReport::OnPlanned(replay::PlannedCallPtr planned) {
  const PlannedCall& call = *planned;
  const RecordedRpc& rpc = call.rpc;
  const bool send = call.what == PlannedCall::What::kCall;
  if (!send && call.what != PlannedCall::What::kRefused) return;
  account_.Add(call);
  const PlannedCallRow row{rpc.call_frame.number,
                           call.connection->id,
                           {rpc.xid},
                           send ? call.procedure.Name() : CallName(rpc),
                           send,
                           rpc.call.bytes.size(),
                           call.after,
                           call.uses.size(),
                           send ? std::nullopt : std::optional(call.reason)};
  if (!rows_.as_text()) return rows_.Put(row);
  if (!send && refused_.size() < kShown) refused_.push_back(row);
}

void PlanReport::Finish(const replay::PlanTotals& totals) {
  if (rows_.as_text()) return PutText(totals);
  for (const replay::PlanAccount::Unknown& unknown : account_.unknown()) rows_.PutOther(unknown);
  const std::vector<std::byte>& root = account_.root();
  rows_.PutOther(PlanRow{account_.connections().size(), &totals, root.empty() ? std::nullopt : std::optional(root)});
}

void PlanReport::PutText(const replay::PlanTotals& totals) {
  std::string& out = output_.buffer();
  const Style& style = output_.style();
  for (const auto& [recorded, calls] : account_.connections()) {
    Put(out, "{}connection {}{}: {} {} > {}, {} to send\n", style.bold, recorded->id, style.reset,
        fabric::FabricName(recorded->fabric), fabric::EndpointText(recorded->client, recorded->fabric),
        fabric::EndpointText(recorded->server, recorded->fabric), Count(calls, "call"));
  }
  std::map<std::string, uint64_t> procedures;
  for (const auto& [procedure, calls] : account_.procedures()) procedures[procedure.Name()] += calls;
  for (const auto& [name, calls] : procedures) Put(out, "{:>9}  {}\n", calls, name);

  for (const PlannedCallRow& refused : refused_)
    Put(out, "{}cannot be sent{}: frame {}, {}: {}\n", style.yellow, style.reset, refused.frame, refused.operation,
        *refused.reason);
  if (totals.refused > refused_.size())
    Put(out, "cannot be sent: {} more; --format jsonl lists all\n", totals.refused - refused_.size());
  if (totals.cut > 0)
    Put(out, "cannot be sent: {} cut so short by the capture that nothing can be told of them\n",
        Count(totals.cut, "call"));
  for (const replay::PlanAccount::Unknown& unknown : account_.unknown())
    Put(out, "{}sent as recorded{}: {} that no earlier reply gives, in {}, first in frame {}\n", style.yellow,
        style.reset, Count(unknown.values, replay::ValueName(unknown.kind)), Count(unknown.calls, "call"),
        unknown.first_frame);
  if (!account_.root().empty()) {
    Put(out, "root: the file handle of frame {}, ", account_.root_frame());
    PutHex(out, account_.root());
    Put(out, ", is what --export or --root-handle replaces\n");
  }
  Put(out, "{} to send on {}, {} cannot be sent, {} not selected; {} without a recorded answer\n",
      Count(totals.calls, "call"), Count(account_.connections().size(), "connection"), totals.refused + totals.cut,
      totals.not_selected, totals.unanswered);
}

void PutPlayText(std::string& out, const ReplayedRow& row, const Style& style) {
  const PlayReport& report = *row.report;
  const ProcedureReport& total = row.total;
  Put(out, "{}{}{:24}{:>9}{:>9}{:>9}{:>9}", report.stopped ? "stopped before the end\n" : "", style.bold, "procedure",
      "sent", "answered", "as rec.", "differ");
  PutLatencyHeads(out);
  Put(out, "{}\n", style.reset);
  for (const auto& [procedure, of_it] : report.procedures)
    if (of_it.sent + of_it.not_sent > 0) PutRow(out, procedure.Name(), of_it);
  if (report.procedures.size() != 1) PutRow(out, "all", total);

  size_t shown = 0;
  for (const Difference& difference : report.differences) {
    if (shown++ == kShown) break;
    const DifferenceRow shows(difference);
    Put(out, "{}differs{}: frame {}, {}: {} recorded, {} now", style.red, style.reset, shows.frame, shows.operation,
        shows.recorded, shows.live);
    if (difference.client > 1) Put(out, " (client {})", difference.client);
    Put(out, "\n");
  }
  if (report.differences.size() > kShown)
    Put(out, "differs: {} more; --format jsonl lists {}\n",
        report.differences.size() - kShown + report.more_differences, report.more_differences > 0 ? "1000" : "all");
  for (const auto& [text, times] : report.troubles)
    Put(out, "{}trouble{}, {}: {}\n", style.yellow, style.reset, Count(times, "time"), text);

  Put(out,
      "{} sent, {} answered ({:.3f}% with the recorded status, {} with the recorded bytes), {} lost, {} timed out, ",
      Count(total.sent, "call"), total.answered, report.MatchPercent(), total.identical, total.lost, total.timed_out);
  Put(out, "{} not sent", total.not_sent);
  if (total.resent > 0) Put(out, ", {} sent again", total.resent);
  if (total.put_off > 0) Put(out, ", put off {} by the server", Count(total.put_off, "time"));
  if (report.unknown > 0) Put(out, "; {} with values that no live reply gave", report.unknown);
  Put(out,
      "\n{}{} in {}: {:.0f} calls/s, {:.1f} MB/s out, {:.1f} MB/s in; {} waited for a credit, {} for a slot; {} "
      "outstanding at most",
      row.ranks > 1 ? fmt::format("{} ranks, ", row.ranks) : "", Count(report.connections, "connection"),
      DurationText(report.elapsed.count()), row.CallsPerSecond(), row.PerSecond(report.sent_bytes) / 1e6,
      row.PerSecond(report.received_bytes) / 1e6, Count(report.credit_stalls, "call"), report.slot_stalls,
      report.max_outstanding);
  if (report.backward_calls > 0) Put(out, "; {} of the server", Count(report.backward_calls, "call"));
  Put(out, "\n");
}

DifferenceRow::DifferenceRow(const Difference& difference)
    : frame(difference.frame),
      xid{difference.xid},
      client(difference.client),
      operation(difference.procedure.Name()),
      recorded(Describe(difference.recorded, difference.procedure)),
      live(Describe(difference.live, difference.procedure)) {}

void PutPlayRows(RowOutput& rows, const ReplayedRow& row) {
  for (const auto& [procedure, report] : row.report->procedures)
    rows.Put(
        PlayedProcedureRow{{procedure.program, procedure.version, procedure.procedure, procedure.Name()}, &report});
  for (const Difference& difference : row.report->differences) rows.PutOther(DifferenceRow(difference));
  PutTroubles(rows, row.report->troubles);
  rows.PutOther(row);
}

}  // namespace stag::cli
