// SPDX-License-Identifier: GPL-2.0-or-later
//
// WRLIST: what the Reply says of the Call's Write chunks, and how results were paired with them.
#include <algorithm>

#include "conformance/rules/placements.h"
#include "conformance/rules/reply_items.h"
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

// A chunk index, for people.
std::string Name(size_t chunk) { return Text("Write chunk ", chunk + 1); }

// Calls fn(index, offered, returned) for each chunk that both lists have; stops when it returns true.
template <typename Fn>
bool AnyPair(const ReplyContext& c, Fn fn) {
  const Header& call = c.transaction.call.header;
  const Header& reply = c.message.header;
  const size_t n = std::min(call.write_chunks.size(), reply.write_chunks.size());
  for (size_t i = 0; i < n; ++i)
    if (fn(i, call.Of(call.write_chunks[i]), reply.Of(reply.write_chunks[i]))) return true;
  return false;
}

bool HasWriteChunks(const ReplyContext& c) {
  return CanCompareLists(c) && !c.transaction.call.header.write_chunks.empty() &&
         !c.message.header.write_chunks.empty();
}

// The Reply's items with their chunks; only for replies to Calls with a Write list.
std::optional<ReplyItems> Items(const ReplyContext& c) {
  if (!HasWriteChunks(c) || !c.transaction.reply.rpc.success()) return std::nullopt;
  return PairItems(c.transaction);
}

// What the Call asks for, to judge the Write list it brings.
class WantedData : public PlacedItems {
 public:
  using PlacedItems::PlacedItems;
  void OnRead(uint32_t, Bytes, uint64_t, uint32_t count) override {
    ++reads;
    largest = std::max(largest, count);
  }
  uint32_t reads = 0;
  uint32_t largest = 0;
};

struct CallView {
  nfs::Eligibility eligibility;
  uint32_t reads = 0;    // READ operations ...
  uint32_t largest = 0;  // ... and the most bytes that one asks for
};
// At the Send of an inline Call; nullopt when the upper layer is unknown or hidden.
std::optional<CallView> ViewCall(const CallContext& c) {
  if (!HasLists(c.message.header) || c.message.header.proc != rpcrdma::kMsg ||
      c.transaction.call.rpc.status != ParseStatus::kOk || c.message.header.write_chunks.empty())
    return std::nullopt;
  const nfs::Eligibility eligibility = EligibilityOf(c.transaction);
  if (!eligibility.known) return std::nullopt;
  const Placements placements = Place(c.transaction);
  WantedData wanted(placements);
  (void)nfs::WalkCall(c.transaction.call.rpc, c.message.payload, c.message.payload_length, wanted);
  return CallView{eligibility, wanted.reads, wanted.largest};
}

}  // namespace

// WRLIST-001: the Reply returns as many chunks as the Call offered. Not flagged: RDMA_ERROR; Replies to Calls without a
// list (WRLIST-020). draft-08 does not say it for RPC-level errors: a warning there.
Outcome WriteListIsReturned(ReplyContext& c) {
  if (!CanCompareLists(c) || c.transaction.call.header.write_chunks.empty()) return Outcome::kNotApplicable;
  const size_t offered = c.transaction.call.header.write_chunks.size(), returned = c.message.header.write_chunks.size();
  if (offered == returned) return Outcome::kPass;
  const bool rpc_error = c.transaction.reply.rpc.status == ParseStatus::kOk && !c.transaction.reply.rpc.success();
  return c.Fail(
      {.message = Text("The Reply returns ", Count(returned, "Write chunk"), " where the Call offered ", offered),
       .expected = Count(offered, "Write chunk"),
       .actual = Text(returned),
       .severity = c.legacy() && rpc_error ? std::optional(Severity::kWarning) : std::nullopt});
}

