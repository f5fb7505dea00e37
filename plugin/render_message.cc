// SPDX-License-Identifier: GPL-2.0-or-later
//
// The subtree of one RPC-over-RDMA message (RFC 8166 section 4): fixed words, error body, links. The chunk lists are in
// render_lists.cc.
#include <cinttypes>

#include "plugin/fields.h"
#include "plugin/render.h"

namespace stag::plugin {
namespace {

using session::Role;

const char* RoleName(Role role) {
  switch (role) {
    case Role::kCall: return " Call";
    case Role::kReply: return " Reply";
    case Role::kUnknown:
    case Role::kError:
    case Role::kDone: break;
  }
  return "";
}

uint64_t Total(std::span<const rpcrdma::Segment> segments) {
  uint64_t total = 0;
  for (const auto& segment : segments) total += segment.length;
  return total;
}

constexpr size_t kChunksInSummary = 3;

void AppendChunks(wmem_strbuf_t* text, const rpcrdma::Header& header) {
  if (!header.reads.empty()) {
    uint64_t total = 0;
    bool one = true;
    for (const auto& read : header.reads) {
      total += read.target.length;
      one = one && read.position == header.reads[0].position;
    }
    if (one) {
      wmem_strbuf_append_printf(text, " [Read chunk %u: %" PRIu64 " bytes]", header.reads[0].position, total);
    } else {
      wmem_strbuf_append_printf(text, " [Read list: %" PRIu64 " bytes]", total);
    }
  }
  for (size_t i = 0; i < header.write_chunks.size() && i < kChunksInSummary; ++i) {
    wmem_strbuf_append_printf(text, " [Write chunk: %" PRIu64 " bytes]", Total(header.Of(header.write_chunks[i])));
  }
  if (header.write_chunks.size() > kChunksInSummary) {
    wmem_strbuf_append_printf(text, " [%zu more Write chunks]", header.write_chunks.size() - kChunksInSummary);
  }
  if (header.reply_chunk) {
    wmem_strbuf_append_printf(text, " [Reply chunk: %" PRIu64 " bytes]", Total(header.Of(*header.reply_chunk)));
  }
}

void AddFixedWords(proto_tree* tree, tvbuff_t* send, const MessageRecord& message) {
  const rpcrdma::Header& header = message.header;
  if (header.words >= 1) proto_tree_add_item(tree, hf.xid, send, 0, 4, ENC_BIG_ENDIAN);
  if (header.words >= 2) proto_tree_add_item(tree, hf.vers, send, 4, 4, ENC_BIG_ENDIAN);
  if (header.words >= 3) {
    const int field = message.role == Role::kCall                                    ? hf.credits_requested
                      : message.role == Role::kReply || message.role == Role::kError ? hf.credits_granted
                                                                                     : hf.credits;
    proto_tree_add_item(tree, field, send, 8, 4, ENC_BIG_ENDIAN);
  }
  if (header.words >= 4) proto_tree_add_item(tree, hf.proc, send, 12, 4, ENC_BIG_ENDIAN);
}

void AddErrorBody(proto_tree* tree, tvbuff_t* send, const rpcrdma::Header& header) {
  const unsigned captured = tvb_captured_length(send);
  if (captured >= 20) proto_tree_add_item(tree, hf.error, send, 16, 4, ENC_BIG_ENDIAN);
  if (header.error_range && captured >= 28) {
    proto_tree_add_item(tree, hf.vers_low, send, 20, 4, ENC_BIG_ENDIAN);
    proto_tree_add_item(tree, hf.vers_high, send, 24, 4, ENC_BIG_ENDIAN);
  }
}

void AddDecodeStatus(const Scene& scene, proto_item* item, const MessageRecord& message) {
  const rpcrdma::Header& header = message.header;
  switch (header.status) {
    case ParseStatus::kOk: break;
    case ParseStatus::kTruncatedByCapture:
      expert_add_info(scene.pinfo, item, message.missing == fabric::Missing::kLost ? &ei.lost : &ei.truncated);
      break;
    case ParseStatus::kMalformed:
      expert_add_info_format(scene.pinfo, item, &ei.malformed, "Transport header: %s (at byte %u)",
                             rpcrdma::DefectText(header.defect), header.defect_offset);
      break;
    case ParseStatus::kUnsupported:
      expert_add_info_format(scene.pinfo, item, &ei.unsupported, "RPC-over-RDMA version %u is not decoded",
                             header.vers);
      break;
  }
}

void AddLinks(const Scene& scene, proto_tree* tree, const MessageRecord& message) {
  const TransactionRecord* transaction = message.transaction;
  if (!transaction) return;
  if (message.role == Role::kCall) {
    AddFrameLink(tree, scene, hf.reply_in, transaction->reply_shown_at);
    if (transaction->rpc_call_frame != scene.pinfo->num) {
      AddFrameLink(tree, scene, hf.rpc_call_in, transaction->rpc_call_frame);
    }
  } else {
    AddFrameLink(tree, scene, hf.call_in, transaction->call_shown_at);
  }
  if (message.role == Role::kReply || message.role == Role::kError) {
    const int64_t time = message.frame.time_ns - transaction->call_frame.time_ns;
    nstime_t delta;
    delta.secs = static_cast<time_t>(time / 1000000000);
    delta.nsecs = static_cast<int>(time % 1000000000);
    proto_item_set_generated(proto_tree_add_time(tree, hf.time, scene.frame, 0, 0, &delta));
  }
}

void AddRpc(const Scene& scene, proto_tree* tree, const MessageRecord& message) {
  const TransactionRecord* transaction = message.transaction;
  if (!transaction || !transaction->rpc_known) return;
  const char* name = rpc::ProgramName(transaction->program, transaction->version);
  const char* procedure = rpc::ProcedureName(transaction->program, transaction->version, transaction->procedure);
  proto_item* item = AddGenerated(tree, scene, hf.rpc_program, transaction->program);
  if (name) proto_item_append_text(item, " (%s)", name);
  AddGenerated(tree, scene, hf.rpc_version, transaction->version);
  item = AddGenerated(tree, scene, hf.rpc_procedure, transaction->procedure);
  if (procedure) proto_item_append_text(item, " (%s)", procedure);
}

}  // namespace

const char* Summary(const Scene& scene, const MessageRecord& message) {
  const rpcrdma::Header& header = message.header;
  wmem_strbuf_t* text = wmem_strbuf_new(scene.pinfo->pool, "");
  if (header.words < 4) {
    wmem_strbuf_append(text, "header cut short");
    return wmem_strbuf_get_str(text);
  }
  if (header.proc <= rpcrdma::kError) {
    wmem_strbuf_append(text, rpcrdma::ProcName(header.proc));
  } else {
    wmem_strbuf_append_printf(text, "Unknown procedure %u", header.proc);
  }
  wmem_strbuf_append(text, RoleName(message.role));
  wmem_strbuf_append_printf(text, " XID 0x%08x", header.xid);
  if (header.vers != rpcrdma::kVersion1) wmem_strbuf_append_printf(text, " version %u", header.vers);
  if (message.backward) wmem_strbuf_append(text, " backward");
  if (header.proc == rpcrdma::kError && (header.status == ParseStatus::kOk || header.error_range)) {
    wmem_strbuf_append_printf(text, " %s", rpcrdma::ErrorName(header.err));
    if (header.error_range) wmem_strbuf_append_printf(text, " (versions %u to %u)", header.vers_low, header.vers_high);
  }
  const TransactionRecord* transaction = message.transaction;
  if (transaction && transaction->rpc_known && message.role != Role::kDone) {
    const char* program = rpc::ProgramName(transaction->program, transaction->version);
    const char* procedure = rpc::ProcedureName(transaction->program, transaction->version, transaction->procedure);
    if (program && procedure) wmem_strbuf_append_printf(text, " %s V%u %s", program, transaction->version, procedure);
  }
  AppendChunks(text, header);
  if (message.repeated) wmem_strbuf_append(text, " [sent before]");
  return wmem_strbuf_get_str(text);
}

tvbuff_t* RenderMessage(const Scene& scene, const MessageRecord& message, proto_tree** subtree) {
  const rpcrdma::Header& header = message.header;
  tvbuff_t* send = TvbOf(scene, message.bytes, "RPC-over-RDMA message");
  const unsigned captured = send ? tvb_captured_length(send) : 0;
  const unsigned shown = header.status == ParseStatus::kOk && header.length <= captured ? header.length : captured;
  proto_item* item =
      proto_tree_add_protocol_format(scene.tree, protocol, send ? send : scene.frame, 0, static_cast<int>(shown),
                                     "RPC-over-RDMA, %s", Summary(scene, message));
  proto_tree* tree = *subtree = proto_item_add_subtree(item, ett.message);
  AddConnection(tree, scene, *message.connection, message.direction);
  if (message.frame.number != scene.pinfo->num) {
    AddFrameLink(tree, scene, hf.sent_in, message.frame.number);
    expert_add_info(scene.pinfo, item, &ei.out_of_order);
  }
  if (message.backward) AddGenerated(tree, scene, hf.backward, 1);
  AddGenerated(tree, scene, hf.role, static_cast<uint64_t>(message.role));
  if (send) {
    AddFixedWords(tree, send, message);
    if (header.words >= 4 && header.proc == rpcrdma::kError) AddErrorBody(tree, send, header);
    if (header.words >= 4 && header.has_lists() && header.status != ParseStatus::kUnsupported) {
      RenderLists(scene, tree, send, message);
    }
  }
  AddDecodeStatus(scene, item, message);
  if (message.role == Role::kCall) AddGenerated(tree, scene, hf.call_form, static_cast<uint64_t>(message.call_form));
  if (message.role == Role::kReply && message.transaction) {
    AddGenerated(tree, scene, hf.reply_form, static_cast<uint64_t>(message.reply_form));
  }
  AddGenerated(tree, scene, hf.length, message.length);
  if (header.status == ParseStatus::kOk) AddGenerated(tree, scene, hf.header_length, header.length);
  if (message.invalidated) AddGenerated(tree, scene, hf.invalidated, *message.invalidated);
  AddRpc(scene, tree, message);
  AddLinks(scene, tree, message);
  if (message.orphan) expert_add_info(scene.pinfo, item, &ei.orphan);
  if (message.repeated) expert_add_info(scene.pinfo, item, &ei.repeated);
  return send;
}

}  // namespace stag::plugin
