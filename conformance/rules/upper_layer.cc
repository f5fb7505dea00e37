// SPDX-License-Identifier: GPL-2.0-or-later
//
// DDP, ULB, GSS and BC: what the upper layer lets be reduced, and backward calls. Nothing is said of programs that are
// not known or arguments that cannot be followed. Read chunks are judged in read_list.cc.
#include <algorithm>

#include "conformance/rules/placements.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

bool ReturnsData(const Header& h) {
  return std::ranges::any_of(h.write_chunks, [&](const Chunk& chunk) { return h.SizeOf(chunk) > 0; });
}

// A successful Reply that moved data through a Write chunk though its procedure has no eligible result.
Outcome JudgeResults(ReplyContext& c) {
  if (!CanCompareLists(c) || c.message.header.write_chunks.empty() || !c.transaction.reply.rpc.success())
    return Outcome::kNotApplicable;
  if (!ReturnsData(c.message.header)) return Outcome::kNotApplicable;
  const Transaction& t = c.transaction;
  const nfs::Eligibility eligibility = EligibilityOf(t);
  if (!eligibility.known) return Undecoded(c);
  if (eligibility.result_items > 0) return Outcome::kPass;
  return c.Fail({.message = "A result that is not DDP-eligible was moved through a Write chunk",
                 .expected = "all of the result inline or in the Reply chunk",
                 .actual = "a Write chunk with data"});
}

bool IsGssControl(const rpc::CallHeader& call) {
  return call.status == ParseStatus::kOk && call.gss && call.gss_proc != rpc::kGssData;
}

Outcome JudgeProtectedCall(Context& c, const Transaction& t) {
  if (!IsProtected(t.call.rpc) || !HasLists(t.call.header)) return Outcome::kNotApplicable;
  for (const rpcrdma::ReadSegment& read : t.call.header.reads)
    if (read.position > 0)
      return c.Fail({.message = "A Call under RPCSEC_GSS integrity or privacy has a reduced argument",
                     .expected = "the whole payload inline or in a Position-zero chunk",
                     .actual = Text("a Read chunk at Position ", read.position),
                     .from = t.requester});
  const auto room = [](const Chunk& chunk) { return chunk.count > 0; };
  if (std::ranges::any_of(t.call.header.write_chunks, room))
    return c.Fail({.message = "A Call under RPCSEC_GSS integrity or privacy offers Write chunks",
                   .expected = "an empty Write list",
                   .actual = Count(t.call.header.write_chunks.size(), "Write chunk"),
                   .severity = Severity::kWarning,
                   .from = t.requester});
  return Outcome::kPass;
}

Outcome JudgeGssControl(Context& c, const Transaction& t) {
  if (!IsGssControl(t.call.rpc) || !HasLists(t.call.header)) return Outcome::kNotApplicable;
  const bool reduced = !t.call.read_chunks.empty() && t.call.read_chunks.back().position > 0;
  if (!reduced && t.call.header.write_chunks.empty()) return Outcome::kPass;
  return c.Fail({.message = "An RPCSEC_GSS control message is reduced",
                 .expected = "no Read chunks but at Position 0, no Write list",
                 .actual = reduced ? "a Read chunk" : "a Write list",
                 .from = t.requester});
}

}  // namespace

// DDP-002: only eligible results go through Write chunks. What the Reply chunk holds is free.
Outcome ResultIsEligible(ReplyContext& c) { return JudgeResults(c); }

// ULB-001, ULB-002, ULB-004: the bindings' tables, for results.
Outcome Nfs23Results(ReplyContext& c) {
  if (CallOf(c).program != nfs::kNfsProgram || CallOf(c).version > 3) return Outcome::kNotApplicable;
  return JudgeResults(c);
}
Outcome Nfs4Results(ReplyContext& c) {
  if (CallOf(c).program != nfs::kNfsProgram || CallOf(c).version != 4) return Outcome::kNotApplicable;
  return JudgeResults(c);
}
Outcome SideProtocolResults(ReplyContext& c) {
  if (!nfs::IsSideProtocol(CallOf(c).program)) return Outcome::kNotApplicable;
  return JudgeResults(c);
}

