// SPDX-License-Identifier: GPL-2.0-or-later
//
// PAD, but for what read_list.cc says of chunk lengths and answers.cc of answers: XDR roundup padding, which reduced
// items leave behind (RFC 8166 sections 3.4.4 and 3.4.5, rfc5666bis section 4.4.5, draft-08 section 3.7).
#include <algorithm>

#include "conformance/rules/placements.h"
#include "conformance/rules/reply_items.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

uint32_t PaddingOf(uint32_t count) { return static_cast<uint32_t>(RoundUp4(count)) - count; }

// Takes the padding of an item of `count` bytes away where its data would stand; false when there is none.
bool RemovePadding(std::vector<std::byte>& stream, uint64_t at, uint32_t count) {
  const uint32_t padding = PaddingOf(count);
  if (padding == 0 || at > stream.size() || stream.size() - at < padding) return false;
  const auto first = stream.begin() + static_cast<ptrdiff_t>(at), last = first + padding;
  if (std::any_of(first, last, [](std::byte b) { return b != std::byte{0}; })) return false;
  stream.erase(first, last);
  return true;
}

bool EndsExactly(const nfs::Walk& walk, uint64_t length) {
  return walk.status == ParseStatus::kOk && walk.offset == length;
}

constexpr std::string_view kPaddingStays = "The padding of an item stays in the payload although the item was reduced";

// PAD-001 for a Call: with the padding of reduced items its stream does not decode, without it does.
Outcome JudgeCallPadding(Context& c, const Transaction& t) {
  const Placements placements = Place(t);
  const bool odd =
      std::ranges::any_of(placements, [](const Placement& p) { return p.count_known && PaddingOf(p.count) > 0; });
  if (!odd) return Outcome::kNotApplicable;
  const PlacedWalk as_sent = WalkPlaced(t, placements);
  if (EndsExactly(as_sent.walk, t.call.stream_length)) return Outcome::kPass;
  if (placements.partial || t.call.stream.size() < t.call.stream_length) return Undecoded(c);
  std::vector<std::byte> stream(t.call.stream.begin(), t.call.stream.end());
  bool removed = false;
  for (const Placement& p : placements) {
    if (p.insertion < 0 || (p.chunk->length != p.count && p.chunk->length != RoundUp4(p.count)))
      return Outcome::kNotApplicable;  // RDLIST-004, PAD-003, PAD-004
    removed = RemovePadding(stream, static_cast<uint64_t>(p.insertion), p.count) || removed;
  }
  const PlacedWalk repaired = WalkPlaced(t, placements, stream, stream.size());
  if (!removed || !EndsExactly(repaired.walk, stream.size()) || repaired.found != placements.size)
    return Outcome::kUpperLayer;
  const uint64_t kept = t.call.stream_length - stream.size();
  return c.Fail({.message = Text(kPaddingStays),
                 .expected = Text("a payload of ", stream.size(), " bytes"),
                 .actual = Text(t.call.stream_length, " bytes: ", kept, " of padding"),
                 .from = t.requester});
}

// Reduces the items of a Reply in the order of the chunks with data, and remembers them.
class ChunksInOrder : public nfs::Visitor {
 public:
  explicit ChunksInOrder(const Transaction& t) : t_(t) {}
  bool IsReduced(const nfs::Item& item) override {
    const auto& offered = t_.call.header.write_chunks;
    const auto& returned = t_.reply.header.write_chunks;
    if (next_ >= offered.size() || next_ >= returned.size()) return false;
    const size_t chunk = next_++;
    const uint64_t sum = t_.reply.header.SizeOf(returned[chunk]);
    if (offered[chunk].count == 0 || sum == 0 || item.length == 0) return false;
    fits = fits && (sum == item.length || sum == RoundUp4(item.length));
    if (size < items.size()) items[size++] = item;
    return true;
  }
  // Chunks that no item used came back empty.
  bool UsedAll() const {
    const auto& returned = t_.reply.header.write_chunks;
    return std::none_of(returned.begin() + static_cast<ptrdiff_t>(std::min(next_, returned.size())), returned.end(),
                        [&](const Chunk& chunk) { return t_.reply.header.SizeOf(chunk) > 0; });
  }
  std::array<nfs::Item, ReplyItems::kMax> items;
  size_t size = 0;
  bool fits = true;

 private:
  const Transaction& t_;
  size_t next_ = 0;
};

}  // namespace

// PAD-001: a reduced item takes its padding with it. Flagged when the stream decodes to its end only without one to
// three zero bytes where the item was. Not flagged: padding in the Read chunk (PAD-002, PAD-003).
Outcome PaddingLeavesCall(ArgumentsContext& c) { return JudgeCallPadding(c, c.transaction); }

Outcome PaddingLeavesReply(ReplyContext& c) {
  if (!CanCompareLists(c) || !c.transaction.reply.rpc.success()) return Outcome::kNotApplicable;
  const Transaction& t = c.transaction;
  const auto returns_data = [&](const Chunk& chunk) { return t.reply.header.SizeOf(chunk) > 0; };
  if (std::ranges::none_of(t.reply.header.write_chunks, returns_data)) return Outcome::kNotApplicable;
  if (EndsExactly(t.reply.walk, t.reply.stream_length)) return Outcome::kPass;
  if (t.reply.stream.size() < t.reply.stream_length) return Undecoded(c);
  std::vector<std::byte> stream(t.reply.stream.begin(), t.reply.stream.end());
  bool removed = false;
  for (size_t n = 0; n < ReplyItems::kMax; ++n) {
    ChunksInOrder items(t);
    const nfs::Walk walk = nfs::WalkReply(t.call.rpc, t.reply.rpc, stream, stream.size(), items);
    if (n < items.size) {
      removed = RemovePadding(stream, items.items[n].offset, items.items[n].length) || removed;
      continue;
    }
    if (!removed || !items.fits || !items.UsedAll() || !EndsExactly(walk, stream.size())) return Outcome::kUpperLayer;
    break;
  }
  return c.Fail(
      {.message = Text(kPaddingStays),
       .expected = Text("a payload of ", stream.size(), " bytes"),
       .actual = Text(t.reply.stream_length, " bytes: ", t.reply.stream_length - stream.size(), " of padding")});
}

