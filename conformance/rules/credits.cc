// SPDX-License-Identifier: GPL-2.0-or-later
//
// CRED: requests, grants and outstanding Calls, for each direction on its own.
#include <algorithm>

#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

// The largest of the recent grants: the requester may not have seen the newest one when it sent.
uint32_t Granted(const Context& c, Side requester) {
  uint32_t granted = 0;
  const auto& grants = c.state.grants[requester];
  for (size_t i = 0; i < grants.size(); ++i) granted = std::max(granted, grants.FromEnd(i));
  return granted;
}

// A Call that makes more outstanding than its requester may have.
Outcome JudgeGrant(Context& c) {
  const Message& m = *c.message;
  if (m.role != Role::kCall || !c.transaction || m.repeated) return Outcome::kNotApplicable;
  if (c.connection.setup_seen && c.state.grants[m.from].size() == 0) return Outcome::kNotApplicable;  // CRED-005
  if (!c.state.credits_known[m.from] || !Undisturbed(c)) return Unseen(c);
  const uint32_t outstanding = c.connection.credits[m.from].outstanding + 1;
  const uint32_t granted = std::max(1u, Granted(c, m.from));
  if (outstanding <= granted) return Outcome::kPass;
  return c.Fail({.message = Text("The Call makes ", outstanding, " outstanding; ", granted, " are granted"),
                 .expected = Text("at most ", granted, " outstanding"),
                 .actual = Text(outstanding),
                 .absent_from = Side(1 - m.from)});
}

}  // namespace

// CRED-001: a Call that asks for no credit asks to stop. RDMA_DONE's word means nothing.
Outcome CallRequestsCredit(Context& c) {
  if (c.message->role != Role::kCall || c.message->header.words < 4) return Outcome::kNotApplicable;
  if (c.message->header.credit > 0) return Outcome::kPass;
  return c.Fail({.message = "A Call requests no credits", .expected = "1 or more", .actual = "0"});
}

// CRED-002: a grant is never zero. In RDMA_ERROR, of which no document says what it holds, a note. draft-08 has
// CRED-011.
Outcome GrantIsNotZero(Context& c) {
  const Message& m = *c.message;
  if ((m.role != Role::kReply && m.role != Role::kError) || m.header.words < 4) return Outcome::kNotApplicable;
  if (m.header.credit > 0) return Outcome::kPass;
  if (c.legacy()) return Outcome::kNotApplicable;
  return c.Fail({.message = Text(m.role == Role::kError ? "RDMA_ERROR" : "A Reply", " grants no credits"),
                 .expected = "1 or more",
                 .actual = "0",
                 .severity = m.role == Role::kError ? std::optional(Severity::kNote) : std::nullopt});
}

// CRED-011 (draft-08): zero only while more Calls are outstanding.
Outcome LegacyGrantIsNotZero(Context& c) {
  const Message& m = *c.message;
  if (m.role != Role::kReply || !c.transaction) return Outcome::kNotApplicable;
  if (m.header.credit > 0) return Outcome::kPass;
  if (!Undisturbed(c) || !c.connection.setup_seen) return Unseen(c);
  if (c.connection.credits[1 - m.from].outstanding > 1) return Outcome::kPass;
  return c.Fail(
      {.message = "The Reply to the last outstanding Call grants no credits", .expected = "1 or more", .actual = "0"});
}

// CRED-003: no more Calls outstanding than granted. Evaluated with the largest recent grant. Before the first Reply
// CRED-005 says it.
Outcome CallsWithinGrant(Context& c) {
  if (c.transaction && c.transaction->backward) return Outcome::kNotApplicable;  // BC-002
  return JudgeGrant(c);
}

// BC-002: the same for backward Calls, whose credits are their own.
Outcome BackwardCallsWithinGrant(Context& c) {
  if (!c.transaction || !c.transaction->backward) return Outcome::kNotApplicable;
  return JudgeGrant(c);
}

