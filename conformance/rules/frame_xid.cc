// SPDX-License-Identifier: GPL-2.0-or-later
//
// FRAME and XID: how the RPC message starts, and which xid belongs to which transaction.
#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

Outcome JudgeMark(Context& c, Stream stream, uint32_t xid, std::string_view where) {
  if (!WordAt(stream.bytes, 4)) return stream.length < 8 ? Outcome::kNotApplicable : Undecoded(c);
  if (!StartsWithRecordMark(stream.bytes, stream.length, xid)) return Outcome::kPass;
  return c.Fail({.message = Text("A record mark stands before the RPC message ", where),
                 .expected = Text("the xid ", Hex{xid}),
                 .actual = Text(Hex{*WordAt(stream.bytes, 0)}, ", then the xid")});
}

Outcome JudgeXid(Context& c, Stream stream, uint32_t xid, std::string_view where) {
  const auto word = WordAt(stream.bytes, 0);
  if (!word) return stream.length < 4 ? Outcome::kNotApplicable : Undecoded(c);
  if (*word == xid) return Outcome::kPass;
  if (StartsWithRecordMark(stream.bytes, stream.length, xid)) return Outcome::kNotApplicable;
  // What was captured may be no more than a record mark.
  if (!WordAt(stream.bytes, 4) && (*word & 0x7fffffffu) == stream.length - 4) return Undecoded(c);
  return c.Fail({.message = Text("The RPC message ", where, " has another xid than the transport header"),
                 .expected = Text(Hex{xid}),
                 .actual = Text(Hex{*word})});
}

template <typename T>
bool Holds(const T& recent, uint64_t value) {
  for (size_t i = 0; i < recent.size(); ++i)
    if (recent.FromEnd(i) == value) return true;
  return false;
}

// A second completion: the xid has just ended on this connection, and nothing explains another answer.
bool IsSecondCompletion(const MessageContext& c) {
  const Message& m = c.message;
  return m.orphan && m.repeated && !c.connection.lossy && !Holds(c.state.reissued[1 - m.from], m.header.xid);
}

}  // namespace

// FRAME-001: no record mark before the RPC message, inline or in a special chunk.
Outcome NoRecordMark(MessageContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header)) return Outcome::kNotApplicable;
  if (m.header.proc != rpcrdma::kNomsg) return JudgeMark(c, {m.payload, m.payload_length}, m.header.xid, "inline");
  if (m.role != Role::kReply || !c.transaction) return Outcome::kNotApplicable;
  return JudgeMark(c, ReplyStream(*c.transaction), m.header.xid, "in the Reply chunk");
}

Outcome NoRecordMarkInLongCall(CallCompleteContext& c) {
  const Transaction& t = c.transaction;
  if (!HasLists(t.call.header) || t.call.header.proc != rpcrdma::kNomsg) return Outcome::kNotApplicable;
  return JudgeMark(c, CallStream(t), t.xid, "in the Position-zero chunk");
}

// FRAME-002: a TCP stream turns from record-marked RPC to MPA between messages: the last record is whole, and every
// Call in the old framing was answered. Not flagged: streams that begin with MPA, or of which the beginning was not
// captured.
Outcome FramingChangesBetweenMessages(SetupContext& c) {
  const fabric::Setup& e = c.event.setup();
  if (!e.after_records) return Outcome::kNotApplicable;
  if (!e.within_record && e.unanswered_records == 0) return Outcome::kPass;
  return c.Fail({.message = e.within_record ? Text("The MPA request comes within a record of RPC over TCP")
                                            : Text("The MPA request comes before ", e.unanswered_records,
                                                   " Calls in the old framing were answered"),
                 .expected = "the change of framing between whole RPC messages",
                 .actual = e.within_record ? "an incomplete record" : "an outstanding Call"});
}

// XID-001: rdma_xid is the RPC message's xid. A record mark in front is FRAME-001.
Outcome XidsAgree(MessageContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header)) return Outcome::kNotApplicable;
  if (m.header.proc != rpcrdma::kNomsg) return JudgeXid(c, {m.payload, m.payload_length}, m.header.xid, "inline");
  if (m.role != Role::kReply || !c.transaction) return Outcome::kNotApplicable;
  return JudgeXid(c, ReplyStream(*c.transaction), m.header.xid, "in the Reply chunk");
}

Outcome XidsAgreeInLongCall(CallCompleteContext& c) {
  const Transaction& t = c.transaction;
  if (!HasLists(t.call.header) || t.call.header.proc != rpcrdma::kNomsg) return Outcome::kNotApplicable;
  return JudgeXid(c, CallStream(t), t.xid, "in the Position-zero chunk");
}

// XID-002: a Reply or RDMA_ERROR names an outstanding Call. Silent unless the whole connection was captured without
// loss.
Outcome ReplyHasCall(AnswerContext& c) {
  const Message& m = c.message;
  if (m.header.words < 4) return Outcome::kNotApplicable;
  if (c.transaction) return Outcome::kPass;
  if (m.repeated) return Outcome::kNotApplicable;  // XID-004
  if (!IsOrphan(c)) return Unseen(c);
  return c.Fail({.message = Text(m.role == Role::kError ? "RDMA_ERROR" : "A Reply", " for an xid that no Call has"),
                 .expected = "the xid of an outstanding Call",
                 .actual = Text(Hex{m.header.xid}),
                 .absent_from = Side(1 - m.from)});
}

