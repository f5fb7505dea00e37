// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/relay_report.h"

#include "cli/latency_text.h"
#include "cli/text.h"

namespace stag::cli {
namespace {

using replay::RelayDirection;
using replay::RelayReport;
using replay::RelayTraffic;

constexpr std::string_view kSides[] = {"client", "server"};

// To the right of a column of 12.
void PutSizeCell(Buffer& out, uint64_t bytes) {
  Buffer value;
  PutSize(value, bytes);
  Put(out, "{:>12}", std::string_view(value.data(), value.size()));
}

void PutTraffic(Buffer& out, std::string_view name, const RelayTraffic& t) {
  Put(out, "{:22}{:>10}", name, t.calls);
  PutSizeCell(out, t.call_bytes);
  Put(out, "{:>10}", t.replies);
  PutSizeCell(out, t.reply_bytes);
  Put(out, "{:>12}\n", t.errors);
}

bool Used(const RelayDirection& d) { return d.caller.calls + d.answerer.calls > 0; }

// What did not go as usual.
void PutExceptions(Buffer& out, const RelayDirection& d, std::string_view calls, const Style& style) {
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

void PutTrafficJson(Buffer& out, const RelayTraffic& t) {
  Put(out, "{{\"calls\":{},\"call_bytes\":{},\"replies\":{},\"reply_bytes\":{},\"errors\":{}}}", t.calls, t.call_bytes,
      t.replies, t.reply_bytes, t.errors);
}

void PutDirectionJson(Buffer& out, const RelayDirection& d, std::string_view name) {
  Put(out, "{{\"type\":\"direction\",\"direction\":\"{}\",\"caller\":", name);
  PutTrafficJson(out, d.caller);
  Put(out, ",\"answerer\":");
  PutTrafficJson(out, d.answerer);
  Put(out, ",\"credit_stalls\":{},\"made_long\":{},\"refused\":{},\"in_flight\":{},\"bad_replies\":{{", d.credit_stalls,
      d.made_long, d.refused, d.in_flight);
  std::string_view comma;
  for (const auto& [why, times] : d.bad_replies) {
    Put(out, "{}", comma);
    PutJson(out, why);
    Put(out, ":{}", times);
    comma = ",";
  }
  Put(out, "},\"no_memory\":");
  PutJson(out, std::string_view(d.no_memory));
  Put(out, ",\"call_rest_ns\":");
  PutLatencyJson(out, d.call_rest);
  Put(out, ",\"reply_rest_ns\":");
  PutLatencyJson(out, d.reply_rest);
  Put(out, "}\n");
}

}  // namespace

void PutRelayText(Buffer& out, const RelayReport& report, std::span<const std::string> faults, const Style& style) {
  for (size_t s = 0; s < 2; ++s)
    Put(out, "{} side: {}: {} ended in order, {} broken\n", kSides[s], Count(report.side[s].connections, "connection"),
        report.side[s].ended, report.side[s].broken);
  if (report.rejected > 0) Put(out, "{} rejected\n", Count(report.rejected, "client"));
  const RelayDirection &f = report.forward, &b = report.backward;
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
    const auto row = [&out](std::string_view name, const replay::Histogram& rest) {
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

void PutRelayJsonl(Buffer& out, const RelayReport& report, std::span<const std::string> faults) {
  PutDirectionJson(out, report.forward, "forward");
  if (Used(report.backward)) PutDirectionJson(out, report.backward, "backward");
  uint64_t injected = 0;
  for (size_t i = 0; i < faults.size(); ++i) {
    injected += report.faults[i].injected;
    Put(out, "{\"type\":\"fault\",\"rule\":");
    PutJson(out, std::string_view(faults[i]));
    Put(out, ",\"calls\":{},\"injected\":{}}}\n", report.faults[i].meant, report.faults[i].injected);
  }
  for (const auto& [text, times] : report.troubles) {
    Put(out, "{\"type\":\"trouble\",\"text\":");
    PutJson(out, std::string_view(text));
    Put(out, ",\"times\":{}}}\n", times);
  }
  for (size_t s = 0; s < 2; ++s)
    Put(out, "{{\"type\":\"side\",\"side\":\"{}\",\"connections\":{},\"ended\":{},\"broken\":{}}}\n", kSides[s],
        report.side[s].connections, report.side[s].ended, report.side[s].broken);
  const RelayDirection &f = report.forward, &b = report.backward;
  Put(out,
      "{{\"type\":\"relayed\",\"connections\":{},\"rejected\":{},\"calls\":{},\"replies\":{},\"errors\":{},"
      "\"callbacks\":{},\"in_flight\":{},\"dropped\":{},\"faults\":{}}}\n",
      report.side[replay::kClientSide].connections, report.rejected, f.caller.calls, f.caller.replies, f.caller.errors,
      b.caller.calls, f.in_flight + b.in_flight, report.dropped, injected);
}

}  // namespace stag::cli