// CRED-004: nor more than the requester itself asked for. A warning; not when CRED-003 says it already.
Outcome CallsWithinRequest(Context& c) {
  const Message& m = *c.message;
  if (m.role != Role::kCall || !c.transaction || m.repeated || m.header.words < 4) return Outcome::kNotApplicable;
  if (!c.state.credits_known[m.from] || !Undisturbed(c)) return Unseen(c);
  const session::CreditState& credits = c.connection.credits[m.from];
  // A requester that lowers its request may have Calls outstanding.
  const uint32_t requested = std::max({m.header.credit, credits.requested.any ? credits.requested.max : 0u, 1u});
  const uint32_t outstanding = credits.outstanding + 1;
  if (outstanding <= requested || outstanding > std::max(1u, Granted(c, m.from))) return Outcome::kPass;
  return c.Fail({.message = Text("The Call makes ", outstanding, " outstanding; its sender requests ", requested),
                 .expected = Text("at most ", requested, " outstanding"),
                 .actual = Text(outstanding),
                 .absent_from = Side(1 - m.from)});
}

// CRED-005: one Call until the first Reply. Only with the connection's set-up in the capture; after RDMA_ERROR, of
// which it is not said whether it counts, nothing is flagged. The passive peer's backward Calls have their own count.
Outcome OneCallBeforeFirstReply(Context& c) {
  const Message& m = *c.message;
  if (m.role != Role::kCall || !c.transaction || m.repeated) return Outcome::kNotApplicable;
  if (!c.connection.info.roles_known) return Outcome::kNoSetup;
  if (!SawEverything(c.connection)) return Unseen(c);
  const session::CreditState& credits = c.connection.credits[m.from];
  if (credits.granted.any || c.state.errored[m.from].size() > 0) return Outcome::kNotApplicable;
  if (credits.outstanding == 0) return Outcome::kPass;
  return c.Fail({.message = "A second Call before the first Reply told how many are granted",
                 .expected = "1 outstanding",
                 .actual = Text(credits.outstanding + 1),
                 .absent_from = Side(1 - m.from)});
}

// CRED-007: an RNR NAK by the responder for a Call within the grant.
Outcome ResponderHasReceives(Context& c) {
  if (c.event->nak != fabric::NakKind::kRnr) return Outcome::kNotApplicable;
  const RecentSend* send = c.state.refused_send;
  if (!send || send->role != Role::kCall) return Outcome::kNotApplicable;
  const Side requester = Side(1 - c.event->from);
  if (!c.state.credits_known[requester] || c.connection.disturbed || c.state.grants[requester].size() == 0)
    return Unseen(c);
  const uint32_t granted = c.state.grants[requester].FromEnd(0);
  if (c.connection.credits[requester].outstanding > granted || c.connection.backward_calls > 0)
    return Outcome::kNotApplicable;
  return c.Fail({.message = "No receive was posted for a Call within the grant",
                 .expected = Text(granted, " receives"),
                 .actual = "RNR NAK",
                 .frames = {send->frame},
                 .xid = send->xid});
}

// CRED-008: a requester has receives for the Replies it waits for. An RNR NAK for a Reply to an outstanding Call.
Outcome RequesterHasReceives(Context& c) {
  if (c.event->nak != fabric::NakKind::kRnr) return Outcome::kNotApplicable;
  const RecentSend* send = c.state.refused_send;
  if (!send || !send->in_order) return Outcome::kNotApplicable;
  if (c.connection.replies > c.connection.calls || c.connection.backward_calls > 0) return Outcome::kNotApplicable;
  return c.Fail({.message = "No receive was posted for the Reply to an outstanding Call",
                 .expected = "a receive for each outstanding Call",
                 .actual = "RNR NAK",
                 .frames = {send->frame},
                 .xid = send->xid});
}

}  // namespace stag::conformance