// WRLIST-002: each chunk comes back with its segment count. For NFSv4 an unused chunk may come back empty by the
// binding's wording: a warning. What becomes of an empty chunk is WRLIST-011.
Outcome SegmentCountIsKept(ReplyContext& c) {
  if (!HasWriteChunks(c)) return Outcome::kNotApplicable;
  size_t at = 0, offered = 0, returned = 0;
  const bool wrong = AnyPair(c, [&](size_t i, auto call, auto reply) {
    at = i, offered = call.size(), returned = reply.size();
    return !call.empty() && call.size() != reply.size();
  });
  if (!wrong) return Outcome::kPass;
  const bool emptied = returned == 0 && nfs::IsNfs4(CallOf(c));
  return c.Fail({.message = Text(Name(at), " comes back with ", Count(returned, "segment"), ", offered with ", offered),
                 .expected = Count(offered, "segment"),
                 .actual = Text(returned),
                 .severity = emptied ? std::optional(Severity::kWarning) : std::nullopt});
}

// WRLIST-003: handles and offsets are the requester's. Zeroed ones on a segment without data harm nobody: a warning.
Outcome SegmentsAreKept(ReplyContext& c) {
  if (!HasWriteChunks(c)) return Outcome::kNotApplicable;
  size_t chunk = 0, segment = 0;
  Segment offered, returned;
  const bool wrong = AnyPair(c, [&](size_t i, auto call, auto reply) {
    if (call.size() != reply.size()) return false;
    for (size_t s = 0; s < call.size(); ++s) {
      if (call[s].handle == reply[s].handle && call[s].offset == reply[s].offset) continue;
      chunk = i, segment = s, offered = call[s], returned = reply[s];
      return true;
    }
    return false;
  });
  if (!wrong) return Outcome::kPass;
  const bool zeroed = returned.length == 0 && returned.handle == 0 && returned.offset == 0;
  return c.Fail(
      {.message = Text("Segment ", segment + 1, " of ", Name(chunk), " comes back with another handle or offset"),
       .expected = Text("handle ", Hex{offered.handle}, ", offset ", Hex{offered.offset}),
       .actual = Text("handle ", Hex{returned.handle}, ", offset ", Hex{returned.offset}),
       .severity = zeroed ? std::optional(Severity::kWarning) : std::nullopt});
}

// WRLIST-004: no segment returns more than was offered. draft-08 counts padding in: up to three bytes are a warning
// there.
Outcome ReturnedLengthFits(ReplyContext& c) {
  if (!HasWriteChunks(c)) return Outcome::kNotApplicable;
  size_t chunk = 0, segment = 0;
  uint32_t offered = 0, returned = 0;
  const bool wrong = AnyPair(c, [&](size_t i, auto call, auto reply) {
    for (size_t s = 0; s < std::min(call.size(), reply.size()); ++s) {
      if (reply[s].length <= call[s].length) continue;
      chunk = i, segment = s, offered = call[s].length, returned = reply[s].length;
      return true;
    }
    return false;
  });
  if (!wrong) return Outcome::kPass;
  return c.Fail({.message = Text("Segment ", segment + 1, " of ", Name(chunk), " returns more than was offered"),
                 .expected = Text("at most ", offered, " bytes"),
                 .actual = Count(returned, "byte"),
                 .severity = c.legacy() && returned - offered <= 3 ? std::optional(Severity::kWarning) : std::nullopt});
}

// WRLIST-005: segments are filled in order. Offered empty segments are skipped.
Outcome SegmentsFillInOrder(ReplyContext& c) {
  if (!HasWriteChunks(c)) return Outcome::kNotApplicable;
  size_t chunk = 0, segment = 0;
  const bool wrong = AnyPair(c, [&](size_t i, auto call, auto reply) {
    bool ended = false;
    for (size_t s = 0; s < std::min(call.size(), reply.size()); ++s) {
      if (ended && reply[s].length > 0) return chunk = i, segment = s, true;
      ended = ended || reply[s].length < call[s].length;
    }
    return false;
  });
  if (!wrong) return Outcome::kPass;
  return c.Fail({.message = Text("Segment ", segment + 1, " of ", Name(chunk), " has data after one that is not full"),
                 .expected = "segments filled one after the other",
                 .actual = "data after a segment that was not filled"});
}

