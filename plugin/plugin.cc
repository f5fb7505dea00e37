// SPDX-License-Identifier: GPL-2.0-or-later
//
// The plugin as Wireshark loads it: the exported symbols, the registration of the protocol, and the postdissector. The
// postdissector runs on every frame, after all other dissectors, also where the InfiniBand dissector gave up.
#define WS_BUILD_DLL

#include "plugin/ccp.h"
#include "plugin/compat.h"
#include "plugin/feed.h"
#include "plugin/fields.h"
#include "plugin/pipeline.h"
#include "plugin/prefs.h"
#include "plugin/render.h"
#include "plugin/tap.h"

namespace stag::plugin {
namespace {

int Dissect(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void*) {
  FinishFrame(tvb, pinfo);
  const FrameRecord* record = RecordOf(pinfo->num);
  if (!record) return 0;  // not a frame of ours: Wireshark does not list the protocol for it
  RenderFrame({tvb, pinfo, tree}, *record);
  return static_cast<int>(tvb_captured_length(tvb));
}

// The heuristic below InfiniBand and iWARP. It claims each packet of which the postdissector shows a message or an RDMA
// operation, so that no other heuristic takes the payload for its own. It claims no packet in the middle of a message,
// and none while Wireshark's own dissector is on.
WsBool Claim(tvbuff_t*, packet_info* pinfo, proto_tree*, void*) {
  if (!preferences.replace_builtin) return false;
  FeedEarly(pinfo);
  const FrameRecord* record = RecordOf(pinfo->num);
  return record && (!record->messages().empty() || !record->operations.empty());
}

// "Decode As": the connection of this packet is RPC-over-RDMA. It takes no bytes, so that Wireshark's InfiniBand and
// iWARP dissectors go on.
int DecodeAs(tvbuff_t*, packet_info* pinfo, proto_tree*, void*) {
  if (!PINFO_FD_VISITED(pinfo)) {
    if (pinfo->ptype == PT_TCP) {
      NamePort(pinfo->match_uint);
    } else {
      NameAllQueuePairs();
    }
    FeedEarly(pinfo);
  }
  return 0;
}

void Start() {
  ApplyReplaceBuiltin();
  StartPipeline();
  StartFeed();
}

void Register() {
  protocol = proto_register_protocol("RPC-over-RDMA", "RPC-over-RDMA", "rpcrdma");
  RegisterFields();
  RegisterPreferences();
  RegisterStatistics();
  RegisterCcp();
  register_init_routine(Start);
  register_cleanup_routine(StopPipeline);
  register_postseq_cleanup_routine(FinishPipeline);
}

void HandOff() {
  FindRpcDissector();
  HandOffCcp();
  register_postdissector(create_dissector_handle(Dissect, protocol));
  heur_dissector_add("infiniband.payload", Claim, "RPC-over-RDMA over InfiniBand and RoCE", "rpcrdma1_ib", protocol,
                     HEURISTIC_ENABLE);
  heur_dissector_add("iwarp_ddp_rdmap", Claim, "RPC-over-RDMA over iWARP", "rpcrdma1_iwarp", protocol,
                     HEURISTIC_ENABLE);
  const dissector_handle_t decode_as = create_dissector_handle(DecodeAs, protocol);
  dissector_add_for_decode_as("infiniband", decode_as);
  dissector_add_for_decode_as("tcp.port", decode_as);
}

}  // namespace
}  // namespace stag::plugin

extern "C" {

WS_DLL_PUBLIC_DEF extern const char plugin_version[];
WS_DLL_PUBLIC_DEF extern const int plugin_want_major;
WS_DLL_PUBLIC_DEF extern const int plugin_want_minor;
WS_DLL_PUBLIC_DEF void plugin_register();

const char plugin_version[] = STAG_VERSION;
const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

void plugin_register() {
  static proto_plugin plugin;
  plugin.register_protoinfo = stag::plugin::Register;
  plugin.register_handoff = stag::plugin::HandOff;
  proto_register_plugin(&plugin);
}

#if STAG_WIRESHARK_VERSION >= 404
WS_DLL_PUBLIC_DEF uint32_t plugin_describe();
uint32_t plugin_describe() { return WS_PLUGIN_DESC_DISSECTOR; }
#endif
}
