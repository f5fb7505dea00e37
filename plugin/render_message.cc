// SPDX-License-Identifier: GPL-2.0-or-later
//
// The subtree of one RPC-over-RDMA message (RFC 8166 section 4): fixed words, error body, links. The chunk lists are in
// render_lists.cc.
#include <cinttypes>

#include "plugin/fields.h"
#include "plugin/pipeline.h"
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

// A Reply's Call, whose Write list and Reply chunk it returns.
const HeaderRecord* OfferOf(const MessageRecord& message) {
  const bool reply = message.role == Role::kReply && message.transaction && message.transaction->call;
  return reply ? &message.transaction->call->header : nullptr;
}

void AppendChunk(wmem_strbuf_t* text, const char* name, uint64_t length, const std::optional<uint64_t>& offered) {
  wmem_strbuf_append_printf(text, " [%s: %" PRIu64, name, length);
  if (offered) wmem_strbuf_append_printf(text, " of %" PRIu64, *offered);
  wmem_strbuf_append(text, " bytes]");
}

constexpr size_t kChunksInSummary = 3;

void AppendChunks(wmem_strbuf_t* text, const MessageRecord& message) {
  const HeaderRecord& header = message.header;
  const HeaderRecord* call = OfferOf(message);
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
    const bool offered = call && i < call->write_chunks.size();
    AppendChunk(text, "Write chunk", Total(header.Of(header.write_chunks[i])),
                offered ? std::optional(Total(call->Of(call->write_chunks[i]))) : std::nullopt);
  }
  if (header.write_chunks.size() > kChunksInSummary) {
    wmem_strbuf_append_printf(text, " [%zu more Write chunks]", header.write_chunks.size() - kChunksInSummary);
  }
  if (header.reply_chunk) {
    const bool offered = call && call->reply_chunk;
    AppendChunk(text, "Reply chunk", Total(header.Of(*header.reply_chunk)),
                offered ? std::optional(Total(call->Of(*call->reply_chunk))) : std::nullopt);
  }
}

void AppendInvalidation(wmem_strbuf_t* text, const MessageRecord& message) {
  if (message.invalidated) wmem_strbuf_append_printf(text, " [invalidates 0x%08x]", *message.invalidated);
}

void AddFixedWords(proto_tree* tree, tvbuff_t* send, const MessageRecord& message) {
  const HeaderRecord& header = message.header;
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

void AddErrorBody(proto_tree* tree, tvbuff_t* send, const HeaderRecord& header) {
  const unsigned captured = tvb_captured_length(send);
  if (captured >= 20) proto_tree_add_item(tree, hf.error, send, 16, 4, ENC_BIG_ENDIAN);
  if (header.error_range && captured >= 28) {
    proto_tree_add_item(tree, hf.vers_low, send, 20, 4, ENC_BIG_ENDIAN);
    proto_tree_add_item(tree, hf.vers_high, send, 24, 4, ENC_BIG_ENDIAN);
  }
}

// Who is to blame, and for what: the Call that an RDMA_ERROR ends.
void AddErrorCall(const Scene& scene, proto_tree* tree, const MessageRecord& message) {
  if (message.role != Role::kError || !message.transaction) return;
  const TransactionRecord& transaction = *message.transaction;
  proto_item* item = AddGenerated(tree, scene, hf.error_call, transaction.call_shown_at);
  proto_item_append_text(item, " (%s, XID 0x%08x)", RpcName(scene, &transaction), transaction.xid);
}

void AddCredits(const Scene& scene, proto_tree* tree, const MessageRecord& message) {
  if (message.granted) AddGenerated(tree, scene, hf.credits_available, *message.granted);
  if (message.outstanding) AddGenerated(tree, scene, hf.credits_outstanding, *message.outstanding);
}

// "Write chunk 0, segment 1": a segment of the Call by its place among all of them.
const char* SegmentName(const Scene& scene, const HeaderRecord& call, size_t index) {
  wmem_allocator_t* pool = scene.pinfo->pool;
  if (index < call.reads.size()) {
    return wmem_strdup_printf(pool, "segment %zu of the Read list, Position %u", index, call.reads[index].position);
  }
  index -= call.reads.size();
  for (size_t i = 0; i < call.write_chunks.size(); ++i) {
    const rpcrdma::Chunk& chunk = call.write_chunks[i];
    if (index >= chunk.first && index - chunk.first < chunk.count) {
      return wmem_strdup_printf(pool, "segment %zu of Write chunk %zu", index - chunk.first, i);
    }
  }
  return wmem_strdup_printf(pool, "segment %zu of the Reply chunk",
                            index - (call.reply_chunk ? call.reply_chunk->first : 0));
}

void AddInvalidation(const Scene& scene, proto_tree* tree, const MessageRecord& message) {
  if (!message.invalidated) return;
  AddGenerated(tree, scene, hf.invalidated, *message.invalidated);
  const bool found = message.invalidation <= Invalidation::kNotAgreed;
  const MessageRecord* call = message.transaction ? message.transaction->call : nullptr;
  if (found && call) {
    AddGeneratedText(tree, scene, hf.invalidated_segment,
                     SegmentName(scene, call->header, message.invalidated_segment));
  }
  AddGenerated(tree, scene, hf.invalidation, static_cast<uint64_t>(message.invalidation));
}

void AddDecodeStatus(const Scene& scene, proto_item* item, const MessageRecord& message) {
  const HeaderRecord& header = message.header;
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

void AddTime(proto_tree* tree, const Scene& scene, int field, int64_t ns) {
  nstime_t time;
  time.secs = static_cast<time_t>(ns / 1000000000);
  time.nsecs = static_cast<int>(ns % 1000000000);
  proto_item_set_generated(proto_tree_add_time(tree, field, scene.frame, 0, 0, &time));
}

// In the time that Wireshark shows.
session::Phases PhasesInTime(session::PhaseFrames frames) {
  std::vector<session::Wait> waits(frames.waits.begin(), frames.waits.end());
  for (session::Wait& wait : waits) {
    wait.since = TimeOf(wait.since);
    wait.until = TimeOf(wait.until);
  }
  frames.waits = waits;
  for (FrameRef* frame :
       {&frames.call, &frames.first_read, &frames.last_read, &frames.first_write, &frames.last_write, &frames.reply})
    *frame = TimeOf(*frame);
  return session::PhasesOf(frames);
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
    if (transaction->delivered.number != 0)
      AddFrameLink(tree, scene, hf.delivered_in, static_cast<uint32_t>(transaction->delivered.number));
    if (const std::optional<int64_t> time = Elapsed(TimeOf(transaction->call_frame), TimeOf(message.frame)))
      AddTime(tree, scene, hf.time, *time);
    if (!message.phases) return;
    const session::Phases phases = PhasesInTime(*message.phases);
    for (size_t i = 0; i < session::kPhases; ++i)
      if (const std::optional<int64_t>& ns = phases.ns[i]) AddTime(tree, scene, hf.phases[i], *ns);
  }
}

void AddChunks(const Scene& scene, proto_tree* tree, const MessageRecord& message) {
  if (!message.header.has_chunks()) return;
  AddGeneratedTextOf(tree, scene, hf.chunks, [&] {
    wmem_strbuf_t* text = wmem_strbuf_new(scene.pinfo->pool, "");
    AppendChunks(text, message);
    return wmem_strbuf_get_str(text) + 1;  // without the space before it
  });
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
  if (transaction->operations) AddGeneratedText(tree, scene, hf.rpc_operations, transaction->operations->c_str());
  AddGeneratedTextOf(tree, scene, hf.rpc_name, [&] { return RpcName(scene, transaction); });
}

}  // namespace

