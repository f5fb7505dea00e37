// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/credit_history.h"

#include <algorithm>

namespace stag::session {

using Cause = CreditChange::Event;

CreditHistory::History* CreditHistory::Find(const Connection& connection) {
  if (connection.proof != Proof::kRpcRdma || (only_ != 0 && connection.info.id != only_)) return nullptr;
  if (!last_ || last_id_ != connection.info.id) {
    last_ = &histories_[connection.info.id];
    last_id_ = connection.info.id;
  }
  return last_;
}

// What is known before the event; the caller changes what the event changes.
CreditChange CreditHistory::Change(const Connection& connection, const History& history, Side requester,
                                   CreditChange::Event event, const FrameRef& frame) const {
  const CreditState& credits = connection.credits[requester];
  const Direction& direction = history.direction[requester];
  CreditChange change;
  change.event = event;
  change.connection = connection.info.id;
  change.frame = frame;
  change.requester = requester;
  change.requested = direction.requested;
  change.granted = direction.granted;
  if (credits.known) change.outstanding = credits.outstanding;
  return change;
}

// The first message of a direction.
void CreditHistory::Begin(const Connection& connection, History& history, Side requester, const FrameRef& frame) {
  Direction& direction = history.direction[requester];
  if (direction.active) return;
  direction.active = true;
  if (!connection.setup_seen) Tell(connection, history, Change(connection, history, requester, Cause::kJoined, frame));
}

void CreditHistory::OnConnection(const Connection& connection, const fabric::Event&) { (void)Find(connection); }

void CreditHistory::OnMessage(const Connection& connection, const Message& message, const Transaction* transaction) {
  History* history = Find(connection);
  if (!history || message.early) return;
  Heard(connection, *history, message.from);
  const size_t place = history->sent_count++ % kSent;
  if (place == history->sent.size()) history->sent.emplace_back();
  history->sent[place] = {message.first_frame.order(), message.frame.order(), message.header.xid,
                          message.role == Role::kCall, message.from};

  const bool answer = message.role == Role::kReply || message.role == Role::kError;
  if (message.role == Role::kUnknown) {
    for (const Side requester : {Side{0}, Side{1}}) {
      if (!history->direction[requester].active) continue;
      CreditChange change = Change(connection, *history, requester, Cause::kUnclear, message.frame);
      change.from = message.from;
      change.outstanding.reset();
      Tell(connection, *history, change);
    }
    return;
  }
  const Side requester = answer ? Side(1 - message.from) : message.from;
  // An answer to nothing does not make the server a requester.
  if (answer && !transaction && requester != connection.client && !history->direction[requester].active) return;
  Begin(connection, *history, requester, message.frame);
  Direction& direction = history->direction[requester];
  const CreditState& credits = connection.credits[requester];
  CreditChange change = Change(connection, *history, requester, Cause::kDone, message.frame);
  change.from = message.from;
  change.xid = message.header.xid;

  if (message.role == Role::kCall && transaction) {
    change.event = Cause::kCall;
    change.requested = direction.requested = message.header.credit;
    if (credits.known) change.outstanding = credits.outstanding + 1;
    change.overrun = !message.repeated && credits.NextCallExceeds();
    if (change.overrun) direction.overrun_frame = message.frame.number;
  } else if (answer) {
    change.event = message.role == Role::kReply ? Cause::kReply : Cause::kError;
    if (message.role == Role::kReply || message.header.credit > 0)
      change.granted = direction.granted = message.header.credit;
    if (transaction) {
      // The Session starts to count when the last one outstanding is answered.
      const uint32_t own = transaction->counted_out ? 0 : 1;
      const bool drained = credits.outstanding == own;
      change.outstanding.reset();
      if (credits.known || (drained && !connection.disturbed)) change.outstanding = credits.outstanding - own;
      if (drained) direction.overrun_frame = 0;
    } else if (!connection.setup_seen || connection.lossy) {
      change.outstanding.reset();  // its Call was outstanding, though it was not seen
    }
    change.zero_grant = message.header.credit == 0;
  }
  Tell(connection, *history, change);
}

void CreditHistory::OnRdma(const Connection& connection, const RdmaOperation& operation) {
  if (History* history = Find(connection)) Heard(connection, *history, operation.event->from);
}

void CreditHistory::OnNak(const Connection& connection, const fabric::Event& event) {
  History* history = Find(connection);
  const fabric::Nak& nak = event.nak();
  if (!history || (nak.kind != fabric::NakKind::kRnr && nak.kind != fabric::NakKind::kTerminate)) return;
  // A Terminate comes in its stream's order: nothing before it is missing.
  if (nak.kind == fabric::NakKind::kTerminate) {
    Heard(connection, *history, event.from);
    history->terminated = true;
  }
  const Sent* refused = nullptr;
  for (const Sent& sent : history->sent)
    if (sent.frame != 0 && sent.from != event.from && sent.first_frame <= nak.refused.order() &&
        nak.refused.order() <= sent.frame)
      refused = &sent;
  // A Call belongs to its sender's direction, a Reply to its receiver's.
  const Side requester = refused ? (refused->call ? refused->from : event.from) : connection.client;
  const bool by_responder = requester != event.from;
  CreditChange change = Change(connection, *history, requester,
                               nak.kind == fabric::NakKind::kRnr ? Cause::kRnrNak : Cause::kTerminate, event.frame);
  change.from = event.from;
  if (refused) change.xid = refused->xid;
  if (by_responder) change.explained_by = history->direction[requester].overrun_frame;
  Tell(connection, *history, change);
}

void CreditHistory::OnGap(const Connection& connection, const fabric::Event& event) {
  History* history = Find(connection);
  if (!history) return;
  if (history->unproven[event.from]) {
    // A Reply may be among what is missing: since the overrun the numbers are not known.
    bool since = false;
    for (CreditChange& change : history->held) {
      if (change.requester == event.from) continue;
      since = since || change.overrun;
      if (!since) continue;
      change.overrun = false;
      change.explained_by = 0;
      change.outstanding.reset();
    }
    history->direction[1 - event.from].overrun_frame = 0;
    history->unproven[event.from] = false;
    if (!history->unproven[1 - event.from]) Flush(connection, *history);
  }
  for (const Side requester : {Side{0}, Side{1}}) {
    Direction& direction = history->direction[requester];
    if (!direction.active) continue;
    direction.requested.reset();
    direction.granted.reset();
    CreditChange change = Change(connection, *history, requester, Cause::kGap, event.frame);
    change.from = event.from;
    change.outstanding.reset();
    Tell(connection, *history, change);
  }
}

void CreditHistory::OnConnectionClosed(const Connection& connection, const fabric::Event& event) {
  using fabric::CloseReason;
  History* history = Find(connection);
  if (!history) return;
  const Side client = connection.client, server = Side(1 - client);
  Direction& forward = history->direction[client];
  if (!forward.active && !connection.lossy && (connection.setup_seen || !connection.opened)) forward.outstanding = 0;
  forward.active = true;
  const bool by_peers =
      event.closed().reason != CloseReason::kEndOfCapture && event.closed().reason != CloseReason::kEvicted;
  const bool waiting = std::ranges::any_of(history->direction, [](const Direction& d) { return d.outstanding > 0u; });
  for (const Side requester : {client, server}) {
    const Direction& direction = history->direction[requester];
    if (!direction.active) continue;
    CreditChange change = Change(connection, *history, requester, Cause::kClosed, event.frame);
    change.from = event.from;
    change.outstanding = direction.outstanding;  // the Session has ended its Calls
    change.close_reason = event.closed().reason;
    change.lost = history->terminated || (by_peers && waiting);
    if (change.lost) change.explained_by = direction.overrun_frame;
    Tell(connection, *history, change);
  }
  Flush(connection, *history);
  for (const Side requester : {client, server})
    if (history->direction[requester].active)
      sink_.OnSummary(connection, requester, history->direction[requester].summary);
  histories_.erase(connection.info.id);
  last_ = nullptr;
}

// --- What is held back, and what is given out

void CreditHistory::Tell(const Connection& connection, History& history, const CreditChange& change) {
  history.direction[change.requester].outstanding = change.outstanding;
  if (change.overrun) history.unproven[1 - change.requester] = true;
  if (!history.unproven[0] && !history.unproven[1]) return Give(connection, history, change);
  history.held.push_back(change);
  ++held_in_all_;
  if (history.held.size() >= kMaxHeld || held_in_all_ >= kMaxHeldInAll) Flush(connection, history);
}

void CreditHistory::Heard(const Connection& connection, History& history, Side side) {
  if (!history.unproven[side]) return;
  history.unproven[side] = false;
  if (!history.unproven[1 - side]) Flush(connection, history);
}

void CreditHistory::Flush(const Connection& connection, History& history) {
  history.unproven = {};
  for (const CreditChange& change : history.held) Give(connection, history, change);
  held_in_all_ -= history.held.size();
  std::vector<CreditChange>().swap(history.held);
}

void CreditHistory::Give(const Connection& connection, History& history, CreditChange change) {
  change.client = connection.client;
  Add(history.direction[change.requester].summary, change);
  sink_.OnChange(change);
}

void CreditHistory::Add(CreditSummary& summary, const CreditChange& change) {
  switch (change.event) {
    case Cause::kCall:
      ++summary.calls;
      summary.requested.Add(change.requested.value_or(0));
      break;
    case Cause::kReply:
    case Cause::kError:
      ++(change.event == Cause::kReply ? summary.replies : summary.errors);
      if (change.event == Cause::kReply || !change.zero_grant) summary.granted.Add(change.granted.value_or(0));
      if (change.zero_grant && summary.zero_grants++ == 0) summary.first_zero_grant = change.frame;
      break;
    case Cause::kRnrNak:
      ++summary.rnr_naks;
      summary.rnr_naks_explained += change.explained_by != 0;
      break;
    case Cause::kGap: ++summary.gaps; break;
    case Cause::kTerminate: summary.loss.terminated = true; break;
    case Cause::kClosed:
      summary.loss = {change.lost, summary.loss.terminated, change.frame, change.explained_by};
      break;
    case Cause::kJoined:
    case Cause::kDone:
    case Cause::kUnclear: break;
  }
  if (change.overrun && summary.overruns++ == 0) summary.first_overrun = change.frame;
  if (!change.outstanding) {
    summary.any_unknown = true;
    return;
  }
  if (!summary.any_known || *change.outstanding > summary.max_outstanding) {
    summary.max_outstanding = *change.outstanding;
    summary.max_frame = change.frame;
  }
  summary.any_known = true;
}

}  // namespace stag::session
