// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/chooser.h"

#include <algorithm>
#include <functional>

#include "analysis/transaction_facts.h"
#include "session/rpcrdma/phases.h"

namespace stag::cli {
namespace {

constexpr size_t kMostProcedures = 64;  // names that are remembered for a message

}  // namespace

uint8_t SeenOf(const session::Transaction& t) {
  return static_cast<uint8_t>((t.call.complete ? 1 : 0) | (t.reply.complete ? 2 : 0) |
                              (t.reply.frame.number != 0 ? 4 : 0) | (session::PhasesOf(t).complete ? 8 : 0) |
                              (session::RecoveryOf(t) > 0 ? 16 : 0) | (t.delivered.number != 0 ? 32 : 0));
}

void FindingChooser::OnFinding(const conformance::Finding& finding) {
  const uint64_t number = ++rules_[finding.rule->id];
  const bool asked = std::ranges::any_of(selection_.findings, [&](const WantedRule& wanted) {
    return wanted.rule->id == finding.rule->id && (wanted.number == 0 || wanted.number == number);
  });
  if (!asked || !selection_.HasConnection(finding.connection) ||
      (!selection_.xids.empty() && !(finding.xid && selection_.HasXid(*finding.xid))) ||
      !selection_.InRanges(finding.frame, finding.frame, clock_.first_time_ns))
    return;
  ++choice_.finding_count;
  choice_.story.Add(finding.frame.number);
  choice_.story.Add(finding.proven.number);
  for (const uint64_t frame : finding.related_frames) choice_.story.Add(frame);
  if (choice_.wanted_findings.size() < Choice::kMostChecked)
    choice_.wanted_findings.push_back(
        {finding.rule, finding.frame.number, finding.connection, std::hash<std::string>{}(finding.message)});
}

// Whether a packet of these frames makes its RPC one that is asked for.
bool RpcChooser::Touches(const FrameRef& first, const FrameRef& last) const {
  if (!selection_.findings.empty()) return choice_.story.Contains(first.number) || choice_.story.Contains(last.number);
  return selection_.InRanges(first, last, clock_.first_time_ns);
}

void RpcChooser::OnConnection(const session::Connection& connection, const fabric::Event& event) {
  connections_ = std::max(connections_, connection.info.id);
  if (event.frame.number == selection_.around && selection_.around != 0) around_connection_ = connection.info.id;
}

void RpcChooser::OnConnection(Track track, const fabric::ConnectionInfo& info, fabric::Side) {
  connections_ = std::max(connections_, info.id);
  if (selection_.around != 0) tracks_[track] = info.id;
}

void RpcChooser::OnMessage(const session::Connection& connection, const session::Message& message,
                           const session::Transaction* t) {
  if (!t || !AsksForFrames()) return;
  newest_[connection.info.id] = t->serial;
  if (Touches(message.first_frame, message.frame)) touched_.Add(t->serial);
}

void RpcChooser::OnNak(const session::Connection& connection, const fabric::Event& event) {
  const auto newest = newest_.find(connection.info.id);
  if (newest != newest_.end() && Touches(event.first_frame, event.frame)) touched_.Add(newest->second);
}

void RpcChooser::OnRdma(const session::Connection& connection, const session::RdmaOperation& operation) {
  const session::Transaction* const t = operation.transaction;
  if (!t || !AsksForFrames()) return;
  newest_[connection.info.id] = t->serial;
  if (!Touches(operation.event->first_frame, operation.event->frame)) return;
  if (touched_.Contains(t->serial)) return;
  touched_.Add(t->serial);
  if (operation.settled) {  // it ended before
    --seen_;
    OnTransaction(connection, *t);
  }
}

bool RpcChooser::Fits(const session::Transaction& t) const {
  if (AsksForFrames() && !touched_.Contains(t.serial)) return false;
  if (!selection_.findings.empty()) return true;
  return selection_.HasConnection(t.connection) && selection_.HasKind(t);
}

void RpcChooser::OnTransaction(const session::Connection&, const session::Transaction& t) {
  ++seen_;
  if (!selection_.procedures.empty() && analysis::ProcedureKnown(t)) {
    std::string subject;
    analysis::PutSubject(subject, t);
    if (procedures_.size() < kMostProcedures || procedures_.contains(subject)) ++procedures_[subject];
  }
  if (!Fits(t)) return;
  const WantedRpc rpc{t.serial, t.call.frame.number, t.connection, t.xid, SeenOf(t)};
  if (selection_.around != 0) {
    const uint64_t end = t.reply.frame.number != 0 ? t.reply.frame.number : UINT64_MAX;
    if (t.call.first_frame.number <= selection_.around && selection_.around <= end)
      under_way_.push_back({session::RoundTrip(t).value_or(-1), rpc});
    if (Ended& last = ended_[t.connection]; end < selection_.around && end >= last.end)
      last = {end, {session::RoundTrip(t).value_or(-1), rpc}};
    return;
  }
  if (selection_.slowest == 0) return Take(rpc);
  if (const auto round_trip = session::RoundTrip(t)) {
    ranks_.push_back({*round_trip, rpc});
    std::push_heap(ranks_.begin(), ranks_.end());
    if (ranks_.size() > selection_.slowest) {
      std::pop_heap(ranks_.begin(), ranks_.end());
      ranks_.pop_back();
    }
  }
}

void RpcChooser::Take(const WantedRpc& rpc) {
  ++choice_.rpc_count;
  choice_.rpcs.Add(rpc.serial);
  if (choice_.wanted_rpcs.size() < Choice::kMostChecked) choice_.wanted_rpcs.push_back(rpc);
}

void RpcChooser::Finish() {
  if (selection_.around != 0) {
    if (const auto found = tracks_.find(around_track_); found != tracks_.end()) around_connection_ = found->second;
    // A frame of no connection: whatever was under way then.
    if (around_connection_ != 0)
      std::erase_if(under_way_, [&](const Ranked& ranked) { return ranked.rpc.connection != around_connection_; });
    // No RPC is under way: it acknowledges the one before it, or repeats a part of it.
    const auto last = ended_.find(around_connection_);
    if (under_way_.empty() && last != ended_.end() && last->second.end != 0) under_way_.push_back(last->second.rpc);
    if (selection_.slowest != 0) {
      std::erase_if(under_way_, [](const Ranked& ranked) { return ranked.round_trip_ns < 0; });
      std::sort(under_way_.begin(), under_way_.end());
      if (under_way_.size() > selection_.slowest) under_way_.resize(static_cast<size_t>(selection_.slowest));
    }
    ranks_ = std::move(under_way_);
  }
  for (const Ranked& ranked : ranks_) Take(ranked.rpc);
  ranks_.clear();
}

}  // namespace stag::cli
