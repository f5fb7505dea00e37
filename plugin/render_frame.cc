// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a frame shows besides messages: RDMA operations, connection set-up with private data (RFC 8797), lost packets,
// refusals and findings; the order of it all, and the columns.
#include <cinttypes>

#include "plugin/fields.h"
#include "plugin/render.h"

namespace stag::plugin {
namespace {

constexpr char kColumn[] = "RPC-over-RDMA";

const char* OperationName(fabric::EventKind kind) {
  switch (kind) {
    case fabric::EventKind::kReadRequest: return "RDMA Read Request";
    case fabric::EventKind::kReadResponse: return "RDMA Read Response";
    default: return "RDMA Write";
  }
}

const char* SetupName(fabric::SetupMessage message) {
  switch (message) {
    case fabric::SetupMessage::kRequest: return "Connection request";
    case fabric::SetupMessage::kReply: return "Connection reply";
    case fabric::SetupMessage::kReady: return "Ready to use";
    case fabric::SetupMessage::kReject: return "Connection rejected";
    case fabric::SetupMessage::kDisconnectRequest: return "Disconnect request";
    case fabric::SetupMessage::kDisconnectReply: return "Disconnect reply";
  }
  return "";
}

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

// "XID 0x1a2b3c4d, Write chunk 0, segment 1, bytes 0 to 1023".
const char* OperationText(const Scene& scene, const OperationRecord& operation) {
  if (!operation.transaction || !operation.has_segment) {
    return wmem_strdup_printf(scene.pinfo->pool, "handle 0x%08x, %" PRIu64 " bytes, no known segment", operation.handle,
                              operation.length);
  }
  if (operation.length == 0) {
    return wmem_strdup_printf(scene.pinfo->pool, "XID 0x%08x, %s, segment %u, no bytes", operation.transaction->xid,
                              ChunkName(scene, operation), operation.segment);
  }
  return wmem_strdup_printf(scene.pinfo->pool, "XID 0x%08x, %s, segment %u, bytes %" PRIu64 " to %" PRIu64,
                            operation.transaction->xid, ChunkName(scene, operation), operation.segment,
                            operation.segment_offset, operation.segment_offset + operation.length - 1);
}

void RenderOperation(const Scene& scene, proto_tree* home, const OperationRecord& operation) {
  proto_item* item = nullptr;
  proto_tree* tree = AddSubtree(
      scene, home, ett.operation, &item,
      wmem_strdup_printf(scene.pinfo->pool, "%s, %s", OperationName(operation.kind), OperationText(scene, operation)));
  AddConnection(tree, scene, *operation.connection, operation.direction);
  if (operation.frame.number != scene.pinfo->num) AddFrameLink(tree, scene, hf.sent_in, operation.frame.number);
  AddGenerated(tree, scene, hf.operation, static_cast<uint64_t>(operation.kind));
  AddGenerated(tree, scene, hf.operation_handle, operation.handle);
  AddGenerated(tree, scene, hf.operation_offset, operation.offset);
  AddGenerated(tree, scene, hf.operation_length, operation.length);
  if (!operation.transaction || !operation.has_segment) {
    expert_add_info(scene.pinfo, item, &ei.no_segment);
    return;
  }
  AddGenerated(tree, scene, hf.xid, operation.transaction->xid);
  AddGeneratedText(tree, scene, hf.operation_chunk, ChunkName(scene, operation));
  if (operation.list == session::ListKind::kReadList) {
    AddGenerated(tree, scene, hf.operation_position, operation.position);
  }
  AddGenerated(tree, scene, hf.operation_segment, operation.segment);
  AddGenerated(tree, scene, hf.operation_segment_offset, operation.segment_offset);
  AddFrameLink(tree, scene, hf.call_in, operation.transaction->call_shown_at);
  AddFrameLink(tree, scene, hf.reply_in, operation.transaction->reply_shown_at);
}

void RenderPrivateData(const Scene& scene, proto_tree* setup_tree, const SetupRecord& setup) {
  using Found = rpcrdma::PrivateDataSearch::Found;
  if (setup.search.found == Found::kNothing || setup.search.found == Found::kTruncated) return;
  tvbuff_t* tvb = TvbOf(scene, setup.private_data, "RPC-over-RDMA private data");
  const auto at = static_cast<int>(setup.search.offset);
  if (!tvb || tvb_captured_length(tvb) < setup.search.offset + 8) return;
  proto_item* item = proto_tree_add_item(setup_tree, hf.private_data, tvb, at, 8, ENC_NA);
  proto_tree* tree = proto_item_add_subtree(item, ett.private_data);
  proto_tree_add_item(tree, hf.identifier, tvb, at, 4, ENC_BIG_ENDIAN);
  if (setup.search.found == Found::kByteSwapped) return;
  proto_tree_add_item(tree, hf.private_version, tvb, at + 4, 1, ENC_BIG_ENDIAN);
  if (setup.search.found != Found::kData) return;
  proto_item* flags = proto_tree_add_item(tree, hf.flags, tvb, at + 5, 1, ENC_BIG_ENDIAN);
  proto_tree* bits = proto_item_add_subtree(flags, ett.flags);
  proto_tree_add_item(bits, hf.flags_reserved, tvb, at + 5, 1, ENC_BIG_ENDIAN);
  proto_tree_add_item(bits, hf.flag_remote_invalidation, tvb, at + 5, 1, ENC_BIG_ENDIAN);
  const rpcrdma::PrivateData& data = setup.search.data;
  item = proto_tree_add_item(tree, hf.send_size, tvb, at + 6, 1, ENC_BIG_ENDIAN);
  proto_item_append_text(item, " (%u bytes)", data.send_bytes());
  AddGenerated(tree, scene, hf.send_bytes, data.send_bytes());
  item = proto_tree_add_item(tree, hf.receive_size, tvb, at + 7, 1, ENC_BIG_ENDIAN);
  proto_item_append_text(item, " (%u bytes)", data.receive_bytes());
  AddGenerated(tree, scene, hf.receive_bytes, data.receive_bytes());
}

// The one line for a frame without messages.
const char* Title(const Scene& scene, const FrameRecord& frame) {
  if (!frame.setups.empty()) return SetupName(frame.setups[0]->message);
  if (!frame.rpcs.empty()) return frame.rpcs[0]->call ? "RPC Call" : "RPC Reply";
  if (!frame.operations.empty()) {
    return wmem_strdup_printf(scene.pinfo->pool, "%s, %s", OperationName(frame.operations[0].kind),
                              OperationText(scene, frame.operations[0]));
  }
  if (!frame.notes.empty()) return frame.notes[0].gap ? "packets missing from the capture" : "refusal";
  return frame.findings.empty() ? "message held back until earlier packets came" : "findings";
}

// Several messages in a frame each get their line in the Info column: what is there is fenced off before the next.
class Lines {
 public:
  explicit Lines(const Scene& scene) : cinfo_(scene.pinfo->cinfo) {}
  void Next() {
    if (written_) {
      col_append_str(cinfo_, COL_INFO, "; ");
      col_set_fence(cinfo_, COL_INFO);
    }
    written_ = true;
  }

