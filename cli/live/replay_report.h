// SPDX-License-Identifier: GPL-2.0-or-later
//
// The report of `stag replay`, and its plan (--dry-run), as text and as rows (docs/replay.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/live/live_rows.h"
#include "replay/replay/plan_account.h"
#include "replay/replay/report.h"

namespace stag::cli {

struct PlayedProcedureRow {
  LiveProcedure procedure;
  const replay::ProcedureReport* report = nullptr;
};

struct DifferenceRow {
  explicit DifferenceRow(const replay::Difference& difference);
  uint64_t frame;
  results::Xid xid;
  uint32_t client;
  std::string operation, recorded, live;
};

struct ReplayedRow {
  ReplayedRow(const replay::PlayReport& played, size_t of_team)
      : report(&played), total(played.Total()), ranks(of_team), differences(total.compared - total.matched) {}
  double seconds() const { return std::chrono::duration<double>(report->elapsed).count(); }
  double PerSecond(uint64_t n) const { return seconds() > 0 ? static_cast<double>(n) / seconds() : 0; }
  double CallsPerSecond() const { return PerSecond(total.answered); }

  const replay::PlayReport* report;
  replay::ProcedureReport total;
  size_t ranks;  // of the team, whose reports were merged
  uint64_t differences;
};

void PutPlayText(std::string& out, const ReplayedRow& row, const Style& style);
void PutPlayRows(RowOutput& rows, const ReplayedRow& row);

struct PlannedCallRow {
  uint64_t frame = 0;
  uint32_t connection = 0;
  results::Xid xid;
  std::string operation;
  bool send = false;
  uint64_t bytes = 0, after = 0, values = 0;
  std::optional<std::string_view> reason;
};

struct PlanRow {
  uint64_t connections = 0;
  const replay::PlanTotals* totals = nullptr;
  std::optional<std::vector<std::byte>> root;
};

inline std::string_view KindName(const replay::PlanAccount::Unknown& unknown) {
  return replay::ValueName(unknown.kind);
}

// --dry-run: the plan, in order, and what it comes to.
class PlanReport final : public replay::PlanSink {
 public:
  // Writes as it goes: rows, one for each forward Call that was selected. `memory`: see PlanAccount.
  PlanReport(Output& output, RowOutput& rows, uint64_t memory) : output_(output), rows_(rows), account_(memory) {}
  void OnPlanned(replay::PlannedCallPtr planned) override;
  // What it comes to, in all.
  void Finish(const replay::PlanTotals& totals);

 private:
  void PutText(const replay::PlanTotals& totals);

  Output& output_;
  RowOutput& rows_;
  replay::PlanAccount account_;
  std::vector<PlannedCallRow> refused_;  // the first ones
};

}  // namespace stag::cli

