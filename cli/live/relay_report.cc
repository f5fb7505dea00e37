// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/relay_report.h"

#include "cli/live/latency_text.h"
#include "text/put.h"

namespace stag::cli {
namespace {

using relay::RelayDirectionReport;
using relay::RelayReport;
using relay::RelayTraffic;

constexpr std::string_view kSides[] = {"client", "server"};

void PutTraffic(std::string& out, std::string_view name, const RelayTraffic& t) {
  Put(out, "{:22}{:>10}{:>12}{:>10}{:>12}{:>12}\n", name, t.calls, SizeText(t.call_bytes), t.replies,
      SizeText(t.reply_bytes), t.errors);
}

bool Used(const RelayDirectionReport& d) { return d.caller.calls + d.answerer.calls > 0; }

// What did not go as usual.
void PutExceptions(std::string& out, const RelayDirectionReport& d, std::string_view calls, const Style& style) {
  if (d.credit_stalls > 0) Put(out, "{:>12}  {} waited in the relay for a credit\n", d.credit_stalls, calls);
  if (d.made_long > 0)
    Put(out, "{:>12}  messages were inline on one side and too long for that on the other\n", d.made_long);
  if (d.refused > 0)
    Put(out, "{}{:>12}  {} were answered with RDMA_ERROR by the relay{}\n", style.yellow, d.refused, calls,
        style.reset);
  if (!d.no_memory.empty()) Put(out, "{}no memory for {}: {}{}\n", style.red, calls, d.no_memory, style.reset);
  for (const auto& [why, times] : d.bad_replies)
    Put(out, "{}{:>12}  answers could not be passed on: {}{}\n", style.red, times, why, style.reset);
  if (d.in_flight > 0)
    Put(out, "{}{:>12}  {} were unanswered when a connection ended{}\n", style.yellow, d.in_flight, calls, style.reset);
}

}  // namespace

void PutRelayText(std::string& out, const RelayReport& report, std::span<const std::string> faults,
                  const Style& style) {
  for (size_t s = 0; s < 2; ++s)
    Put(out, "{} side: {}: {} ended in order, {} broken\n", kSides[s], Count(report.side[s].connections, "connection"),
        report.side[s].ended, report.side[s].broken);
  if (report.rejected > 0) Put(out, "{} rejected\n", Count(report.rejected, "client"));
  if (report.dismissed > 0) Put(out, "{} gave way to a new one\n", Count(report.dismissed, "idle client"));
  const RelayDirectionReport &f = report.forward, &b = report.backward;
  Put(out, "{}{:22}{:>10}{:>12}{:>10}{:>12}{:>12}{}\n", style.bold, "", "calls", "call bytes", "replies", "reply bytes",
      "RDMA_ERROR", style.reset);
  PutTraffic(out, "client side", f.caller);
  PutTraffic(out, "server side", f.answerer);
  if (Used(b)) {
    PutTraffic(out, "callbacks, server side", b.caller);
    PutTraffic(out, "callbacks, client side", b.answerer);
  }
  if (f.call_rest.count() + b.call_rest.count() > 0) {
    Put(out, "{}{:20}", style.bold, "rested in the relay");
    PutLatencyHeads(out);
    Put(out, "{}\n", style.reset);
    const auto row = [&out](std::string_view name, const rpcrdma::Histogram& rest) {
      if (rest.count() == 0) return;
      Put(out, "{:20}", name);
      PutLatencyCells(out, rest);
      Put(out, "\n");
    };
    row("calls", f.call_rest);
    row("answers", f.reply_rest);
    row("callbacks", b.call_rest);
    row("answers to them", b.reply_rest);
  }
  PutExceptions(out, f, "calls", style);
  PutExceptions(out, b, "callbacks", style);
  for (size_t i = 0; i < faults.size(); ++i)
    Put(out, "{:>12}  of {} disturbed by {}\n", report.faults[i].injected, Count(report.faults[i].meant, "call"),
        faults[i]);
  if (report.dropped > 0)
    Put(out, "{:>12}  messages were dropped: too short, or nobody waited for them\n", report.dropped);
  for (const auto& [text, times] : report.troubles)
    Put(out, "{}{:>12}  {}{}\n", style.yellow, fmt::format("{} x", times), text, style.reset);
}

void PutRelayRows(RowOutput& rows, const RelayReport& report, std::span<const std::string> faults) {
  const RelayDirectionReport &f = report.forward, &b = report.backward;
  rows.Put(DirectionRow{"forward", &f});
  if (Used(b)) rows.Put(DirectionRow{"backward", &b});
  uint64_t injected = 0;
  for (size_t i = 0; i < faults.size(); ++i) {
    injected += report.faults[i].injected;
    rows.PutOther(FaultRow{faults[i], report.faults[i].meant, report.faults[i].injected});
  }
  PutTroubles(rows, report.troubles);
  for (size_t s = 0; s < 2; ++s)
    rows.PutOther(SideRow{kSides[s], report.side[s].connections, report.side[s].ended, report.side[s].broken});
  rows.PutOther(RelayedRow{report.side[relay::kClientSide].connections, report.rejected, report.dismissed,
                           f.caller.calls, f.caller.replies, f.caller.errors, b.caller.calls, f.in_flight + b.in_flight,
                           report.dropped, injected});
}

}  // namespace stag::cli
