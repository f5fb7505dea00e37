// SPDX-License-Identifier: GPL-2.0-or-later
//
// RDLIST, and the rules of PAD and DDP that judge Read chunks.
#include <algorithm>

#include "conformance/rules/placements.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

using session::ReadChunk;

namespace {

// RDLIST-004 on what Place() found; `c` gets the violation.
Outcome JudgePositions(Context& c, const Transaction& t) {
  const Placements placements = Place(t);
  const uint64_t length = t.call.stream_length;
  int64_t previous = 0;
  for (const Placement& p : placements) {
    const bool outside = p.insertion < previous || static_cast<uint64_t>(p.insertion) > length;
    if (outside) {
      const bool reduced = p.insertion < previous && p.chunk->position <= length;
      return c.Fail({.message = reduced ? Text("Position ", p.chunk->position, " was computed on the reduced stream")
                                        : Text("Position ", p.chunk->position, " is outside the Payload stream"),
                     .expected = Text("a place between bytes ", previous, " and ", length, " of the reduced stream"),
                     .actual = Text("byte ", p.insertion),
                     .from = t.requester});
    }
    previous = p.insertion;
  }
  if (placements.partial) return Undecoded(c);
  return PassIf(placements.size > 0);
}

// The first chunk whose length is neither the count before it nor the padded count.
const Placement* LengthMismatch(const Placements& placements) {
  for (const Placement& p : placements)
    if (p.count_known && p.chunk->length != p.count && p.chunk->length != RoundUp4(p.count)) return &p;
  return nullptr;
}

Outcome JudgeCount(Context& c, const Transaction& t) {
  const Placements placements = Place(t);
  if (placements.size == 0) return Outcome::kNotApplicable;
  if (const Placement* p = LengthMismatch(placements))
    return c.Fail(
        {.message = Text("The word before Position ", p->chunk->position, " is not the length of the chunk there"),
         .expected = Text("a count for ", p->chunk->length, " bytes"),
         .actual = Text("count ", p->count, ", chunk of ", p->chunk->length, " bytes"),
         .from = t.requester});
  return placements.partial ? Undecoded(c) : Outcome::kPass;
}

// PAD-003 and PAD-004 need to know that a variable-length item starts there.
Outcome JudgeLength(Context& c, const Transaction& t, bool too_long) {
  const Placements placements = Place(t);
  if (placements.size == 0) return Outcome::kNotApplicable;
  bool unknown = placements.partial;
  for (size_t i = 0; i < placements.size; ++i) {
    const Placement& p = placements.at[i];
    const uint64_t length = p.chunk->length;
    const bool wrong = too_long ? length > p.count && length != RoundUp4(p.count) : length < p.count;
    if (!p.count_known || !wrong) continue;
    const Eligible eligible = EligibleAt(t, placements, i);
    unknown = unknown || eligible == Eligible::kUnknown;
    if (eligible != Eligible::kYes) continue;
    return c.Fail({.message = Text("The Read chunk at Position ", p.chunk->position, " is ",
                                   too_long ? "longer than its item with padding" : "shorter than its item"),
                   .expected = p.count % 4 ? Text(p.count, " bytes, or ", RoundUp4(p.count), " with padding")
                                           : Count(p.count, "byte"),
                   .actual = Count(length, "byte"),
                   .from = t.requester});
  }
  return unknown ? Undecoded(c) : Outcome::kPass;
}

Outcome JudgeEligibility(Context& c, const Transaction& t) {
  const Placements placements = Place(t);
  if (placements.size == 0) return Outcome::kNotApplicable;
  bool unknown = false;
  for (size_t i = 0; i < placements.size; ++i) {
    const Placement& p = placements.at[i];
    const Eligible eligible = EligibleAt(t, placements, i);
    unknown = unknown || eligible == Eligible::kUnknown;
    if (eligible != Eligible::kNo) continue;
    return c.Fail({.message = Text("The Read chunk at Position ", p.chunk->position,
                                   " holds an argument that is not DDP-eligible"),
                   .expected = "only items that the upper-layer binding names",
                   .actual = Text("a chunk of ", p.chunk->length, " bytes"),
                   .from = t.requester});
  }
  return unknown ? Undecoded(c) : Outcome::kPass;
}

Outcome JudgeNoEligibleArgument(Context& c, const Transaction& t) {
  const Placements placements = Place(t);
  if (placements.size == 0) return Outcome::kNotApplicable;
  const nfs::Eligibility eligibility = EligibilityOf(t);
  if (!eligibility.known) return Undecoded(c);
  if (eligibility.argument_items > 0) return Outcome::kPass;
  return c.Fail({.message = "A Read chunk in a Call whose procedure has no DDP-eligible argument",
                 .expected = "an empty Read list",
                 .actual = Text("a Read chunk at Position ", placements.at[0].chunk->position),
                 .from = t.requester});
}

// ULB-001, -002 and -004 name the binding that DDP-001 rests on.
template <typename Applies>
Outcome JudgeBinding(Context& c, const Transaction& t, Applies applies) {
  return applies(t.call.rpc) ? JudgeEligibility(c, t) : Outcome::kNotApplicable;
}
bool IsSide(const rpc::CallHeader& call) { return nfs::IsSideProtocol(call.program); }

Outcome JudgeHeaderBytes(Context& c, const Transaction& t) {
  if (t.call.rpc.status != ParseStatus::kOk || t.call.read_chunks.empty()) return Outcome::kNotApplicable;
  for (const ReadChunk& chunk : t.call.read_chunks) {
    if (chunk.position == 0) continue;
    if (chunk.position >= t.call.rpc.length) return Outcome::kPass;
    return c.Fail({.message = Text("The Read chunk at Position ", chunk.position, " is inside the RPC header"),
                   .expected = Text("a Position of ", t.call.rpc.length, " or more"),
                   .actual = Text(chunk.position),
                   .from = t.requester});
  }
  return Outcome::kNotApplicable;
}

}  // namespace

