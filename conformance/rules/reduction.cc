// SPDX-License-Identifier: GPL-2.0-or-later
//
// DDP and ULB beside what is eligible: what of an item is reduced, that the rest decodes, and what the bindings of NFS
// add (RFC 8166 sections 3.4.4 and 6, RFC 8267). Judged only where the upper layer can be followed.
#include <algorithm>

#include "conformance/rules/placements.h"
#include "conformance/rules/reply_items.h"
#include "conformance/rules/rules.h"
#include "protocol/nfs/nfs4_operations.h"

namespace stag::conformance {

namespace {

constexpr uint32_t kTypeLink = 5;  // NF4LNK: the arm of createtype4 whose text is eligible (RFC 7530 section 16.4)

// DDP-003: the chunk starts where the count of an eligible item should be.
Outcome JudgeCountStays(Context& c, const Transaction& t) {
  const Placements placements = Place(t);
  for (size_t i = 0; i < placements.size; ++i) {
    const Placement& p = placements.at[i];
    if (EligibleAt(t, placements, i) != Eligible::kNo || !ItemBehind(t, placements, i, {0})) continue;
    return c.Fail(
        {.message = Text("The Read chunk at Position ", p.chunk->position, " takes the place of an item's count, too"),
         .expected = Text("the count inline, the chunk at Position ", p.chunk->position + 4),
         .actual = Text("a chunk of ", p.chunk->length, " bytes where the count should be"),
         .from = t.requester});
  }
  return PassIf(placements.size > 0);
}

// DDP-005: the chunk starts at a union's discriminant. NFSv4 CREATE has the only union with an eligible arm.
Outcome JudgeUnion(Context& c, const Transaction& t) {
  if (!nfs::IsNfs4(t.call.rpc)) return Outcome::kNotApplicable;
  const Placements placements = Place(t);
  for (size_t i = 0; i < placements.size; ++i) {
    const Placement& p = placements.at[i];
    if (EligibleAt(t, placements, i) != Eligible::kNo) continue;
    if (!ItemBehind(t, placements, i, {kTypeLink, 0}, nfs::ItemKind::kLinkText)) continue;
    return c.Fail({.message = Text("The Read chunk at Position ", p.chunk->position, " holds a union"),
                   .expected = "the discriminant inline; an eligible arm may be reduced",
                   .actual = "a chunk that starts at the discriminant",
                   .from = t.requester});
  }
  return PassIf(placements.size > 0);
}

// DDP-007: the chunk is longer than its item, and what should follow the item is missing inline.
Outcome JudgeOneItem(Context& c, const Transaction& t) {
  const Placements placements = Place(t);
  if (placements.size == 0) return Outcome::kNotApplicable;
  for (size_t i = 0; i < placements.size; ++i) {
    const Placement& p = placements.at[i];
    if (!p.count_known || p.chunk->length <= RoundUp4(p.count)) continue;
    if (EligibleAt(t, placements, i) != Eligible::kYes) return Outcome::kUpperLayer;
    if (WalkPlaced(t, placements).walk.status != ParseStatus::kMalformed) return Outcome::kNotApplicable;  // PAD-003
    return c.Fail({.message = Text("The Read chunk at Position ", p.chunk->position,
                                   " holds more than one item: what follows the first is missing inline"),
                   .expected = Text("a chunk for an item of ", p.count, " bytes"),
                   .actual = Count(p.chunk->length, "byte"),
                   .from = t.requester});
  }
  return placements.partial ? Undecoded(c) : Outcome::kPass;
}

// DDP-014: the sum of a chunk's segments is the count. draft-08 section 3.7 permits padding in it.
Outcome JudgeSum(Context& c, const Transaction& t) {
  const Placements placements = Place(t);
  if (placements.size == 0) return Outcome::kNotApplicable;
  bool unknown = placements.partial;
  for (size_t i = 0; i < placements.size; ++i) {
    const Placement& p = placements.at[i];
    const bool padded = c.legacy() && p.chunk->length == RoundUp4(p.count);
    if (!p.count_known || p.chunk->length == p.count || padded) continue;
    const Eligible eligible = EligibleAt(t, placements, i);
    unknown = unknown || eligible == Eligible::kUnknown;
    if (eligible != Eligible::kYes) continue;
    return c.Fail({.message = Text("The segments of the Read chunk at Position ", p.chunk->position, " have ",
                                   p.chunk->length, " bytes, the count left inline says ", p.count),
                   .expected = Count(p.count, "byte"),
                   .actual = Text(p.chunk->length),
                   .from = t.requester});
  }
  return unknown ? Undecoded(c) : Outcome::kPass;
}

// DDP-011 for a Call whose chunks are all in the right place with the right length: else other rules say so.
Outcome JudgeArguments(Context& c, const Transaction& t) {
  const Placements placements = Place(t);
  if (placements.size == 0 && !IsLongCall(t)) return Outcome::kNotApplicable;
  if (t.call.rpc.status != ParseStatus::kOk || t.call.stream.size() < t.call.stream_length || placements.partial)
    return Undecoded(c);
  const PlacedWalk placed = WalkPlaced(t, placements);
  const nfs::Walk& walk = placed.walk;
  if (walk.status == ParseStatus::kUnsupported || walk.status == ParseStatus::kTruncatedByCapture) return Undecoded(c);
  for (size_t i = 0; i < placements.size; ++i) {
    const Placement& p = placements.at[i];
    const bool right = p.chunk->length == p.count || p.chunk->length == RoundUp4(p.count);
    if (!right || EligibleAt(t, placements, i) != Eligible::kYes) return Outcome::kNotApplicable;
  }
  if (walk.status == ParseStatus::kMalformed)
    return c.Fail({.message = "The Call does not decode once its chunks are put back in",
                   .expected = "arguments that end with the message",
                   .actual = Text("a reduced payload of ", t.call.stream_length,
                                  " bytes that stops making sense at byte ", walk.offset),
                   .from = t.requester});
  return Outcome::kPass;
}

// ... and for what is left over: when the Call is complete, as HDR-013. Up to three bytes are PAD-008 and REPLY-010.
Outcome JudgeRest(Context& c, const Transaction& t) {
  const Placements placements = Place(t);
  if ((placements.size == 0 && !IsLongCall(t)) || placements.partial) return Outcome::kNotApplicable;
  const PlacedWalk placed = WalkPlaced(t, placements);
  if (placed.walk.status != ParseStatus::kOk || placed.found != placements.size) return Outcome::kNotApplicable;
  if (placed.walk.offset + 4 > t.call.stream_length) return Outcome::kPass;
  return c.Fail({.message = Text(t.call.stream_length - placed.walk.offset, " bytes follow the arguments"),
                 .expected = Text("a payload of ", placed.walk.offset, " bytes"),
                 .actual = Count(t.call.stream_length, "byte"),
                 .from = t.requester});
}

// The chunks of a Reply that came back with data.
size_t ChunksWithData(const Header& h) {
  return static_cast<size_t>(
      std::ranges::count_if(h.write_chunks, [&](const Chunk& chunk) { return h.SizeOf(chunk) > 0; }));
}

// The one item that a Reply reduced, of any length: its count may be nonsense.
class FirstItem : public nfs::Visitor {
 public:
  bool IsReduced(const nfs::Item& item) override {
    if (seen) return false;
    seen = true;
    first = item;
    return true;
  }
  bool seen = false;
  nfs::Item first;
};

}  // namespace

// DDP-003: the count of a reduced item stays inline. In Calls the Position tells; in Replies that the results decode to
// their end only with the count put back in. Not flagged: chunks that are merely too long (PAD-003).
Outcome CountStays(ArgumentsContext& c) { return JudgeCountStays(c, c.transaction); }
Outcome CountStaysInReply(ReplyContext& c) {
  if (!CanCompareLists(c) || !c.transaction.reply.rpc.success()) return Outcome::kNotApplicable;
  const Transaction& t = c.transaction;
  if (ChunksWithData(t.reply.header) != 1) return Outcome::kNotApplicable;
  if (t.reply.walk.status == ParseStatus::kOk && t.reply.walk.offset == t.reply.stream_length) return Outcome::kPass;
  if (t.reply.stream.size() < t.reply.stream_length) return Undecoded(c);
  uint64_t returned = 0;
  for (const Chunk& chunk : t.reply.header.write_chunks) returned += t.reply.header.SizeOf(chunk);
  if (returned <= 4) return Outcome::kUpperLayer;
  FirstItem as_sent;
  const nfs::Walk walk = nfs::WalkReply(t.call.rpc, t.reply.rpc, t.reply.stream, t.reply.stream_length, as_sent);
  const uint64_t at = as_sent.seen ? as_sent.first.offset - 4 : walk.offset;
  std::vector<std::byte> stream(t.reply.stream.begin(), t.reply.stream.end());
  if (at > stream.size()) return Outcome::kUpperLayer;
  std::array<std::byte, 4> count;
  StoreBe32(count.data(), static_cast<uint32_t>(returned - 4));
  stream.insert(stream.begin() + static_cast<ptrdiff_t>(at), count.begin(), count.end());
  FirstItem repaired;
  const nfs::Walk again = nfs::WalkReply(t.call.rpc, t.reply.rpc, stream, stream.size(), repaired);
  const bool fits = again.status == ParseStatus::kOk && again.offset == stream.size() && repaired.seen &&
                    repaired.first.offset == at + 4;
  if (!fits) return Outcome::kUpperLayer;
  return c.Fail({.message = "The count of a reduced result is not inline: it was moved with the data",
                 .expected = Text("the count ", returned - 4, " in the payload"),
                 .actual = Text("a Write chunk of ", returned, " bytes, and no count")});
}

// DDP-005: a union is not reduced as a whole; its arms may be. The same event as DDP-001.
Outcome UnionIsNotReduced(ArgumentsContext& c) { return JudgeUnion(c, c.transaction); }

// DDP-007: a chunk holds one item. In Replies that is WRLIST-021. A chunk that is only too long is PAD-003.
Outcome ChunkHoldsOneItem(ArgumentsContext& c) { return JudgeOneItem(c, c.transaction); }

// DDP-014 (rfc5666bis, draft-08): the count that stays inline is the sum of the chunk's segments. Replies are
// WRLIST-006.
Outcome CountIsSum(ArgumentsContext& c) { return JudgeSum(c, c.transaction); }

// DDP-011: put together again, a message is valid XDR. Flagged: chunks at the right places with the right lengths, and
// a rest that does not decode to its end, or has more. Not flagged: messages without chunks, unknown operations,
// incomplete captures, a message of which another rule says what is wrong.
Outcome ArgumentsDecode(ArgumentsContext& c) { return JudgeArguments(c, c.transaction); }
Outcome NothingIsLeftOver(CallCompleteContext& c) {
  const Transaction& t = c.transaction;
  return HasLists(t.call.header) ? JudgeRest(c, t) : Outcome::kNotApplicable;
}
Outcome ResultsDecode(ReplyContext& c) {
  if (!CanCompareLists(c) || !c.transaction.reply.rpc.success()) return Outcome::kNotApplicable;
  const Transaction& t = c.transaction;
  const bool long_reply = t.reply.header.proc == rpcrdma::kNomsg;
  if (!long_reply && ChunksWithData(t.reply.header) == 0) return Outcome::kNotApplicable;
  const ReplyItems items = PairItems(t);
  if (!items.known || t.reply.stream.size() < t.reply.stream_length) return Undecoded(c);
  for (size_t i = 0; i < t.reply.header.write_chunks.size(); ++i)
    if (t.reply.header.SizeOf(t.reply.header.write_chunks[i]) > 0 && !items.Uses(i)) return Outcome::kNotApplicable;
  const nfs::Walk& walk = items.walk;
  if (walk.status == ParseStatus::kMalformed)
    return c.Fail({.message = "The Reply does not decode once its chunks are put back in",
                   .expected = "results that end with the message",
                   .actual = Text("a reduced payload of ", t.reply.stream_length,
                                  " bytes that stops making sense at byte ", walk.offset)});
  if (walk.status != ParseStatus::kOk) return Undecoded(c);
  // Up to three bytes are PAD-008 and REPLY-010.
  if (walk.offset + 4 > t.reply.stream_length) return Outcome::kPass;
  return c.Fail({.message = Text(t.reply.stream_length - walk.offset, " bytes follow the results"),
                 .expected = Text("a payload of ", walk.offset, " bytes"),
                 .actual = Count(t.reply.stream_length, "byte")});
}

// DDP-010: programs that use chunks have an upper-layer binding. A note, once for each program: it may have one that is
// not known here. Special chunks need none.
Outcome ProgramHasBinding(CallContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header) || m.call.status != ParseStatus::kOk) return Outcome::kNotApplicable;
  const auto ordinary = [](const rpcrdma::ReadSegment& read) { return read.position > 0; };
  if (m.header.write_chunks.empty() && std::ranges::none_of(m.header.reads, ordinary)) return Outcome::kNotApplicable;
  if (m.call.opaque_arguments()) return Outcome::kNotApplicable;  // GSS-001, GSS-003
  if (nfs::IsNfs4(m.call) || EligibilityOf(c.transaction).known) return Outcome::kPass;
  if (c.state.profiles[m.from].HasUsedChunks(m.call.program, m.call.version)) return Outcome::kNotApplicable;
  return c.Fail({.message = Text("Program ", m.call.program, " version ", m.call.version,
                                 " uses chunks, and no upper-layer binding of it is known"),
                 .expected = "a binding that says what may be reduced",
                 .actual = m.header.write_chunks.empty() ? "a Read chunk" : "a Write list"});
}