// ULB-004 for the Call: programs without eligible items have no use for a Write list.
Outcome SideProtocolWriteList(CallContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header) || m.call.status != ParseStatus::kOk) return Outcome::kNotApplicable;
  if (!nfs::IsSideProtocol(m.call.program)) return Outcome::kNotApplicable;
  const auto room = [](const Chunk& chunk) { return chunk.count > 0; };
  if (std::ranges::none_of(m.header.write_chunks, room)) return Outcome::kPass;
  return c.Fail({.message = "A Write list in a Call of a program that has no DDP-eligible items",
                 .expected = "an empty Write list",
                 .actual = Count(m.header.write_chunks.size(), "Write chunk")});
}

// GSS-001: protected Calls are not reduced. A Write list that can only come back unused is a warning. Credentials are
// in the inline payload; for Long Calls they are known when the Position-zero chunk has been read.
Outcome ProtectedCallIsWhole(ArgumentsContext& c) { return JudgeProtectedCall(c, c.transaction); }

// GSS-002: nor are Replies to them.
Outcome ProtectedReplyIsWhole(ReplyContext& c) {
  if (!CanCompareLists(c) || !IsProtected(CallOf(c))) return Outcome::kNotApplicable;
  if (!ReturnsData(c.message.header)) return Outcome::kPass;
  return c.Fail({.message = "A Reply under RPCSEC_GSS integrity or privacy moved data through a Write chunk",
                 .expected = "all lengths 0",
                 .actual = "a Write chunk with data"});
}

// GSS-003: nor are the messages that control contexts. Special chunks may hold them.
Outcome GssControlIsWhole(ArgumentsContext& c) { return JudgeGssControl(c, c.transaction); }

// BC-003: backward messages have no chunks as a rule: a note. Not flagged: what makes or allows a long message, which
// the session's sizes may call for.
Outcome BackwardMessagesHaveNoChunks(MessageContext& c) {
  const Message& m = c.message;
  if (!c.transaction || !c.transaction->backward || !HasLists(m.header)) return Outcome::kNotApplicable;
  if (m.role != Role::kCall && m.role != Role::kReply) return Outcome::kNotApplicable;
  if (!m.header.has_chunks()) return Outcome::kPass;
  const bool special_only = m.header.write_chunks.empty() &&
                            std::ranges::all_of(m.header.reads, [](const auto& read) { return read.position == 0; });
  if (special_only) return Outcome::kUpperLayer;
  return c.Fail({.message = Text("A backward ", m.role == Role::kCall ? "Call" : "Reply", " has chunks"),
                 .expected = "RDMA_MSG with three empty lists",
                 .actual = Text(ProcText(m.header), " with chunks")});
}

// BC-005: the passive peer calls only after the upper layer has set up a backchannel on this connection. Not judged for
// programs other than the NFSv4 callback program, or when the connection's start was not captured.
Outcome BackchannelIsSetUp(CallContext& c) {
  const Message& m = c.message;
  if (!c.transaction.backward) return Outcome::kNotApplicable;
  if (c.state.backchannel == true) return Outcome::kPass;
  if (!c.state.backchannel) return Outcome::kUpperLayer;
  if (!SawEverything(c.connection)) return Unseen(c);
  if (m.call.status != ParseStatus::kOk || !nfs::IsCallbackProgram(m.call.program)) return Outcome::kNotApplicable;
  return c.Fail({.message = "A backward Call before any backchannel was set up",
                 .expected = "CREATE_SESSION or BIND_CONN_TO_SESSION first",
                 .actual = "no such operation on this connection",
                 .absent_from = Side(1 - m.from)});
}

}  // namespace stag::conformance
