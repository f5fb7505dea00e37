// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a NAK or Terminate tells of a peer's receive buffers: CRED-007, CRED-008, THRESH-004, PVT-015 and, under
// draft-08, CCP-011. After a Call over the grant nothing of this is the responder's fault until all Calls are answered
// (CRED-013).
#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

// No receive was posted: RNR NAK, or RDMAP Terminate "no buffer available" (RFC 5041 section 8).
bool LacksBuffer(const fabric::Nak& nak) {
  if (nak.kind == fabric::NakKind::kTerminate)
    return nak.terminate_layer == 1 && nak.terminate_type == 2 && nak.terminate_code == 2;
  return nak.kind == fabric::NakKind::kRnr;
}

// The receive was too small: RDMAP Terminate "message too long" (RFC 5041 section 8), or the InfiniBand NAK.
bool RefusesLength(const fabric::Nak& nak) {
  if (nak.kind == fabric::NakKind::kTerminate)
    return nak.terminate_layer == 1 && nak.terminate_type == 2 && nak.terminate_code == 5;
  return nak.kind == fabric::NakKind::kInvalidRequest;
}

std::string_view NakText(const fabric::Nak& nak) {
  return nak.kind == fabric::NakKind::kRnr         ? "RNR NAK"
         : nak.kind == fabric::NakKind::kTerminate ? "Terminate"
                                                   : "a NAK";
}

// No receive for a Call that its responder owed one; before the first grant it owes one (RFC 8166 section 3.3.3).
Outcome JudgeCall(NakContext& c, const RecentSend& call, uint32_t granted) {
  const Side requester = Side(1 - c.event.from);
  const session::CreditState& credits = c.connection.credits[requester];
  if (c.connection.backward_calls > 0) return Outcome::kNotApplicable;  // answers to those take receives, too
  if (!credits.known) return Unseen(c);
  if (c.state.flow[requester].overrun_frame != 0 || credits.outstanding > granted) return Outcome::kNotApplicable;
  return c.Fail({.message = "No receive was posted for a Call within the grant",
                 .expected = Count(granted, "receive"),
                 .actual = std::string(NakText(c.event.nak())),
                 .frames = {call.frame},
                 .xid = call.xid});
}

// No receive for a Reply that its requester waits for. Replies that answered nothing may have taken it.
Outcome JudgeReply(NakContext& c, const RecentSend& reply) {
  if (!reply.in_order || c.connection.backward_calls > 0) return Outcome::kNotApplicable;
  if (!SawEverything(c.connection)) return Unseen(c);
  if (c.connection.replies_without_call > 0 || c.connection.replies + c.connection.errors > c.connection.calls)
    return Outcome::kNotApplicable;
  return c.Fail({.message = "No receive was posted for the Reply to an outstanding Call",
                 .expected = "a receive for each outstanding Call",
                 .actual = std::string(NakText(c.event.nak())),
                 .frames = {reply.frame},
                 .xid = reply.xid});
}

// A Send that was refused for its length although `least` bytes must be taken.
Outcome JudgeLength(NakContext& c, uint64_t least) {
  const RecentSend* send = c.state.refused_send;
  if (!send || !RefusesLength(c.event.nak()) || send->invalidates || send->exceeds_grant)
    return Outcome::kNotApplicable;
  if (!send->length) return Outcome::kGap;
  if (*send->length > least) return Outcome::kPass;
  if (c.connection.lossy) return Unseen(c);  // whether it is over the grant is not known
  return c.Fail({.message = Text("A Send of ", *send->length, " bytes is refused"),
                 .expected = Text("Sends of up to ", least, " bytes taken"),
                 .actual = std::string(NakText(c.event.nak())),
                 .frames = {send->frame},
                 .xid = send->xid});
}

}  // namespace

// CRED-007: receives are there before a grant says so. Flags a Call within the newest grant that finds none. Not
// flagged: RNR for anything but Sends, Calls over the grant and what follows them, connections with backward Calls.
Outcome ResponderHasReceives(NakContext& c) {
  const RecentSend* send = c.state.refused_send;
  if (!LacksBuffer(c.event.nak()) || !send || send->role != Role::kCall) return Outcome::kNotApplicable;
  const session::MinMaxLast& granted = c.connection.credits[1 - c.event.from].granted;
  return granted.any ? JudgeCall(c, *send, granted.last) : Outcome::kNotApplicable;
}

// CRED-008: a requester has receives for the Replies it waits for.
Outcome RequesterHasReceives(NakContext& c) {
  const RecentSend* send = c.state.refused_send;
  if (!LacksBuffer(c.event.nak()) || !send || send->role != Role::kReply) return Outcome::kNotApplicable;
  return JudgeReply(c, *send);
}

// THRESH-004: every receiver takes 1024 bytes.
Outcome SmallSendIsTaken(NakContext& c) { return JudgeLength(c, rpcrdma::kDefaultThreshold); }

// PVT-015, second half: a receiver takes what its private data says.
Outcome OwnReceiveSize(NakContext& c) {
  const session::SetupData& own = c.connection.setup[c.event.from];
  if (!own.known() || !own.has_data()) return Outcome::kNotApplicable;
  const Outcome outcome = JudgeLength(c, own.receive_bytes());
  if (outcome == Outcome::kFail) c.violation()->frames.push_back(own.frame.number);
  return outcome;
}

// CCP-011 (draft-08): enough receives of adequate size: what CRED-007, CRED-008 and THRESH-004 ask, from the first Call
// on, and of the size that CONF_RDMA agreed on. A warning.
Outcome ReceivesAreAdequate(NakContext& c) {
  const RecentSend* send = c.state.refused_send;
  if (!send) return Outcome::kNotApplicable;
  if (LacksBuffer(c.event.nak()) && send->role == Role::kCall) {
    const session::MinMaxLast& granted = c.connection.credits[1 - c.event.from].granted;
    return JudgeCall(c, *send, granted.any ? granted.last : 1);
  }
  if (LacksBuffer(c.event.nak()) && send->role == Role::kReply) return JudgeReply(c, *send);
  const uint32_t agreed = send->role == Role::kReply ? c.state.ccp_reply_size : c.state.ccp_call_size;
  return JudgeLength(c, std::max(agreed, rpcrdma::kDefaultThreshold));
}

}  // namespace stag::conformance
