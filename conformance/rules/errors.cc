// SPDX-License-Identifier: GPL-2.0-or-later
//
// ERR: RDMA_ERROR itself, and what faulty Calls are answered with.
#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

bool IsError(const Message& m) { return m.role == Role::kError && m.header.words == 4; }

// The newest Send of the other side with that xid, if it is one of the last.
const RecentSend* LastFromPeer(const Context& c) {
  for (size_t i = 0; i < c.state.sends.size(); ++i) {
    const RecentSend& send = c.state.sends.FromEnd(i);
    if (send.from != c.message->from && send.has_xid && send.xid == c.message->header.xid) return &send;
  }
  return nullptr;
}

const Awaited* Due(const Context& c, Owed owed) {
  for (const Awaited& a : c.state.awaited)
    if (a.due && a.owed == owed) return &a;
  return nullptr;
}

// What a faulty Call must be answered with, when its answer is `c`.
Fault FaultOfCall(const Transaction& t) {
  const Header& h = t.call_header;
  if (t.call_send_missing || h.words < 4) return Fault::kNone;
  if (h.vers != rpcrdma::kVersion1) return Fault::kVersion;
  if (h.status == ParseStatus::kMalformed)
    return t.call_send_length < rpcrdma::kMinimumHeader ? Fault::kShort : Fault::kHeader;
  if (h.status == ParseStatus::kOk && h.proc == rpcrdma::kNomsg && !h.has_chunks()) return Fault::kHeader;
  return Fault::kNone;
}

}  // namespace

// ERR-001 (RFC 8166): requesters never send RDMA_ERROR. Flagged when it answers a Reply that the other side has just
// sent. The client answers backward Calls; then the xid is that of such a Call.
Outcome OnlyRespondersSendErrors(Context& c) {
  if (!IsError(*c.message)) return Outcome::kNotApplicable;
  if (c.transaction) return Outcome::kPass;
  const RecentSend* last = LastFromPeer(c);
  if (!last || (last->role != Role::kReply && last->role != Role::kError)) return Unseen(c);
  return c.Fail({.message = "A requester sends RDMA_ERROR",
                 .expected = "no answer to a Reply",
                 .actual = Text("RDMA_ERROR with ", rpcrdma::ErrorName(c.message->header.err)),
                 .frames = {last->frame},
                 .absent_from = Side(1 - c.message->from)});
}

// ERR-009 (RFC 8166): a malformed Reply is dropped in silence.
Outcome MalformedReplyIsDropped(Context& c) {
  if (!IsError(*c.message) || c.transaction) return Outcome::kNotApplicable;
  const RecentSend* last = LastFromPeer(c);
  if (!last || last->role != Role::kReply || !(last->malformed || last->msgp)) return Outcome::kNotApplicable;
  return c.Fail({.message = "A requester answers a faulty Reply with RDMA_ERROR",
                 .expected = "no answer",
                 .actual = Text("RDMA_ERROR with ", rpcrdma::ErrorName(c.message->header.err)),
                 .frames = {last->frame}});
}

// MSGP-003 (RFC 8166): a requester drops RDMA_MSGP.
Outcome RequesterDropsMsgp(Context& c) {
  if (!IsError(*c.message) || c.transaction) return Outcome::kNotApplicable;
  const RecentSend* last = LastFromPeer(c);
  if (!last || !last->msgp || last->role != Role::kReply) return Outcome::kNotApplicable;
  return c.Fail({.message = "A requester answers RDMA_MSGP with RDMA_ERROR",
                 .expected = "no answer",
                 .actual = Text("RDMA_ERROR with ", rpcrdma::ErrorName(c.message->header.err)),
                 .frames = {last->frame}});
}

// ERR-004: RDMA_ERROR echoes the version of its Call. draft-08 wants any version that the receiver takes.
Outcome ErrorEchoesVersion(Context& c) {
  if (!IsError(*c.message) || !c.transaction || c.transaction->call_header.words < 2) return Outcome::kNotApplicable;
  if (c.legacy() || c.message->header.vers == c.transaction->call_header.vers) return Outcome::kPass;
  return c.Fail({.message = Text("RDMA_ERROR says version ", c.message->header.vers, ", its Call version ",
                                 c.transaction->call_header.vers),
                 .expected = Text("version ", c.transaction->call_header.vers),
                 .actual = Text(c.message->header.vers)});
}

// ERR-005: rdma_err is 1 or 2. Other versions may define more.
Outcome ErrorCode(Context& c) {
  const Message& m = *c.message;
  if (!IsError(m) || m.header.vers != rpcrdma::kVersion1) return Outcome::kNotApplicable;
  if (m.bytes.size() < 20) return Undecoded(c);
  if (m.header.err == rpcrdma::kErrVers || m.header.err == rpcrdma::kErrChunk) return Outcome::kPass;
  return c.Fail({.message = Text("rdma_err ", m.header.err, " is not defined"),
                 .expected = "1 (ERR_VERS) or 2 (ERR_CHUNK)",
                 .actual = Text(m.header.err)});
}