// WRLIST-006: the returned length is the item's. Padding counted in is what draft-08 section 3.7 does: no finding
// there. Without the upper layer, the sum should at least stand somewhere in the Reply: a note when it does not.
Outcome ChunkLengthIsItemLength(ReplyContext& c) {
  if (!HasWriteChunks(c) || !c.transaction.reply.rpc.success()) return Outcome::kNotApplicable;
  if (CallOf(c).opaque_arguments()) return Outcome::kNotApplicable;
  const Transaction& t = c.transaction;
  if (const auto items = Items(c); items && items->known) {
    for (const ReplyItem& item : items->items()) {
      if (item.place != ItemPlace::kChunk || item.returned == item.length) continue;
      const bool padded = item.returned == RoundUp4(item.length);
      if (padded && c.legacy()) continue;
      return c.Fail({.message = Text(Name(item.chunk), " returns ", item.returned, " bytes for an item of ",
                                     item.length, padded ? " (padding counted in, as RFC 5666 did)" : ""),
                     .expected = Count(item.length, "byte"),
                     .actual = Text(item.returned)});
    }
    return items->complete ? Outcome::kPass : Undecoded(c);
  }
  if (EligibilityOf(t).known || t.reply.stream.size() < t.reply.stream_length) return Undecoded(c);
  for (const Chunk& chunk : c.message.header.write_chunks) {
    const uint64_t sum = c.message.header.SizeOf(chunk);
    if (sum == 0) continue;
    bool found = false;
    for (uint64_t at = t.reply.rpc.length; !found && at + 4 <= t.reply.stream.size(); at += 4)
      found = *WordAt(t.reply.stream, at) == sum;
    if (!found)
      return c.Fail({.message = Text("A Write chunk returns ", sum, " bytes, a count that the Reply does not hold"),
                     .expected = "the chunk's length as a count in the Reply",
                     .actual = "no such word",
                     .severity = Severity::kNote});
  }
  return Outcome::kPass;
}

// WRLIST-007: no padding is written. What is written again does not count twice; unused chunks may hold anything.
Outcome NoPaddingWritten(ReplyContext& c) {
  const auto items = Items(c);
  if (!items) return Outcome::kNotApplicable;
  if (!Undisturbed(c)) return Unseen(c);
  const Transaction& t = c.transaction;
  for (const ReplyItem& item : items->items()) {
    if (item.place != ItemPlace::kChunk || item.length % 4 == 0) continue;
    const Chunk& offered = t.call.header.write_chunks[item.chunk];
    uint64_t written = 0;
    for (uint32_t i = 0; i < offered.count; ++i) written += t.call.segments[t.SegmentIndex(offered, i)].moved.total();
    if (written <= item.length || written > RoundUp4(item.length)) continue;
    return c.Fail({.message = Text("Padding was written to ", Name(item.chunk)),
                   .expected = Text(item.length, " bytes written"),
                   .actual = Text(written)});
  }
  return PassIf(items->known);
}

// WRLIST-008: a chunk that no item used comes back with zero lengths. RPC errors use none. An item of no bytes uses its
// chunk, which looks unused; procedures without eligible results are DDP-002.
Outcome UnusedChunkIsEmpty(ReplyContext& c) {
  if (!HasWriteChunks(c)) return Outcome::kNotApplicable;
  const Transaction& t = c.transaction;
  const Header& reply = c.message.header;
  if (t.reply.rpc.status != ParseStatus::kOk) return Undecoded(c);
  if (!t.reply.rpc.success()) {
    for (size_t i = 0; i < reply.write_chunks.size(); ++i)
      if (reply.SizeOf(reply.write_chunks[i]) > 0)
        return c.Fail({.message = Text("An RPC error returns ", Name(i), " with data"),
                       .expected = "all lengths 0",
                       .actual = Text(reply.SizeOf(reply.write_chunks[i]), " bytes")});
    return Outcome::kPass;
  }
  const auto items = Items(c);
  if (!items || !items->known || !items->complete) return Undecoded(c);
  if (items->eligible_results == 0) return Outcome::kNotApplicable;
  for (size_t i = 0; i < reply.write_chunks.size(); ++i) {
    const uint64_t sum = reply.SizeOf(reply.write_chunks[i]);
    if (sum == 0 || items->Uses(i)) continue;
    return c.Fail({.message = Text(Name(i), " comes back with data, but the Reply has no item for it"),
                   .expected = "all lengths 0",
                   .actual = Count(sum, "byte")});
  }
  return Outcome::kPass;
}

