// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a faulty Call is answered with: ERR-007, ERR-008, ERR-013, ERR-014, and what DDP, PAD and GSS say of answers
// (RFC 8166 sections 4.5.1, 4.5.2 and 6.1).
#include <algorithm>

#include "conformance/rules/placements.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

// The most that a responder is sure to be ready to pull (MEM-011).
constexpr uint64_t kReasonableChunk = 1 << 20;

// What is wrong with the transport header of an answered Call.
Fault FaultOfCall(const Transaction& t) {
  const Header& h = t.call.header;
  if (t.call.send_missing || h.words < 4) return Fault::kNone;
  if (h.vers != rpcrdma::kVersion1) return Fault::kVersion;
  if (h.status == ParseStatus::kMalformed)
    return t.call.send_length < rpcrdma::kMinimumHeader ? Fault::kShort : Fault::kHeader;
  if (h.status != ParseStatus::kOk) return Fault::kNone;
  if (h.proc == rpcrdma::kNomsg && !h.has_chunks()) return Fault::kHeader;
  if (h.proc == rpcrdma::kMsg && t.call.stream_length == 0) return Fault::kHeader;
  return Fault::kNone;
}

// Whether a Call with Read chunks can be put together again and decoded.
enum class Arguments : uint8_t {
  kUnknown,   // cannot be followed; or other rules say how it must be answered
  kFine,      // to the last byte
  kMismatch,  // the chunks do not fit the payload, or the rest does not decode
  kMissing,   // ... for want of bytes: a Position outside the payload, a chunk shorter than its item
};
Arguments ArgumentsOf(const Transaction& t) {
  if (FaultOfCall(t) != Fault::kNone) return Arguments::kUnknown;
  const Placements placements = Place(t);
  if (placements.size == 0) return Arguments::kUnknown;
  Arguments worst = Arguments::kFine;
  int64_t previous = 0;
  for (size_t i = 0; i < placements.size; ++i) {
    const Placement& p = placements.at[i];
    if (p.insertion < previous || static_cast<uint64_t>(p.insertion) > t.call.stream_length) return Arguments::kMissing;
    previous = p.insertion;
    if (!p.count_known || EligibleAt(t, placements, i) != Eligible::kYes) return Arguments::kUnknown;
    if (p.chunk->length == p.count || p.chunk->length == RoundUp4(p.count)) continue;
    worst = std::max(worst, p.chunk->length < p.count ? Arguments::kMissing : Arguments::kMismatch);
  }
  if (placements.partial || t.call.stream.size() < t.call.stream_length) return Arguments::kUnknown;
  if (worst != Arguments::kFine) return worst;
  const PlacedWalk placed = WalkPlaced(t, placements);
  if (placed.walk.status == ParseStatus::kMalformed) return Arguments::kMismatch;
  if (placed.walk.status != ParseStatus::kOk || placed.found != placements.size) return Arguments::kUnknown;
  return placed.walk.offset == t.call.stream_length ? Arguments::kFine : Arguments::kMismatch;
}

bool IsErrChunk(const Message& m) { return m.role == Role::kError && m.header.err == rpcrdma::kErrChunk; }
bool IsGarbageArgs(const MessageContext& c) {
  return c.message.role == Role::kReply && c.transaction->reply.rpc.accepted(rpc::kGarbageArgs);
}
bool IsSuccess(const MessageContext& c) {
  const Transaction& t = *c.transaction;
  return c.message.role == Role::kReply && t.reply.rpc.success() && t.reply.walk.has_status &&
         t.reply.walk.nfs_status == 0;
}

}  // namespace

// ERR-007: a version that is not supported is answered ERR_VERS. Any other answer, or silence while later Calls are
// answered.
Outcome BadVersionGetsErrVers(MessageContext& c) {
  const Message& m = c.message;
  if (const Awaited* due = Due(c, Owed::kErrVers))
    return c.Fail({.message = "A Call of another version is not answered",
                   .expected = "RDMA_ERROR with ERR_VERS",
                   .actual = Text("no answer, though ", kPatience, " later Calls have one"),
                   .at = due->frame,
                   .from = Side(1 - due->requester),
                   .xid = due->xid});
  if (!c.transaction || (m.role != Role::kError && m.role != Role::kReply)) return Outcome::kNotApplicable;
  if (FaultOfCall(*c.transaction) != Fault::kVersion) return Outcome::kNotApplicable;
  if (m.role == Role::kError && m.header.err == rpcrdma::kErrVers) return Outcome::kPass;
  if (m.role == Role::kReply && m.header.vers == c.transaction->call.header.vers)
    return Outcome::kNotApplicable;  // it is supported
  return c.Fail({.message = Text("A Call of version ", c.transaction->call.header.vers, " is answered with ",
                                 m.role == Role::kError ? rpcrdma::ErrorName(m.header.err) : "a Reply"),
                 .expected = "RDMA_ERROR with ERR_VERS",
                 .actual = m.role == Role::kError ? rpcrdma::ErrorName(m.header.err) : "a Reply"});
}