namespace stag::results {

template <>
struct Record<replay::ProcedureReport> : Part<replay::ProcedureReport> {
  static constexpr std::array kMembers = {
      Member<&Row::sent>("sent", "Calls that were sent: answered, lost or timed out.").Column("sent"),
      Member<&Row::answered>("answered", "Calls that were answered.").Column("answered"),
      Member<&Row::lost>("lost", "Calls that a lost connection took along.").Column("lost"),
      Member<&Row::timed_out>("timed_out", "Calls that got no answer in time."),
      Member<&Row::not_sent>("not_sent", "Calls that could not be sent."),
      Member<&Row::resent>("resent", "Calls that were sent again after a lost connection."),
      Member<&Row::put_off>("put_off", "Answers that put a call off, after which it was sent again; none of answered."),
      Member<&Row::compared>("compared", "Calls with a recorded answer.").Column("compared"),
      Member<&Row::matched>("matched", "Calls of these whose answer has the recorded status.").Column("as recorded"),
      Member<&Row::identical>("identical", "Calls of these whose answer has the recorded bytes, the xid aside."),
      Member<&Row::latency>("latency_us", "Latency of the answers.").Column("latency"),
      InNanoseconds<&Row::latency>("latency_ns", "latency_us"),
  };
};
template <>
struct Record<cli::PlayedProcedureRow> : Of<cli::PlayedProcedureRow> {
  static constexpr std::string_view kType = "procedure", kDoc = "The calls of a procedure.";
  static constexpr std::array kMembers = {Inline<&Row::procedure>(), Inline<&Row::report>()};
};
template <>
struct Record<cli::DifferenceRow> : Of<cli::DifferenceRow> {
  static constexpr std::string_view kType = "difference", kDoc = "An answer with another status than the recorded one.";
  static constexpr std::array kMembers = {
      Member<&Row::frame>("frame", "The frame of the recorded Call."),
      Member<&Row::xid>("xid", "Its recorded xid."),
      Member<&Row::client>("client", "Number of the client that sent it, from 1."),
      Member<&Row::operation>("operation", "Procedure with its program; of a COMPOUND the operation that it is about."),
      Member<&Row::operation>("name", "The same.").Use("operation"),
      Member<&Row::recorded>("recorded", "The recorded status."),
      Member<&Row::live>("live", "The status of the live answer, or its absence."),
  };
};
template <>
struct Record<replay::PlayReport> : Part<replay::PlayReport> {
  static constexpr std::array kMembers = {
      Member<&Row::MatchPercent, Decimal<6>>("match_percent", "Part of the compared calls that matched.").In("percent"),
      Member<&Row::connections>("connections", "Connections."),
      Member<&Row::reconnects>("reconnects", "Connections that were made again."),
      Member<&Row::loops>("loops", "Times that the plan was played to its end, over all clients."),
      Member<&Row::unknown>("unknown_values", "Calls that were sent with a value that no live reply gave."),
      Member<&Row::credit_stalls>("credit_stalls", "Calls that waited for a credit."),
      Member<&Row::slot_stalls>("slot_stalls", "Calls that waited for a slot of their session."),
      Member<&Row::backward_calls>("backward_calls", "Calls of the server."),
      Member<&Row::max_outstanding>("max_outstanding", "Most calls outstanding on one connection."),
      Member<&Row::sent_bytes>("sent_bytes", "RPC messages that were sent, with their chunks.").In("bytes"),
      Member<&Row::received_bytes>("received_bytes", "RPC messages that came, with their chunks.").In("bytes"),
      Member<&Row::stopped>("stopped", "It ended before all was played."),
  };
};
template <>
struct Record<cli::ReplayedRow> : Of<cli::ReplayedRow> {
  static constexpr std::string_view kType = "replayed", kDoc = "All together; behind the other lines of the report.";
  static constexpr std::array kMembers = {
      Member<&Row::ranks>("ranks", "Ranks of --mpi; 1 without."),
      Inline<&Row::total>(),
      Member<&Row::differences>("differences", "Compared calls that did not match."),
      Inline<&Row::report>(),
      Member<&Row::seconds, Decimal<6>>("seconds", "Time that it took.").In("seconds"),
      Member<&Row::CallsPerSecond, Decimal<1>>("calls_per_second", "Answered calls in a second."),
  };
};

template <>
struct Record<cli::PlannedCallRow> : Of<cli::PlannedCallRow> {
  static constexpr std::string_view kType = "call", kDoc = "A call of the plan (--dry-run).";
  static constexpr std::array kMembers = {
      Member<&Row::frame>("frame", "The frame of the Call.").Column("frame"),
      Member<&Row::connection>("connection", "Number of the connection in its capture, from 1.").Column("conn"),
      Member<&Row::xid>("xid", "Its xid.").Column("xid"),
      Member<&Row::operation>("operation", "Procedure with its program; of a COMPOUND the operation that it is about.")
          .Column("operation"),
      Member<&Row::operation>("name", "The same.").Use("operation"),
      Member<&Row::send>("send", "It is sent.").Column("send"),
      Member<&Row::bytes>("bytes", "Its RPC message.").In("bytes").Column("bytes"),
      Member<&Row::after>("after", "Answers that are waited for before it is sent."),
      Member<&Row::values>("values", "Places that are exchanged for values of the live server."),
      Member<&Row::reason>("reason", "The reason that it cannot be sent; null: it can.").Column("reason"),
  };
};
template <>
struct Record<replay::PlanAccount::Unknown> : Of<replay::PlanAccount::Unknown> {
  static constexpr std::string_view kType = "unknown_values";
  static constexpr std::string_view kDoc =
      "Values that no earlier reply gives, and that are sent as recorded (--dry-run).";
  static constexpr std::array kMembers = {
      Member<cli::KindName>("kind", "The kind of values."),
      Member<&Row::values>("values", "Values, each counted once."),
      Member<&Row::calls>("calls", "Calls that use one."),
      Member<&Row::first_frame>("first_frame", "The frame of the first of these."),
  };
};
template <>
struct Record<replay::PlanTotals> : Part<replay::PlanTotals> {
  static constexpr std::array kMembers = {
      Member<&Row::calls>("calls", "Calls to send."),
      Member<&Row::refused>("refused", "Calls that cannot be sent."),
      Member<&Row::cut>("cut", "Calls that the capture cut so short that nothing is known of them."),
      Member<&Row::not_selected>("not_selected", "Calls that --select leaves out."),
  };
};
template <>
struct Record<cli::PlanRow> : Of<cli::PlanRow> {
  static constexpr std::string_view kType = "plan", kDoc = "The whole plan (--dry-run); the last line.";
  static constexpr std::array kMembers = {
      Member<&Row::connections>("connections", "Connections that calls are sent on."),
      Inline<&Row::totals>(),
      Member<&Row::root>("root", "The file handle that --export or --root-handle replaces; null: there is none."),
  };
};

}  // namespace stag::results
