// SPDX-License-Identifier: GPL-2.0-or-later
//
// ERR: RDMA_ERROR itself. What faulty Calls are answered with is in answers.cc.
#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

bool IsError(const Message& m) { return m.role == Role::kError && m.header.words == 4; }

// Who called with that xid, if the Call is one of the last Sends.
std::optional<Side> CallerOf(const MessageContext& c) {
  for (size_t i = 0; i < c.state.sends.size(); ++i) {
    const RecentSend& send = c.state.sends.FromEnd(i);
    if (send.role == Role::kCall && send.has_xid && send.xid == c.message.header.xid) return send.from;
  }
  return std::nullopt;
}

// The sender is not the one who called: it is the responder to that xid. Without a Call, the side that is never called.
bool IsResponder(const MessageContext& c) {
  const std::optional<Side> caller = CallerOf(c);
  return caller ? *caller != c.message.from : c.connection.client_known && c.connection.client != c.message.from;
}

}  // namespace

// ERR-001 (RFC 8166): requesters never send RDMA_ERROR. Flagged when it answers a Reply or RDMA_ERROR that the other
// side has just sent, and from a side that nobody calls. The client answers backward Calls; then the xid is that of
// such a Call, or the Call could not be read.
Outcome OnlyRespondersSendErrors(ErrorContext& c) {
  const Message& m = c.message;
  if (!IsError(m)) return Outcome::kNotApplicable;
  if (c.transaction) return Outcome::kPass;
  const RecentSend* last = LastFromPeer(c);
  const bool answers_reply = last && last->role == Role::kReply;
  if (!answers_reply) {
    if (IsResponder(c)) return Outcome::kNotApplicable;
    if (!IsOrphan(c)) return Unseen(c);
    if (c.connection.backward_calls > 0 && CallerOf(c) != m.from) return Outcome::kNotApplicable;
  }
  if (c.connection.lossy) return Unseen(c);  // a Call with that xid may be what was lost
  return c.Fail({.message = "A requester sends RDMA_ERROR",
                 .expected = "no RDMA_ERROR from a side that was not called",
                 .actual = Text("RDMA_ERROR with ", rpcrdma::ErrorName(m.header.err)),
                 .frames = last ? std::vector<uint64_t>{last->frame} : std::vector<uint64_t>{},
                 .absent_from = Side(1 - m.from)});
}

// ERR-002 (RFC 8166): a responder drops RDMA_ERROR in silence. Flagged when the last thing that it got with that xid is
// an RDMA_ERROR, and it answers. Not flagged: the answer to an outstanding Call.
Outcome ErrorsAreNotAnswered(AnswerContext& c) {
  const Message& m = c.message;
  if (m.header.words < 4 || c.transaction) return Outcome::kNotApplicable;
  const RecentSend* last = LastFromPeer(c);
  if (!last || last->role != Role::kError || !IsResponder(c)) return Outcome::kNotApplicable;
  if (c.connection.lossy || !(m.repeated || SawEverything(c.connection))) return Unseen(c);
  return c.Fail(
      {.message = Text("A responder answers an RDMA_ERROR with ", m.role == Role::kError ? "another" : "a Reply"),
       .expected = "no answer",
       .actual = m.role == Role::kError ? "RDMA_ERROR" : "a Reply",
       .frames = {last->frame},
       .absent_from = Side(1 - m.from)});
}

// ERR-012: an RDMA_ERROR that cannot be decoded is dropped in silence, by whomever it comes to.
Outcome UnreadableErrorIsDropped(ErrorContext& c) {
  const Message& m = c.message;
  if (m.header.words < 4 || c.transaction) return Outcome::kNotApplicable;
  const RecentSend* last = LastFromPeer(c);
  if (!last || !last->unreadable_error) return Outcome::kNotApplicable;
  if (c.connection.lossy) return Unseen(c);
  return c.Fail({.message = "An RDMA_ERROR that cannot be decoded is answered with RDMA_ERROR",
                 .expected = "no answer",
                 .actual = Text("RDMA_ERROR with ", rpcrdma::ErrorName(m.header.err)),
                 .frames = {last->frame},
                 .absent_from = Side(1 - m.from)});
}

// ERR-009 (RFC 8166): a malformed Reply is dropped in silence.
Outcome MalformedReplyIsDropped(ErrorContext& c) {
  if (!IsError(c.message) || c.transaction) return Outcome::kNotApplicable;
  const RecentSend* last = LastFromPeer(c);
  if (!last || last->role != Role::kReply || !(last->malformed || last->msgp)) return Outcome::kNotApplicable;
  if (c.connection.lossy) return Unseen(c);
  return c.Fail({.message = "A requester answers a faulty Reply with RDMA_ERROR",
                 .expected = "no answer",
                 .actual = Text("RDMA_ERROR with ", rpcrdma::ErrorName(c.message.header.err)),
                 .frames = {last->frame}});
}

