// SPDX-License-Identifier: GPL-2.0-or-later
//
// Answers that may be missing from the capture, and what proves that they were given.
#include <algorithm>

#include "session/rpcrdma/session_impl.h"

namespace stag::session {

static bool IsInDoubt(const TransactionEntry& entry) {
  return entry.answer_may_be_missing && entry.answer_proof.number == 0;
}

// Its requester acknowledged all that was missing: it is not outstanding, and keeps nothing else from being known
// again. Other proofs rest on what requesters do, which is what rules ask.
void Session::Impl::CountOut(ConnectionState& state, TransactionEntry& entry) {
  CreditState& credits = state.connection.credits[entry.requester];
  if (entry.outstanding_at < 0 || entry.counted_out || credits.outstanding == 0) return;
  --credits.outstanding;
  entry.counted_out = true;
}

void Session::Impl::ProveAnswer(ConnectionState& state, TransactionEntry& entry, const FrameRef& frame) {
  entry.answer_proof = frame;
  --state.in_doubt[entry.requester];
  ++state.proven[entry.requester];
}

// Of the live transactions, or of those with a handle, at a time.
static constexpr int kMostLookedAt = 256;

// Calls fn(entry), which returns false to end, for outstanding Calls of `side` in doubt, the oldest first.
template <typename Fn>
static void ForEachInDoubt(const ConnectionState& state, Side side, Fn fn) {
  TransactionEntry* entry = state.live.oldest();
  for (int i = 0; i < kMostLookedAt && entry && state.in_doubt[side] > 0; ++i, entry = entry->next)
    if (entry->requester == side && IsInDoubt(*entry) && !fn(*entry)) return;
}

// An outstanding Call may have been answered, as the frame `proof` shows, if there is one.
void Session::Impl::DoubtAnswer(ConnectionState& state, TransactionEntry& entry, const FrameRef& proof) {
  entry.answer_may_be_missing = true;
  entry.answer_proof = proof;
  ++(proof.number == 0 ? state.in_doubt : state.proven)[entry.requester];
  if (proof.number != 0) CountOut(state, entry);
  state.peak[entry.requester].Without(entry.peak_place);
  Notify([&](Observer& o) { o.OnAnswerInDoubt(state.connection, entry); });
}

// Something that `from` sent is missing: each outstanding Call of the other side may have been answered by it, and has
// been, where the newest of what is missing was acknowledged in a frame.
void Session::Impl::MissAnswers(ConnectionState& state, Side from, const FrameRef& frame,
                                const FrameRef& acknowledged) {
  Coverage& coverage = state.connection.coverage[from];
  coverage.before_gap = coverage.last;
  coverage.gap_in = std::max(coverage.gap_in, frame.order());
  const Side requester = Side(1 - from);
  // Those that are older have missed something before.
  for (TransactionEntry* entry = state.live.newest(); entry && entry->serial > state.missing_serial[from];
       entry = entry->previous) {
    if (entry->requester != requester || entry->outcome != Outcome::kOutstanding) continue;
    if (entry->answer_may_be_missing) continue;
    DoubtAnswer(state, *entry, acknowledged);
  }
  state.missing_serial[from] = serial;
  if (acknowledged.number == 0) return;
  ForEachInDoubt(state, requester, [&](TransactionEntry& entry) {
    CountOut(state, entry);
    ProveAnswer(state, entry, acknowledged);
    return true;
  });
}

// A Call uses what an older one used that may have been answered: a handle, or the last credit.
void Session::Impl::ProveByCall(ConnectionState& state, const TransactionEntry& call) {
  const Side side = call.requester;
  int left = kMostLookedAt;
  for (const SegmentRecord& record : call.call.segments) {
    state.memory[side].Find(record.segment.handle, [&](const SegmentRef& ref) {
      const bool other = !ref.of_reply && ref.entry != &call && !ref.entry->retired;
      if (other && IsInDoubt(*ref.entry)) ProveAnswer(state, *ref.entry, call.call.frame);
      return --left <= 0;
    });
    if (left <= 0) break;
  }
  const CreditState& credits = state.connection.credits[side];
  if (!credits.granted.any || !credits.requested.any) return;
  const uint32_t most = std::max(1u, std::min(credits.granted.last, credits.requested.last));
  ForEachInDoubt(state, side, [&](TransactionEntry& entry) {
    if (state.outstanding[side].size() - state.proven[side] <= most) return false;
    ProveAnswer(state, entry, call.call.frame);
    return true;
  });
}

// A Call was answered on a connection that has one at a time: so were those before it.
void Session::Impl::ProveByAnswer(ConnectionState& state, const TransactionEntry& answered) {
  if (state.most_at_once[answered.requester] > 1) return;
  ForEachInDoubt(state, answered.requester, [&](TransactionEntry& entry) {
    if (entry.serial >= answered.serial) return false;
    ProveAnswer(state, entry, answered.reply.frame);
    return true;
  });
}

// A transaction ends, with `entry.answer`.
void Session::Impl::SettleAnswer(ConnectionState& state, TransactionEntry& entry) {
  OutstandingPeak& peak = state.peak[entry.requester];
  if (entry.answer == Answer::kNotCaptured && !entry.answer_may_be_missing) peak.Without(entry.peak_place);
  if (!entry.answer_may_be_missing) return;
  if (entry.answer == Answer::kCaptured) peak.With(entry.peak_place);
  --(entry.answer_proof.number == 0 ? state.in_doubt : state.proven)[entry.requester];
}

Answer Session::Impl::AnswerOf(const Connection& connection, const TransactionEntry& entry) {
  if (entry.outcome == Outcome::kReplied || entry.outcome == Outcome::kErrored) return Answer::kCaptured;
  // Events of the two sides may come in another order than their frames, where the order of one is lost. One that was
  // given up for lack of memory may yet be answered.
  const bool gap = connection.coverage[1 - entry.requester].gap_in > entry.call.frame.order();
  if (entry.answer_may_be_missing || gap || entry.outcome == Outcome::kEvicted || connection.one_sided() ||
      connection.sampled())
    return Answer::kNotCaptured;
  if (connection.closed && connection.close_reason == fabric::CloseReason::kEvicted) return Answer::kNotCaptured;
  const bool lasts = connection.closed && connection.close_reason == fabric::CloseReason::kEndOfCapture;
  return lasts ? Answer::kPending : Answer::kNone;
}

}  // namespace stag::session
