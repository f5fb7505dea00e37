// SPDX-License-Identifier: GPL-2.0-or-later
//
// Gives rebuilt RPC messages to Wireshark's rpc dissector. That dissector finds the Call of a Reply through a
// conversation (addresses, ports and port type of packet_info) and takes times from packet_info, so for the call these
// are replaced: ports that name the RPC-over-RDMA connection and no other, and the time of the message's own Send. They
// are put back however the dissector returns.
#include <epan/dissectors/packet-rpc.h>

#include "plugin/fields.h"
#include "plugin/pipeline.h"
#include "plugin/render.h"
#include "plugin/tap.h"

namespace stag::plugin {
namespace {

dissector_handle_t rpc_dissector = nullptr;

// Queue pair numbers have 24 bits: no queue pair that Wireshark itself makes conversations for can have these.
constexpr uint32_t kFirstPort = 1u << 24;
uint32_t PortOf(const ConnectionRecord& connection, Side side) { return kFirstPort + 2 * connection.id + side; }

bool ProgramKnown(const TransactionRecord& transaction) {
  return !transaction.rpc_known || g_hash_table_lookup(rpc_progs, GUINT_TO_POINTER(transaction.program)) != nullptr;
}

// Whether the rpc dissector was given the Call that this Reply answers; without it, it calls every Reply "V0 proc-0".
bool CallKnown(const RpcRecord& rpc) {
  return rpc.call || (rpc.transaction && rpc.transaction->rpc_call_frame != 0 && ProgramKnown(*rpc.transaction));
}

// What is replaced in packet_info.
struct Saved {
  address src, dst;
  port_type ptype;
  uint32_t srcport, destport;
  nstime_t abs_ts;
};

void Replace(packet_info* pinfo, const RpcRecord& rpc, Saved& saved) {
  copy_address_shallow(&saved.src, &pinfo->src);
  copy_address_shallow(&saved.dst, &pinfo->dst);
  saved.ptype = pinfo->ptype;
  saved.srcport = pinfo->srcport;
  saved.destport = pinfo->destport;
  saved.abs_ts = pinfo->abs_ts;

  const ConnectionRecord& connection = *rpc.connection;
  const Side to = static_cast<Side>(1 - rpc.from);
  SetAddress(&pinfo->src, connection.endpoint[rpc.from].address);
  SetAddress(&pinfo->dst, connection.endpoint[to].address);
  pinfo->ptype = PT_IBQP;
  pinfo->srcport = PortOf(connection, rpc.from);
  pinfo->destport = PortOf(connection, to);
  // What is known of the time from Call to Reply may have changed since the Call was given; 0: nothing is.
  int64_t time = rpc.sent.time_ns;
  if (!rpc.call && CallKnown(rpc)) {
    const FrameRef& call = rpc.transaction->call_frame;
    time = ClampTime(__int128{call.time_ns} + Elapsed(TimeOf(call), TimeOf(rpc.sent)).value_or(0));
  }
  pinfo->abs_ts.secs = static_cast<time_t>(time / 1000000000);
  pinfo->abs_ts.nsecs = static_cast<int>(time % 1000000000);
}

void Restore(packet_info* pinfo, const Saved& saved) {
  copy_address_shallow(&pinfo->src, &saved.src);
  copy_address_shallow(&pinfo->dst, &saved.dst);
  pinfo->ptype = saved.ptype;
  pinfo->srcport = saved.srcport;
  pinfo->destport = saved.destport;
  pinfo->abs_ts = saved.abs_ts;
}

// The rpc dissector makes its own conversation only for Calls, and for some port types one that matches every port.
void EnsureConversation(packet_info* pinfo) {
  if (!find_conversation(pinfo->num, &pinfo->src, &pinfo->dst, CONVERSATION_IBQP, pinfo->srcport, pinfo->destport, 0)) {
    conversation_new(pinfo->num, &pinfo->src, &pinfo->dst, CONVERSATION_IBQP, pinfo->srcport, pinfo->destport, 0);
  }
}

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-volatile"  // inside Wireshark's macros
#endif
void HandOver(const Scene& scene, const RpcRecord& rpc, tvbuff_t* message) {
  packet_info* pinfo = scene.pinfo;
  Saved saved;
  Replace(pinfo, rpc, saved);
  const bool keep_columns = !CallKnown(rpc) && col_get_writable(pinfo->cinfo, -1);
  if (keep_columns) col_set_writable(pinfo->cinfo, -1, false);
  TRY {
    if (rpc.call || !CallKnown(rpc)) EnsureConversation(pinfo);  // a known Call's has been made with it
    call_dissector_only(rpc_dissector, message, pinfo, scene.tree, nullptr);
  }
  CATCH_NONFATAL_ERRORS { show_exception(message, pinfo, scene.tree, EXCEPT_CODE, GET_MESSAGE); }
  FINALLY {
    Restore(pinfo, saved);
    if (keep_columns) col_set_writable(pinfo->cinfo, -1, true);
  }
  ENDTRY;
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

tvbuff_t* BytesOf(const Scene& scene, const RpcRecord& rpc, tvbuff_t* send) {
  if (rpc.inline_bytes) {
    const uint64_t end = uint64_t{rpc.inline_offset} + rpc.length;
    if (!send || end > tvb_captured_length(send)) return nullptr;
    return tvb_new_subset_length(send, static_cast<int>(rpc.inline_offset), static_cast<int>(rpc.length));
  }
  tvbuff_t* tvb = tvb_new_child_real_data(scene.frame, reinterpret_cast<const uint8_t*>(rpc.bytes), rpc.length,
                                          static_cast<int>(rpc.length));
  add_new_data_source(scene.pinfo, tvb, "RPC-over-RDMA reassembled");
  return tvb;
}

const char* DefectText(session::RebuildDefect defect) {
  switch (defect) {
    case session::RebuildDefect::kNone: break;
    case session::RebuildDefect::kNoCall: return "the Call is not in the capture";
    case session::RebuildDefect::kPositionOutside: return "a Position lies outside the message";
    case session::RebuildDefect::kLengthMismatch: return "a chunk's length and the count in the message disagree";
    case session::RebuildDefect::kUndecodable: return "the place of the chunks in the message cannot be told";
    case session::RebuildDefect::kPadding: return "the place of the padding cannot be told";
  }
  return "bytes not in the capture";
}

void RenderWithheld(const Scene& scene, proto_tree* home, const RpcRecord& rpc) {
  proto_item* item = nullptr;
  proto_tree* tree = AddSubtree(scene, home, ett.rpc, &item, rpc.call ? "RPC Call not shown" : "RPC Reply not shown");
  AddGenerated(tree, scene, hf.connection, rpc.connection->id);
  if (rpc.transaction) {
    const TransactionRecord& transaction = *rpc.transaction;
    AddGenerated(tree, scene, hf.xid, transaction.xid);
    if (transaction.rpc_known) {
      const char* procedure = rpc::ProcedureName(transaction.program, transaction.version, transaction.procedure);
      AddGenerated(tree, scene, hf.rpc_program, transaction.program);
      AddGenerated(tree, scene, hf.rpc_version, transaction.version);
      proto_item* name = AddGenerated(tree, scene, hf.rpc_procedure, transaction.procedure);
      if (procedure) proto_item_append_text(name, " (%s)", procedure);
    }
    AddFrameLink(tree, scene, hf.call_in, transaction.call_shown_at);
  }
  switch (rpc.withheld) {
    case Withheld::kNothing:
    case Withheld::kSwitchedOff: break;
    case Withheld::kIncomplete:
      expert_add_info_format(scene.pinfo, item, &ei.incomplete, "RPC incomplete: %s", DefectText(rpc.defect));
      break;
    case Withheld::kUndecodable:
      expert_add_info_format(scene.pinfo, item, &ei.undecodable, "RPC not rebuilt: %s", DefectText(rpc.defect));
      break;
    case Withheld::kMemory: expert_add_info(scene.pinfo, item, &ei.over_limit); break;
  }
}

}  // namespace

void SetAddress(address* to, const Address& from) {
  switch (from.kind) {
    case Address::Kind::kIpv4: set_address(to, AT_IPv4, 4, from.bytes.data()); break;
    case Address::Kind::kIpv6: set_address(to, AT_IPv6, 16, from.bytes.data()); break;
    case Address::Kind::kGid: set_address(to, AT_IB, 16, from.bytes.data()); break;
    case Address::Kind::kLid: set_address(to, AT_IB, 2, from.bytes.data()); break;
    case Address::Kind::kNone: clear_address(to); break;
  }
}

void FindRpcDissector() { rpc_dissector = find_dissector("rpc"); }

void RenderRpc(const Scene& scene, proto_tree* home, const RpcRecord& rpc, tvbuff_t* send) {
  if (rpc.withheld != Withheld::kNothing) return RenderWithheld(scene, home, rpc);
  tvbuff_t* message = BytesOf(scene, rpc, send);
  if (!message) return;
  if (!rpc.message || !rpc.inline_bytes) {
    proto_tree* tree =
        proto_tree_add_subtree_format(home, message, 0, -1, ett.rpc, nullptr, "RPC %s reassembled (%u bytes)",
                                      rpc.call ? "Call" : "Reply", rpc.length);
    AddGenerated(tree, scene, hf.connection, rpc.connection->id);
    AddGenerated(tree, scene, hf.rpc_length, rpc.length);
    if (rpc.transaction) {
      AddGenerated(tree, scene, hf.xid, rpc.transaction->xid);
      AddFrameLink(tree, scene, hf.call_in, rpc.transaction->call_shown_at);
    }
  }
  TapRpc(scene.pinfo, rpc, message);
  // The rpc dissector takes a Call of a program that nobody registered for a piece of some earlier message.
  if (!rpc_dissector || (rpc.call && rpc.transaction && !ProgramKnown(*rpc.transaction))) {
    proto_item* data = proto_tree_add_item(home, hf.rpc_data, message, 0, -1, ENC_NA);
    expert_add_info(scene.pinfo, data, &ei.unknown_program);
    return;
  }
  HandOver(scene, rpc, message);
  if (rpc.sent.number != scene.pinfo->num) {
    col_append_fstr(scene.pinfo->cinfo, COL_INFO, " [sent in frame %u]", static_cast<unsigned>(rpc.sent.number));
  }
}

}  // namespace stag::plugin