 private:
  column_info* cinfo_;
  bool written_ = false;
};

// The messages of a frame, each with the RPC that stands in it. Returns the subtree of the first.
proto_tree* RenderMessages(const Scene& scene, const FrameRecord& frame, Lines& lines) {
  proto_tree* first = nullptr;
  for (const auto& message : frame.messages) {
    proto_tree* tree = nullptr;
    tvbuff_t* send = RenderMessage(scene, *message, &tree);
    if (!first) first = tree;
    lines.Next();
    // The rpc dissector clears the column and writes its own text.
    col_set_str(scene.pinfo->cinfo, COL_PROTOCOL, kColumn);
    col_clear(scene.pinfo->cinfo, COL_INFO);
    col_append_str(scene.pinfo->cinfo, COL_INFO, Summary(scene, *message));
    for (const auto& rpc : frame.rpcs) {
      if (rpc->message == message.get()) RenderRpc(scene, tree, *rpc, send);
    }
  }
  return first;
}

}  // namespace

tvbuff_t* TvbOf(const Scene& scene, const ShownBytes& bytes, const char* tab) {
  const auto length = static_cast<int>(bytes.length);
  if (bytes.in_frame) {
    const uint64_t end = uint64_t{bytes.offset} + bytes.length;
    if (end > tvb_captured_length(scene.frame)) return nullptr;
    return tvb_new_subset_length(scene.frame, static_cast<int>(bytes.offset), length);
  }
  if (!bytes.copy) return nullptr;
  tvbuff_t* tvb =
      tvb_new_child_real_data(scene.frame, reinterpret_cast<const uint8_t*>(bytes.copy.get()), bytes.length, length);
  add_new_data_source(scene.pinfo, tvb, tab);
  return tvb;
}

proto_tree* AddSubtree(const Scene& scene, proto_tree* tree, int subtree, proto_item** item, const char* text) {
  proto_tree* added = proto_tree_add_subtree(tree, scene.frame, 0, 0, subtree, item, text);
  proto_item_set_generated(*item);
  return added;
}

proto_item* AddGenerated(proto_tree* tree, const Scene& scene, int field, uint64_t value) {
  proto_item* item = nullptr;
  switch (proto_registrar_get_ftype(field)) {
    case FT_UINT64: item = proto_tree_add_uint64(tree, field, scene.frame, 0, 0, value); break;
    case FT_BOOLEAN: item = proto_tree_add_boolean(tree, field, scene.frame, 0, 0, static_cast<uint32_t>(value)); break;
    default: item = proto_tree_add_uint(tree, field, scene.frame, 0, 0, static_cast<uint32_t>(value)); break;
  }
  proto_item_set_generated(item);
  return item;
}

proto_item* AddGeneratedText(proto_tree* tree, const Scene& scene, int field, const char* text) {
  proto_item* item = proto_tree_add_string(tree, field, scene.frame, 0, 0, text);
  proto_item_set_generated(item);
  return item;
}

void AddFrameLink(proto_tree* tree, const Scene& scene, int field, uint64_t frame) {
  if (frame != 0) AddGenerated(tree, scene, field, frame);
}

void AddConnection(proto_tree* tree, const Scene& scene, const ConnectionRecord& connection, Direction direction) {
  AddGenerated(tree, scene, hf.connection, connection.id);
  AddGenerated(tree, scene, hf.fabric, static_cast<uint64_t>(connection.fabric));
  AddGenerated(tree, scene, hf.direction, static_cast<uint64_t>(direction));
}

void RenderOperations(const Scene& scene, proto_tree* home, const FrameRecord& frame) {
  for (const OperationRecord& operation : frame.operations) RenderOperation(scene, home, operation);
  if (frame.operations.empty() || !frame.messages.empty()) return;
  col_set_str(scene.pinfo->cinfo, COL_PROTOCOL, kColumn);
  col_append_fstr(scene.pinfo->cinfo, COL_INFO, " [%s]", OperationText(scene, frame.operations[0]));
  if (frame.operations.size() > 1) {
    col_append_fstr(scene.pinfo->cinfo, COL_INFO, " [%zu more]", frame.operations.size() - 1);
  }
}

void RenderSetup(const Scene& scene, proto_tree* home, const SetupRecord& setup) {
  proto_item* item = nullptr;
  proto_tree* tree = AddSubtree(scene, home, ett.setup, &item, SetupName(setup.message));
  AddConnection(tree, scene, *setup.connection, setup.direction);
  AddGenerated(tree, scene, hf.setup, static_cast<uint64_t>(setup.message));
  if (setup.frame.number != scene.pinfo->num) AddFrameLink(tree, scene, hf.sent_in, setup.frame.number);
  if (setup.message == fabric::SetupMessage::kReject) AddGenerated(tree, scene, hf.reject_reason, setup.reject_reason);
  RenderPrivateData(scene, tree, setup);
  if (setup.truncated) expert_add_info(scene.pinfo, item, &ei.truncated);
  if (setup.client_to_server) AddGenerated(tree, scene, hf.client_to_server, *setup.client_to_server);
  if (setup.server_to_client) AddGenerated(tree, scene, hf.server_to_client, *setup.server_to_client);
  if (setup.remote_invalidation) AddGenerated(tree, scene, hf.remote_invalidation, *setup.remote_invalidation ? 1 : 0);
  if (setup.search.found == rpcrdma::PrivateDataSearch::Found::kData) {
    const rpcrdma::PrivateData& data = setup.search.data;
    col_append_fstr(scene.pinfo->cinfo, COL_INFO, " [RPC-over-RDMA: send %u, receive %u%s]", data.send_bytes(),
                    data.receive_bytes(), data.remote_invalidation() ? ", remote invalidation" : "");
  }
}

void RenderNote(const Scene& scene, proto_tree* home, const NoteRecord& note) {
  proto_item* item = nullptr;
  proto_tree* tree =
      AddSubtree(scene, home, ett.note, &item, note.gap ? "Packets missing from the capture" : "Refusal");
  AddConnection(tree, scene, *note.connection, note.direction);
  if (note.gap) {
    AddGenerated(tree, scene, hf.gap, note.gap_size);
    expert_add_info(scene.pinfo, item, &ei.gap);
    return;
  }
  AddGenerated(tree, scene, hf.nak, static_cast<uint64_t>(note.nak));
  AddFrameLink(tree, scene, hf.nak_refused, note.refused_frame);
  // Lost packets and late receives are the fabric's daily work; the others end the connection.
  if (note.nak != fabric::NakKind::kSequence && note.nak != fabric::NakKind::kRnr) {
    expert_add_info(scene.pinfo, item, &ei.nak);
  }
}

void RenderFinding(const Scene& scene, proto_tree* home, const FindingRecord& finding) {
  const char* id = wmem_strndup(scene.pinfo->pool, finding.rule->id.data(), finding.rule->id.size());
  proto_item* item = nullptr;
  proto_tree* tree = AddSubtree(scene, home, ett.finding, &item,
                                wmem_strdup_printf(scene.pinfo->pool, "%s: %s", id, finding.message.c_str()));
  AddGenerated(tree, scene, hf.connection, finding.connection);
  AddGeneratedText(tree, scene, hf.finding, id);
  AddGenerated(tree, scene, hf.finding_severity, static_cast<uint64_t>(finding.severity));
  AddGeneratedText(tree, scene, hf.finding_message, finding.message.c_str());
  if (!finding.expected.empty()) AddGeneratedText(tree, scene, hf.finding_expected, finding.expected.c_str());
  if (!finding.actual.empty()) AddGeneratedText(tree, scene, hf.finding_actual, finding.actual.c_str());
  if (finding.xid) AddGenerated(tree, scene, hf.finding_xid, *finding.xid);
  for (const uint32_t frame : finding.related_frames) AddFrameLink(tree, scene, hf.finding_related, frame);
  for (const std::string& source : finding.specifications) {
    AddGeneratedText(tree, scene, hf.finding_source, source.c_str());
  }
  for (const std::string_view other : finding.see_also) {
    AddGeneratedText(tree, scene, hf.finding_see_also, wmem_strndup(scene.pinfo->pool, other.data(), other.size()));
  }
  if (expert_field* expert = ExpertOf(*finding.rule, finding.severity)) {
    expert_add_info_format(scene.pinfo, item, expert, "%s: %s", id, finding.message.c_str());
  }
}

void RenderFrame(const Scene& scene, const FrameRecord& frame) {
  Lines lines(scene);
  proto_tree* home = nullptr;
  if (frame.messages.empty()) {
    proto_item* item = proto_tree_add_protocol_format(scene.tree, protocol, scene.frame, 0, 0, "RPC-over-RDMA, %s",
                                                      Title(scene, frame));
    home = proto_item_add_subtree(item, ett.message);
  } else {
    home = RenderMessages(scene, frame, lines);
  }
  for (const auto& setup : frame.setups) RenderSetup(scene, home, *setup);
  RenderOperations(scene, home, frame);
  for (const auto& rpc : frame.rpcs) {
    if (rpc->message) continue;
    if (rpc->withheld == Withheld::kNothing) lines.Next();
    RenderRpc(scene, home, *rpc, nullptr);
  }
  for (const uint32_t later : frame.shown_in) AddFrameLink(home, scene, hf.shown_in, later);
  for (const NoteRecord& note : frame.notes) RenderNote(scene, home, note);
  for (const auto& finding : frame.findings) RenderFinding(scene, home, *finding);
}

}  // namespace stag::plugin