const char* Summary(const Scene& scene, const MessageRecord& message) {
  const HeaderRecord& header = message.header;
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
    wmem_strbuf_append_printf(text, " %s", RpcName(scene, transaction));
  }
  if (transaction && message.role == Role::kError) {
    wmem_strbuf_append_printf(text, ", ends the Call in frame %u", transaction->call_shown_at);
  }
  AppendChunks(text, message);
  AppendInvalidation(text, message);
  if (message.repeated) wmem_strbuf_append(text, " [sent before]");
  return wmem_strbuf_get_str(text);
}

const char* ChunkSummary(const Scene& scene, const MessageRecord& message) {
  wmem_strbuf_t* text = wmem_strbuf_new(scene.pinfo->pool, "");
  if (message.header.words >= 4) AppendChunks(text, message);
  AppendInvalidation(text, message);
  return wmem_strbuf_get_str(text);
}

tvbuff_t* RenderMessage(const Scene& scene, const MessageRecord& message, proto_tree** subtree) {
  const HeaderRecord& header = message.header;
  tvbuff_t* send = TvbOf(scene, message.bytes, "RPC-over-RDMA message");
  const unsigned captured = send ? tvb_captured_length(send) : 0;
  const unsigned shown = header.status == ParseStatus::kOk && header.length <= captured ? header.length : captured;
  proto_item* item = nullptr;
  if (scene.tree) {
    item = proto_tree_add_protocol_format(scene.tree, protocol, send ? send : scene.frame, 0, static_cast<int>(shown),
                                          "RPC-over-RDMA, %s", ShowsText(scene.tree) ? Summary(scene, message) : "");
  }
  proto_tree* tree = *subtree = proto_item_add_subtree(item, ett.message);
  AddConnection(tree, scene, *message.connection, message.from, message.direction);
  if (message.frame.number != scene.pinfo->num) {
    AddFrameLink(tree, scene, hf.sent_in, message.frame.number);
    expert_add_info(scene.pinfo, item, &ei.out_of_order);
  }
  if (message.backward) AddGenerated(tree, scene, hf.backward, 1);
  AddGenerated(tree, scene, hf.role, static_cast<uint64_t>(message.role));
  if (send && tree) {
    AddFixedWords(tree, send, message);
    if (header.words >= 4 && header.proc == rpcrdma::kError) AddErrorBody(tree, send, header);
    if (header.words >= 4 && header.has_lists() && header.status != ParseStatus::kUnsupported) {
      RenderLists(scene, tree, send, message);
    }
  }
  AddDecodeStatus(scene, item, message);
  if (tree) {
    AddErrorCall(scene, tree, message);
    if (message.role == Role::kCall) AddGenerated(tree, scene, hf.call_form, static_cast<uint64_t>(message.call_form));
    if (message.role == Role::kReply && message.transaction) {
      AddGenerated(tree, scene, hf.reply_form, static_cast<uint64_t>(message.reply_form));
    }
    AddGenerated(tree, scene, hf.length, message.length);
    if (message.threshold) AddGenerated(tree, scene, hf.threshold, *message.threshold);
    AddFrameLink(tree, scene, hf.setup_in, message.connection->setup_frame[message.from]);
    if (header.status == ParseStatus::kOk) AddGenerated(tree, scene, hf.header_length, header.length);
    AddCredits(scene, tree, message);
    AddInvalidation(scene, tree, message);
    AddChunks(scene, tree, message);
    AddRpc(scene, tree, message);
    AddLinks(scene, tree, message);
  }
  if (message.orphan) expert_add_info(scene.pinfo, item, &ei.orphan);
  if (message.repeated) expert_add_info(scene.pinfo, item, &ei.repeated);
  return send;
}

}  // namespace stag::plugin