// WRLIST-009: a returned length without any RDMA Write to the segment. Silent after loss.
Outcome SegmentsWereWritten(ReplyContext& c) {
  if (!HasWriteChunks(c)) return Outcome::kNotApplicable;
  if (!SawResponder(c)) return Unseen(c);
  const Transaction& t = c.transaction;
  size_t chunk = 0, segment = 0;
  uint64_t length = 0;
  const bool wrong = AnyPair(c, [&](size_t i, auto call, auto reply) {
    for (uint32_t s = 0; s < std::min(call.size(), reply.size()); ++s) {
      if (reply[s].length == 0 || !t.call.segments[t.SegmentIndex(t.call.header.write_chunks[i], s)].moved.empty())
        continue;
      return chunk = i, segment = s, length = reply[s].length, true;
    }
    return false;
  });
  if (!wrong) return Outcome::kPass;
  if (!CallCameFirst(c)) return Outcome::kGap;
  return c.Fail(
      {.message = Text("Segment ", segment + 1, " of ", Name(chunk), " returns data, but nothing was written to it"),
       .expected = "length 0",
       .actual = Text(length)});
}

// WRLIST-018: what is reported was written. WRLIST-009 is the case that nothing was; a length over the offer is
// WRLIST-004.
Outcome BytesWereWritten(ReplyContext& c) {
  if (!HasWriteChunks(c)) return Outcome::kNotApplicable;
  if (!SawResponder(c)) return Unseen(c);
  const Transaction& t = c.transaction;
  size_t chunk = 0, segment = 0;
  std::optional<ShortWrite> found;
  const bool wrong = AnyPair(c, [&](size_t i, auto call, auto reply) {
    for (uint32_t s = 0; s < std::min(call.size(), reply.size()); ++s) {
      const session::SegmentRecord& record = t.call.segments[t.SegmentIndex(t.call.header.write_chunks[i], s)];
      found = NotWritten(c, record, call[s], reply[s]);
      if (found) return chunk = i, segment = s, true;
    }
    return false;
  });
  if (!wrong) return Outcome::kPass;
  if (!CallCameFirst(c)) return Outcome::kGap;
  return c.Fail({.message = Text("Segment ", segment + 1, " of ", Name(chunk), " reports bytes that were not written"),
                 .expected = Text("RDMA Writes of ", found->reported, " bytes"),
                 .actual = Count(found->written, "byte")});
}

// WRLIST-010: an eligible result goes into the chunk that is there for it. Not flagged: empty chunks, more items than
// chunks, results of no bytes, GSS. A Read list in the Reply (draft-08 section 3.4) is for results without a Write
// chunk.
Outcome ChunkIsUsed(ReplyContext& c) {
  const auto items = Items(c);
  if (!items) return Outcome::kNotApplicable;
  if (!items->known) return Undecoded(c);
  for (const ReplyItem& item : items->items()) {
    const bool in_read_chunk = item.place == ItemPlace::kReadChunk && item.offered && item.length > 0;
    if (item.place != ItemPlace::kInlineDespiteChunk && !in_read_chunk) continue;
    return c.Fail({.message = Text("A result of ", item.length, " bytes is returned ",
                                   in_read_chunk ? "by a Read chunk" : "inline", " although ", Name(item.chunk),
                                   " was there for it"),
                   .expected = "the data in the Write chunk",
                   .actual = "an unused Write chunk"});
  }
  return Outcome::kPass;
}

// REPLY-009: likewise for a Long Reply, whose remainder only may go into the Reply chunk.
Outcome ReduceBeforeLong(ReplyContext& c) {
  if (c.message.header.proc != rpcrdma::kNomsg) return Outcome::kNotApplicable;
  return ChunkIsUsed(c);
}

