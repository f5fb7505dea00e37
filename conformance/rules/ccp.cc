// SPDX-License-Identifier: GPL-2.0-or-later
//
// CCP: the Connection Configuration Protocol of RFC 5666 (draft-08 section 6). RFC 8166 has removed it.
#include <algorithm>

#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

bool IsCcp(const rpc::CallHeader& call) {
  return call.status == ParseStatus::kOk && rpcrdma::IsCcpProgram(call.program);
}
bool IsConfRdma(const rpc::CallHeader& call) {
  return IsCcp(call) && call.version == 1 && call.procedure == rpcrdma::kCcpConfRdma;
}

}  // namespace

// CCP-001: draft-08 has version 1 with the procedures NULL and CONF_RDMA. RFC 8166 has none of it: any use is a note,
// unless the peers may yet prove to be legacy.
Outcome CcpIdentity(CallContext& c) {
  const Message& m = c.message;
  if (!IsCcp(m.call)) return Outcome::kNotApplicable;
  if (!c.legacy()) {
    if (c.may_be_legacy) return Outcome::kNotApplicable;
    return c.Fail({.message = "A Call of the Connection Configuration Protocol, which RFC 8166 has removed",
                   .expected = "sizes by private data (RFC 8797)",
                   .actual = Text("program ", m.call.program)});
  }
  if (m.call.version == 1 && m.call.procedure <= rpcrdma::kCcpConfRdma) return Outcome::kPass;
  return c.Fail({.message = Text("The Connection Configuration Protocol has no procedure ", m.call.procedure,
                                 " in version ", m.call.version),
                 .expected = "version 1, procedure 0 or 1",
                 .actual = Text("version ", m.call.version, ", procedure ", m.call.procedure)});
}

// CCP-002 (draft-08): CONF_RDMA takes three words.
Outcome CcpArgumentsLayout(CallContext& c) {
  const Message& m = c.message;
  if (!IsConfRdma(m.call) || m.call.opaque_arguments() || m.header.proc != rpcrdma::kMsg)
    return Outcome::kNotApplicable;
  const uint64_t length = m.payload_length - m.call.length;
  if (length == 12) return Outcome::kPass;
  return c.Fail({.message = Text("CONF_RDMA has ", length, " bytes of arguments"),
                 .expected = "12 bytes",
                 .actual = Text(length)});
}

// CCP-003 (draft-08): and returns three.
Outcome CcpResultsLayout(ReplyContext& c) {
  const Message& m = c.message;
  if (!IsConfRdma(c.transaction.call.rpc)) return Outcome::kNotApplicable;
  const Transaction& t = c.transaction;
  if (!t.reply.rpc.success() || m.header.proc != rpcrdma::kMsg || t.call.rpc.opaque_arguments())
    return Outcome::kNotApplicable;
  const uint64_t length = t.reply.stream_length - t.reply.rpc.length;
  if (length == 12) return Outcome::kPass;
  return c.Fail(
      {.message = Text("CONF_RDMA returns ", length, " bytes"), .expected = "12 bytes", .actual = Text(length)});
}

// CCP-004 (draft-08): before CONF_RDMA a connection takes one message at a time, of 1024 bytes (or what private data
// says). Asked of CONF_RDMA itself, until its first answer; later ones are free.
Outcome CcpComesFirst(CallContext& c) {
  const Message& m = c.message;
  if (m.repeated || !IsConfRdma(m.call) || c.state.ccp_call_size != 0) return Outcome::kNotApplicable;
  if (!SawEverything(c.connection)) return Unseen(c);
  const uint32_t limit = std::max(c.connection.threshold(m.from).value_or(0), rpcrdma::kDefaultThreshold);
  if (m.length > limit)
    return c.Fail({.message = Text("CONF_RDMA in a Send of ", m.length, " bytes, before it set a size"),
                   .expected = Text("at most ", limit, " bytes"),
                   .actual = Text(m.length)});
  const session::CreditState& credits = c.connection.credits[m.from];
  if (credits.replied || credits.outstanding == 0) return Outcome::kPass;
  return c.Fail({.message = "CONF_RDMA while another Call waits for the first Reply",
                 .expected = "1 outstanding",
                 .actual = Text(credits.outstanding + 1),
                 .absent_from = Side(1 - m.from)});
}

// CCP-005 (draft-08): inline Calls fit the size that the server took. Whether the transport header counts is not said:
// an error only when the payload alone is larger.
Outcome CallFitsCcp(CallContext& c) {
  const Message& m = c.message;
  const uint32_t limit = c.state.ccp_call_size;
  if (limit == 0 || m.from != c.connection.client || !HasLists(m.header) || m.header.proc == rpcrdma::kNomsg)
    return Outcome::kNotApplicable;
  if (m.length <= limit) return Outcome::kPass;
  return c.Fail({.message = Text("An inline Call of ", m.payload_length, " bytes after CONF_RDMA set ", limit),
                 .expected = Text("at most ", limit, " bytes"),
                 .actual = Text(m.payload_length, " bytes, ", m.length, " with the transport header"),
                 .severity = m.payload_length <= limit ? std::optional(Severity::kWarning) : std::nullopt});
}

