// SPDX-License-Identifier: GPL-2.0-or-later
//
// LONG: RDMA_NOMSG and Position-zero chunks.
#include "conformance/rules/placements.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

bool IsNomsg(const Message& m) { return HasLists(m.header) && m.header.proc == rpcrdma::kNomsg; }

uint64_t PositionZeroBytes(const Header& h, size_t& segments) {
  uint64_t sum = 0;
  segments = 0;
  for (const rpcrdma::ReadSegment& read : h.reads) {
    if (read.position != 0) continue;
    sum += read.target.length;
    ++segments;
  }
  return sum;
}

// LONG-005 on the content of a special chunk.
Outcome JudgeLongPayload(Context& c, Stream stream, uint32_t xid, bool call) {
  const auto first = WordAt(stream.bytes, 0), type = WordAt(stream.bytes, 4);
  if (!first || !type) return stream.length < 8 ? Outcome::kNotApplicable : Undecoded(c);
  const char* where = call ? "Position-zero chunk" : "Reply chunk";
  if (StartsWithRecordMark(stream.bytes, stream.length, xid)) return Outcome::kNotApplicable;
  if (*first != xid)
    return c.Fail({.message = Text("The ", where, " does not start with the xid"),
                   .expected = Text(Hex{xid}),
                   .actual = Text(Hex{*first})});
  if (*type != (call ? rpc::kCall : rpc::kReply))
    return c.Fail({.message = Text("The ", where, " does not hold an RPC ", call ? "Call" : "Reply"),
                   .expected = call ? "message type 0 (CALL)" : "message type 1 (REPLY)",
                   .actual = Text(*type)});
  const ParseStatus status =
      call ? rpc::DecodeCall(stream.bytes, stream.length).status : rpc::DecodeReply(stream.bytes, stream.length).status;
  if (status == ParseStatus::kMalformed)
    return c.Fail({.message = Text("The ", where, " does not hold a whole RPC message"),
                   .expected = "an RPC header inside the chunk",
                   .actual = Text("a chunk of ", stream.length, " bytes in which the RPC header does not end")});
  return status == ParseStatus::kOk ? Outcome::kPass : Undecoded(c);
}

}  // namespace

// LONG-001: an RDMA_NOMSG names a holder for its payload.
Outcome NomsgHasHolder(MessageContext& c) {
  const Message& m = c.message;
  if (!IsNomsg(m)) return Outcome::kNotApplicable;
  if (m.header.has_chunks()) return Outcome::kPass;
  return c.Fail({.message = "The RDMA_NOMSG has no list that could hold its payload",
                 .expected = "a Position-zero chunk or a Reply chunk",
                 .actual = "three empty lists"});
}

// LONG-002: a Long Call is in a Position-zero chunk. An RDMA_NOMSG without a Read list whose Call may have been missed
// is taken for a Reply, not flagged.
Outcome LongCallHasPositionZero(CallContext& c) {
  const Message& m = c.message;
  if (!IsNomsg(m)) return Outcome::kNotApplicable;
  size_t segments = 0;
  (void)PositionZeroBytes(m.header, segments);
  if (segments > 0) return Outcome::kPass;
  if (m.header.reads.empty() && !SawEverything(c.connection)) return Unseen(c);
  return c.Fail({.message = "A Long Call without a Position-zero chunk",
                 .expected = "Read segments at Position 0",
                 .actual = m.header.reads.empty() ? Text("an empty Read list")
                                                  : Text("first Position ", m.header.reads.front().position)});
}

// LONG-003: all of a Long Call's payload is at Position zero. Flags a chunk too small for any Call.
Outcome LongCallIsWhole(CallContext& c) {
  const Message& m = c.message;
  if (!IsNomsg(m)) return Outcome::kNotApplicable;
  size_t segments = 0;
  const uint64_t sum = PositionZeroBytes(m.header, segments);
  if (segments == 0) return Outcome::kNotApplicable;
  if (sum >= rpc::kSmallestCall) return Outcome::kPass;
  return c.Fail({.message = Text("The Position-zero chunk has ", sum, " bytes: less than any RPC Call"),
                 .expected = Text("at least ", rpc::kSmallestCall, " bytes"),
                 .actual = Count(sum, "byte")});
}