// ERR-008: a Call whose header cannot be used is answered ERR_CHUNK. A Reply instead is a note; silence while later
// Calls are answered a warning. Not flagged: short messages (HDR-005), a Reply to a Call whose inner xid only was
// wrong.
Outcome BadHeaderGetsErrChunk(MessageContext& c) {
  const Message& m = c.message;
  if (const Awaited* due = Due(c, Owed::kErrChunk))
    return c.Fail({.message = "A Call with a faulty header is not answered",
                   .expected = "RDMA_ERROR with ERR_CHUNK",
                   .actual = Text("no answer, though ", kPatience, " later Calls have one"),
                   .at = due->frame,
                   .from = Side(1 - due->requester),
                   .xid = due->xid});
  if (!c.transaction || (m.role != Role::kError && m.role != Role::kReply)) return Outcome::kNotApplicable;
  if (FaultOfCall(*c.transaction) != Fault::kHeader) return Outcome::kNotApplicable;
  if (IsErrChunk(m)) return Outcome::kPass;
  // draft-08 section 4.2 leaves the choice between ERR_CHUNK and an error of RPC.
  const bool reply = m.role == Role::kReply;
  if (c.legacy() && reply && !c.transaction->reply.rpc.success()) return Outcome::kPass;
  return c.Fail({.message = Text("A Call with a faulty header is answered with ",
                                 m.role == Role::kError ? rpcrdma::ErrorName(m.header.err) : "a Reply"),
                 .expected = "RDMA_ERROR with ERR_CHUNK",
                 .actual = m.role == Role::kError ? rpcrdma::ErrorName(m.header.err) : "a Reply",
                 .severity = reply ? std::optional(Severity::kNote) : std::nullopt});
}

// ... nor had one when the connection was ended, though the responder went on with later Calls.
Outcome BadHeaderIsNotIgnored(ClosedContext& c) {
  const fabric::CloseReason reason = c.event.closed().reason;
  if (reason != fabric::CloseReason::kDisconnect && reason != fabric::CloseReason::kReset)
    return Outcome::kNotApplicable;
  const Awaited* ignored = nullptr;
  std::vector<uint64_t> frames;
  for (const Awaited& a : c.state.awaited) {
    if (a.owed != Owed::kErrChunk || a.due || a.later == 0) continue;
    if (!ignored) ignored = &a;
    frames.push_back(a.frame.number);
  }
  if (!ignored) return Outcome::kNotApplicable;
  return c.Fail({.message = "A Call with a faulty header is not answered until the connection ends",
                 .expected = "RDMA_ERROR with ERR_CHUNK",
                 .actual = Text("no answer, though ", Count(ignored->later, "later Call"), " got one"),
                 .frames = std::move(frames),
                 .at = ignored->frame,
                 .from = Side(1 - ignored->requester),
                 .xid = ignored->xid});
}

// ERR-013: arguments that do not decode get GARBAGE_ARGS, in an RDMA_MSG. A note; silence is not judged. Not flagged:
// items that may not be reduced, for which either answer will do (DDP-008).
Outcome BadArgumentsGetGarbageArgs(MessageContext& c) {
  const Message& m = c.message;
  if (!c.transaction) return Outcome::kNotApplicable;
  if (IsGarbageArgs(c)) {
    if (m.header.proc != rpcrdma::kNomsg) return Outcome::kPass;
    return c.Fail(
        {.message = "GARBAGE_ARGS is returned by a Long Reply", .expected = "an RDMA_MSG", .actual = "an RDMA_NOMSG"});
  }
  if (!IsErrChunk(m)) return Outcome::kNotApplicable;
  const Arguments arguments = ArgumentsOf(*c.transaction);
  if (arguments != Arguments::kMismatch && arguments != Arguments::kMissing) return Outcome::kNotApplicable;
  return c.Fail({.message = "A Call with a good header, whose arguments do not decode, is answered with ERR_CHUNK",
                 .expected = "an RPC Reply with GARBAGE_ARGS",
                 .actual = "RDMA_ERROR with ERR_CHUNK"});
}

