// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/nfs4/promises.h"

#include <algorithm>

#include "protocol/nfs/nfs4_operations.h"

namespace stag::session {
namespace {

// The status of the operation at `index`; nullopt: the Reply does not show it.
std::optional<uint32_t> StatusAt(const Transaction& t, uint32_t index) {
  if (index >= t.operations.size() || !t.operations[index].has_status) return std::nullopt;
  return t.operations[index].status;
}

PromiseStep StepOf(const Connection& connection, const CompoundFacts::State& state, PromiseKind kind, bool settled,
                   const FrameRef& frame) {
  PromiseStep step{.kind = kind, .settled = settled, .connection = connection.info.id, .frame = frame};
  std::ranges::copy(std::span(state.stateid).last(step.key.size()), step.key.begin());
  return step;
}

}  // namespace

// The server's Calls count when they are there, whatever comes of them.
void PromiseObserver::OnCallComplete(const Connection& connection, const Transaction& t) {
  if (!nfs::IsCallbackProgram(t.call.rpc.program)) return;
  for (const CompoundFacts::State& state : t.facts.all()) {
    const bool recall = state.op == nfs::kCbRecall;
    sink_.OnPromise(
        StepOf(connection, state, recall ? PromiseKind::kReturn : PromiseKind::kOffload, !recall, t.call.frame));
  }
}

void PromiseObserver::OnTransaction(const Connection& connection, const Transaction& t) {
  if (t.facts.state_count == 0) return;
  const bool callback = nfs::IsCallbackProgram(t.call.rpc.program);
  for (const CompoundFacts::State& state : t.facts.all()) {
    const std::optional<uint32_t> status = StatusAt(t, state.op_index);
    if (callback) {
      // A refusal says that the client has not, or no longer, what is recalled.
      const bool refused = state.op == nfs::kCbRecall && status && *status != nfs::kNfs4Ok && *status != nfs::kErrDelay;
      if (refused) sink_.OnPromise(StepOf(connection, state, PromiseKind::kReturn, true, t.reply.frame));
      continue;
    }
    const bool done = status.value_or(nfs::kNfs4Ok) == nfs::kNfs4Ok;
    switch (state.op) {
      case nfs::kOpCopy:
      case nfs::kOpWriteSame:
        sink_.OnPromise(StepOf(connection, state, PromiseKind::kOffload, false, t.call.frame));
        break;
      case nfs::kOpOffloadCancel:
      case nfs::kOpOffloadStatus:  // a client that asks does not wait
        sink_.OnPromise(StepOf(connection, state, PromiseKind::kOffload, true, t.call.frame));
        break;
      default:  // DELEGRETURN, FREE_STATEID
        if (done) sink_.OnPromise(StepOf(connection, state, PromiseKind::kReturn, true, t.call.frame));
    }
  }
  // A few of many were kept: others may have been settled here.
  if (t.facts.more_states) sink_.OnPromise({.settled = true});
}

void Promises::Take(const PromiseStep& step) {
  if (step.settled && step.connection == 0) {
    ++left_out_;
    return;
  }
  auto found = entries_.find({step.kind, step.key});
  if (step.settled && step.kind == PromiseKind::kReturn) {
    // Most delegations are returned without a recall, and one may be given and recalled again.
    if (found != entries_.end()) entries_.erase(found);
    return;
  }
  if (found == entries_.end()) {
    if (entries_.size() == kMost) {
      ++left_out_;
      return;
    }
    found = entries_.emplace(std::pair(step.kind, step.key), Entry{}).first;
  }
  Entry& entry = found->second;
  entry.settled |= step.settled;
  if (step.settled || entry.begun) return;
  entry.begun = true;
  static_cast<Open&>(entry) = {step.kind, step.connection, step.frame};
}

std::vector<Promises::Open> Promises::StillOpen() const {
  std::vector<Open> open;
  if (left_out_ > 0) return open;
  for (const auto& [key, entry] : entries_)
    if (entry.begun && !entry.settled) open.push_back(entry);
  std::ranges::stable_sort(open, {}, [](const Open& one) { return one.frame.number; });
  return open;
}

}  // namespace stag::session