// RDLIST-001: no Read list in Replies. draft-08 permits one (DONE-003 follows it). Under the automatic profile the
// engine waits whether RDMA_DONE proves that both peers speak the older protocol.
Outcome NoReadListInReply(AnyReplyContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header)) return Outcome::kNotApplicable;
  if (m.header.reads.empty()) return Outcome::kPass;
  return c.Fail({.message = "The Reply has a Read list",
                 .expected = "an empty Read list",
                 .actual = Count(m.header.reads.size(), "Read segment")});
}

// RDLIST-002: Positions are multiples of four; segment lengths need not be. A warning under draft-08, which leaves it
// to XDR.
Outcome PositionIsAligned(MessageContext& c) {
  const Header& h = c.message.header;
  if (!h.has_lists() || !IsVersion1(c.message) || h.reads.empty()) return Outcome::kNotApplicable;
  for (const rpcrdma::ReadSegment& read : h.reads)
    if (read.position % 4 != 0)
      return c.Fail({.message = Text("Position ", read.position, " is not a multiple of four"),
                     .expected = "a multiple of four",
                     .actual = Text(read.position),
                     .severity = c.legacy() ? std::optional(Severity::kWarning) : std::nullopt});
  return Outcome::kPass;
}

// RDLIST-003: the segments of one Position stand together.
Outcome ChunkIsContiguous(MessageContext& c) {
  const Header& h = c.message.header;
  if (!HasLists(h) || h.reads.size() < 2) return Outcome::kNotApplicable;
  for (size_t i = 1; i < h.reads.size(); ++i) {
    const uint32_t position = h.reads[i].position;
    if (position == h.reads[i - 1].position) continue;
    for (size_t j = 0; j + 1 < i; ++j)
      if (h.reads[j].position == position)
        return c.Fail(
            {.message = Text("Read segments of Position ", position, " are interleaved with those of another"),
             .expected = "the segments of a chunk next to each other",
             .actual = Text("entries ", j + 1, " and ", i + 1, " of the Read list")});
  }
  return Outcome::kPass;
}

// RDLIST-004: Position counts in the unreduced stream. What falls into the RPC header is DDP-012.
Outcome PositionIsInside(ArgumentsContext& c) { return JudgePositions(c, c.transaction); }

// RDLIST-005: the word before an insertion point is the count of what the chunk holds, with or without padding. Only a
// warning: the item may be one without a count. Where the upper layer was followed, PAD-003 and PAD-004 say it for
// sure.
Outcome CountPrecedesChunk(ArgumentsContext& c) { return JudgeCount(c, c.transaction); }

// PAD-003: a chunk longer than its item is longer by exactly the padding.
Outcome PaddingIsExact(ArgumentsContext& c) { return JudgeLength(c, c.transaction, true); }

// PAD-004: a chunk without padding is as long as its item.
Outcome ChunkHoldsItem(ArgumentsContext& c) { return JudgeLength(c, c.transaction, false); }

// LONG-007: a Long Call with further chunks: the Position-zero content is the reduced stream. Positions beside zero are
// legal and are not counted from the end of the Position-zero chunk.
Outcome LongCallWithChunks(CallCompleteContext& c) {
  const Transaction& t = c.transaction;
  if (!IsLongCall(t) || t.call.form != session::CallForm::kLongChunked) return Outcome::kNotApplicable;
  const Outcome positions = JudgePositions(c, t);
  return positions == Outcome::kFail ? positions : JudgeCount(c, t);
}

// RDLIST-006: no Position > 0 in Calls whose procedure has no eligible argument. Unknown programs and GSS are not
// judged.
Outcome NothingToPull(ArgumentsContext& c) { return JudgeNoEligibleArgument(c, c.transaction); }

// DDP-001: only eligible arguments are reduced. Judged where the walk of the upper layer reaches the insertion point.
Outcome ArgumentIsEligible(ArgumentsContext& c) { return JudgeEligibility(c, c.transaction); }

