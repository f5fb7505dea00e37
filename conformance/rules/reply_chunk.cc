// SPDX-License-Identifier: GPL-2.0-or-later
//
// REPLY: the Reply chunk, offered and returned.
#include <algorithm>

#include "conformance/engine/reply_bounds.h"
#include "conformance/rules/common.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

// The threshold of the Reply, for a Call with its payload inline; nullopt also when it is not known.
std::optional<uint32_t> ReplyThreshold(const CallContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header) || m.header.proc != rpcrdma::kMsg) return std::nullopt;
  if (m.call.status != ParseStatus::kOk || m.call.opaque_arguments()) return std::nullopt;
  return ThresholdOf(c, Side(1 - m.from));
}

bool OffersReplyChunk(const ReplyContext& c) {
  return CanCompareLists(c) && c.transaction.call.header.reply_chunk.has_value();
}
bool ReturnsReplyChunk(const ReplyContext& c) {
  return OffersReplyChunk(c) && c.message.header.reply_chunk.has_value();
}

std::span<const Segment> Offered(const ReplyContext& c) {
  return c.transaction.call.header.Of(*c.transaction.call.header.reply_chunk);
}
std::span<const Segment> Returned(const ReplyContext& c) { return c.message.header.Of(*c.message.header.reply_chunk); }

}  // namespace

// REPLY-001: a Reply chunk where the Reply may not fit. Only where the Call itself says how much it may get back: a
// READ without a Write chunk, READDIR and READDIRPLUS. Procedures with small or unknown results are not judged. A note
// when only the largest verifier of RPCSEC_GSS would not fit.
Outcome ReplyChunkIsOffered(CallContext& c) {
  const auto threshold = ReplyThreshold(c);
  if (!threshold) return Outcome::kNotApplicable;
  const ReplyBounds bounds = BoundsOf(c.transaction.call);
  const uint64_t needed = bounds.largest;
  if (needed <= *threshold) return Outcome::kNotApplicable;
  if (c.message.header.reply_chunk) return Outcome::kPass;
  return c.Fail({.message = "The Call asks for more than fits into an inline Reply, and offers no Reply chunk",
                 .expected = Text("a Reply chunk: the Reply may have ", needed, " bytes"),
                 .actual = Text("no Reply chunk, threshold ", *threshold),
                 .severity = needed - bounds.verifier <= *threshold ? std::optional(Severity::kNote) : std::nullopt});
}

// REPLY-002: the Reply chunk holds what the Call asks for. Parts that go to Write chunks do not count. A note when only
// the largest verifier of RPCSEC_GSS would not fit.
Outcome ReplyChunkIsLargeEnough(CallContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header) || !m.header.reply_chunk) return Outcome::kNotApplicable;
  const uint64_t room = m.header.SizeOf(*m.header.reply_chunk);
  ReplyBounds bounds;
  if (m.header.proc == rpcrdma::kMsg && m.call.status == ParseStatus::kOk && !m.call.opaque_arguments())
    bounds = BoundsOf(c.transaction.call);
  const uint64_t needed = bounds.chunk_at_least;
  if (room >= needed) return Outcome::kPass;
  return c.Fail(
      {.message = Text("The Reply chunk has room for ", room, " bytes, the Reply may have ", needed, " and more"),
       .expected = Text("at least ", needed, " bytes"),
       .actual = Count(room, "byte"),
       .severity = bounds.limit > 0 && bounds.verifier > 0 && room >= bounds.limit ? std::optional(Severity::kNote)
                                                                                   : std::nullopt});
}

// REPLY-003 (RFC 8166): no Reply chunk where every Reply fits. A note, for procedures whose results are small and
// fixed.
Outcome ReplyChunkIsNeeded(CallContext& c) {
  const auto threshold = ReplyThreshold(c);
  if (!threshold) return Outcome::kNotApplicable;
  const uint64_t fixed = BoundsOf(c.transaction.call).fixed;
  if (fixed == 0 || fixed > *threshold) return Outcome::kNotApplicable;
  if (!c.message.header.reply_chunk) return Outcome::kPass;
  return c.Fail({.message = "A Reply chunk for a procedure whose Reply always fits inline",
                 .expected = "no Reply chunk",
                 .actual = Text(c.message.header.SizeOf(*c.message.header.reply_chunk), " bytes offered")});
}

