// SPDX-License-Identifier: GPL-2.0-or-later
//
// MSGP, DONE and CCP: what only RFC 5666 (draft-08) speaks. The later documents forbid it; under draft-08 it has rules
// of its own.
#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

bool IsMsgp(const Message& m) { return IsVersion1(m) && m.header.proc == rpcrdma::kMsgp; }
bool IsDone(const Message& m) { return IsVersion1(m) && m.header.proc == rpcrdma::kDone; }

bool IsCcp(const rpc::CallHeader& call) {
  return call.status == ParseStatus::kOk &&
         (call.program == rpcrdma::kCcpProgramDraft || call.program == rpcrdma::kCcpProgramRfc5666);
}
bool IsConfRdma(const rpc::CallHeader& call) {
  return IsCcp(call) && call.version == 1 && call.procedure == rpcrdma::kCcpConfRdma;
}

}  // namespace

// MSGP-001: RDMA_MSGP is not sent. Under the automatic profile the engine waits how a Call is answered.
Outcome NoMsgp(Context& c) {
  const Message& m = *c.message;
  if (!IsVersion1(m)) return Outcome::kNotApplicable;
  if (!IsMsgp(m)) return Outcome::kPass;
  return c.Fail({.message = "RDMA_MSGP is sent", .expected = "RDMA_MSG", .actual = "RDMA_MSGP"});
}

// MSGP-004: alignment and threshold come before the lists. Flags headers that cannot be read with them.
Outcome MsgpLayout(Context& c) {
  const Message& m = *c.message;
  if (!IsMsgp(m) || !LengthKnown(m)) return Outcome::kNotApplicable;
  if (m.header.status == ParseStatus::kOk) return Outcome::kPass;
  if (m.header.status != ParseStatus::kMalformed) return Undecoded(c);
  return c.Fail({.message = Text("The RDMA_MSGP cannot be read: ", rpcrdma::DefectText(m.header.defect)),
                 .expected = "rdma_align, rdma_thresh, then the lists: 36 bytes or more",
                 .actual = Text("a defect at byte ", m.header.defect_offset)});
}

// DONE-001: RDMA_DONE is not sent.
Outcome NoDone(Context& c) {
  const Message& m = *c.message;
  if (!IsVersion1(m)) return Outcome::kNotApplicable;
  if (!IsDone(m)) return Outcome::kPass;
  return c.Fail({.message = "RDMA_DONE is sent", .expected = "nothing", .actual = "RDMA_DONE"});
}

// DONE-002 (RFC 8166): RDMA_DONE is not answered. Not flagged: an RDMA_ERROR for a Call that has the same xid.
Outcome DoneIsNotAnswered(Context& c) {
  const Message& m = *c.message;
  if (m.role != Role::kError || c.transaction) return Outcome::kNotApplicable;
  for (size_t i = 0; i < c.state.sends.size(); ++i) {
    const RecentSend& send = c.state.sends.FromEnd(i);
    if (send.from == m.from || !send.has_xid || send.xid != m.header.xid) continue;
    if (send.role != Role::kDone) return Outcome::kNotApplicable;
    return c.Fail(
        {.message = "RDMA_DONE is answered", .expected = "no answer", .actual = "RDMA_ERROR", .frames = {send.frame}});
  }
  return Outcome::kNotApplicable;
}

// DONE-003 (draft-08): a client that has read what a Reply advertises says RDMA_DONE. Missing when the connection goes
// on.
Outcome DoneFollowsReads(Context& c) {
  for (const Awaited& a : c.state.awaited) {
    if (!a.due || a.owed != Owed::kDone) continue;
    return c.Fail({.message = "No RDMA_DONE for a Reply with a Read list",
                   .expected = "RDMA_DONE once the data was read",
                   .actual = Text("none, though ", kPatience, " later Calls were answered"),
                   .frames = {a.frame},
                   .from = a.requester,
                   .xid = a.xid});
  }
  return PassIf(c.message->role == Role::kDone && c.transaction);
}

