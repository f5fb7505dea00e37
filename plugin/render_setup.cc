// SPDX-License-Identifier: GPL-2.0-or-later
//
// Connections: set-up with private data (RFC 8797) and what both peers agreed on, lost packets, refusals.
#include "plugin/fields.h"
#include "plugin/render.h"

namespace stag::plugin {
namespace {

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

}  // namespace

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

void RenderSetup(const Scene& scene, proto_tree* home, const SetupRecord& setup) {
  proto_item* item = nullptr;
  proto_tree* tree = AddSubtree(scene, home, ett.setup, &item, SetupName(setup.message));
  AddConnection(tree, scene, *setup.connection, setup.from, setup.direction);
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
  AddConnection(tree, scene, *note.connection, note.from, note.direction);
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

}  // namespace stag::plugin