// REPLY-004: the Reply returns the Call's Reply chunk, used or not. A Short Reply that leaves it out is a warning.
Outcome ReplyChunkIsReturned(ReplyContext& c) {
  if (!OffersReplyChunk(c)) return Outcome::kNotApplicable;
  if (!c.message.header.reply_chunk) {
    const bool short_reply = c.message.header.proc != rpcrdma::kNomsg;
    return c.Fail({.message = "The Reply does not return the Call's Reply chunk",
                   .expected = Text("a Reply chunk of ", Count(Offered(c).size(), "segment")),
                   .actual = "not present",
                   .severity = short_reply ? std::optional(Severity::kWarning) : std::nullopt});
  }
  const auto offered = Offered(c), returned = Returned(c);
  if (offered.size() != returned.size())
    return c.Fail({.message = Text("The Reply chunk comes back with ", Count(returned.size(), "segment"),
                                   ", offered with ", offered.size()),
                   .expected = Count(offered.size(), "segment"),
                   .actual = Text(returned.size())});
  for (size_t i = 0; i < offered.size(); ++i) {
    if (offered[i].handle == returned[i].handle && offered[i].offset == returned[i].offset) continue;
    return c.Fail({.message = Text("Segment ", i + 1, " of the Reply chunk comes back with another handle or offset"),
                   .expected = Text("handle ", Hex{offered[i].handle}, ", offset ", Hex{offered[i].offset}),
                   .actual = Text("handle ", Hex{returned[i].handle}, ", offset ", Hex{returned[i].offset})});
  }
  return Outcome::kPass;
}

// REPLY-005: returned lengths fit the offer, segments are filled in order.
Outcome ReplyChunkFillsInOrder(ReplyContext& c) {
  if (!ReturnsReplyChunk(c)) return Outcome::kNotApplicable;
  const auto offered = Offered(c), returned = Returned(c);
  bool ended = false;
  for (size_t i = 0; i < std::min(offered.size(), returned.size()); ++i) {
    if (returned[i].length > offered[i].length)
      return c.Fail({.message = Text("Segment ", i + 1, " of the Reply chunk returns more than was offered"),
                     .expected = Text("at most ", offered[i].length, " bytes"),
                     .actual = Count(returned[i].length, "byte")});
    if (ended && returned[i].length > 0)
      return c.Fail({.message = Text("Segment ", i + 1, " of the Reply chunk has data after one that is not full"),
                     .expected = "segments filled one after the other",
                     .actual = "data after a segment that was not filled"});
    ended = ended || returned[i].length < offered[i].length;
  }
  return Outcome::kPass;
}

// REPLY-006: no Reply chunk in the Reply without one in the Call.
Outcome NoInventedReplyChunk(ReplyContext& c) {
  if (!CanCompareLists(c) || c.transaction.call.header.reply_chunk) return Outcome::kNotApplicable;
  if (!c.message.header.reply_chunk) return Outcome::kPass;
  return c.Fail({.message = "The Reply has a Reply chunk, the Call had none",
                 .expected = "no Reply chunk",
                 .actual = Count(Returned(c).size(), "segment")});
}

// REPLY-007: a Reply over the threshold uses the Reply chunk that is there.
Outcome ReplyChunkIsUsed(ReplyContext& c) {
  if (!OffersReplyChunk(c) || c.message.header.proc != rpcrdma::kMsg) return Outcome::kNotApplicable;
  const auto threshold = ThresholdOf(c, c.message.from);
  if (!threshold) return Outcome::kNoSetup;
  if (c.message.length <= *threshold) return Outcome::kPass;
  return c.Fail({.message = Text("An inline Reply of ", c.message.length, " bytes although a Reply chunk was offered"),
                 .expected = Text("at most ", *threshold, " bytes inline, or the Reply chunk"),
                 .actual = Count(c.message.length, "byte")});
}

