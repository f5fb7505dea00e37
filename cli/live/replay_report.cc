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
using recording::Recording;
using replay::Difference;
using replay::Plan;
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

void PutPlanText(std::string& out, const Recording& recording, const Plan& plan, const Style& style) {
  for (const replay::PlannedLink& link : plan.links) {
    const recording::RecordedConnection& connection = recording.connections[link.connection];
    Put(out, "{}connection {}{}: {} {} > {}, {} to send\n", style.bold, connection.id, style.reset,
        fabric::FabricName(connection.fabric), fabric::EndpointText(connection.client, connection.fabric),
        fabric::EndpointText(connection.server, connection.fabric), Count(link.calls.size(), "call"));
  }
  std::map<std::string, uint64_t> procedures;
  for (const PlannedCall& call : plan.calls) ++procedures[plan.procedures[call.procedure].Name()];
  for (const auto& [name, calls] : procedures) Put(out, "{:>9}  {}\n", calls, name);

  size_t shown = 0;
  for (const Plan::Refused& refused : plan.refused) {
    if (shown++ == kShown) break;
    Put(out, "{}cannot be sent{}: frame {}, {}: {}\n", style.yellow, style.reset, refused.rpc->call_frame.number,
        CallName(*refused.rpc), refused.reason);
  }
  if (plan.refused.size() > kShown)
    Put(out, "cannot be sent: {} more; --format jsonl lists all\n", plan.refused.size() - kShown);
  if (recording.cut > 0)
    Put(out, "cannot be sent: {} cut so short by the capture that nothing can be told of them\n",
        Count(recording.cut, "call"));
  for (const Plan::Unknown& unknown : plan.unknown)
    Put(out, "{}sent as recorded{}: {} that no earlier reply gives, in {}, first in frame {}\n", style.yellow,
        style.reset, Count(unknown.values, replay::ValueName(unknown.kind)), Count(unknown.calls, "call"),
        unknown.first->call_frame.number);
  if (plan.root_value != replay::kNoValue) {
    Put(out, "root: the file handle of frame {}, ", plan.root_user->call_frame.number);
    PutHex(out, plan.root);
    Put(out, ", is what --export or --root-handle replaces\n");
  }
  Put(out, "{} to send on {}, {} cannot be sent, {} not selected; {} without a recorded answer\n",
      Count(plan.calls.size(), "call"), Count(plan.links.size(), "connection"), plan.refused.size() + recording.cut,
      plan.not_selected, plan.calls.size() - plan.answers);
}

void PutPlanJsonl(std::string& out, const Recording& recording, const Plan& plan) {
  std::vector<std::pair<const RecordedRpc*, const PlannedCall*>> calls;
  for (const PlannedCall& call : plan.calls) calls.emplace_back(call.rpc, &call);
  for (const Plan::Refused& refused : plan.refused) calls.emplace_back(refused.rpc, nullptr);
  std::ranges::sort(calls, {}, [](const auto& call) { return call.first->serial; });
  auto refused = plan.refused.begin();
  JsonWriter json(out);
  for (const auto& [rpc, call] : calls) {
    json.BeginObject().Member("type", "call").Member("frame", rpc->call_frame.number);
    json.Member("connection", recording.connections[rpc->connection].id).Key("xid").Xid(rpc->xid);
    json.Member("name", call ? plan.procedures[call->procedure].Name() : CallName(*rpc));
    json.Member("send", call != nullptr).Member("bytes", rpc->call.bytes.size());
    json.Member("after", call ? call->after : 0).Member("values", call ? call->uses : 0).Key("reason");
    call ? json.Value(nullptr) : json.Value(refused++->reason);  // refused ones are in order, too
    json.EndObject().EndLine();
  }
  for (const Plan::Unknown& unknown : plan.unknown) {
    json.BeginObject().Member("type", "unknown_values").Member("kind", replay::ValueName(unknown.kind));
    json.Member("values", unknown.values).Member("calls", unknown.calls);
    json.Member("first_frame", unknown.first->call_frame.number).EndObject().EndLine();
  }
  json.BeginObject().Member("type", "plan").Member("connections", plan.links.size());
  json.Member("calls", plan.calls.size()).Member("refused", plan.refused.size()).Member("cut", recording.cut);
  json.Member("not_selected", plan.not_selected).Key("root");
  plan.root_value != replay::kNoValue ? json.Hex(plan.root) : json.Value(nullptr);
  json.EndObject().EndLine();
}

void PutPlayText(std::string& out, const Plan& plan, const PlayReport& report, size_t ranks, const Style& style) {
  const ProcedureReport total = report.Total();
  Put(out, "{}{}{:24}{:>9}{:>9}{:>9}{:>9}", report.stopped ? "stopped before the end\n" : "", style.bold, "procedure",
      "sent", "answered", "as rec.", "differ");
  PutLatencyHeads(out);
  Put(out, "{}\n", style.reset);
  for (size_t i = 0; i < report.procedures.size(); ++i)
    if (report.procedures[i].sent + report.procedures[i].not_sent > 0)
      PutRow(out, plan.procedures[i].Name(), report.procedures[i]);
  if (report.procedures.size() != 1) PutRow(out, "all", total);

  size_t shown = 0;
  for (const Difference& difference : report.differences) {
    if (shown++ == kShown) break;
    const RecordedRpc& rpc = *plan.calls[difference.call].rpc;
    Put(out, "{}differs{}: frame {}, {}: {} recorded, {} now", style.red, style.reset, rpc.call_frame.number,
        plan.procedures[difference.procedure].Name(), Describe(replay::StatusOf(rpc), rpc),
        Describe(difference.live, rpc));
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

void PutPlayJsonl(std::string& out, const Plan& plan, const PlayReport& report, size_t ranks) {
  JsonWriter json(out);
  for (size_t i = 0; i < report.procedures.size(); ++i) {
    const replay::PlannedProcedure& procedure = plan.procedures[i];
    json.BeginObject().Member("type", "procedure").Member("program", procedure.program);
    json.Member("version", procedure.version).Member("procedure", procedure.procedure);
    json.Member("name", procedure.Name());
    PutCountsJson(json, report.procedures[i]);
    json.EndObject().EndLine();
  }
  for (const Difference& difference : report.differences) {
    const RecordedRpc& rpc = *plan.calls[difference.call].rpc;
    json.BeginObject().Member("type", "difference").Member("frame", rpc.call_frame.number).Key("xid").Xid(rpc.xid);
    json.Member("client", difference.client).Member("name", plan.procedures[difference.procedure].Name());
    json.Member("recorded", Describe(replay::StatusOf(rpc), rpc)).Member("live", Describe(difference.live, rpc));
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
