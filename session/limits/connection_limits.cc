// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/limits/connection_limits.h"

#include <algorithm>
#include <numeric>

#include "protocol/nfs/nfs4_operations.h"

namespace stag::session {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr size_t kMostSilences = 64;

// NFSv4 and NFSv3 status codes of a server that wants to be asked again later.
bool IsPutOff(uint32_t version, uint32_t status) {
  constexpr uint32_t kJukebox = 10008, kDelay = 10008, kGrace = 10013;
  return version == 4 ? status == kDelay || status == kGrace : version == 3 && status == kJukebox;
}

}  // namespace

Limit ConnectionLimits::verdict() const {
  if (calls == 0 || span_ns == 0) return Limit::kUnknown;
  const int64_t recovery = ns[static_cast<size_t>(Limit::kRecovery)];
  if (recovery > 0 && recovery >= (span_ns - ns[static_cast<size_t>(Limit::kIdle)]) / 10) return Limit::kRecovery;
  return static_cast<Limit>(std::max_element(ns.begin(), ns.end()) - ns.begin());
}

// As many Calls are outstanding as the credits allow.
bool LimitsObserver::IsFull(const State& s) {
  return s.replied && !s.open.empty() && s.open.size() >= std::min(s.granted, s.requested);
}

// What held until `frame` did so since the last time.
void LimitsObserver::Advance(State& s, const FrameRef& frame) {
  if (!s.begun || !frame.timed || frame.time_ns <= s.now) return;
  if (IsFull(s)) s.last_full = frame.time_ns;
  s.timeline.Add(s.now, frame.time_ns,
                 {.recovery = s.mending[0].waits || s.mending[1].waits,
                  .open = static_cast<uint32_t>(s.open.size()),
                  .limit = s.replied ? std::min(s.granted, s.requested) : Timeline::kNoLimit});
  s.now = frame.time_ns;
}

// Before the oldest Call that is outstanding, nothing more is learnt. Serials are in order of the Calls, and so, but
// for frames out of order, are times.
void LimitsObserver::Decide(const Connection& connection, State& s) {
  int64_t until = std::min(s.told, connection.troubled_since);
  if (!s.open.empty()) until = std::min(until, s.open.front().sent);
  if (!s.answered.empty()) until = std::min(until, s.answered.front().at);
  s.timeline.Decide(until, s.limits.ns);
}

// The answer to a Call was not captured: the Call was outstanding for nobody. It may have been until it is proven.
void LimitsObserver::Miss(State& s, const Transaction& t, int64_t sent) {
  ++s.limits.not_captured;
  const FrameRef& proof = t.answer_proof;
  const int64_t proven = proof.number != 0 && proof.timed ? std::min(proof.time_ns, s.now) : s.now;
  s.timeline.Learn(sent, s.now, {.open = -1});
  s.timeline.Learn(sent, proven, {.maybe = 1});
}

// The Call of a Reply was not captured: it may have been outstanding since its sender's last message before the gap.
void LimitsObserver::MissCall(const Connection& connection, State& s, const FrameRef& reply) {
  Advance(s, reply);
  const Coverage& client = connection.coverage[connection.client];
  if (client.gaps + client.unclear > 0 || !connection.setup_seen)
    s.timeline.Learn(client.before_gap.number != 0 ? client.before_gap.time_ns : INT64_MIN, s.now, {.maybe = 1});
  // Else they may be of a Call that is there, and cut.
  if (connection.truncated_messages == 0 && Elapsed(s.stray[0], s.stray[1]).value_or(0) > 0)
    s.timeline.Learn(s.stray[0].time_ns, s.stray[1].time_ns, {.moving = 1});
  s.stray = {};
  s.told = s.now;
  Decide(connection, s);
}

void LimitsObserver::OnOrphan(const Connection& connection, const Message& message) {
  if (!message.repeated && message.from != connection.client)
    MissCall(connection, StateOf(connection.info.id), message.frame);
}

std::vector<LimitsObserver::Outstanding>::iterator LimitsObserver::Find(State& s, const Transaction& t) {
  const auto at = std::ranges::lower_bound(s.open, t.serial, {}, &Outstanding::serial);
  return at != s.open.end() && at->serial == t.serial ? at : s.open.end();
}