// DONE-004 (draft-08): RDMA_DONE is its four words.
Outcome DoneIsHeaderOnly(Context& c) {
  const Message& m = *c.message;
  if (!IsDone(m) || !LengthKnown(m)) return Outcome::kNotApplicable;
  if (m.length == 16) return Outcome::kPass;
  return c.Fail(
      {.message = Text("The RDMA_DONE has ", m.length, " bytes"), .expected = "16 bytes", .actual = Text(m.length)});
}

// CCP-002 (draft-08): CONF_RDMA takes three words.
Outcome CcpArgumentsLayout(Context& c) {
  const Message& m = *c.message;
  if (m.role != Role::kCall || !IsConfRdma(m.call) || m.call.opaque_arguments() || m.header.proc != rpcrdma::kMsg)
    return Outcome::kNotApplicable;
  const uint64_t length = m.payload_length - m.call.length;
  if (length == 12) return Outcome::kPass;
  return c.Fail({.message = Text("CONF_RDMA has ", length, " bytes of arguments"),
                 .expected = "12 bytes",
                 .actual = Text(length)});
}

// CCP-003 (draft-08): and returns three.
Outcome CcpResultsLayout(Context& c) {
  const Message& m = *c.message;
  if (m.role != Role::kReply || !c.transaction || !IsConfRdma(c.transaction->call_rpc)) return Outcome::kNotApplicable;
  const Transaction& t = *c.transaction;
  if (!t.reply_rpc.success() || m.header.proc != rpcrdma::kMsg || t.call_rpc.opaque_arguments())
    return Outcome::kNotApplicable;
  const uint64_t length = t.reply.stream_length - t.reply_rpc.length;
  if (length == 12) return Outcome::kPass;
  return c.Fail(
      {.message = Text("CONF_RDMA returns ", length, " bytes"), .expected = "12 bytes", .actual = Text(length)});
}

// CCP-005 (draft-08): inline Calls fit the size that the server took. Whether the transport header counts is not said:
// an error only when the payload alone is larger.
Outcome CallFitsCcp(Context& c) {
  const Message& m = *c.message;
  const uint32_t limit = c.state.ccp_call_size;
  if (m.role != Role::kCall || limit == 0 || m.from != c.connection.client || !HasLists(m.header) ||
      m.header.proc == rpcrdma::kNomsg)
    return Outcome::kNotApplicable;
  if (m.length <= limit) return Outcome::kPass;
  return c.Fail({.message = Text("An inline Call of ", m.payload_length, " bytes after CONF_RDMA set ", limit),
                 .expected = Text("at most ", limit, " bytes"),
                 .actual = Text(m.payload_length, " bytes, ", m.length, " with the transport header"),
                 .severity = m.payload_length <= limit ? std::optional(Severity::kWarning) : std::nullopt});
}

// CCP-006 (draft-08): inline Replies fit the size that the client takes.
Outcome ReplyFitsCcp(Context& c) {
  const Message& m = *c.message;
  const uint32_t limit = c.state.ccp_reply_size;
  if (m.role != Role::kReply || limit == 0 || m.from == c.connection.client || !HasLists(m.header) ||
      m.header.proc == rpcrdma::kNomsg)
    return Outcome::kNotApplicable;
  if (m.length <= limit) return Outcome::kPass;
  return c.Fail({.message = Text("An inline Reply of ", m.payload_length, " bytes after CONF_RDMA set ", limit),
                 .expected = Text("at most ", limit, " bytes"),
                 .actual = Text(m.payload_length, " bytes, ", m.length, " with the transport header"),
                 .severity = m.payload_length <= limit ? std::optional(Severity::kWarning) : std::nullopt});
}

// CCP-009 (draft-08): CCP runs under a security flavor. Lower layers may protect it: a warning.
Outcome CcpIsProtected(Context& c) {
  const Message& m = *c.message;
  if (m.role != Role::kCall || !IsConfRdma(m.call)) return Outcome::kNotApplicable;
  if (m.call.credential.flavor > rpc::kAuthSys) return Outcome::kPass;
  return c.Fail({.message = Text("CONF_RDMA without security: flavor ", m.call.credential.flavor),
                 .expected = "an RPC security flavor",
                 .actual = m.call.credential.flavor == rpc::kAuthNone ? "AUTH_NONE" : "AUTH_SYS"});
}

}  // namespace stag::conformance