// ULB-003: READ_PLUS returns nothing through Write chunks. Flagged when more chunks come back with data than READ and
// READLINK could fill. A warning: RFC 8267 is not one of the documents that this catalogue was checked against.
Outcome ReadPlusIsWhole(ReplyContext& c) {
  if (!CanCompareLists(c) || !nfs::IsNfs4(c.transaction.call.rpc)) return Outcome::kNotApplicable;
  const Transaction& t = c.transaction;
  const bool read_plus = std::ranges::any_of(t.operations, [](const session::Operation& op) {
    return op.op == nfs::kOpReadPlus && op.has_status && op.status == 0;
  });
  if (!read_plus || !t.reply.rpc.success()) return Outcome::kNotApplicable;
  const nfs::Eligibility eligibility = EligibilityOf(t);
  if (!eligibility.known) return Undecoded(c);
  const size_t used = ChunksWithData(t.reply.header);
  if (used <= eligibility.result_items) return Outcome::kPass;
  return c.Fail({.message = "A result of READ_PLUS was moved through a Write chunk",
                 .expected = "all of it inline or in the Reply chunk",
                 .actual = Text(Count(used, "Write chunk"), " with data, ", Count(eligibility.result_items, "result"),
                                " of READ and READLINK")});
}

namespace {
Outcome JudgeComplexity(Context& c, const Transaction& t) {
  if (!nfs::IsNfs4(t.call.rpc)) return Outcome::kNotApplicable;
  const auto ordinary = static_cast<size_t>(
      std::ranges::count_if(t.call.read_chunks, [](const session::ReadChunk& chunk) { return chunk.position > 0; }));
  const size_t writes = t.call.header.write_chunks.size();
  if (ordinary <= 1 && writes <= 1) return PassIf(ordinary + writes > 0);
  if (c.state.profiles[t.requester].takes_many_chunks) return Outcome::kPass;
  return c.Fail({.message = Text("An NFSv4 Call with ",
                                 ordinary > 1 ? Count(ordinary, "Read chunk") : Count(writes, "Write chunk")),
                 .expected = "at most one Read chunk beside a Position-zero chunk, and one Write chunk",
                 .actual = Text(ordinary, " and ", writes),
                 .from = t.requester});
}
}  // namespace

// ULB-006: NFSv4 clients keep to one Read chunk and one Write chunk unless the server is known to take more: a Call
// with more that was answered with success. A note.
Outcome FewNfs4Chunks(ArgumentsContext& c) { return JudgeComplexity(c, c.transaction); }

}  // namespace stag::conformance
