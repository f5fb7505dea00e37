// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the fabric did to the packet of a frame: it was there before, others overtook it, it had to wait.
#include "plugin/fields.h"
#include "plugin/pipeline.h"
#include "plugin/render.h"
#include "protocol/ib/transport.h"

namespace stag::plugin {
namespace {

using Kind = transport::Note::Kind;

proto_item* AddDuration(proto_tree* tree, const Scene& scene, int field, int64_t ns) {
  const nstime_t time = {static_cast<time_t>(ns / 1'000'000'000), static_cast<int>(ns % 1'000'000'000)};
  proto_item* const item = proto_tree_add_time(tree, field, scene.frame, 0, 0, &time);
  proto_item_set_generated(item);
  return item;
}

}  // namespace

const char* TransportName(Kind kind) {
  switch (kind) {
    case Kind::kRetransmission: return "Retransmission";
    case Kind::kRepeatedResponse: return "Repeated RDMA Read Response";
    case Kind::kOutOfOrder: return "Out of order";
    case Kind::kRnrEnd: return "End of a wait for a receive";
    default: return "Receiver not ready";
  }
}

void RenderTransport(const Scene& scene, proto_tree* home, const TransportRecord& record) {
  const transport::Note& note = record.note;
  proto_item* item = nullptr;
  proto_tree* tree = AddSubtree(scene, home, ett.note, &item, TransportName(note.kind));
  AddConnection(tree, scene, *record.connection, record.from, record.direction);
  switch (note.kind) {
    case Kind::kRetransmission:
      AddGenerated(tree, scene, hf.retransmission, 1);
      AddFrameLink(tree, scene, hf.retransmission_of, note.original);
      if (note.changed) AddGenerated(tree, scene, hf.changed, 1);
      expert_add_info(scene.pinfo, item, note.changed ? &ei.changed : &ei.retransmission);
      return;
    case Kind::kRepeatedResponse:
      AddGenerated(tree, scene, hf.repeated_response, 1);
      AddFrameLink(tree, scene, hf.repeated_response_of, note.original);
      expert_add_info(scene.pinfo, item, &ei.repeated_response);
      return;
    case Kind::kOutOfOrder: AddGenerated(tree, scene, hf.transport_out_of_order, 1); return;
    case Kind::kRnrEnd:
      if (const std::optional<int64_t> ns = Elapsed(TimeOf(note.since), TimeOf(note.frame)))
        AddDuration(tree, scene, hf.rnr_stall, *ns);
      AddFrameLink(tree, scene, hf.rnr_nak, note.original);
      expert_add_info(scene.pinfo, item, &ei.rnr_stall);
      return;
    default: AddDuration(tree, scene, hf.rnr_timer, ib::RnrTimerNs(note.syndrome)); return;
  }
}

}  // namespace stag::plugin
