// SPDX-License-Identifier: GPL-2.0-or-later
//
// CRED: requests, grants and outstanding Calls, for each direction on its own. How many Calls are outstanding and what
// the requester may go by is session/rpcrdma/credits.h. What NAKs tell of receives is in receives.cc.
#include <algorithm>

#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

using session::CreditState;

// The frames of the Calls that `requester` waits for; of very many, the newest.
std::vector<uint64_t> OutstandingFrames(const Context& c, Side requester) {
  constexpr size_t kMost = 16;
  std::vector<uint64_t> frames;
  for (const OutstandingCall& call : c.state.calls)
    if (call.transaction->requester == requester && !call.answered)
      frames.push_back(call.transaction->call.frame.number);
  std::ranges::sort(frames, std::greater<>());
  if (frames.size() > kMost) frames.resize(kMost);
  return frames;
}

// A Call that makes more outstanding than its requester may have.
Outcome JudgeGrant(CallContext& c) {
  const Message& m = c.message;
  if (m.repeated) return Outcome::kNotApplicable;
  const CreditState& credits = c.connection.credits[m.from];
  if (c.connection.setup_seen && !credits.granted.any) return Outcome::kNotApplicable;  // CRED-005
  if (!credits.known) return Unseen(c);
  if (c.state.exceeds_received) {
    const uint32_t granted = credits.received.grant();
    return c.Fail({.message = Text("The Call makes ", credits.outstanding + 1,
                                   " outstanding; its sender's adapter has ", "acknowledged a grant of ", granted),
                   .expected = Text("at most ", granted, " outstanding"),
                   .actual = Text(credits.outstanding + 1),
                   .severity = Severity::kWarning,
                   .frames = OutstandingFrames(c, m.from),
                   .absent_from = Side(1 - m.from)});
  }
  if (!c.state.exceeds_grant) return Outcome::kPass;
  const uint32_t granted = std::max(credits.granted.last, 1u);
  return c.Fail({.message = Text("The Call makes ", credits.outstanding + 1, " outstanding; ", granted,
                                 granted == 1 ? " is granted" : " are granted"),
                 .expected = Text("at most ", granted, " outstanding"),
                 .actual = Text(credits.outstanding + 1),
                 .frames = OutstandingFrames(c, m.from),
                 .absent_from = Side(1 - m.from)});
}

}  // namespace

// CRED-001: a Call that asks for no credit asks to stop. RDMA_DONE's word means nothing.
Outcome CallRequestsCredit(CallContext& c) {
  if (c.message.header.words < 4) return Outcome::kNotApplicable;
  if (c.message.header.credit > 0) return Outcome::kPass;
  return c.Fail({.message = "A Call requests no credits", .expected = "1 or more", .actual = "0"});
}

// CRED-002: a grant is never zero. In RDMA_ERROR, of which no document says what it holds, a note (with CRED-010).
// draft-08 has CRED-011.
Outcome GrantIsNotZero(AnswerContext& c) {
  const Message& m = c.message;
  if (m.header.words < 4) return Outcome::kNotApplicable;
  if (m.header.credit > 0) return Outcome::kPass;
  if (c.legacy()) return Outcome::kNotApplicable;
  return c.Fail({.message = Text(m.role == Role::kError ? "RDMA_ERROR" : "A Reply", " grants no credits"),
                 .expected = "1 or more",
                 .actual = "0",
                 .severity = m.role == Role::kError ? std::optional(Severity::kNote) : std::nullopt});
}

// CRED-010: every message to the requester states the grant. An RDMA_ERROR that states none is a note, and leaves the
// grant as it was; that the newest message counts, in the order of Sends, is how all grants are taken here.
Outcome ErrorStatesGrant(ErrorContext& c) {
  const Message& m = c.message;
  if (m.header.words < 4 || !c.transaction) return Outcome::kNotApplicable;
  if (m.header.credit > 0) return Outcome::kPass;
  const session::MinMaxLast& granted = c.connection.credits[c.transaction->requester].granted;
  return c.Fail({.message = "RDMA_ERROR states a grant of no credits",
                 .expected = granted.any ? Text("the grant: ", granted.last) : "the grant: 1 or more",
                 .actual = "0"});
}

// CRED-011 (draft-08): zero only while more Calls are outstanding.
Outcome LegacyGrantIsNotZero(ReplyContext& c) {
  const Message& m = c.message;
  if (m.header.credit > 0) return Outcome::kPass;
  const CreditState& credits = c.connection.credits[c.transaction.requester];
  if (!credits.known || !c.connection.setup_seen) return Unseen(c);
  if (credits.outstanding > 1) return Outcome::kPass;
  return c.Fail(
      {.message = "The Reply to the last outstanding Call grants no credits", .expected = "1 or more", .actual = "0"});
}