// ERR-014: header and chunks are checked before the RPC message is passed on. Flagged when a Call is answered with
// success although its header cannot be used, or its chunks lack bytes. Not flagged: a wrong inner xid, chunks that are
// too long.
Outcome FaultyCallsDoNotSucceed(AnswerContext& c) {
  const Message& m = c.message;
  if (!c.transaction) return Outcome::kNotApplicable;
  const Fault fault = FaultOfCall(*c.transaction);
  const bool bad_header = fault == Fault::kHeader || fault == Fault::kShort;
  if (!bad_header && ArgumentsOf(*c.transaction) != Arguments::kMissing) return Outcome::kNotApplicable;
  if (bad_header ? m.role != Role::kReply || !c.transaction->reply.rpc.success() : !IsSuccess(c)) return Outcome::kPass;
  return c.Fail({.message = bad_header ? "A Call with a faulty header is answered with success"
                                       : "A Call whose chunks do not fit its payload is answered with success",
                 .expected = bad_header ? "RDMA_ERROR with ERR_CHUNK" : "GARBAGE_ARGS",
                 .actual = "success"});
}

// DDP-008: a Call that reduces what is not eligible is not executed. Flagged when it succeeds; how it is refused is the
// responder's choice. Not flagged: programs without a known binding, NFS errors.
Outcome IneligibleCallIsRefused(AnswerContext& c) {
  if (!c.transaction) return Outcome::kNotApplicable;
  const Transaction& t = *c.transaction;
  const Placements placements = Place(t);
  for (size_t i = 0; i < placements.size; ++i) {
    if (EligibleAt(t, placements, i) != Eligible::kNo) continue;
    if (!IsSuccess(c)) return Outcome::kPass;
    return c.Fail({.message = "A Call with a reduced argument that is not DDP-eligible is answered with success",
                   .expected = "RDMA_ERROR with ERR_CHUNK, or GARBAGE_ARGS",
                   .actual = "success"});
  }
  return Outcome::kNotApplicable;
}

// PAD-005 (rfc5666bis, draft-08): a Read chunk without padding is accepted. Flagged when an otherwise faultless Call
// whose only chunk ends in the middle of a word is refused for its encoding. Not flagged: Calls that offer Write chunks
// or very much data, which may be refused for that.
Outcome MissingPaddingIsSupplied(AnswerContext& c) {
  const Message& m = c.message;
  if (!c.transaction) return Outcome::kNotApplicable;
  const Transaction& t = *c.transaction;
  const Placements placements = Place(t);
  if (placements.size != 1 || placements.at[0].chunk->length % 4 == 0 || !t.call.header.write_chunks.empty() ||
      placements.at[0].chunk->length > kReasonableChunk || ArgumentsOf(t) != Arguments::kFine)
    return Outcome::kNotApplicable;
  if (!IsErrChunk(m) && !IsGarbageArgs(c)) return Outcome::kPass;
  return c.Fail({.message = "A Call is refused whose Read chunk leaves its padding out",
                 .expected = Text("an item of ", placements.at[0].count, " bytes, padded by the receiver"),
                 .actual = IsErrChunk(m) ? "RDMA_ERROR with ERR_CHUNK" : "GARBAGE_ARGS"});
}

// GSS-004: a protected Call that may need a Long Reply brings a Reply chunk. A hint, only when the Reply failed or did
// not fit. Not flagged: small protected Calls that are answered.
Outcome ProtectedCallHasReplyChunk(AnswerContext& c) {
  const Message& m = c.message;
  if (!c.transaction) return Outcome::kNotApplicable;
  const Transaction& t = *c.transaction;
  if (!IsProtected(t.call.rpc) || !HasLists(t.call.header) || t.call.header.reply_chunk) return Outcome::kNotApplicable;
  if (!t.call.read_chunks.empty() && t.call.read_chunks.back().position > 0) return Outcome::kNotApplicable;  // GSS-001
  const auto threshold = c.connection.threshold(m.from);
  const bool too_long = threshold && m.length > *threshold;
  if (!IsErrChunk(m) && !too_long) return Outcome::kPass;
  return c.Fail(
      {.message = "A Call under RPCSEC_GSS integrity or privacy offers no Reply chunk, and its Reply may not fit",
       .expected = "a Reply chunk",
       .actual = too_long ? Text("an inline Reply of ", m.length, " bytes") : Text("ERR_CHUNK"),
       .from = t.requester});
}

}  // namespace stag::conformance
