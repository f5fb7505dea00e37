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

double PerSecond(uint64_t n, const PlayReport& report) {
  const double seconds = Seconds(report.elapsed);
  return seconds > 0 ? static_cast<double>(n) / seconds : 0;
}

void PutRow(std::string& out, std::string_view name, const ProcedureReport& row) {
  Put(out, "{:24}{:>9}{:>9}{:>9}{:>9}", name, row.sent, row.answered, row.matched, row.compared - row.matched);
  PutLatencyCells(out, row.latency);
  Put(out, "\n");
}

void PutCountsJson(JsonWriter& json, const ProcedureReport& row) {
  json.Member("sent", row.sent).Member("answered", row.answered).Member("lost", row.lost);
  json.Member("timed_out", row.timed_out).Member("not_sent", row.not_sent).Member("resent", row.resent);
  json.Member("put_off", row.put_off).Member("compared", row.compared).Member("matched", row.matched);
  json.Member("identical", row.identical).Key("latency_ns");
  PutLatencyJson(json, row.latency);
}

}  // namespace

void PlanReport::OnPlanned(replay::PlannedCallPtr planned) {
  const PlannedCall& call = *planned;
  const RecordedRpc& rpc = call.rpc;
  const bool send = call.what == PlannedCall::What::kCall;
  if (!send && call.what != PlannedCall::What::kRefused) return;
  account_.Add(call);
  const std::string name = send ? call.procedure.Name() : CallName(rpc);
  if (!send && refused_.size() < kShown) refused_.push_back({rpc.call_frame.number, name, call.reason});
  if (format_ != Format::kJsonl) return;
  JsonWriter json(output_.buffer());
  json.BeginObject().Member("type", "call").Member("frame", rpc.call_frame.number);
  json.Member("connection", call.connection->id).Key("xid").Xid(rpc.xid);
  json.Member("name", name).Member("send", send).Member("bytes", rpc.call.bytes.size());
  json.Member("after", call.after).Member("values", call.uses.size()).Key("reason");
  send ? json.Value(nullptr) : json.Value(call.reason);
  json.EndObject().EndLine();
  output_.Commit();
}

void PlanReport::Finish(const replay::PlanTotals& totals) {
  format_ == Format::kJsonl ? PutJsonl(totals) : PutText(totals);
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

  for (const Refused& refused : refused_)
    Put(out, "{}cannot be sent{}: frame {}, {}: {}\n", style.yellow, style.reset, refused.frame, refused.name,
        refused.reason);
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

void PlanReport::PutJsonl(const replay::PlanTotals& totals) {
  JsonWriter json(output_.buffer());
  for (const replay::PlanAccount::Unknown& unknown : account_.unknown()) {
    json.BeginObject().Member("type", "unknown_values").Member("kind", replay::ValueName(unknown.kind));
    json.Member("values", unknown.values).Member("calls", unknown.calls);
    json.Member("first_frame", unknown.first_frame).EndObject().EndLine();
  }
  json.BeginObject().Member("type", "plan").Member("connections", account_.connections().size());
  json.Member("calls", totals.calls).Member("refused", totals.refused).Member("cut", totals.cut);
  json.Member("not_selected", totals.not_selected).Key("root");
  account_.root().empty() ? json.Value(nullptr) : json.Hex(account_.root());
  json.EndObject().EndLine();
}

void PutPlayText(std::string& out, const PlayReport& report, size_t ranks, const Style& style) {
  const ProcedureReport total = report.Total();
  Put(out, "{}{}{:24}{:>9}{:>9}{:>9}{:>9}", report.stopped ? "stopped before the end\n" : "", style.bold, "procedure",
      "sent", "answered", "as rec.", "differ");
  PutLatencyHeads(out);
  Put(out, "{}\n", style.reset);
  for (const auto& [procedure, row] : report.procedures)
    if (row.sent + row.not_sent > 0) PutRow(out, procedure.Name(), row);
  if (report.procedures.size() != 1) PutRow(out, "all", total);

  size_t shown = 0;
  for (const Difference& difference : report.differences) {
    if (shown++ == kShown) break;
    const replay::PlannedProcedure& procedure = difference.procedure;
    Put(out, "{}differs{}: frame {}, {}: {} recorded, {} now", style.red, style.reset, difference.frame,
        procedure.Name(), Describe(difference.recorded, procedure), Describe(difference.live, procedure));
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
  Put(out, "\n{}{} in ", ranks > 1 ? fmt::format("{} ranks, ", ranks) : "", Count(report.connections, "connection"));
  PutDuration(out, report.elapsed.count());
  Put(out, ": {:.0f} calls/s, {:.1f} MB/s out, {:.1f} MB/s in; ", PerSecond(total.answered, report),
      PerSecond(report.sent_bytes, report) / 1e6, PerSecond(report.received_bytes, report) / 1e6);
  Put(out, "{} waited for a credit, {} for a slot; {} outstanding at most", Count(report.credit_stalls, "call"),
      report.slot_stalls, report.max_outstanding);
  if (report.backward_calls > 0) Put(out, "; {} of the server", Count(report.backward_calls, "call"));
  Put(out, "\n");
}

void PutPlayJsonl(std::string& out, const PlayReport& report, size_t ranks) {
  JsonWriter json(out);
  for (const auto& [procedure, row] : report.procedures) {
    json.BeginObject().Member("type", "procedure").Member("program", procedure.program);
    json.Member("version", procedure.version).Member("procedure", procedure.procedure);
    json.Member("name", procedure.Name());
    PutCountsJson(json, row);
    json.EndObject().EndLine();
  }
  for (const Difference& difference : report.differences) {
    const replay::PlannedProcedure& procedure = difference.procedure;
    json.BeginObject().Member("type", "difference").Member("frame", difference.frame).Key("xid").Xid(difference.xid);
    json.Member("client", difference.client).Member("name", procedure.Name());
    json.Member("recorded", Describe(difference.recorded, procedure));
    json.Member("live", Describe(difference.live, procedure));
    json.EndObject().EndLine();
  }
  PutTroublesJson(json, report.troubles);
  const ProcedureReport total = report.Total();
  json.BeginObject().Member("type", "replayed").Member("ranks", ranks);
  PutCountsJson(json, total);
  json.Key("match_percent").Fixed(report.MatchPercent(), 6).Member("differences", total.compared - total.matched);
  json.Member("connections", report.connections).Member("reconnects", report.reconnects).Member("loops", report.loops);
  json.Member("unknown_values", report.unknown).Member("credit_stalls", report.credit_stalls);
  json.Member("slot_stalls", report.slot_stalls).Member("backward_calls", report.backward_calls);
  json.Member("max_outstanding", report.max_outstanding).Member("sent_bytes", report.sent_bytes);
  json.Member("received_bytes", report.received_bytes).Key("seconds");
  json.Fixed(Seconds(report.elapsed), 6).Key("calls_per_second");
  json.Fixed(PerSecond(total.answered, report), 1).Member("stopped", report.stopped).EndObject().EndLine();
}

}  // namespace stag::cli