// A Call is no longer outstanding.
void LimitsObserver::Leave(const Connection& connection, State& s, const Transaction& t) {
  const auto open = Find(s, t);
  if (open != s.open.end()) {
    if (t.outcome != Outcome::kOutstanding && t.answer == Answer::kNotCaptured) Miss(s, t, open->sent);
    s.open.erase(open);
  }
  for (const auto& [first, last] :
       {std::pair(t.rdma.first_read, t.rdma.last_read), std::pair(t.rdma.first_write, t.rdma.last_write)})
    if (Elapsed(first, last).value_or(0) > 0) s.timeline.Learn(first.time_ns, last.time_ns, {.moving = 1});
  if (s.open.empty()) s.stray = {};
  Decide(connection, s);
}

void LimitsObserver::OnConnection(const Connection& connection, const fabric::Event&) { StateOf(connection.info.id); }

// How long there was no packet.
void LimitsObserver::Pause(State& s, const FrameRef& frame) {
  if (!frame.timed) return;
  const int64_t silent = frame.time_ns - s.last_packet.time_ns;
  if (s.begun && silent >= 10 * kMillisecond) [[unlikely]] {
    if (silent >= 240 * kMillisecond && silent <= 275 * kMillisecond &&
        (IsFull(s) || s.last_full >= s.last_packet.time_ns - 50 * kMillisecond))
      ++s.limits.quarter_pauses;
    if (!s.open.empty()) KeepSilence(s, frame);
  }
  if (silent >= 0) s.last_packet = frame;
}

void LimitsObserver::KeepSilence(State& s, const FrameRef& until) {
  std::vector<ConnectionLimits::Silence>& kept = s.limits.silences;
  const ConnectionLimits::Silence silence{s.last_packet, until};
  if (kept.size() == kMostSilences) {
    const auto shortest = std::ranges::min_element(kept, {}, &ConnectionLimits::Silence::ns);
    if (shortest->ns() >= silence.ns()) return;
    kept.erase(shortest);
  }
  kept.push_back(silence);
}

// A packet was sent again.
void LimitsObserver::ForgetSilence(State& s, const FrameRef& again) {
  std::erase_if(s.limits.silences, [&](const ConnectionLimits::Silence& silence) {
    return silence.since.order() <= again.order() && again.order() <= silence.until.order();
  });
}

void LimitsObserver::OnMessage(const Connection& connection, const Message& message, const Transaction* t) {
  State& s = StateOf(connection.info.id);
  Pause(s, message.frame);
  if (message.orphan && !message.early && !message.repeated && message.from != connection.client)
    MissCall(connection, s, message.frame);
  if (!t || t->backward) return;
  if (message.role == Role::kCall) {
    s.limits.untimed += !message.frame.timed;
    if (!s.begun && message.frame.timed) {
      s.begun = true;
      s.now = s.told = message.frame.time_ns;
    }
    Advance(s, message.frame);
    if (s.open.empty() || s.open.back().serial < t->serial) s.open.push_back({t->serial, s.now});
    s.requested = message.header.credit;
    ++s.limits.calls;
  } else if (message.role == Role::kReply || message.role == Role::kError) {
    Advance(s, message.frame);
    s.told = std::max(s.told, s.now);
    s.answered.push_back({t->serial, s.now});
    Leave(connection, s, *t);
    if (message.role == Role::kReply || message.header.credit > 0) {
      s.granted = message.header.credit;
      s.limits.one_credit = s.granted <= 1 && (s.limits.one_credit || !s.replied);
    }
    s.replied = true;
    ++s.limits.replies;
    TakeResults(s, *t);
  }
}

void LimitsObserver::TakeResults(State& s, const Transaction& t) const {
  const nfs::Walk& walk = t.reply.walk;
  if (t.call.rpc.program != nfs::kNfsProgram) return;
  if (walk.has_status && IsPutOff(t.call.rpc.version, walk.nfs_status)) ++s.limits.put_off;
  for (const CompoundFacts::State& state : t.facts.all())
    if (state.of_reply && state.op == nfs::kOpCopy) ++s.limits.copies;
}

void LimitsObserver::OnRdma(const Connection& connection, const RdmaOperation& operation) {
  State& s = StateOf(connection.info.id);
  Pause(s, operation.event->frame);
  if (operation.transaction) return;
  if (s.stray[0].number == 0) s.stray[0] = operation.event->frame;
  s.stray[1] = operation.event->frame;
}

