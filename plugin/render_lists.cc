// SPDX-License-Identifier: GPL-2.0-or-later
//
// Read list (segments grouped into chunks by Position), Write list and Reply chunk of a transport header (RFC 8166
// section 4.3), each item on the bytes where it stands.
#include <algorithm>
#include <cinttypes>

#include "plugin/fields.h"
#include "plugin/render.h"

namespace stag::plugin {
namespace {

// A list may hold as many segments as fit a Send; what is more than this is counted but not shown one by one.
constexpr size_t kMostShown = 1000;
constexpr int kReadSegmentSize = 24, kSegmentSize = 16;

// Bytes of the Send, cut to what was captured so that no item can run past the end.
struct ByteRange {
  int offset = 0, length = 0;
};
ByteRange Inside(tvbuff_t* send, uint64_t offset, uint64_t length) {
  const uint64_t captured = tvb_captured_length(send);
  const uint64_t begin = std::min(offset, captured);
  return {static_cast<int>(begin), static_cast<int>(std::min(length, captured - begin))};
}

void AddSegment(const Scene& scene, proto_tree* tree, tvbuff_t* send, uint64_t offset, const rpcrdma::Segment& segment,
                const uint32_t* position, const uint32_t* offered, const TransactionRecord* transaction, size_t index,
                bool of_reply) {
  const ByteRange whole = Inside(send, offset - (position ? 4 : 0), position ? kSegmentSize + 4 : kSegmentSize);
  proto_item* item = proto_tree_add_none_format(tree, hf.segment, send, whole.offset, whole.length,
                                                "Segment: handle 0x%08x, %u bytes, offset 0x%016" PRIx64,
                                                segment.handle, segment.length, segment.offset);
  if (offered && *offered != segment.length) proto_item_append_text(item, " (%u offered)", *offered);
  proto_tree* fields = proto_item_add_subtree(item, ett.segment);
  const auto at = [&](uint64_t distance, uint64_t length) { return Inside(send, offset + distance, length); };
  if (position) {
    const ByteRange word = Inside(send, offset - 4, 4);
    proto_tree_add_uint(fields, hf.segment_position, send, word.offset, word.length, *position);
  }
  const ByteRange handle = at(0, 4), length = at(4, 4), address = at(8, 8);
  proto_tree_add_uint(fields, hf.segment_handle, send, handle.offset, handle.length, segment.handle);
  proto_tree_add_uint(fields, hf.segment_length, send, length.offset, length.length, segment.length);
  proto_tree_add_uint64(fields, hf.segment_offset, send, address.offset, address.length, segment.offset);
  if (offered) AddGenerated(fields, scene, hf.segment_offered, *offered);
  if (!transaction) return;
  const auto& moves = of_reply ? transaction->reply_moves : transaction->moves;
  if (index < moves.size()) AddMoves(scene, fields, moves[index]);
  if (!of_reply && transaction->invalidated_at != 0 && transaction->invalidated_segment == index) {
    AddFrameLink(fields, scene, hf.segment_invalidated_in, transaction->invalidated_at);
  }
}

void AddReadList(const Scene& scene, proto_tree* tree, tvbuff_t* send, const MessageRecord& message, uint64_t base) {
  const auto& reads = message.header.reads;
  const bool of_reply = message.role == session::Role::kReply;
  const size_t count = reads.size();
  const ByteRange whole = Inside(send, base, count * kReadSegmentSize + 4);
  proto_item* list =
      proto_tree_add_uint(tree, hf.read_segments, send, whole.offset, whole.length, static_cast<uint32_t>(count));
  if (count == 0) return;
  proto_tree* chunks = proto_item_add_subtree(list, ett.lists);
  auto* order = static_cast<uint32_t*>(wmem_alloc(scene.pinfo->pool, count * sizeof(uint32_t)));
  for (size_t i = 0; i < count; ++i) order[i] = static_cast<uint32_t>(i);
  std::sort(order, order + count, [&](uint32_t a, uint32_t b) {
    return reads[a].position != reads[b].position ? reads[a].position < reads[b].position : a < b;
  });
  size_t shown = 0;
  for (size_t first = 0; first < count && shown < kMostShown;) {
    const uint32_t position = reads[order[first]].position;
    size_t end = first;
    uint64_t total = 0;
    for (; end < count && reads[order[end]].position == position; ++end) total += reads[order[end]].target.length;
    const uint64_t from = base + uint64_t{order[first]} * kReadSegmentSize;
    const uint64_t to = base + (uint64_t{order[end - 1]} + 1) * kReadSegmentSize;
    const ByteRange range = Inside(send, from, to - from);
    proto_item* item = proto_tree_add_none_format(chunks, hf.read_chunk, send, range.offset, range.length,
                                                  "Read chunk at Position %u: %" PRIu64 " bytes in %zu segment%s",
                                                  position, total, end - first, end - first == 1 ? "" : "s");
    proto_tree* chunk = proto_item_add_subtree(item, ett.chunk);
    AddGenerated(chunk, scene, hf.read_position, position);
    AddGenerated(chunk, scene, hf.read_length, total);
    AddGenerated(chunk, scene, hf.read_count, end - first);
    for (; first < end && shown < kMostShown; ++first, ++shown) {
      const uint64_t offset = base + uint64_t{order[first]} * kReadSegmentSize + 8;
      const rpcrdma::ReadSegment& read = reads[order[first]];
      AddSegment(scene, chunk, send, offset, read.target, &read.position, nullptr, message.transaction, order[first],
                 of_reply);
    }
    first = end;
  }
  if (shown < count) proto_item_append_text(list, " (%zu shown)", shown);
}

// The names of a Write chunk's or the Reply chunk's fields.
struct ChunkFields {
  int chunk, count, offered, returned;
};

// The segments of a chunk that starts, with its count word, at `offset`. `call` and `offer`: the same chunk in the
// Call, when this is a Reply.
void AddChunk(const Scene& scene, proto_tree* tree, tvbuff_t* send, const char* title, uint64_t offset,
              const MessageRecord& message, const rpcrdma::Chunk& chunk, const HeaderRecord* call,
              const rpcrdma::Chunk* offer, const ChunkFields& fields, const uint32_t* index, size_t* shown) {
  const HeaderRecord& header = message.header;
  const bool reply = message.role == session::Role::kReply;
  // The records of the packets go by the Call's segments.
  const TransactionRecord* transaction = reply && !offer ? nullptr : message.transaction;
  const size_t first = reply ? (offer ? call->reads.size() + offer->first : 0) : header.reads.size() + chunk.first;
  const auto segments = header.Of(chunk);
  uint64_t total = 0, offered = 0;
  for (const auto& segment : segments) total += segment.length;
  if (offer) {
    for (const auto& segment : call->Of(*offer)) offered += segment.length;
  }
  const ByteRange whole = Inside(send, offset, 4 + uint64_t{chunk.count} * kSegmentSize);
  proto_item* item = reply ? proto_tree_add_none_format(tree, fields.chunk, send, whole.offset, whole.length,
                                                        "%s: %" PRIu64 " bytes returned", title, total)
                           : proto_tree_add_none_format(tree, fields.chunk, send, whole.offset, whole.length,
                                                        "%s: %" PRIu64 " bytes offered", title, total);
  if (offer) proto_item_append_text(item, " of %" PRIu64 " offered", offered);
  proto_item_append_text(item, ", %u segment%s", chunk.count, chunk.count == 1 ? "" : "s");
  proto_tree* subtree = proto_item_add_subtree(item, ett.chunk);
  if (index) AddGenerated(subtree, scene, hf.write_index, *index);
  const ByteRange count = Inside(send, offset, 4);
  proto_tree_add_uint(subtree, fields.count, send, count.offset, count.length, chunk.count);
  if (!reply) AddGenerated(subtree, scene, fields.offered, total);
  if (reply) AddGenerated(subtree, scene, fields.returned, total);
  if (offer) AddGenerated(subtree, scene, fields.offered, offered);
  for (size_t i = 0; i < segments.size() && *shown < kMostShown; ++i, ++*shown) {
    const bool known = offer && i < offer->count;
    const uint32_t length = known ? call->Of(*offer)[i].length : 0;
    AddSegment(scene, subtree, send, offset + 4 + i * kSegmentSize, segments[i], nullptr, known ? &length : nullptr,
               reply && !known ? nullptr : transaction, first + i, false);
  }
}

}  // namespace

void RenderLists(const Scene& scene, proto_tree* tree, tvbuff_t* send, const MessageRecord& message) {
  const HeaderRecord& header = message.header;
  const unsigned captured = tvb_captured_length(send);
  uint64_t offset = 16;
  if (header.proc == rpcrdma::kMsgp) {
    if (captured < 24) return;
    proto_tree_add_item(tree, hf.align, send, 16, 4, ENC_BIG_ENDIAN);
    proto_tree_add_item(tree, hf.thresh, send, 20, 4, ENC_BIG_ENDIAN);
    offset = 24;
  }
  const bool reply = message.role == session::Role::kReply;
  const MessageRecord* call_message = reply && message.transaction ? message.transaction->call : nullptr;
  const HeaderRecord* call = call_message ? &call_message->header : nullptr;

  AddReadList(scene, tree, send, message, offset);
  offset += header.reads.size() * kReadSegmentSize + 4;

  size_t shown = 0;
  uint64_t list_length = 4;
  for (const auto& chunk : header.write_chunks) list_length += 8 + uint64_t{chunk.count} * kSegmentSize;
  const ByteRange whole = Inside(send, offset, list_length);
  if (whole.length > 0) {
    proto_item* list = proto_tree_add_uint(tree, hf.write_chunks, send, whole.offset, whole.length,
                                           static_cast<uint32_t>(header.write_chunks.size()));
    proto_tree* chunks = header.write_chunks.empty() ? nullptr : proto_item_add_subtree(list, ett.lists);
    for (size_t i = 0; i < header.write_chunks.size() && i < kMostShown; ++i) {
      const rpcrdma::Chunk& chunk = header.write_chunks[i];
      const rpcrdma::Chunk* offer = call && i < call->write_chunks.size() ? &call->write_chunks[i] : nullptr;
      const auto index = static_cast<uint32_t>(i);
      AddChunk(scene, chunks, send, wmem_strdup_printf(scene.pinfo->pool, "Write chunk %u", index), offset + 4, message,
               chunk, call, offer, {hf.write_chunk, hf.write_count, hf.write_offered, hf.write_returned}, &index,
               &shown);
      offset += 8 + uint64_t{chunk.count} * kSegmentSize;
    }
    offset += 4;
  }
  if (header.reply_chunk) {
    const rpcrdma::Chunk* offer = call && call->reply_chunk ? &*call->reply_chunk : nullptr;
    AddChunk(scene, tree, send, "Reply chunk", offset + 4, message, *header.reply_chunk, call, offer,
             {hf.reply_chunk, hf.reply_count, hf.reply_offered, hf.reply_returned}, nullptr, &shown);
  }
  if (header.status == ParseStatus::kMalformed && header.defect == rpcrdma::Defect::kBadDiscriminator) {
    const ByteRange word = Inside(send, header.defect_offset, 4);
    proto_tree_add_uint(tree, hf.bad_discriminator, send, word.offset, word.length, header.bad_discriminator);
  }
}

}  // namespace stag::plugin
