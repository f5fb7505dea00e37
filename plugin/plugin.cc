// SPDX-License-Identifier: GPL-2.0-or-later
//
// What Wireshark sees of the plugin: the exported symbols, the registration of the protocol, and the postdissector,
// which runs after all other dissectors on every frame (also where the InfiniBand dissector gave up) with the whole
// frame.
#define WS_BUILD_DLL

#include "plugin/compat.h"
#include "plugin/fields.h"
#include "plugin/pipeline.h"
#include "plugin/prefs.h"
#include "plugin/render.h"
#include "plugin/tap.h"

namespace stag::plugin {
namespace {

// Record types of the ERF format. Wireshark has taken off the record header, and the two bytes before Ethernet.
LinkType LinkOfErf(uint8_t type) {
  switch (type & 0x7f) {
    case 2:   // TYPE_ETH
    case 11:  // TYPE_COLOR_ETH
    case 16:  // TYPE_DSM_COLOR_ETH
    case 20:  // TYPE_COLOR_HASH_ETH
      return LinkType::kEthernet;
    case 21:  // TYPE_INFINIBAND
    case 25:  // TYPE_INFINIBAND_LINK
      return LinkType::kErfInfiniBand;
    case 22:  // TYPE_IPV4
    case 23:  // TYPE_IPV6
      return LinkType::kRawIp;
    default: return LinkType::kUnsupported;
  }
}

LinkType LinkOf(const packet_info* pinfo) {
  if (!pinfo->rec || pinfo->rec->rec_type != REC_TYPE_PACKET) return LinkType::kUnsupported;
  switch (pinfo->rec->rec_header.packet_header.pkt_encap) {
    case WTAP_ENCAP_ETHERNET: return LinkType::kEthernet;
    case WTAP_ENCAP_SLL: return LinkType::kLinuxSll;
    case WTAP_ENCAP_SLL2: return LinkType::kLinuxSll2;
    case WTAP_ENCAP_RAW_IP:
    case WTAP_ENCAP_RAW_IP4:
    case WTAP_ENCAP_RAW_IP6: return LinkType::kRawIp;
    case WTAP_ENCAP_INFINIBAND: return LinkType::kInfiniBand;
    case WTAP_ENCAP_ERF:
      return pinfo->pseudo_header ? LinkOfErf(pinfo->pseudo_header->erf.phdr.type) : LinkType::kUnsupported;
    default: return LinkType::kUnsupported;
  }
}

int Dissect(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void*) {
  const unsigned captured = tvb_captured_length(tvb);
  if (!PINFO_FD_VISITED(pinfo)) {
    Frame frame;
    frame.ref.number = pinfo->num;
    frame.ref.time_ns = int64_t{pinfo->abs_ts.secs} * 1000000000 + pinfo->abs_ts.nsecs;
    frame.link = LinkOf(pinfo);
    frame.wire_length = tvb_reported_length(tvb);
    if (captured != 0) {
      const uint8_t* bytes = tvb_get_ptr(tvb, 0, static_cast<int>(captured));
      frame.bytes = {reinterpret_cast<const std::byte*>(bytes), captured};
    }
    Feed(frame);
  }
  const FrameRecord* record = RecordOf(pinfo->num);
  if (!record) return 0;  // not a frame of ours: Wireshark does not list the protocol for it
  RenderFrame({tvb, pinfo, tree}, *record);
  return static_cast<int>(captured);
}

void Start() {
  ApplyReplaceBuiltin();
  StartPipeline();
}

void Register() {
  protocol = proto_register_protocol("RPC-over-RDMA", "RPC-over-RDMA", "rpcrdma");
  RegisterFields();
  RegisterPreferences();
  RegisterStatistics();
  register_init_routine(Start);
  register_cleanup_routine(StopPipeline);
  register_postseq_cleanup_routine(FinishPipeline);
}

void HandOff() {
  FindRpcDissector();
  register_postdissector(create_dissector_handle(Dissect, protocol));
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