void LimitsObserver::OnTransaction(const Connection& connection, const Transaction& t) {
  State& s = StateOf(connection.info.id);
  if (t.backward) {
    constexpr uint32_t kOpCbOffload = 15;  // RFC 7862 section 16.1
    for (const Operation& operation : t.operations) s.limits.offloads_done += operation.op == kOpCbOffload ? 1 : 0;
    return;
  }
  if (t.reply.frame.number != 0) return Settle(connection, s, t);
  if (Find(s, t) == s.open.end()) return;
  if (t.outcome == Outcome::kUnanswered && t.answer != Answer::kNotCaptured) {
    s.limits.unanswered = true;
    Advance(s, connection.last_frame);
    s.told = s.now;
  }
  Leave(connection, s, t);
}

// It is known which frame delivered the Reply: the Call was outstanding until then.
void LimitsObserver::Settle(const Connection& connection, State& s, const Transaction& t) {
  const auto answered = std::ranges::find(s.answered, t.serial, &Answered::serial);
  if (answered == s.answered.end()) return;
  if (t.delivered.number != 0 && t.delivered.timed) {
    Advance(s, t.delivered);
    s.timeline.Learn(answered->at, t.delivered.time_ns, {.open = 1});
    s.told = std::max(s.told, t.delivered.time_ns);
  }
  s.answered.erase(answered);
  s.limits.longest_answer_ns = std::max(s.limits.longest_answer_ns, Elapsed(t.call.frame, t.answered_in()).value_or(0));
  Decide(connection, s);
}

void LimitsObserver::OnWait(const Connection& connection, const Wait& wait) {
  if (!Elapsed(wait.since, wait.until)) return;
  State& s = StateOf(connection.info.id);
  Advance(s, wait.until);
  const bool timed = wait.cause == delivery::Cause::kTimer;
  s.timeline.Learn(wait.since.time_ns, wait.until.time_ns, {.waiting = 1, .timed = timed ? 1 : 0});
  ForgetSilence(s, wait.until);
}

// The client's adapter waited for an acknowledgment that was lost: the Send was not complete. TCP completes one before.
void LimitsObserver::OnSpurious(const Connection& connection, const Spurious& spurious) {
  ForgetSilence(StateOf(connection.info.id), spurious.copy);
  if (!spurious.is_send || spurious.from != connection.client || !Elapsed(spurious.first, spurious.copy)) return;
  State& s = StateOf(connection.info.id);
  Advance(s, spurious.copy);
  s.timeline.Learn(spurious.first.time_ns, spurious.copy.time_ns, {.unacknowledged = 1});
}

void LimitsObserver::OnConnectionClosed(const Connection& connection, const fabric::Event&) {
  State& s = StateOf(connection.info.id);
  const bool unknown = connection.one_sided() || connection.sampled();
  if (unknown && s.limits.replies == 0) {
    Advance(s, connection.last_frame);
    s.told = s.now;
  }
  s.open.clear();
  Decide(connection, s);
  s.limits.timed_ns = s.timeline.timed_ns();
  s.limits.span_ns = std::accumulate(s.limits.ns.begin(), s.limits.ns.end(), int64_t{0});
  if (unknown) {
    s.limits.ns = {};
    s.limits.ns[static_cast<size_t>(Limit::kUnknown)] = s.limits.span_ns;
  }
  if (connection.proof == Proof::kRpcRdma) sink_.OnLimits(connection, s.limits);
  states_.erase(connection.info.id);
  last_ = nullptr;
}

void LimitsObserver::OnRecovery(const Connection& connection, const fabric::Recovery& recovery) {
  const auto found = states_.find(connection.info.id);
  if (found == states_.end()) return;
  State& s = found->second;
  Mending& mending = s.mending[recovery.requester];
  if (!recovery.mended) {
    ++(recovery.rnr ? s.limits.rnr_naks : s.limits.sequence_naks);
    Advance(s, recovery.frame);
    if (!mending.waits) mending = {true, recovery.rnr, recovery.frame.time_ns};
    return;
  }
  if (!mending.waits) return;
  Advance(s, recovery.frame);
  mending.waits = false;
  if (mending.rnr && recovery.frame.timed)
    s.limits.longest_rnr_ns = std::max(s.limits.longest_rnr_ns, recovery.frame.time_ns - mending.since);
}

}  // namespace stag::session
