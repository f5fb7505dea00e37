// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/limits/connection_limits.h"

#include <algorithm>

#include "protocol/nfs/nfs4_operations.h"

namespace stag::session {
namespace {

constexpr size_t kMaxUndecided = 1 << 16;
constexpr int64_t kMillisecond = 1'000'000;

// NFSv4 and NFSv3 status codes of a server that wants to be asked again later.
bool IsPutOff(uint32_t version, uint32_t status) {
  constexpr uint32_t kJukebox = 10008, kDelay = 10008, kGrace = 10013;
  return version == 4 ? status == kDelay || status == kGrace : version == 3 && status == kJukebox;
}

}  // namespace

std::optional<Limit> ConnectionLimits::verdict() const {
  if (calls == 0) return std::nullopt;
  const int64_t recovery = ns[static_cast<size_t>(Limit::kRecovery)];
  if (recovery > 0 && recovery >= (span_ns - ns[static_cast<size_t>(Limit::kIdle)]) / 10) return Limit::kRecovery;
  return static_cast<Limit>(std::max_element(ns.begin(), ns.end()) - ns.begin());
}

Limit LimitsObserver::Now(const State& s) const {
  if (s.mending[0].waits || s.mending[1].waits) return Limit::kRecovery;
  if (s.open.empty()) return Limit::kIdle;
  if (s.replied && s.open.size() >= std::min(s.granted, s.requested)) return Limit::kCreditLimited;
  return Limit::kServer;
}

// What held until `frame` did so since the last time.
void LimitsObserver::Advance(State& s, const FrameRef& frame) {
  if (!s.begun || !frame.timed || frame.time_ns <= s.now) return;
  const Limit what = Now(s);
  if (what == Limit::kCreditLimited) s.last_full = frame.time_ns;
  if (!s.tail.empty() && s.tail.back().what == what) {
    s.tail.back().end = frame.time_ns;
  } else {
    s.tail.push_back({what, s.now, frame.time_ns});
  }
  s.now = frame.time_ns;
  // Nobody answers for very long: what comes now counts, whatever becomes of it.
  if (s.tail.size() >= kMaxUndecided) {
    Commit(s);
    Decide(s);
  }
}

// What has come until now counts.
void LimitsObserver::Commit(State& s) {
  for (const Piece& piece : s.tail) {
    s.limits.span_ns += piece.end - piece.begin;
    if (piece.what == Limit::kServer) {
      s.undecided.push_back(piece);
    } else {
      s.limits.ns[static_cast<size_t>(piece.what)] += piece.end - piece.begin;
    }
  }
  s.tail.clear();
}

// Data moved between two frames.
void LimitsObserver::Move(State& s, const FrameRef& first, const FrameRef& last) {
  const std::optional<int64_t> length = Elapsed(first, last);
  if (!length || *length == 0) return;
  const int64_t begin = first.time_ns, end = last.time_ns;
  left_.clear();  // the last first
  int64_t moved = 0;
  while (!s.undecided.empty() && s.undecided.back().end > begin) {
    const Piece piece = s.undecided.back();
    s.undecided.pop_back();
    if (piece.end > end) left_.push_back({piece.what, std::max(piece.begin, end), piece.end});
    moved += std::max<int64_t>(std::min(piece.end, end) - std::max(piece.begin, begin), 0);
    if (piece.begin < begin) {
      left_.push_back({piece.what, piece.begin, begin});
      break;
    }
  }
  s.undecided.insert(s.undecided.end(), left_.rbegin(), left_.rend());
  s.limits.ns[static_cast<size_t>(Limit::kMovingData)] += moved;
}

// Before the oldest Call that is outstanding, nothing more moves.
void LimitsObserver::Decide(State& s) {
  int64_t until = INT64_MAX;
  if (!s.open.empty()) {
    // Serials are in order of the Calls, and so, but for frames out of order, are times.
    until = s.open.front().sent;
  }
  while (!s.undecided.empty() && (s.undecided.front().end <= until || s.undecided.size() > kMaxUndecided)) {
    s.limits.ns[static_cast<size_t>(Limit::kServer)] += s.undecided.front().end - s.undecided.front().begin;
    s.undecided.pop_front();
  }
}

std::vector<LimitsObserver::Outstanding>::iterator LimitsObserver::Find(State& s, const Transaction& t) {
  const auto at = std::ranges::lower_bound(s.open, t.serial, {}, &Outstanding::serial);
  return at != s.open.end() && at->serial == t.serial ? at : s.open.end();
}

// A Call is no longer outstanding.
void LimitsObserver::Leave(State& s, const Transaction& t) {
  const auto open = Find(s, t);
  if (open != s.open.end()) s.open.erase(open);
  Commit(s);
  Move(s, t.rdma.first_read, t.rdma.last_read);
  Move(s, t.rdma.first_write, t.rdma.last_write);
  Decide(s);
}

void LimitsObserver::OnConnection(const Connection& connection, const fabric::Event&) { StateOf(connection.info.id); }

// How long there was no packet.
void LimitsObserver::Pause(State& s, const FrameRef& frame) {
  if (!frame.timed) return;
  const int64_t silent = frame.time_ns - s.last_packet;
  if (s.begun && silent >= 240 * kMillisecond && silent <= 275 * kMillisecond &&
      (Now(s) == Limit::kCreditLimited || s.last_full >= s.last_packet - 50 * kMillisecond))
    ++s.limits.quarter_pauses;
  s.last_packet = std::max(s.last_packet, frame.time_ns);
}

void LimitsObserver::OnMessage(const Connection& connection, const Message& message, const Transaction* t) {
  State& s = StateOf(connection.info.id);
  Pause(s, message.frame);
  if (!t || t->backward) return;
  if (message.role == Role::kCall) {
    if (!s.begun && message.frame.timed) {
      s.begun = true;
      s.now = message.frame.time_ns;
    }
    Advance(s, message.frame);
    if (s.open.empty() || s.open.back().serial < t->serial) s.open.push_back({t->serial, s.now});
    s.requested = message.header.credit;
    ++s.limits.calls;
  } else if (message.role == Role::kReply || message.role == Role::kError) {
    Advance(s, message.frame);
    Leave(s, *t);
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
  if (t.call.rpc.version != 4) return;
  for (const Operation& operation : t.operations)
    if (operation.op == nfs::kOpCopy && operation.has_status && operation.status == 0) ++s.limits.copies;
}

void LimitsObserver::OnRdma(const Connection& connection, const RdmaOperation& operation) {
  Pause(StateOf(connection.info.id), operation.event->frame);
}

void LimitsObserver::OnTransaction(const Connection& connection, const Transaction& t) {
  State& s = StateOf(connection.info.id);
  if (t.backward) {
    constexpr uint32_t kOpCbOffload = 15;  // RFC 7862 section 16.1
    for (const Operation& operation : t.operations) s.limits.offloads_done += operation.op == kOpCbOffload ? 1 : 0;
    return;
  }
  if (Find(s, t) == s.open.end()) return;
  if (t.outcome == Outcome::kUnanswered) {
    s.limits.unanswered = true;
    Advance(s, connection.last_frame);
  }
  Leave(s, t);
}

void LimitsObserver::OnConnectionClosed(const Connection& connection, const fabric::Event&) {
  State& s = StateOf(connection.info.id);
  s.mending = {};
  s.open.clear();
  Decide(s);
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