// WRLIST-011 (RFC 8166): an empty chunk asks for its item inline and comes back empty. A warning: older peers do not
// know it.
Outcome EmptyChunkStaysEmpty(ReplyContext& c) {
  if (!HasWriteChunks(c)) return Outcome::kNotApplicable;
  bool any = false;
  size_t chunk = 0, returned = 0;
  const bool wrong = AnyPair(c, [&](size_t i, auto call, auto reply) {
    any = any || call.empty();
    return chunk = i, returned = reply.size(), call.empty() && !reply.empty();
  });
  if (!wrong) return PassIf(any);
  return c.Fail({.message = Text("The empty ", Name(chunk), " comes back with segments"),
                 .expected = "an empty Write chunk",
                 .actual = Count(returned, "segment")});
}

// WRLIST-012: results use the chunks in order. An item of no bytes uses its chunk though that looks unused.
Outcome ChunksAreUsedInOrder(ReplyContext& c) {
  const auto items = Items(c);
  if (!items) return Outcome::kNotApplicable;
  if (!items->known) return Undecoded(c);
  for (const ReplyItem& item : items->items())
    if (item.place == ItemPlace::kSkippedChunk)
      return c.Fail({.message = Text(Name(item.chunk), " was skipped: its item went into a later chunk"),
                     .expected = Text(item.length, " bytes in ", Name(item.chunk)),
                     .actual = "an unused Write chunk"});
  return Outcome::kPass;
}

// ULB-005: the same for NFSv4, whose binding pairs chunks with operations.
Outcome Nfs4ChunksPairWithOperations(ReplyContext& c) {
  if (!HasWriteChunks(c) || !nfs::IsNfs4(CallOf(c))) return Outcome::kNotApplicable;
  const Outcome order = ChunksAreUsedInOrder(c);
  return order == Outcome::kFail ? order : ChunkLengthIsItemLength(c);
}

// WRLIST-013: no Write list where no result is eligible. Unknown programs and GSS are not judged.
Outcome WriteListIsNeeded(CallContext& c) {
  const auto view = ViewCall(c);
  if (!view) return Outcome::kNotApplicable;
  if (view->eligibility.result_items > 0) return Outcome::kPass;
  return c.Fail({.message = "A Write list in a Call whose results cannot be reduced",
                 .expected = "an empty Write list",
                 .actual = Count(c.message.header.write_chunks.size(), "Write chunk")});
}

// WRLIST-014: as many chunks as results that can be reduced, at most.
Outcome NoSpareChunks(CallContext& c) {
  const auto view = ViewCall(c);
  if (!view || view->eligibility.result_items == 0) return Outcome::kNotApplicable;
  const size_t chunks = c.message.header.write_chunks.size();
  if (chunks <= view->eligibility.result_items) return Outcome::kPass;
  return c.Fail(
      {.message = Text(chunks, " Write chunks for ", Count(view->eligibility.result_items, "eligible result")),
       .expected = Count(view->eligibility.result_items, "Write chunk"),
       .actual = Text(chunks)});
}

// WRLIST-015: chunks have room for the largest result. Judged for READ, whose count argument says it; with several
// results of unknown pairing a chunk that is too small for the largest is a warning. Empty chunks ask for inline
// results.
Outcome ChunkIsLargeEnough(CallContext& c) {
  const auto view = ViewCall(c);
  if (!view || view->reads == 0) return Outcome::kNotApplicable;
  const Header& h = c.message.header;
  const bool certain = view->eligibility.result_items == 1;
  for (size_t i = 0; i < h.write_chunks.size(); ++i) {
    if (h.write_chunks[i].count == 0) continue;
    const uint64_t room = h.SizeOf(h.write_chunks[i]);
    if (room >= view->largest) continue;
    return c.Fail({.message = Text(Name(i), " has room for ", room, " bytes, the READ asks for ", view->largest),
                   .expected = Text("at least ", view->largest, " bytes"),
                   .actual = Count(room, "byte"),
                   .severity = certain ? std::nullopt : std::optional(Severity::kWarning)});
  }
  return Outcome::kPass;
}

