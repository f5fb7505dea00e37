// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/held_findings.h"

#include <algorithm>

#include "conformance/engine/text.h"

namespace stag::conformance {

namespace {

// Whether the offender's side, by what it acknowledged since, shows that it had received nothing from the other side
// that the capture lost.
bool ShowsReceipt(const Connection& connection, Side absent, const Finding& finding) {
  return connection.info.acknowledged_in[1 - absent] >= finding.frame.order();
}

bool Advertises(const rpcrdma::Header& header, uint32_t handle) {
  return std::ranges::any_of(header.reads, [&](const auto& read) { return read.target.handle == handle; }) ||
         std::ranges::any_of(header.segments, [&](const auto& segment) { return segment.handle == handle; });
}

// Of a finding in a list that grows by doubling.
uint64_t CostOf(const Finding& finding) {
  constexpr uint64_t kEntry = 800;
  return kEntry + finding.message.size() + finding.expected.size() + finding.actual.size() + finding.unseen.size() +
         finding.related_frames.size() * sizeof(uint64_t) + finding.see_also.size() * sizeof(std::string_view);
}

}  // namespace

// What breaks a rule that the catalogue holds may yet prove to be one of two peers that both speak RFC 5666. It is a
// finding as soon as it can't.
HeldFindings::Until HeldFindings::UntilOf(const Context& context, const Violation& violation, const Finding& finding) {
  const Message* message = context.about.message;
  if (context.may_be_legacy && message && context.about.transaction) {
    if (finding.rule->held_until == HeldUntil::kAnswer && message->role == Role::kCall) return Until::kAnswer;
    if (finding.rule->held_until == HeldUntil::kDone && message->role == Role::kReply) return Until::kDone;
  }
  if (!violation.absent_from) return Until::kNothing;
  return ShowsReceipt(context.connection, *violation.absent_from, finding) ? Until::kNothing : Until::kHeard;
}

void HeldFindings::Take(const Context& context, const Violation& violation, Finding finding) {
  const Until until = UntilOf(context, violation, finding);
  if (until == Until::kNothing) return sink_.OnFinding(finding);
  const uint64_t cost = CostOf(finding);
  Held held{std::move(finding), until, {}, {}, cost};
  if (until == Until::kHeard) {
    held.side = *violation.absent_from;
  } else if (context.about.transaction) {
    held.side = context.about.transaction->requester;
  }
  if (const fabric::Event* event = context.about.event; event && event->content()) held.handle = event->rdma().handle;
  // Of too many the oldest is given up.
  while (!held_.empty() && (held_.size() >= most_ || !charge_.TryAdd(cost))) {
    Presume(context.connection, held_.front());
    charge_.Set(charge_.bytes() - held_.front().cost);
    held_.erase(held_.begin());
  }
  if (held_.empty() && !charge_.TrySet(cost)) return Presume(context.connection, held);
  held_.push_back(std::move(held));
}

template <typename Fn>
void HeldFindings::EraseIf(Fn fn) {
  std::erase_if(held_, [&](Held& held) {
    if (!fn(held)) return false;
    charge_.Set(charge_.bytes() - held.cost);
    return true;
  });
}

void HeldFindings::OnMessage(const Connection& connection, const Message& message, const RuleState& state) {
  OnAcknowledged(connection);
  // An RDMA operation on memory that is advertised only now is no proof of a fault: the message is sent again, and
  // takes the place of a first one in sequence that the capture lost.
  Excuse([&](const Held& held) {
    return held.side == message.from && held.handle && Advertises(message.header, *held.handle);
  });
  OnHeard(connection, message.from, message.frame);
  const bool answer = message.role == Role::kReply || message.role == Role::kError;
  EraseIf([&](Held& held) {
    if (held.until == Until::kHeard) return false;
    if (state.legacy_proven) {
      Drop(held, Outcome::kNotApplicable);
      return true;
    }
    const bool same = held.finding.xid == message.header.xid;
    const bool overdue = std::ranges::any_of(state.awaited, [&](const Awaited& a) {
      return a.due && a.owed == Owed::kDone && a.xid == held.finding.xid && a.requester == held.side;
    });
    // An answer whose Call was given up proves neither.
    const bool decides = same && answer && !message.orphan && message.from != held.side;
    const bool decided = held.until == Until::kDone ? overdue : decides;
    if (decided && held.until == Until::kAnswer && message.missing != fabric::Missing::kNothing) {
      Drop(held, Outcome::kTruncated);  // what would tell whether the answer is success was not captured
      return true;
    }
    if (decided) Release(connection, held);
    return decided;
  });
}

void HeldFindings::OnRdma(const Connection& connection, const RdmaOperation& operation) {
  OnAcknowledged(connection);
  // An InfiniBand Read Response has a packet sequence number of its reader's: it shows no gap on its sender's side.
  const bool in_sequence = operation.event->kind() != fabric::EventKind::kReadResponse ||
                           connection.info.fabric == fabric::FabricKind::kIwarp;
  if (in_sequence) OnHeard(connection, operation.event->from, operation.event->frame);
}

// Gives out what is proven of the findings that wait for a side to be heard.
template <typename Proves>
void HeldFindings::Settle(const Connection& connection, Proves proves) {
  EraseIf([&](Held& held) {
    const bool proven = held.until == Until::kHeard && proves(held);
    if (proven) Release(connection, held);
    return proven;
  });
}

// Drops those that wait for a side to be heard, and that a loss may explain.
template <typename Explains>
void HeldFindings::Excuse(Explains explains) {
  EraseIf([&](const Held& held) {
    const bool lost = held.until == Until::kHeard && explains(held);
    if (lost) Drop(held, Outcome::kGap);
    return lost;
  });
}

// A Reply that waited for its Call comes late, and was sent before what happened meanwhile.
void HeldFindings::OnHeard(const Connection& connection, Side side, const FrameRef& frame) {
  Settle(connection,
         [&](const Held& held) { return held.side == side && held.finding.frame.order() <= frame.order(); });
}

void HeldFindings::OnAcknowledged(const Connection& connection) {
  Settle(connection, [&](const Held& held) { return ShowsReceipt(connection, held.side, held.finding); });
}

void HeldFindings::OnRefused(const Connection& connection, Side by, const RecentOperation& operation) {
  Settle(connection, [&](const Held& held) { return held.side == by && held.handle == operation.handle; });
}

void HeldFindings::OnGap(Side side) {
  Excuse([&](const Held& held) { return held.side == side; });
}

// The peers can no longer prove that they speak an older protocol. On TCP the end comes in its stream's order: with
// both FINs nothing of either side is missing, with a RST nothing of its sender's.
void HeldFindings::OnClosed(const Connection& connection, const fabric::Event& event) {
  const bool in_order = connection.info.fabric == fabric::FabricKind::kIwarp;
  const fabric::CloseReason reason = event.closed().reason;
  EraseIf([&](Held& held) {
    const bool heard = in_order && (reason == fabric::CloseReason::kDisconnect ||
                                    (reason == fabric::CloseReason::kReset && held.side == event.from));
    const bool decided = held.until != Until::kHeard || heard;
    if (decided) Release(connection, held);
    return decided;
  });
}

// A CM message has no packet sequence number, which would show that something is missing in front of it: a message may
// be lost together with its acknowledgement. So it proves only that an RDMA operation was not allowed, where nothing
// else of the connection is missing, and the side whose memory it touches disconnects instead of performing it.
void HeldFindings::OnEnd(const Connection& connection) {
  const bool whole = connection.setup_seen && !connection.lossy;
  if (whole && connection.close_reason != fabric::CloseReason::kEvicted) {
    Settle(connection, [&](const Held& held) {
      const bool performed = connection.info.acknowledged_in[held.side] >= held.finding.frame.order();
      return disconnected_[held.side] && held.handle && !performed;
    });
  }
  for (Held& held : held_) Presume(connection, held);
  held_.clear();
  charge_.Set(0);
}

void HeldFindings::Release(const Connection& connection, Held& held) {
  held.finding.proven = connection.now;
  std::erase(held.finding.related_frames, connection.now.number);
  sink_.OnFinding(held.finding);
}

// Nothing more comes that could prove or refute it.
void HeldFindings::Presume(const Connection& connection, Held& held) {
  Finding& finding = held.finding;
  finding.certainty = Certainty::kPresumed;
  finding.severity = std::min(finding.severity, Severity::kWarning);
  const std::string_view end = !connection.closed ? "more findings wait than are kept,"
                               : connection.close_reason == fabric::CloseReason::kEvicted
                                   ? "its connection is given up for lack of memory"
                               : connection.close_reason == fabric::CloseReason::kEndOfCapture ? "the capture ends"
                                                                                               : "the connection ends";
  const std::string_view side = connection.IsClientToServer(held.side) ? "client" : "server";
  switch (held.until) {
    case Until::kHeard: finding.unseen = Text(end, " before the ", side, " is heard again"); break;
    case Until::kAnswer: finding.unseen = Text(end, " before the answer, which may prove an older protocol"); break;
    case Until::kDone: finding.unseen = Text(end, " before an RDMA_DONE, which may prove an older protocol"); break;
    case Until::kNothing: break;
  }
  Release(connection, held);
}

// A finding that turned out to be none.
void HeldFindings::Drop(const Held& held, Outcome instead) {
  RuleTally& tally = schedule_.tally(*held.finding.rule);
  --tally[Outcome::kFail];
  ++tally[instead];
}

}  // namespace stag::conformance