// XID-003: a Call's xid is not in use. The same Call again on a live connection is a note. Not flagged: where a lost
// Reply may have ended the first; link-level duplicates never come here.
Outcome XidIsUnique(CallContext& c) {
  const Message& m = c.message;
  if (!m.repeated) return Outcome::kPass;
  if (c.connection.lossy) return Unseen(c);
  const bool same = m.header.proc != rpcrdma::kNomsg && HashOf(m.payload) == c.state.reissued_call_hash;
  return c.Fail({.message = same ? "The Call is sent again on a live connection, before it was answered"
                                 : "The xid belongs to another Call that is still outstanding",
                 .expected = "an xid that is not in use",
                 .actual = Text(Hex{m.header.xid}),
                 .severity = same ? std::optional(Severity::kNote) : std::nullopt,
                 .frames = {c.state.reissued_call_frame},
                 .absent_from = Side(1 - m.from)});
}

// XID-004: one completion for each xid. Not flagged: answers to an RPC that was itself sent twice; loss.
Outcome OneCompletion(AnswerContext& c) {
  const Message& m = c.message;
  if (m.header.words < 4) return Outcome::kNotApplicable;
  if (!m.repeated) return PassIf(c.transaction != nullptr);
  if (!IsSecondCompletion(c)) return Unseen(c);
  const RecentSend* last = m.role == Role::kError ? LastFromPeer(c) : nullptr;
  if (last && last->role == Role::kDone) return Outcome::kNotApplicable;  // DONE-002; the draft of 2016 wants it
  return c.Fail(
      {.message = Text(m.role == Role::kError ? "RDMA_ERROR" : "A Reply", " for an xid that was answered already"),
       .expected = "nothing more for this xid",
       .actual = m.role == Role::kError ? "RDMA_ERROR" : "a second Reply",
       .absent_from = Side(1 - m.from)});
}

// ERR-011: RDMA_ERROR ends its xid; a Reply after it is the same event as XID-004. The same Call once more on the same
// connection is a note.
Outcome ErrorIsFinal(MessageContext& c) {
  const Message& m = c.message;
  if (m.role == Role::kError && c.transaction) return Outcome::kPass;
  if (m.role == Role::kCall && c.transaction && !m.repeated && m.payload.size() > 0) {
    const auto& hashes = c.state.errored_call_hash[m.from];
    if (!Holds(c.state.errored[m.from], m.header.xid) || !Holds(hashes, HashOf(m.payload)))
      return Outcome::kNotApplicable;
    return c.Fail({.message = "A Call that RDMA_ERROR ended is sent again on the same connection",
                   .expected = "the RPC ended",
                   .actual = "the same Call with the same xid",
                   .severity = Severity::kNote});
  }
  if (m.role != Role::kReply || !IsSecondCompletion(c)) return Outcome::kNotApplicable;
  if (!Holds(c.state.errored[1 - m.from], m.header.xid)) return Outcome::kNotApplicable;
  return c.Fail({.message = "A Reply follows the RDMA_ERROR that ended its xid",
                 .expected = "nothing more for this xid",
                 .actual = "a Reply",
                 .absent_from = Side(1 - m.from)});
}

// ERR-017: RDMA_ERROR completes its Call, as a Reply does: one for each Call. The same event as XID-004.
Outcome OneErrorForEachCall(ErrorContext& c) {
  const Message& m = c.message;
  if (m.header.words < 4) return Outcome::kNotApplicable;
  if (c.transaction) return Outcome::kPass;
  if (!IsSecondCompletion(c) || !Holds(c.state.errored[1 - m.from], m.header.xid)) return Outcome::kNotApplicable;
  return c.Fail({.message = "A second RDMA_ERROR for the same Call",
                 .expected = "one answer",
                 .actual = "another RDMA_ERROR",
                 .absent_from = Side(1 - m.from)});
}

// ERR-003: RDMA_ERROR echoes the xid of an outstanding Call. A warning when it does not: the Call may have been
// unreadable.
Outcome ErrorEchoesXid(ErrorContext& c) {
  const Message& m = c.message;
  if (m.header.words < 4) return Outcome::kNotApplicable;
  if (c.transaction) return Outcome::kPass;
  if (!IsOrphan(c)) return Unseen(c);
  return c.Fail({.message = "RDMA_ERROR for an xid that no Call has",
                 .expected = "the xid of an outstanding Call",
                 .actual = Text(Hex{m.header.xid}),
                 .severity = Severity::kWarning,
                 .absent_from = Side(1 - m.from)});
}

// CRED-009: nothing is sent to a requester that waits for nothing. The same event as XID-002 when no Call is
// outstanding.
Outcome NothingUnsolicited(AnswerContext& c) {
  const Message& m = c.message;
  if (c.transaction) return Outcome::kPass;
  if (m.role == Role::kError || c.connection.credits[1 - m.from].outstanding > 0) return Outcome::kNotApplicable;
  if (!IsOrphan(c) && !IsSecondCompletion(c)) return Unseen(c);
  return c.Fail({.message = "A Reply to a peer that has no Call outstanding",
                 .expected = "nothing",
                 .actual = Text("a Reply for xid ", Hex{m.header.xid}),
                 .absent_from = Side(1 - m.from)});
}

}  // namespace stag::conformance