// WRLIST-016: no room for padding. A note, only where the room is exactly the padded count.
Outcome NoRoomForPadding(CallContext& c) {
  const auto view = ViewCall(c);
  const Header& h = c.message.header;
  if (!view || view->reads != 1 || h.write_chunks.size() != 1) return Outcome::kNotApplicable;
  const uint32_t count = view->largest;
  if (count % 4 == 0) return Outcome::kNotApplicable;
  if (h.SizeOf(h.write_chunks[0]) != RoundUp4(count)) return Outcome::kPass;
  return c.Fail(
      {.message = Text("The Write chunk has room for padding: ", RoundUp4(count), " bytes for a READ of ", count),
       .expected = Count(count, "byte"),
       .actual = Text(RoundUp4(count))});
}

// WRLIST-017: RDMA Writes come before the Reply. Order is that of the transport (PSN, TCP sequence), so retransmissions
// and captures out of order never show here. Once for each RDMA operation.
Outcome WritesPrecedeReply(WriteContext& c) {
  const RdmaOperation& op = c.operation;
  if (c.event.kind() != fabric::EventKind::kWrite || !op.transaction) return Outcome::kNotApplicable;
  if (!op.retired) return Outcome::kPass;
  if (!c.event.rdma().first && c.state.late_serial == op.transaction->serial) return Outcome::kNotApplicable;
  if (c.connection.disturbed || op.transaction->disturbed) return Unseen(c);
  return c.Fail({.message = "An RDMA Write to a Call's memory follows the Reply",
                 .expected = "all RDMA Writes before the Reply's Send",
                 .actual = Text("handle ", Hex{c.event.rdma().handle}, ", after the Reply"),
                 .frames = {op.transaction->reply.frame.number}});
}

// WRLIST-020: no Write list in the Reply without one in the Call.
Outcome NoInventedWriteList(ReplyContext& c) {
  if (!CanCompareLists(c) || !c.transaction.call.header.write_chunks.empty()) return Outcome::kNotApplicable;
  if (c.message.header.write_chunks.empty()) return Outcome::kPass;
  return c.Fail({.message = "The Reply has a Write list, the Call had none",
                 .expected = "an empty Write list",
                 .actual = Count(c.message.header.write_chunks.size(), "Write chunk")});
}

// WRLIST-021: one item in each chunk. Flags a chunk that holds exactly two adjacent items while the next chunk is
// unused.
Outcome OneItemPerChunk(ReplyContext& c) {
  const auto items = Items(c);
  if (!items) return Outcome::kNotApplicable;
  if (!items->known) return Undecoded(c);
  const auto list = items->items();
  for (size_t i = 0; i + 1 < list.size(); ++i) {
    if (list[i].length == 0 || list[i + 1].length == 0 || list[i].place != ItemPlace::kChunk) continue;
    if (list[i].returned != uint64_t{list[i].length} + list[i + 1].length || list[i + 1].returned != 0) continue;
    return c.Fail({.message = Text(Name(list[i].chunk), " holds two items"),
                   .expected = Count(list[i].length, "byte"),
                   .actual = Text(list[i].returned)});
  }
  return Outcome::kPass;
}

// WRLIST-024: a result is in one chunk. Flags an item whose bytes are split over two.
Outcome OneChunkPerItem(ReplyContext& c) {
  const auto items = Items(c);
  if (!items) return Outcome::kNotApplicable;
  if (!items->known) return Undecoded(c);
  const Header& reply = c.message.header;
  for (const ReplyItem& item : items->items()) {
    if (item.place != ItemPlace::kChunk || item.chunk + 1 >= reply.write_chunks.size()) continue;
    const uint64_t next = reply.SizeOf(reply.write_chunks[item.chunk + 1]);
    if (next == 0 || item.returned + next != item.length) continue;
    return c.Fail({.message = Text("A result of ", item.length, " bytes is split over two Write chunks"),
                   .expected = Text(item.length, " bytes in ", Name(item.chunk)),
                   .actual = Text(item.returned, " and ", next, " bytes")});
  }
  return Outcome::kPass;
}

}  // namespace stag::conformance