// ERR-006: ERR_VERS gives a range that makes sense and does not hold the version it rejects.
Outcome VersionRange(Context& c) {
  const Header& h = c.message->header;
  if (!IsError(*c.message) || h.err != rpcrdma::kErrVers) return Outcome::kNotApplicable;
  if (!h.error_range) return Undecoded(c);
  const std::string range = Text(h.vers_low, " to ", h.vers_high);
  if (h.vers_low > h.vers_high)
    return c.Fail(
        {.message = Text("ERR_VERS gives the version range ", range), .expected = "low <= high", .actual = range});
  if (c.transaction && c.transaction->call_header.words >= 2) {
    const uint32_t rejected = c.transaction->call_header.vers;
    if (rejected >= h.vers_low && rejected <= h.vers_high)
      return c.Fail({.message = Text("ERR_VERS rejects version ", rejected, ", which is in its own range"),
                     .expected = "a range without the Call's version",
                     .actual = range});
  }
  if (h.vers_low == 0)
    return c.Fail({.message = "ERR_VERS gives 0 as the lowest version",
                   .expected = "1 or more",
                   .actual = range,
                   .severity = Severity::kNote});
  return Outcome::kPass;
}

// ERR-007: a version that is not supported is answered ERR_VERS. Any other answer, or silence while later Calls are
// answered.
Outcome BadVersionGetsErrVers(Context& c) {
  const Message& m = *c.message;
  if (const Awaited* due = Due(c, Owed::kErrVers))
    return c.Fail({.message = "A Call of another version is not answered",
                   .expected = "RDMA_ERROR with ERR_VERS",
                   .actual = Text("no answer, though ", kPatience, " later Calls have one"),
                   .frames = {due->frame},
                   .from = Side(1 - due->requester),
                   .xid = due->xid});
  if (!c.transaction || (m.role != Role::kError && m.role != Role::kReply)) return Outcome::kNotApplicable;
  if (FaultOfCall(*c.transaction) != Fault::kVersion) return Outcome::kNotApplicable;
  if (m.role == Role::kError && m.header.err == rpcrdma::kErrVers) return Outcome::kPass;
  if (m.role == Role::kReply && m.header.vers == c.transaction->call_header.vers)
    return Outcome::kNotApplicable;  // it is supported
  return c.Fail({.message = Text("A Call of version ", c.transaction->call_header.vers, " is answered with ",
                                 m.role == Role::kError ? rpcrdma::ErrorName(m.header.err) : "a Reply"),
                 .expected = "RDMA_ERROR with ERR_VERS",
                 .actual = m.role == Role::kError ? rpcrdma::ErrorName(m.header.err) : "a Reply"});
}

// ERR-008: a Call whose header cannot be used is answered ERR_CHUNK. A Reply instead is a note; silence while later
// Calls are answered a warning. Not flagged: short messages (HDR-005), a Reply to a Call whose inner xid only was
// wrong.
Outcome BadHeaderGetsErrChunk(Context& c) {
  const Message& m = *c.message;
  if (const Awaited* due = Due(c, Owed::kErrChunk))
    return c.Fail({.message = "A Call with a faulty header is not answered",
                   .expected = "RDMA_ERROR with ERR_CHUNK",
                   .actual = Text("no answer, though ", kPatience, " later Calls have one"),
                   .frames = {due->frame},
                   .from = Side(1 - due->requester),
                   .xid = due->xid});
  if (!c.transaction || (m.role != Role::kError && m.role != Role::kReply)) return Outcome::kNotApplicable;
  if (FaultOfCall(*c.transaction) != Fault::kHeader) return Outcome::kNotApplicable;
  if (m.role == Role::kError && m.header.err == rpcrdma::kErrChunk) return Outcome::kPass;
  return c.Fail({.message = Text("A Call with a faulty header is answered with ",
                                 m.role == Role::kError ? rpcrdma::ErrorName(m.header.err) : "a Reply"),
                 .expected = "RDMA_ERROR with ERR_CHUNK",
                 .actual = m.role == Role::kError ? rpcrdma::ErrorName(m.header.err) : "a Reply",
                 .severity = Severity::kNote});
}

// ERR-010: RDMA_ERROR has 20 bytes with ERR_CHUNK, 28 with ERR_VERS. Zeros after it are a note; draft-08 has 52 bytes
// for codes that it does not define.
Outcome ErrorLength(Context& c) {
  const Message& m = *c.message;
  if (!IsError(m) || !LengthKnown(m) || m.header.vers != rpcrdma::kVersion1) return Outcome::kNotApplicable;
  const bool known = m.header.err == rpcrdma::kErrVers || m.header.err == rpcrdma::kErrChunk;
  if (!known && m.header.status == ParseStatus::kOk) return Outcome::kNotApplicable;
  const uint64_t expected = m.header.err == rpcrdma::kErrVers ? 28 : 20;
  if (m.length == expected) return Outcome::kPass;
  bool zeros = m.length > expected && m.bytes.size() == m.length;
  for (uint64_t i = expected; zeros && i < m.bytes.size(); ++i) zeros = m.bytes[i] == std::byte{0};
  return c.Fail({.message = Text("The RDMA_ERROR has ", m.length, " bytes"),
                 .expected = Count(expected, "byte"),
                 .actual = Text(m.length),
                 .severity = zeros ? std::optional(Severity::kNote) : std::nullopt});
}

}  // namespace stag::conformance