// REPLY-008: a Short Reply is allowed beside a Reply chunk, which then returns nothing.
Outcome ShortReplyLeavesReplyChunk(ReplyContext& c) {
  if (!ReturnsReplyChunk(c) || c.message.header.proc == rpcrdma::kNomsg) return Outcome::kNotApplicable;
  const uint64_t sum = c.message.header.SizeOf(*c.message.header.reply_chunk);
  if (sum == 0) return Outcome::kPass;
  return c.Fail({.message = Text("A Short Reply whose Reply chunk returns ", sum, " bytes"),
                 .expected = "all lengths 0",
                 .actual = Count(sum, "byte")});
}

// REPLY-010 (RFC 8166): special chunks hold whole words. Both kinds are judged by their declared or returned lengths.
Outcome SpecialChunksArePadded(MessageContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header)) return Outcome::kNotApplicable;
  uint64_t sum = 0;
  bool reply_chunk = false;
  if (m.role == Role::kCall || m.role == Role::kUnknown) {
    for (const rpcrdma::ReadSegment& read : m.header.reads)
      if (read.position == 0) sum += read.target.length;
  } else if (m.role == Role::kReply && m.header.reply_chunk) {
    sum = m.header.SizeOf(*m.header.reply_chunk);
    reply_chunk = true;
  }
  if (sum == 0) return Outcome::kNotApplicable;
  if (sum % 4 == 0) return Outcome::kPass;
  if (!c.transaction && c.connection.lossy) return Unseen(c);  // whether it is a Call is not known
  return c.Fail({.message = Text("The ", reply_chunk ? "Reply chunk" : "Position-zero chunk", " has ", sum,
                                 " bytes: it lacks XDR padding"),
                 .expected = "a multiple of four",
                 .actual = Count(sum, "byte")});
}

// REPLY-011: a Long Reply is in the Reply chunk. draft-08 has it in a Position-zero Read chunk, too. How it starts is
// judged by XID-001 and LONG-005.
Outcome LongReplyFillsReplyChunk(AnyReplyContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header) || m.header.proc != rpcrdma::kNomsg) return Outcome::kNotApplicable;
  if (!m.header.reads.empty()) return Outcome::kNotApplicable;  // RDLIST-001, or legal
  const uint64_t sum = m.header.reply_chunk ? m.header.SizeOf(*m.header.reply_chunk) : 0;
  if (sum >= kSmallestReply) return Outcome::kPass;
  return c.Fail({.message = m.header.reply_chunk ? Text("A Long Reply whose Reply chunk returns ", sum, " bytes")
                                                 : Text("A Long Reply without a Reply chunk"),
                 .expected = Text("a Reply chunk with ", kSmallestReply, " bytes or more"),
                 .actual = m.header.reply_chunk ? Count(sum, "byte") : Text("not present")});
}

// REPLY-014: WRLIST-018, for a Long Reply. Bytes beyond the offer are REPLY-005. Silent after loss.
Outcome ReplyChunkWasWritten(ReplyContext& c) {
  if (!ReturnsReplyChunk(c) || c.message.header.proc != rpcrdma::kNomsg) return Outcome::kNotApplicable;
  if (!SawResponder(c)) return Unseen(c);
  const session::CallHalf& call = c.transaction.call;
  const auto offered = Offered(c), returned = Returned(c);
  for (uint32_t s = 0; s < std::min(offered.size(), returned.size()); ++s) {
    const session::SegmentRecord& record = call.segments[c.transaction.SegmentIndex(*call.header.reply_chunk, s)];
    const auto missing = NotWritten(c, record, offered[s], returned[s]);
    if (!missing) continue;
    if (!CallCameFirst(c)) return Outcome::kGap;
    return c.Fail({.message = Text("Segment ", s + 1, " of the Reply chunk reports bytes that were not written"),
                   .expected = Text("RDMA Writes of ", missing->reported, " bytes"),
                   .actual = Count(missing->written, "byte")});
  }
  return Outcome::kPass;
}

}  // namespace stag::conformance