namespace {

// What a Read chunk holds of the padding of its item, when the word before it is the item's count.
enum class Included : uint8_t { kNoPadding, kInLastSegment, kOwnSegment, kOwnChunk };
Included PaddingIn(const Transaction& t, const Placement& p) {
  if (p.padding) return Included::kOwnChunk;
  if (!p.count_known || PaddingOf(p.count) == 0 || p.chunk->length != RoundUp4(p.count)) return Included::kNoPadding;
  const uint32_t last = t.call.segments[p.chunk->segments.back()].segment.length;
  return last == PaddingOf(p.count) ? Included::kOwnSegment : Included::kInLastSegment;
}

Outcome JudgeIncludedPadding(Context& c, const Transaction& t) {
  const Placements placements = Place(t);
  bool odd = false;
  for (size_t i = 0; i < placements.size; ++i) {
    const Placement& p = placements.at[i];
    odd = odd || (p.count_known && PaddingOf(p.count) > 0);
    const Included included = PaddingIn(t, p);
    const bool avoidable = included == Included::kOwnSegment || (included == Included::kInLastSegment && !c.legacy());
    if (!avoidable || EligibleAt(t, placements, i) == Eligible::kNo) continue;
    return c.Fail(
        {.message = Text("The Read chunk at Position ", p.chunk->position, " includes the padding of its item"),
         .expected = Count(p.count, "byte"),
         .actual = Text(p.chunk->length),
         .from = t.requester});
  }
  return PassIf(odd);
}

Outcome JudgeSeparatePadding(Context& c, const Transaction& t) {
  if (!c.legacy()) return Outcome::kNotApplicable;
  const Placements placements = Place(t);
  for (size_t i = 0; i < placements.size; ++i) {
    const Placement& p = placements.at[i];
    const Included included = PaddingIn(t, p);
    const bool separate = included == Included::kOwnSegment || included == Included::kOwnChunk;
    if (!separate || EligibleAt(t, placements, i) == Eligible::kNo) continue;
    return c.Fail({.message = Text("The padding of the item at Position ", p.chunk->position, " has a ",
                                   included == Included::kOwnChunk ? "chunk" : "segment", " of its own"),
                   .expected = Count(p.count, "byte"),
                   .actual = Text(PaddingOf(p.count), " bytes of padding more"),
                   .from = t.requester});
  }
  return PassIf(placements.size > 0);
}

}  // namespace

// PAD-002: a requester should leave padding out of Read chunks. A note: both ways are legal. draft-08 accepts padding
// inside a segment; one of its own is PAD-007.
Outcome PaddingStaysOut(ArgumentsContext& c) { return JudgeIncludedPadding(c, c.transaction); }

// PAD-007 (draft-08): no segment or chunk only for padding. Segments that are merely small are the requester's choice;
// RFC 8166 permits such a segment.
Outcome NoPaddingSegment(ArgumentsContext& c) { return JudgeSeparatePadding(c, c.transaction); }

// PAD-008: what is inline is whole words. Special chunks are REPLY-010.
Outcome InlineIsAligned(MessageContext& c) {
  const Message& m = c.message;
  if (!HasLists(m.header) || m.header.proc == rpcrdma::kNomsg || m.payload_length == 0) return Outcome::kNotApplicable;
  if (!LengthKnown(m)) return Outcome::kGap;
  if (m.payload_length % 4 == 0) return Outcome::kPass;
  return c.Fail({.message = Text("The inline payload has ", m.payload_length, " bytes"),
                 .expected = "a multiple of four",
                 .actual = Text(m.payload_length)});
}

namespace {
// The walk's own word; only where it came to its end, so that nothing else can be taken for padding.
Outcome JudgePadContent(Context& c, const nfs::Walk& walk, Side from) {
  if (walk.status != ParseStatus::kOk) return Undecoded(c);
  if (walk.nonzero_padding == 0) return Outcome::kPass;
  return c.Fail({.message = Text("XDR padding at byte ", walk.nonzero_padding, " of the RPC message is not zero"),
                 .expected = "zero bytes",
                 .actual = "other bytes, which receivers ignore",
                 .from = from});
}
}  // namespace

// PAD-009: padding is zero as a rule. Never more than a note: RFC 8166 section 2.2.4 says that zeros are added, section
// 8.2.2 that they need not be zeros.
Outcome CallPaddingIsZero(CallCompleteContext& c) {
  const Transaction& t = c.transaction;
  return t.call.present ? JudgePadContent(c, t.call.walk, t.requester) : Outcome::kNotApplicable;
}
Outcome ReplyPaddingIsZero(ReplyContext& c) {
  if (!c.transaction.reply.present) return Outcome::kNotApplicable;
  return JudgePadContent(c, c.transaction.reply.walk, c.message.from);
}

}  // namespace stag::conformance