// CRED-003: no more Calls outstanding than granted. Flags a Call that is too many whichever of the last Replies its
// requester had; so not Calls that were outstanding when a smaller grant came, nor those that crossed it on their way.
// A Call that is too many by the Replies that its adapter acknowledged before is a warning: it may have been posted
// before its sender looked at them. Before the first grant CRED-005 says it. Replies of which nothing was captured:
// silent until all Calls are answered.
Outcome CallsWithinGrant(CallContext& c) {
  if (c.transaction.backward) return Outcome::kNotApplicable;  // BC-002
  return JudgeGrant(c);
}

// BC-002: the same for backward Calls, whose credits are their own.
Outcome BackwardCallsWithinGrant(CallContext& c) {
  if (!c.transaction.backward) return Outcome::kNotApplicable;
  return JudgeGrant(c);
}

// CRED-004: nor more than the requester itself asked for. A warning; not when CRED-003 says it already. A requester
// that lowers its request may go by the larger one until no more Calls than the smaller are outstanding.
Outcome CallsWithinRequest(CallContext& c) {
  const Message& m = c.message;
  if (m.repeated || m.header.words < 4) return Outcome::kNotApplicable;
  const CreditState& credits = c.connection.credits[m.from];
  if (!credits.known) return Unseen(c);
  const uint32_t requested = std::max({m.header.credit, credits.request_limit, 1u});
  const uint32_t outstanding = credits.outstanding + 1;
  if (outstanding <= requested || c.state.exceeds_grant) return Outcome::kPass;
  return c.Fail({.message = Text("The Call makes ", outstanding, " outstanding; its sender requests ", requested),
                 .expected = Text("at most ", requested, " outstanding"),
                 .actual = Text(outstanding),
                 .frames = OutstandingFrames(c, m.from),
                 .absent_from = Side(1 - m.from)});
}

// CRED-005: one Call until the first Reply. Only with the connection's set-up in the capture. An RDMA_ERROR ends the
// wait for its Call but is hardly "a valid reply": Calls after it are a note. The passive peer's backward Calls have
// their own count.
Outcome OneCallBeforeFirstReply(CallContext& c) {
  const Message& m = c.message;
  if (m.repeated) return Outcome::kNotApplicable;
  if (!c.connection.info.roles_known) return Outcome::kNoSetup;
  if (!SawEverything(c.connection)) return Unseen(c);
  const CreditState& credits = c.connection.credits[m.from];
  if (credits.replied) return Outcome::kNotApplicable;
  const bool after_error = c.state.errored[m.from].size() > 0;
  if (after_error && c.state.exceeds_grant && credits.granted.any) return Outcome::kNotApplicable;  // CRED-003
  if (after_error)
    return c.Fail({.message = "A Call after an RDMA_ERROR, before the first Reply told how many are granted",
                   .expected = "a Reply",
                   .actual = "RDMA_ERROR only",
                   .severity = Severity::kNote,
                   .absent_from = Side(1 - m.from)});
  if (credits.outstanding == 0) return Outcome::kPass;
  return c.Fail({.message = "A second Call before the first Reply told how many are granted",
                 .expected = "1 outstanding",
                 .actual = Text(credits.outstanding + 1),
                 .frames = OutstandingFrames(c, m.from),
                 .absent_from = Side(1 - m.from)});
}

// CRED-006: a grant is a limit, not a counter of what is left. A hint: eight Replies in a row that each grant one less
// than the Reply before; said once for each such row. Any other change is the responder's right.
Outcome GrantIsNoCounter(ReplyContext& c) {
  const Message& m = c.message;
  if (c.state.flow[c.transaction.requester].falling != kFallingGrants) return Outcome::kPass;
  return c.Fail({.message = Text("The grant fell by one with each of ", kFallingGrants, " Replies, like a counter"),
                 .expected = "the number of Calls that may be outstanding",
                 .actual = Text(m.header.credit + kFallingGrants, " to ", m.header.credit)});
}

// CRED-012: RDMA Reads in flight, within what the peer serves at once (CM Responder Resources, IRD of RFC 6581; there a
// peer that goes on after a reply with a larger ORD serves that). Proven when the first of them is answered. Not judged
// where the set-up does not say; what the capture lost makes the number smaller.
Outcome ReadsWithinDepth(ReadResponseContext& c) {
  if (c.event.kind() != fabric::EventKind::kReadResponse) return Outcome::kNotApplicable;
  const Side reader = Side(1 - c.event.from);
  const session::SetupData& server = c.connection.setup[c.event.from];
  if (!server.reads_served) return Outcome::kNoSetup;
  uint32_t served = *server.reads_served;
  if (c.connection.info.fabric == fabric::FabricKind::kIwarp && reader == 1)
    served = std::max<uint32_t>(served, c.connection.setup[reader].reads_issued.value_or(0));
  const ReadQueue& reads = c.state.reads[reader];
  if (reads.in_flight() <= served) return Outcome::kPass;
  return c.Fail(
      {.message = Text(Count(reads.in_flight(), "RDMA Read"), " in flight to a peer that serves ", served, " at once"),
       .expected = Text("at most ", served),
       .actual = Text(reads.in_flight()),
       .frames = {server.frame.number},
       .at = reads.newest_frame(),
       .from = reader});
}

}  // namespace stag::conformance