// MSGP-003 (RFC 8166): a requester drops RDMA_MSGP.
Outcome RequesterDropsMsgp(ErrorContext& c) {
  if (!IsError(c.message) || c.transaction) return Outcome::kNotApplicable;
  const RecentSend* last = LastFromPeer(c);
  if (!last || !last->msgp || last->role != Role::kReply) return Outcome::kNotApplicable;
  if (c.connection.lossy) return Unseen(c);
  return c.Fail({.message = "A requester answers RDMA_MSGP with RDMA_ERROR",
                 .expected = "no answer",
                 .actual = Text("RDMA_ERROR with ", rpcrdma::ErrorName(c.message.header.err)),
                 .frames = {last->frame}});
}

// ERR-004: RDMA_ERROR echoes the version of its Call. draft-08 wants any version that the receiver takes.
Outcome ErrorEchoesVersion(ErrorContext& c) {
  if (!IsError(c.message) || !c.transaction || c.transaction->call.header.words < 2) return Outcome::kNotApplicable;
  if (c.legacy() || c.message.header.vers == c.transaction->call.header.vers) return Outcome::kPass;
  return c.Fail({.message = Text("RDMA_ERROR says version ", c.message.header.vers, ", its Call version ",
                                 c.transaction->call.header.vers),
                 .expected = Text("version ", c.transaction->call.header.vers),
                 .actual = Text(c.message.header.vers)});
}

// ERR-005: rdma_err is 1 or 2. Other versions may define more; draft-08 has eight words for codes to come.
Outcome ErrorCode(ErrorContext& c) {
  const Message& m = c.message;
  if (!IsError(m) || m.header.vers != rpcrdma::kVersion1) return Outcome::kNotApplicable;
  if (m.bytes.size() < 20) return Undecoded(c);
  if (m.header.err == rpcrdma::kErrVers || m.header.err == rpcrdma::kErrChunk) return Outcome::kPass;
  if (c.legacy() && m.length == 20 + 8 * 4) return Outcome::kPass;
  return c.Fail({.message = Text("rdma_err ", m.header.err, " is not defined"),
                 .expected = "1 (ERR_VERS) or 2 (ERR_CHUNK)",
                 .actual = Text(m.header.err)});
}

// ERR-006: ERR_VERS gives a range that makes sense and does not hold the version it rejects.
Outcome VersionRange(ErrorContext& c) {
  const Header& h = c.message.header;
  if (!IsError(c.message) || h.err != rpcrdma::kErrVers) return Outcome::kNotApplicable;
  if (!h.error_range) return Undecoded(c);
  const std::string range = Text(h.vers_low, " to ", h.vers_high);
  if (h.vers_low > h.vers_high)
    return c.Fail(
        {.message = Text("ERR_VERS gives the version range ", range), .expected = "low <= high", .actual = range});
  if (c.transaction && c.transaction->call.header.words >= 2) {
    const uint32_t rejected = c.transaction->call.header.vers;
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

// ERR-010: RDMA_ERROR has 20 bytes with ERR_CHUNK, 28 with ERR_VERS, whose layout is that of all versions (RFC 8166
// section 7, EXT-002). Without its code, in less than 20 bytes, it says nothing: an error. Other lengths are a warning,
// zeros behind it a note; draft-08 has 52 bytes for codes that it does not define.
Outcome ErrorLength(ErrorContext& c) {
  const Message& m = c.message;
  if (!IsError(m) || !LengthKnown(m)) return Outcome::kNotApplicable;
  constexpr uint64_t kWithCode = 20;  // the fixed words and rdma_err
  if (m.bytes.size() < kWithCode && m.length >= kWithCode) return Undecoded(c);
  if (m.header.vers != rpcrdma::kVersion1 && m.header.err != rpcrdma::kErrVers) return Outcome::kNotApplicable;
  const bool known = m.header.err == rpcrdma::kErrVers || m.header.err == rpcrdma::kErrChunk;
  if (!known && m.header.status == ParseStatus::kOk) return Outcome::kNotApplicable;
  const uint64_t expected = m.header.err == rpcrdma::kErrVers ? 28 : kWithCode;
  if (m.length == expected) return Outcome::kPass;
  if (m.length < kWithCode)
    return c.Fail({.message = Text("The RDMA_ERROR has ", m.length, " bytes: it ends before rdma_err"),
                   .expected = Count(kWithCode, "byte"),
                   .actual = Text(m.length)});
  bool zeros = m.length > expected && m.bytes.size() == m.length;
  for (uint64_t i = expected; zeros && i < m.bytes.size(); ++i) zeros = m.bytes[i] == std::byte{0};
  return c.Fail({.message = Text("The RDMA_ERROR has ", m.length, " bytes"),
                 .expected = Count(expected, "byte"),
                 .actual = Text(m.length),
                 .severity = zeros ? Severity::kNote : Severity::kWarning});
}

}  // namespace stag::conformance
