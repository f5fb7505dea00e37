// SPDX-License-Identifier: GPL-2.0-or-later
//
// DONE: RDMA_DONE, which ends a Reply with a Read list under RFC 5666 (draft-08). The later documents have neither.
#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

bool IsDone(const Message& m) { return IsVersion1(m) && m.header.proc == rpcrdma::kDone; }

}  // namespace

// DONE-001: RDMA_DONE is not sent.
Outcome NoDone(MessageContext& c) {
  const Message& m = c.message;
  if (!IsVersion1(m)) return Outcome::kNotApplicable;
  if (!IsDone(m)) return Outcome::kPass;
  return c.Fail({.message = "RDMA_DONE is sent", .expected = "nothing", .actual = "RDMA_DONE"});
}

// DONE-002 (RFC 8166): RDMA_DONE is not answered. Not flagged: an RDMA_ERROR for a Call that has the same xid.
Outcome DoneIsNotAnswered(ErrorContext& c) {
  if (c.transaction) return Outcome::kNotApplicable;
  const RecentSend* last = LastFromPeer(c);
  if (!last || last->role != Role::kDone) return Outcome::kNotApplicable;
  return c.Fail(
      {.message = "RDMA_DONE is answered", .expected = "no answer", .actual = "RDMA_ERROR", .frames = {last->frame}});
}

// DONE-003 (draft-08): a client that has read what a Reply advertises says RDMA_DONE. Missing when the connection goes
// on.
Outcome DoneFollowsReads(MessageContext& c) {
  if (const Awaited* due = Due(c, Owed::kDone))
    return c.Fail({.message = "No RDMA_DONE for a Reply with a Read list",
                   .expected = "RDMA_DONE once the data was read",
                   .actual = Text("none, though ", kPatience, " later Calls were answered"),
                   .at = due->frame,
                   .from = due->requester,
                   .xid = due->xid});
  return PassIf(c.message.role == Role::kDone && c.transaction);
}

// DONE-004 (draft-08): RDMA_DONE is its four words.
Outcome DoneIsHeaderOnly(MessageContext& c) {
  const Message& m = c.message;
  if (!IsDone(m) || !LengthKnown(m)) return Outcome::kNotApplicable;
  if (m.length == 16) return Outcome::kPass;
  return c.Fail(
      {.message = Text("The RDMA_DONE has ", m.length, " bytes"), .expected = "16 bytes", .actual = Text(m.length)});
}

// DONE-005 (draft-08): an RDMA_DONE takes a credit, like a Call. When it is free again is not said: with the next
// answer, here; so a warning. Asked of Calls and of RDMA_DONE. Not flagged: what CRED-003 says already.
Outcome DoneTakesCredit(MessageContext& c) {
  const Message& m = c.message;
  if (m.role != Role::kDone && (m.role != Role::kCall || !c.transaction || m.repeated)) return Outcome::kNotApplicable;
  const session::CreditState& credits = c.connection.credits[m.from];
  const uint32_t dones = c.state.flow[m.from].dones;
  if ((m.role == Role::kCall && dones == 0) || c.state.exceeds_grant) return Outcome::kNotApplicable;
  if (!credits.known) return Unseen(c);
  const uint32_t used = credits.outstanding + dones + 1;
  if (credits.window.Allows(used)) return Outcome::kPass;
  return c.Fail({.message = Text(m.role == Role::kCall ? "The Call" : "The RDMA_DONE", " takes credit number ", used,
                                 ", RDMA_DONE counted; ", credits.granted.last, " granted"),
                 .expected = Text("at most ", credits.granted.last, " in use"),
                 .actual = Text(used),
                 .absent_from = Side(1 - m.from)});
}

// DONE-006 (draft-08): a grant of one leaves no credit for the RDMA_DONE that a Read list asks for. A note.
Outcome GrantLeavesRoomForDone(ReplyContext& c) {
  const Message& m = c.message;
  if (c.transaction.reply.read_chunks.empty() || m.header.credit == 0) return Outcome::kNotApplicable;
  if (m.header.credit > 1) return Outcome::kPass;
  return c.Fail({.message = "A Reply with a Read list grants one credit: RDMA_DONE takes it",
                 .expected = "2 or more",
                 .actual = "1"});
}

// DONE-007 (draft-08): RDMA_DONEs that are due do not take the last credit of a client that waits for nothing: they are
// not answered, so it would never get another.
Outcome DoneLeavesCredit(ReplyContext& c) {
  const Message& m = c.message;
  const Side requester = c.transaction.requester;
  const session::CreditState& credits = c.connection.credits[requester];
  const uint32_t unread = c.state.flow[requester].unread + (c.transaction.reply.read_chunks.empty() ? 0 : 1);
  if (unread == 0) return Outcome::kNotApplicable;
  if (m.header.credit > 0) return Outcome::kPass;
  if (!credits.known || !c.connection.setup_seen) return Unseen(c);
  if (credits.outstanding > 1) return Outcome::kPass;
  return c.Fail({.message = Text("No credits are granted while ", Count(unread, "RDMA_DONE"), " and no Reply are due"),
                 .expected = "1 or more, or a Reply held back",
                 .actual = "0"});
}

// DONE-008 (rfc5666bis): RDMA_DONE is answered ERR_CHUNK. A note for silence while later Calls are answered.
Outcome DoneGetsErrChunk(MessageContext& c) {
  if (const Awaited* due = Due(c, Owed::kDoneError))
    return c.Fail({.message = "RDMA_DONE is not answered",
                   .expected = "RDMA_ERROR with ERR_CHUNK",
                   .actual = Text("no answer, though ", kPatience, " later Calls have one"),
                   .at = due->frame,
                   .from = Side(1 - due->requester),
                   .xid = due->xid});
  return Outcome::kNotApplicable;
}

}  // namespace stag::conformance
