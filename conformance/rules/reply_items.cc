// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/rules/reply_items.h"

#include <algorithm>

#include "conformance/rules/placements.h"

namespace stag::conformance {

namespace {

class Pairing : public nfs::Visitor {
 public:
  Pairing(const Transaction& t, ReplyItems& out) : t_(t), out_(out) {}

  bool IsReduced(const nfs::Item& item) override {
    if (out_.size == ReplyItems::kMax) {
      full = true;
      return false;
    }
    ReplyItem& entry = out_.list[out_.size++];
    entry.offset = item.offset;
    entry.length = item.length;
    const bool reduced = Find(item, entry);
    if (reduced) shift_ += RoundUp4(item.length);
    return reduced;
  }
  bool full = false;

 private:
  // Decides where the item is; true when its bytes are not in the stream.
  bool Find(const nfs::Item& item, ReplyItem& entry) {
    const Header& call = t_.call.header;
    const Header& reply = t_.reply.header;
    const uint64_t position = item.offset + shift_;
    const bool in_read_chunk = std::ranges::any_of(
        t_.reply.read_chunks, [&](const session::ReadChunk& chunk) { return chunk.position == position; });
    if (in_read_chunk) entry.place = ItemPlace::kReadChunk;
    if (next_ >= call.write_chunks.size() || next_ >= reply.write_chunks.size()) return in_read_chunk;
    entry.chunk = next_++;
    entry.offered = call.write_chunks[entry.chunk].count > 0;
    if (!entry.offered || in_read_chunk) return in_read_chunk;  // empty: inline, as asked
    entry.returned = reply.SizeOf(reply.write_chunks[entry.chunk]);
    if (item.length == 0) {
      entry.place = ItemPlace::kNothing;
      return false;
    }
    if (entry.returned > 0) {
      entry.place = ItemPlace::kChunk;
      return true;
    }
    // Unused though there is data: either the data stands inline, or it went into a later chunk.
    for (size_t i = next_; i < reply.write_chunks.size(); ++i) {
      if (reply.SizeOf(reply.write_chunks[i]) != item.length) continue;
      entry.place = ItemPlace::kSkippedChunk;
      entry.later = i;
      next_ = i + 1;
      return true;
    }
    const bool room = t_.reply.stream_length - std::min(item.offset, t_.reply.stream_length) >= item.length;
    entry.place = room ? ItemPlace::kInlineDespiteChunk : ItemPlace::kChunk;  // kChunk: the bytes are nowhere
    return !room;
  }

  const Transaction& t_;
  ReplyItems& out_;
  size_t next_ = 0;
  uint64_t shift_ = 0;  // bytes of reduced items so far
};

}  // namespace

bool ReplyItems::Uses(size_t chunk) const {
  return std::ranges::any_of(items(), [&](const ReplyItem& item) {
    return (item.place == ItemPlace::kChunk && item.chunk == chunk) ||
           (item.place == ItemPlace::kSkippedChunk && item.later == chunk);
  });
}

ReplyItems PairItems(const Transaction& t) {
  ReplyItems out;
  if (t.call.rpc.status != ParseStatus::kOk || t.call.rpc.opaque_arguments()) return out;
  const nfs::Eligibility eligibility = EligibilityOf(t);
  if (!eligibility.known) return out;
  out.eligible_results = eligibility.result_items;
  Pairing pairing(t, out);
  out.walk = nfs::WalkReply(t.call.rpc, t.reply.rpc, t.reply.stream, t.reply.stream_length, pairing);
  out.known = out.walk.status != ParseStatus::kUnsupported;
  out.complete = out.walk.status == ParseStatus::kOk && !pairing.full;
  return out;
}

}  // namespace stag::conformance
