// SPDX-License-Identifier: GPL-2.0-or-later
//
// RDMA Reads and Writes, each with the segment of the RPC whose memory it touches; and from the segments to them.
#include <algorithm>
#include <cinttypes>

#include "plugin/fields.h"
#include "plugin/render.h"

namespace stag::plugin {
namespace {

// The frames of a segment's packets that are listed; the rest is counted.
constexpr size_t kMostMoves = 1000;

const char* ChunkName(const Scene& scene, const OperationRecord& operation) {
  const char* of = operation.of_reply ? " of the Reply" : "";
  switch (operation.list) {
    case session::ListKind::kReadList:
      return wmem_strdup_printf(scene.pinfo->pool, "Read chunk at Position %u%s", operation.position, of);
    case session::ListKind::kWriteList: return wmem_strdup_printf(scene.pinfo->pool, "Write chunk %u", operation.chunk);
    case session::ListKind::kReplyChunk: break;
  }
  return "Reply chunk";
}

// "part of NFS V3 READ, Call in frame 259: Write chunk 0, segment 1, bytes 0 to 1023".
const char* PartText(const Scene& scene, const OperationRecord& operation) {
  wmem_allocator_t* pool = scene.pinfo->pool;
  if (!operation.transaction || !operation.has_segment) {
    return wmem_strdup_printf(pool, "handle 0x%08x, %u bytes, no known segment", operation.handle, operation.length);
  }
  const TransactionRecord& transaction = *operation.transaction;
  const char* bytes = operation.length == 0
                          ? "no bytes"
                          : wmem_strdup_printf(pool, "bytes %" PRIu64 " to %" PRIu64, operation.segment_offset,
                                               operation.segment_offset + operation.length - 1);
  return wmem_strdup_printf(pool, "part of %s, Call in frame %u: %s, segment %u, %s", RpcName(scene, &transaction),
                            transaction.call_shown_at, ChunkName(scene, operation), operation.segment, bytes);
}

void RenderOperation(const Scene& scene, proto_tree* home, const OperationRecord& operation) {
  proto_item* item = nullptr;
  proto_tree* tree =
      AddSubtree(scene, home, ett.operation, &item, ShowsText(home) ? OperationText(scene, operation) : "");
  AddConnection(tree, scene, *operation.connection, operation.from, operation.direction);
  if (operation.frame != scene.pinfo->num) AddFrameLink(tree, scene, hf.sent_in, operation.frame);
  AddGenerated(tree, scene, hf.operation, static_cast<uint64_t>(operation.kind));
  AddGenerated(tree, scene, hf.operation_handle, operation.handle);
  AddGenerated(tree, scene, hf.operation_offset, operation.offset);
  AddGenerated(tree, scene, hf.operation_length, operation.length);
  if (!operation.transaction || !operation.has_segment) {
    expert_add_info(scene.pinfo, item, &ei.no_segment);
    return;
  }
  AddGenerated(tree, scene, hf.xid, operation.transaction->xid);
  AddGeneratedTextOf(tree, scene, hf.rpc_name, [&] { return RpcName(scene, operation.transaction); });
  AddGeneratedTextOf(tree, scene, hf.operation_chunk, [&] { return ChunkName(scene, operation); });
  if (operation.list == session::ListKind::kReadList) {
    AddGenerated(tree, scene, hf.operation_position, operation.position);
  }
  AddGenerated(tree, scene, hf.operation_segment, operation.segment);
  AddGenerated(tree, scene, hf.operation_segment_offset, operation.segment_offset);
  AddFrameLink(tree, scene, hf.call_in, operation.transaction->call_shown_at);
  AddFrameLink(tree, scene, hf.reply_in, operation.transaction->reply_shown_at);
}

}  // namespace

const char* OperationName(fabric::EventKind kind) {
  switch (kind) {
    case fabric::EventKind::kReadRequest: return "RDMA Read Request";
    case fabric::EventKind::kReadResponse: return "RDMA Read Response";
    default: return "RDMA Write";
  }
}

const char* OperationText(const Scene& scene, const OperationRecord& operation) {
  return wmem_strdup_printf(scene.pinfo->pool, "%s, %s", OperationName(operation.kind), PartText(scene, operation));
}

void RenderOperations(const Scene& scene, proto_tree* home, const FrameRecord& frame) {
  if (home) {
    for (const OperationRecord& operation : frame.operations) RenderOperation(scene, home, operation);
  } else {
    for (const OperationRecord& operation : frame.operations) {
      if (!operation.has_segment) expert_add_info(scene.pinfo, nullptr, &ei.no_segment);
    }
  }
  if (frame.operations.empty() || !frame.messages().empty() || !col_get_writable(scene.pinfo->cinfo, COL_INFO)) return;
  col_set_str(scene.pinfo->cinfo, COL_PROTOCOL, kColumn);
  col_append_fstr(scene.pinfo->cinfo, COL_INFO, " [%s]", PartText(scene, frame.operations.front()));
  if (frame.operations.size() > 1) {
    col_append_fstr(scene.pinfo->cinfo, COL_INFO, " [%zu more]", frame.operations.size() - 1);
  }
}

void AddMoves(const Scene& scene, proto_tree* tree, const TransactionRecord::Moves& moves) {
  if (!tree || moves.empty()) return;
  uint64_t moved = 0;
  for (const OperationRecord& move : moves) {
    moved += move.kind == fabric::EventKind::kReadRequest ? 0 : move.length;
  }
  AddGenerated(tree, scene, hf.segment_moved, moved);
  if (!proto_field_is_referenced(tree, hf.segment_moved_in) &&
      !proto_field_is_referenced(tree, hf.segment_requested_in)) {
    return;
  }
  size_t count = 0;
  for (const OperationRecord& move : moves) {
    if (++count > kMostMoves) continue;
    const bool request = move.kind == fabric::EventKind::kReadRequest;
    proto_item* item = AddGenerated(tree, scene, request ? hf.segment_requested_in : hf.segment_moved_in, move.frame);
    if (move.length > 0) {
      proto_item_append_text(item, " (%s, bytes %" PRIu64 " to %" PRIu64 ")", OperationName(move.kind),
                             move.segment_offset, move.segment_offset + move.length - 1);
    }
  }
  if (count > kMostMoves) {
    proto_item_append_text(proto_tree_get_parent(tree), " (%zu more packets)", count - kMostMoves);
  }
}

}  // namespace stag::plugin
