// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/rules/placements.h"

#include <algorithm>

namespace stag::conformance {

using session::ReadChunk;

bool PlacedItems::IsReduced(const nfs::Item& item) {
  last = item.offset;
  last_kind = item.kind;
  for (size_t i = 0; i < until_; ++i) {
    if (placements_.at[i].insertion != static_cast<int64_t>(item.offset)) continue;
    ++found;
    return true;
  }
  return false;
}

namespace {

// A chunk that follows the item before it and has as many bytes as that lacks to whole words.
bool IsPaddingOf(const Placement& p, const ReadChunk& chunk) {
  return p.count_known && p.chunk->length == p.count && chunk.position == uint64_t{p.chunk->position} + p.count &&
         chunk.length > 0 && chunk.length == RoundUp4(p.count) - p.count;
}

}  // namespace

Placements Place(const Transaction& t) {
  Placements out;
  const bool inline_call = t.call.header.proc == rpcrdma::kMsg;
  if (t.call.header.status != ParseStatus::kOk || (!inline_call && t.call.header.proc != rpcrdma::kNomsg)) return out;
  if (t.call.rpc.status != ParseStatus::kOk || t.call.rpc.opaque_arguments()) return out;
  const Stream stream = CallStream(t);
  uint64_t shift = 0;
  for (const ReadChunk& chunk : t.call.read_chunks) {
    if (chunk.position == 0) continue;
    if (out.size > 0 && IsPaddingOf(out.at[out.size - 1], chunk)) {
      out.at[out.size - 1].padding = &chunk;
      continue;
    }
    if (out.size == Placements::kMax) {
      out.partial = true;
      break;
    }
    Placement& p = out.at[out.size++];
    p = {&chunk, static_cast<int64_t>(chunk.position) - static_cast<int64_t>(shift), false, 0, nullptr};
    if (p.insertion < 4 || static_cast<uint64_t>(p.insertion) > stream.length) break;
    const auto count = WordAt(stream.bytes, static_cast<uint64_t>(p.insertion) - 4);
    if (!count) {
      out.partial = true;
      break;
    }
    p.count_known = true;
    p.count = *count;
    const bool plausible = chunk.length == *count || chunk.length == RoundUp4(*count);
    shift += RoundUp4(plausible ? *count : chunk.length);
  }
  return out;
}

Eligible EligibleAt(const Transaction& t, const Placements& placements, size_t index) {
  const Stream stream = CallStream(t);
  const int64_t insertion = placements.at[index].insertion;
  bool ran_through = false;
  if (insertion >= 4 && static_cast<uint64_t>(insertion) <= stream.bytes.size()) {
    // A walk that is cut off where the chunk goes ends in the item that starts there, if one does. It is not eligible
    // when the walk runs into the chunk, or comes to the end of the arguments before it.
    PlacedItems visitor(placements, index);
    const Bytes before = stream.bytes.first(static_cast<size_t>(insertion));
    const uint64_t length = stream.length + RoundUp4(placements.at[index].chunk->length);
    const nfs::Walk walk = nfs::WalkCall(t.call.rpc, before, length, visitor);
    if (visitor.last == before.size()) return Eligible::kYes;
    ran_through = walk.status == ParseStatus::kTruncatedByCapture || walk.status == ParseStatus::kOk;
  }
  if (ran_through) return Eligible::kNo;
  const nfs::Eligibility eligibility = EligibilityOf(t);
  return eligibility.known && eligibility.argument_items == 0 ? Eligible::kNo : Eligible::kUnknown;
}

bool ItemBehind(const Transaction& t, const Placements& placements, size_t index, std::initializer_list<uint32_t> words,
                std::optional<nfs::ItemKind> kind) {
  const Stream stream = CallStream(t);
  const int64_t insertion = placements.at[index].insertion;
  if (insertion < 4 || static_cast<uint64_t>(insertion) > stream.bytes.size()) return false;
  const Bytes before = stream.bytes.first(static_cast<size_t>(insertion));
  std::vector<std::byte> bytes(before.begin(), before.end());
  for (const uint32_t word : words) {
    bytes.resize(bytes.size() + 4);
    StoreBe32(bytes.data() + bytes.size() - 4, word);
  }
  PlacedItems visitor(placements, index);
  (void)nfs::WalkCall(t.call.rpc, bytes, bytes.size(), visitor);
  return visitor.last == bytes.size() && visitor.last_kind == kind.value_or(visitor.last_kind);
}

PlacedWalk WalkPlaced(const Transaction& t, const Placements& placements, Bytes stream, uint64_t length) {
  PlacedItems visitor(placements);
  PlacedWalk out;
  out.walk = nfs::WalkCall(t.call.rpc, stream, length, visitor);
  out.found = visitor.found;
  return out;
}

PlacedWalk WalkPlaced(const Transaction& t, const Placements& placements) {
  return WalkPlaced(t, placements, t.call.stream, t.call.stream_length);
}

nfs::Eligibility EligibilityOf(const Transaction& t) {
  const Placements placements = Place(t);
  PlacedItems visitor(placements);
  return nfs::EligibleItems(t.call.rpc, t.call.stream, t.call.stream_length, &visitor);
}

}  // namespace stag::conformance
