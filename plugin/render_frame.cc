// SPDX-License-Identifier: GPL-2.0-or-later
//
// Everything that a frame shows, in its order; findings; and what the other render files build on.
#include <cinttypes>

#include "plugin/fields.h"
#include "plugin/pipeline.h"
#include "plugin/render.h"
#include "plugin/tap.h"

namespace stag::plugin {
namespace {

// The one line for a frame without messages.
const char* Title(const Scene& scene, const FrameRecord& frame) {
  const RareRecords& rare = frame.rare();
  if (!rare.setups.empty()) return SetupName(rare.setups.front().message);
  if (!frame.rpcs().empty()) return frame.rpcs().front().call ? "RPC Call" : "RPC Reply";
  if (!frame.operations.empty()) return OperationText(scene, frame.operations.front());
  if (!rare.notes.empty()) return rare.notes.front().gap ? "packets missing from the capture" : "refusal";
  if (!rare.transport.empty()) return TransportName(rare.transport.front().note.kind);
  return rare.proven.empty() && rare.offending.empty() ? "message held back until earlier packets came" : "findings";
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
  for (const MessageRecord& message : frame.messages()) {
    proto_tree* tree = nullptr;
    tvbuff_t* send = RenderMessage(scene, message, &tree);
    if (!first) first = tree;
    lines.Next();
    // The rpc dissector clears the column and writes its own text.
    col_set_str(scene.pinfo->cinfo, COL_PROTOCOL, kColumn);
    col_clear(scene.pinfo->cinfo, COL_INFO);
    if (col_get_writable(scene.pinfo->cinfo, COL_INFO)) {
      col_append_str(scene.pinfo->cinfo, COL_INFO, Summary(scene, message));
    }
    for (const RpcRecord& rpc : frame.rpcs()) {
      if (rpc.message != &message) continue;
      RenderRpc(scene, tree, rpc, send);
      // What the rpc dissector and those above it do not tell.
      if (rpc.withheld == Withheld::kNothing && col_get_writable(scene.pinfo->cinfo, COL_INFO)) {
        col_append_str(scene.pinfo->cinfo, COL_INFO, ChunkSummary(scene, message));
      }
    }
  }
  return first;
}

void TellClocks(const Scene& scene, proto_tree* home) {
  if (!Times().two()) return;  // a clock that was set, as later frames showed
  const clocks::TwoClocks& two = Times().clocks();
  proto_item* item = proto_tree_get_parent(home);
  if (!two.bounded) {
    expert_add_info_format(scene.pinfo, item, &ei.two_clocks,
                           "The capture has two clocks: times between them are left out%s",
                           two.found ? "" : " until it is known how far they are apart");
    return;
  }
  const auto offset = static_cast<uint64_t>(two.offset_ns);
  const uint64_t apart = two.offset_ns < 0 ? 0 - offset : offset;
  expert_add_info_format(scene.pinfo, item, &ei.two_clocks,
                         "The capture has two clocks, %" PRIu64 ".%09" PRIu64 " s apart, known to within %" PRId64
                         " ns: times between them are %s",
                         apart / 1000000000, apart % 1000000000, two.uncertainty_ns,
                         two.aligned ? "aligned" : "left out");
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
      tvb_new_child_real_data(scene.frame, reinterpret_cast<const uint8_t*>(bytes.copy), bytes.length, length);
  add_new_data_source(scene.pinfo, tvb, tab);
  return tvb;
}

proto_tree* AddSubtree(const Scene& scene, proto_tree* tree, int subtree, proto_item** item, const char* text) {
  proto_tree* added = proto_tree_add_subtree(tree, scene.frame, 0, 0, subtree, item, text);
  proto_item_set_generated(*item);
  return added;
}

proto_item* AddGenerated(proto_tree* tree, const Scene& scene, int field, uint64_t value) {
  if (!tree) return nullptr;
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

const char* RpcName(const Scene& scene, const TransactionRecord* transaction) {
  if (!transaction || !transaction->rpc_known) return "an RPC";
  wmem_allocator_t* pool = scene.pinfo->pool;
  const char* program = rpc::ProgramName(transaction->program, transaction->version);
  const char* procedure = rpc::ProcedureName(transaction->program, transaction->version, transaction->procedure);
  if (!program) program = wmem_strdup_printf(pool, "program %u", transaction->program);
  if (transaction->operations) {
    procedure = transaction->operations->c_str();
  } else if (!procedure) {
    procedure = wmem_strdup_printf(pool, "procedure %u", transaction->procedure);
  }
  return wmem_strdup_printf(pool, "%s V%u %s", program, transaction->version, procedure);
}

void AddConnection(proto_tree* tree, const Scene& scene, const ConnectionRecord& connection, Side from,
                   Direction direction) {
  if (!tree) return;
  const uint32_t source = connection.endpoint[from].number, destination = connection.endpoint[1 - from].number;
  AddGenerated(tree, scene, hf.connection, connection.id);
  if (source != 0) {
    AddGenerated(tree, scene, hf.source_number, source);
    proto_item_set_hidden(AddGenerated(tree, scene, hf.number, source));
  }
  if (destination != 0) {
    AddGenerated(tree, scene, hf.destination_number, destination);
    proto_item_set_hidden(AddGenerated(tree, scene, hf.number, destination));
  }
  AddGenerated(tree, scene, hf.fabric, static_cast<uint64_t>(connection.fabric));
  AddGenerated(tree, scene, hf.direction, static_cast<uint64_t>(direction));
}

void RenderFinding(const Scene& scene, proto_tree* home, const FindingRecord& finding) {
  const char* id = wmem_strndup(scene.pinfo->pool, finding.rule->id.data(), finding.rule->id.size());
  proto_item* item = nullptr;
  proto_tree* tree = AddSubtree(scene, home, ett.finding, &item,
                                wmem_strdup_printf(scene.pinfo->pool, "%s: %s", id, finding.message->c_str()));
  if (finding.connection != 0) AddGenerated(tree, scene, hf.connection, finding.connection);
  AddGeneratedText(tree, scene, hf.finding, id);
  AddGenerated(tree, scene, hf.finding_severity, static_cast<uint64_t>(finding.severity));
  AddGeneratedText(tree, scene, hf.finding_message, finding.message->c_str());
  if (!finding.expected->empty()) AddGeneratedText(tree, scene, hf.finding_expected, finding.expected->c_str());
  if (!finding.actual->empty()) AddGeneratedText(tree, scene, hf.finding_actual, finding.actual->c_str());
  AddGenerated(tree, scene, hf.finding_certainty, static_cast<uint64_t>(finding.certainty));
  if (finding.frame != scene.pinfo->num) AddFrameLink(tree, scene, hf.finding_frame, finding.frame);
  if (finding.proven_frame != scene.pinfo->num)
    AddFrameLink(tree, scene, hf.finding_proven_frame, finding.proven_frame);
  if (finding.xid) AddGenerated(tree, scene, hf.finding_xid, *finding.xid);
  for (const uint64_t frame : finding.related_frames) AddFrameLink(tree, scene, hf.finding_related, frame);
  for (const std::string* source : finding.specifications) {
    AddGeneratedText(tree, scene, hf.finding_source, source->c_str());
  }
  for (const std::string_view other : finding.see_also) {
    AddGeneratedText(tree, scene, hf.finding_see_also, wmem_strndup(scene.pinfo->pool, other.data(), other.size()));
  }
  expert_add_info_format(scene.pinfo, item, ExpertOf(*finding.rule, finding.severity), "%s: %s", id,
                         finding.message->c_str());
}

void RenderFrame(const Scene& scene, const FrameRecord& frame) {
  Lines lines(scene);
  proto_tree* home = nullptr;
  if (frame.messages().empty()) {
    if (scene.tree) {
      proto_item* item = proto_tree_add_protocol_format(scene.tree, protocol, scene.frame, 0, 0, "RPC-over-RDMA, %s",
                                                        ShowsText(scene.tree) ? Title(scene, frame) : "");
      home = proto_item_add_subtree(item, ett.message);
    }
  } else {
    home = RenderMessages(scene, frame, lines);
  }
  const RareRecords& rare = frame.rare();
  for (const SetupRecord& setup : rare.setups) RenderSetup(scene, home, setup);
  RenderOperations(scene, home, frame);
  for (const RpcRecord& rpc : frame.rpcs()) {
    if (rpc.message) continue;
    if (rpc.withheld == Withheld::kNothing) lines.Next();
    RenderRpc(scene, home, rpc, nullptr);
  }
  for (const LaterRecord& later : rare.shown_in) AddFrameLink(home, scene, hf.shown_in, later.frame);
  if (rare.two_clocks) TellClocks(scene, home);
  for (const NoteRecord& note : rare.notes) RenderNote(scene, home, note);
  for (const TransportRecord& record : rare.transport) RenderTransport(scene, home, record);
  ForEachFinding(scene.pinfo, rare, [&](const FindingRecord& finding) { RenderFinding(scene, home, finding); });
  if (PINFO_FD_VISITED(scene.pinfo))
    for (const FindingRecord& finding : rare.proven)
      if (finding.frame != finding.proven_frame && finding.certainty == conformance::Certainty::kProven)
        AddFrameLink(home, scene, hf.finding_proves, finding.frame);
  Tap(scene.pinfo, frame);
}

}  // namespace stag::plugin