// CCP-006 (draft-08): inline Replies fit the size that the client takes.
Outcome ReplyFitsCcp(ReplyContext& c) {
  const Message& m = c.message;
  const uint32_t limit = c.state.ccp_reply_size;
  if (limit == 0 || m.from == c.connection.client || !HasLists(m.header) || m.header.proc == rpcrdma::kNomsg)
    return Outcome::kNotApplicable;
  if (m.length <= limit) return Outcome::kPass;
  return c.Fail({.message = Text("An inline Reply of ", m.payload_length, " bytes after CONF_RDMA set ", limit),
                 .expected = Text("at most ", limit, " bytes"),
                 .actual = Text(m.payload_length, " bytes, ", m.length, " with the transport header"),
                 .severity = m.payload_length <= limit ? std::optional(Severity::kWarning) : std::nullopt});
}

// CCP-007 (draft-08): no more RDMA Reads in flight than the peer's maxrdmaread. As CRED-012.
Outcome ReadsWithinMaximum(ReadResponseContext& c) {
  if (c.event.kind() != fabric::EventKind::kReadResponse) return Outcome::kNotApplicable;
  const Side reader = Side(1 - c.event.from);
  const std::optional<uint32_t> most = c.state.ccp_reads[c.event.from];
  if (!most || *most == 0) return Outcome::kNotApplicable;  // CCP-008
  const ReadQueue& reads = c.state.reads[reader];
  if (reads.in_flight() <= *most) return Outcome::kPass;
  return c.Fail(
      {.message = Text(Count(reads.in_flight(), "RDMA Read"), " in flight to a peer whose maxrdmaread is ", *most),
       .expected = Text("at most ", *most),
       .actual = Text(reads.in_flight()),
       .at = reads.newest_frame(),
       .from = reader});
}

// CCP-008 (draft-08): where maxrdmaread is zero nothing is sent that takes an RDMA Read. "Requests" may be RPCs or RDMA
// Reads: a warning where the reader would read from the side that said zero, else a note.
Outcome ZeroMaximumForbidsReads(MessageContext& c) {
  const Message& m = c.message;
  if ((m.role != Role::kCall && m.role != Role::kReply) || !HasLists(m.header) || m.header.reads.empty())
    return Outcome::kNotApplicable;
  const auto own = c.state.ccp_reads[m.from], peers = c.state.ccp_reads[1 - m.from];
  if (!own || !peers) return Outcome::kNotApplicable;
  const bool reading_own = *own == 0;  // its memory is to be read, and it serves no Reads
  if (!reading_own && (*peers != 0 || m.role == Role::kReply)) return Outcome::kPass;
  return c.Fail({.message = Text("A ", m.role == Role::kCall ? "Call" : "Reply", " with a Read list; maxrdmaread of ",
                                 reading_own ? "its sender" : "its receiver", " is zero"),
                 .expected = "no Read list",
                 .actual = Count(m.header.reads.size(), "Read segment"),
                 .severity = reading_own ? std::nullopt : std::optional(Severity::kNote)});
}

// CCP-009 (draft-08): CCP runs under a security flavor. Lower layers may protect it: a warning.
Outcome CcpIsProtected(CallContext& c) {
  const Message& m = c.message;
  if (!IsConfRdma(m.call)) return Outcome::kNotApplicable;
  if (m.call.credential.flavor > rpc::kAuthSys) return Outcome::kPass;
  return c.Fail({.message = Text("CONF_RDMA without security: flavor ", m.call.credential.flavor),
                 .expected = "an RPC security flavor",
                 .actual = m.call.credential.flavor == rpc::kAuthNone ? "AUTH_NONE" : "AUTH_SYS"});
}

// CCP-010 (draft-08): the server's alignment may be anything; one that is no power of two is a note.
Outcome CcpAlignment(ReplyContext& c) {
  if (!IsConfRdma(c.transaction.call.rpc) || !c.transaction.reply.rpc.success() || !c.state.ccp_align)
    return Outcome::kNotApplicable;
  const uint32_t align = *c.state.ccp_align;
  if ((align & (align - 1)) == 0) return Outcome::kPass;  // zero, too: none
  return c.Fail({.message = Text("CONF_RDMA recommends an alignment of ", align),
                 .expected = "a power of two",
                 .actual = Text(align)});
}

}  // namespace stag::conformance
