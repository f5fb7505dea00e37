// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/replay_report.h"

#include <algorithm>
#include <map>

#include "cli/latency_text.h"
#include "cli/text.h"

namespace stag::cli {
namespace {

using replay::Difference;
using replay::Plan;
using replay::PlannedCall;
using replay::PlayReport;
using replay::ProcedureReport;
using replay::RecordedRpc;
using replay::Recording;

constexpr size_t kShown = 20;  // differences and refusals that text shows one by one

std::string CallName(const RecordedRpc& rpc) {
  if (!rpc.known) return "call";
  return replay::PlannedProcedure{rpc.program, rpc.version, rpc.procedure, 0}.Name();
}

double PerSecond(uint64_t n, const PlayReport& report) {
  const double seconds = std::chrono::duration<double>(report.elapsed).count();
  return seconds > 0 ? static_cast<double>(n) / seconds : 0;
}

void PutRow(Buffer& out, std::string_view name, const ProcedureReport& row) {
  Put(out, "{:24}{:>9}{:>9}{:>9}{:>9}", name, row.sent, row.answered, row.matched, row.compared - row.matched);
  PutLatencyCells(out, row.latency);
  Put(out, "\n");
}

void PutCountsJson(Buffer& out, const ProcedureReport& row) {
  Put(out,
      "\"sent\":{},\"answered\":{},\"lost\":{},\"timed_out\":{},\"not_sent\":{},\"resent\":{},\"put_off\":{},"
      "\"compared\":{},\"matched\":{},\"identical\":{},\"latency_ns\":",
      row.sent, row.answered, row.lost, row.timed_out, row.not_sent, row.resent, row.put_off, row.compared, row.matched,
      row.identical);
  PutLatencyJson(out, row.latency);
}

}  // namespace

void PutPlanText(Buffer& out, const Recording& recording, const Plan& plan, const Style& style) {
  for (const replay::PlannedLink& link : plan.links) {
    const replay::RecordedConnection& connection = recording.connections[link.connection];
    Put(out, "{}connection {}{}: {} {} > {}, {} to send\n", style.bold, connection.id, style.reset,
        FabricName(connection.fabric), EndpointText(connection.client, connection.fabric),
        EndpointText(connection.server, connection.fabric), Count(link.calls.size(), "call"));
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

void PutPlanJsonl(Buffer& out, const Recording& recording, const Plan& plan) {
  std::vector<std::pair<const RecordedRpc*, const PlannedCall*>> calls;
  for (const PlannedCall& call : plan.calls) calls.emplace_back(call.rpc, &call);
  for (const Plan::Refused& refused : plan.refused) calls.emplace_back(refused.rpc, nullptr);
  std::ranges::sort(calls, {}, [](const auto& call) { return call.first->serial; });
  auto refused = plan.refused.begin();
  for (const auto& [rpc, call] : calls) {
    Put(out,
        "{{\"type\":\"call\",\"frame\":{},\"connection\":{},\"xid\":\"0x{:08x}\",\"name\":", rpc->call_frame.number,
        recording.connections[rpc->connection].id, rpc->xid);
    PutJson(out, std::string_view(call ? plan.procedures[call->procedure].Name() : CallName(*rpc)));
    Put(out, ",\"send\":{},\"bytes\":{},\"after\":{},\"values\":{},\"reason\":", call != nullptr,
        rpc->call.bytes.size(), call ? call->after : 0, call ? call->uses : 0);
    if (call) {
      Put(out, "null}\n");
    } else {  // refused ones are in order, too
      PutJson(out, refused++->reason);
      Put(out, "}\n");
    }
  }
  for (const Plan::Unknown& unknown : plan.unknown) {
    Put(out, "{\"type\":\"unknown_values\",\"kind\":");
    PutJson(out, replay::ValueName(unknown.kind));
    Put(out, ",\"values\":{},\"calls\":{},\"first_frame\":{}}}\n", unknown.values, unknown.calls,
        unknown.first->call_frame.number);
  }
  Put(out,
      "{{\"type\":\"plan\",\"connections\":{},\"calls\":{},\"refused\":{},\"cut\":{},\"not_selected\":{},\"root\":",
      plan.links.size(), plan.calls.size(), plan.refused.size(), recording.cut, plan.not_selected);
  if (plan.root_value != replay::kNoValue) {
    Put(out, "\"");
    PutHex(out, plan.root);
    Put(out, "\"}\n");
  } else {
    Put(out, "null}\n");
  }
}

void PutPlayText(Buffer& out, const Plan& plan, const PlayReport& report, size_t ranks, const Style& style) {
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

void PutPlayJsonl(Buffer& out, const Plan& plan, const PlayReport& report, size_t ranks) {
  for (size_t i = 0; i < report.procedures.size(); ++i) {
    const replay::PlannedProcedure& procedure = plan.procedures[i];
    Put(out, "{{\"type\":\"procedure\",\"program\":{},\"version\":{},\"procedure\":{},\"name\":", procedure.program,
        procedure.version, procedure.procedure);
    PutJson(out, std::string_view(procedure.Name()));
    out.push_back(',');
    PutCountsJson(out, report.procedures[i]);
    Put(out, "}\n");
  }
  for (const Difference& difference : report.differences) {
    const RecordedRpc& rpc = *plan.calls[difference.call].rpc;
    Put(out,
        "{{\"type\":\"difference\",\"frame\":{},\"xid\":\"0x{:08x}\",\"client\":{},\"name\":", rpc.call_frame.number,
        rpc.xid, difference.client);
    PutJson(out, std::string_view(plan.procedures[difference.procedure].Name()));
    Put(out, ",\"recorded\":");
    PutJson(out, std::string_view(Describe(replay::StatusOf(rpc), rpc)));
    Put(out, ",\"live\":");
    PutJson(out, std::string_view(Describe(difference.live, rpc)));
    Put(out, "}\n");
  }
  for (const auto& [text, times] : report.troubles) {
    Put(out, "{\"type\":\"trouble\",\"text\":");
    PutJson(out, std::string_view(text));
    Put(out, ",\"times\":{}}}\n", times);
  }
  const ProcedureReport total = report.Total();
  Put(out, "{{\"type\":\"replayed\",\"ranks\":{},", ranks);
  PutCountsJson(out, total);
  Put(out,
      ",\"match_percent\":{:.6f},\"differences\":{},\"connections\":{},\"reconnects\":{},\"loops\":{},"
      "\"unknown_values\":{},\"credit_stalls\":{},\"slot_stalls\":{},\"backward_calls\":{},\"max_outstanding\":{},",
      report.MatchPercent(), total.compared - total.matched, report.connections, report.reconnects, report.loops,
      report.unknown, report.credit_stalls, report.slot_stalls, report.backward_calls, report.max_outstanding);
  Put(out, "\"sent_bytes\":{},\"received_bytes\":{},\"seconds\":{:.6f},\"calls_per_second\":{:.1f},\"stopped\":{}}}\n",
      report.sent_bytes, report.received_bytes, std::chrono::duration<double>(report.elapsed).count(),
      PerSecond(total.answered, report), report.stopped);
}

}  // namespace stag::cli