// ... and segments whose Positions count up like fragments of one payload. Not flagged: a reduced item that happens to
// start where the Position-zero content ends; the count before it, or the upper layer, says so. Needs that content.
Outcome LongCallIsNotFragmented(CallCompleteContext& c) {
  const Transaction& t = c.transaction;
  const Header& h = t.call.header;
  if (!HasLists(h) || h.proc != rpcrdma::kNomsg || h.reads.size() < 2 || h.reads.front().position != 0)
    return Outcome::kNotApplicable;
  uint64_t running = 0;
  bool later = false;
  for (const rpcrdma::ReadSegment& read : h.reads) {
    if (read.position != running && read.position != 0) return Outcome::kPass;
    later = later || read.position != 0;
    running += read.target.length;
  }
  if (!later) return Outcome::kPass;
  if (t.call.stream.size() < t.call.stream_length) return Undecoded(c);
  const auto count = WordAt(t.call.stream, t.call.stream_length - 4);
  for (const session::ReadChunk& chunk : t.call.read_chunks)
    if (chunk.position != 0 && count && (chunk.length == *count || chunk.length == RoundUp4(*count)))
      return Outcome::kPass;
  const Placements placements = Place(t);
  for (size_t i = 0; i < placements.size; ++i)
    if (EligibleAt(t, placements, i) == Eligible::kYes) return Outcome::kPass;
  return c.Fail({.message = "The segments of a Long Call carry their offsets as Positions",
                 .expected = "Position 0 for all segments of the payload",
                 .actual = Text("Position ", h.reads.back().position)});
}

// LONG-004: a Position-zero chunk replaces the inline payload, so RDMA_MSG has none.
Outcome NoPositionZeroInMsg(MessageContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header) || m.header.proc != rpcrdma::kMsg || m.header.reads.empty()) return Outcome::kNotApplicable;
  size_t segments = 0;
  (void)PositionZeroBytes(m.header, segments);
  if (segments == 0) return Outcome::kPass;
  return c.Fail({.message = "An RDMA_MSG with a Position-zero chunk",
                 .expected = "RDMA_NOMSG, or the payload inline only",
                 .actual = Count(segments, "Read segment at Position 0")});
}

// LONG-005: a special chunk holds a whole RPC message that starts with the xid.
Outcome LongCallPayload(CallCompleteContext& c) {
  const Transaction& t = c.transaction;
  if (!HasLists(t.call.header) || t.call.header.proc != rpcrdma::kNomsg) return Outcome::kNotApplicable;
  // Under draft-08 it may be a Reply, to a Call that was missed.
  if ((c.legacy() || c.may_be_legacy) && !SawEverything(c.connection) && WordAt(t.call.stream, 4) == rpc::kReply)
    return Unseen(c);
  return JudgeLongPayload(c, CallStream(t), t.xid, true);
}
Outcome LongReplyPayload(ReplyContext& c) {
  const Message& m = c.message;
  if (!IsNomsg(m) || !m.header.reads.empty()) return Outcome::kNotApplicable;
  return JudgeLongPayload(c, ReplyStream(c.transaction), m.header.xid, false);
}

// LONG-006 (draft-08): the Position-zero chunk is the first entry.
Outcome PositionZeroIsFirst(MessageContext& c) {
  const Message& m = c.message;
  if (!IsNomsg(m)) return Outcome::kNotApplicable;
  size_t segments = 0;
  (void)PositionZeroBytes(m.header, segments);
  if (segments == 0) return Outcome::kNotApplicable;
  if (m.header.reads.front().position == 0) return Outcome::kPass;
  return c.Fail({.message = "The Position-zero chunk is not the first entry of the Read list",
                 .expected = "Position 0 first",
                 .actual = Text("Position ", m.header.reads.front().position)});
}

}  // namespace stag::conformance