// ULB-001, ULB-002, ULB-004: the bindings' tables, for arguments.
Outcome Nfs23Arguments(CallContext& c) {
  return IsShortCall(c) ? JudgeBinding(c, c.transaction, nfs::IsNfs23) : Outcome::kNotApplicable;
}
Outcome Nfs4Arguments(CallContext& c) {
  return IsShortCall(c) ? JudgeBinding(c, c.transaction, nfs::IsNfs4) : Outcome::kNotApplicable;
}
Outcome SideProtocolArguments(CallContext& c) {
  return IsShortCall(c) ? JudgeBinding(c, c.transaction, IsSide) : Outcome::kNotApplicable;
}

// DDP-012: nothing of the RPC header is in an ordinary chunk.
Outcome HeaderIsNotReduced(ArgumentsContext& c) { return JudgeHeaderBytes(c, c.transaction); }

// RDLIST-007: before a Call is answered with success, its Read chunks have been read, but for padding. Not flagged:
// error replies, loss, upper layers that were not followed, memory that another outstanding Call has for reading, too.
Outcome ChunksAreRead(ReplyContext& c) {
  if (!CanCompareLists(c) || c.transaction.call.read_chunks.empty()) return Outcome::kNotApplicable;
  const Transaction& t = c.transaction;
  const OutstandingCall* call = c.state.Find(t);
  if (call && call->shares_reads) return Outcome::kNotApplicable;
  if (!t.reply.rpc.success() || (t.reply.walk.has_status && t.reply.walk.nfs_status != 0))
    return Outcome::kNotApplicable;
  if (!SawResponder(c) || t.reply.walk.status != ParseStatus::kOk) return Unseen(c);
  for (const ReadChunk& chunk : t.call.read_chunks) {
    uint64_t needed = chunk.length;
    uint64_t read = 0;
    for (const uint32_t index : chunk.segments)
      read += std::max(t.call.segments[index].requested.total(), t.call.segments[index].moved.total());
    for (const session::DataItem& item : t.call.items)
      if (item.reduced && &t.call.read_chunks[item.chunk] == &chunk)
        needed = std::min<uint64_t>(needed, item.item.length);
    const uint64_t padding = chunk.position == 0 ? 0 : 3;
    if (read + padding >= needed) continue;
    if (!CallCameFirst(c)) return Outcome::kGap;
    return c.Fail({.message = Text("The Call is answered with success, but its Read chunk at Position ", chunk.position,
                                   " was not read"),
                   .expected = Text(needed, " bytes read"),
                   .actual = Text(read, " bytes")});
  }
  return Outcome::kPass;
}

// RDLIST-008: an RDMA Read of an outstanding Call's segment is not refused. A remote access NAK is the requester's
// doing when the Read was inside.
Outcome ReadChunkIsValid(NakContext& c) {
  const RecentOperation* op = c.state.refused_operation;
  if (!op || op->kind != fabric::EventKind::kReadRequest || !RefusesAccess(c.event.nak()) || !op->inside)
    return Outcome::kNotApplicable;
  return c.Fail({.message = "An RDMA Read inside an advertised segment is refused",
                 .expected = "memory that stays valid until the Reply",
                 .actual = Text("remote access error for handle ", Hex{op->handle}, ", ", op->length, " bytes"),
                 .frames = {op->frame.number, op->call_frame},
                 .xid = op->xid});
}

// RDLIST-009 (draft-08): Positions ascend.
Outcome PositionsAscend(MessageContext& c) {
  const Header& h = c.message.header;
  if (!HasLists(h) || h.reads.size() < 2) return Outcome::kNotApplicable;
  for (size_t i = 1; i < h.reads.size(); ++i)
    if (h.reads[i].position < h.reads[i - 1].position)
      return c.Fail({.message = "The Positions of the Read list do not ascend",
                     .expected = Text("a Position of ", h.reads[i - 1].position, " or more"),
                     .actual = Text(h.reads[i].position)});
  return Outcome::kPass;
}

// RDLIST-010: the NFS bindings expect one reduced argument a Call. A note; servers may take more.
Outcome FewReadChunks(CallContext& c) {
  if (!IsShortCall(c) || c.transaction.call.rpc.program != nfs::kNfsProgram) return Outcome::kNotApplicable;
  const session::Reused<ReadChunk>& chunks = c.transaction.call.read_chunks;
  const size_t ordinary = chunks.size() - (!chunks.empty() && chunks.front().position == 0 ? 1 : 0);
  if (ordinary == 0) return Outcome::kNotApplicable;
  if (ordinary == 1) return Outcome::kPass;
  return c.Fail({.message = Text("An NFS Call with ", ordinary, " Read chunks beside a Position-zero chunk"),
                 .expected = "at most one, unless the server is known to take more",
                 .actual = Text(ordinary)});
}

}  // namespace stag::conformance
