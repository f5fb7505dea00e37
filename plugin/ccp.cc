// SPDX-License-Identifier: GPL-2.0-or-later
//
// The Connection Configuration Protocol of RFC 5666 section 6.2 (draft-08: program 100400; published: 100417), as an
// RPC program of Wireshark's.
#include "plugin/ccp.h"

#include <epan/dissectors/packet-rpc.h>

#include "plugin/compat.h"
#include "protocol/rpcrdma/header.h"

namespace stag::plugin {
namespace {

int ccp_protocol = -1, ccp_tree = -1;
int hf_procedure = -1, hf_call_size = -1, hf_reply_size = -1, hf_reads = -1, hf_align = -1;

// One word of the arguments or results. What the capture or the message does not have, Wireshark reports.
int AddWord(proto_tree* tree, tvbuff_t* tvb, int field, int offset) {
  proto_tree_add_item(tree, field, tvb, offset, 4, ENC_BIG_ENDIAN);
  return offset + 4;
}

int Arguments(tvbuff_t* tvb, packet_info*, proto_tree* tree, void*) {
  return AddWord(tree, tvb, hf_reads, AddWord(tree, tvb, hf_reply_size, AddWord(tree, tvb, hf_call_size, 0)));
}

int Results(tvbuff_t* tvb, packet_info*, proto_tree* tree, void*) {
  return AddWord(tree, tvb, hf_reads, AddWord(tree, tvb, hf_align, AddWord(tree, tvb, hf_call_size, 0)));
}

const vsff procedures[] = {{0, "NULL", dissect_rpc_void, dissect_rpc_void},
                           {rpcrdma::kCcpConfRdma, "CONF_RDMA", Arguments, Results},
                           {0, nullptr, nullptr, nullptr}};
const value_string procedure_names[] = {{0, "NULL"}, {rpcrdma::kCcpConfRdma, "CONF_RDMA"}, {0, nullptr}};
rpc_prog_vers_info versions[] = {{1, procedures, &hf_procedure}};

}  // namespace

void RegisterCcp() {
  ccp_protocol = proto_register_protocol("RPC-over-RDMA Connection Configuration", "RPC-over-RDMA CCP", "rpcrdma_ccp");
  static hf_register_info fields[] = {
      {&hf_procedure,
       {"Procedure", "rpcrdma_ccp.procedure", FT_UINT32, BASE_DEC, VALS(procedure_names), 0, nullptr, HFILL}},
      {&hf_call_size,
       {"Largest inline Call (bytes)", "rpcrdma_ccp.maxcall_sendsize", FT_UINT32, BASE_DEC, nullptr, 0, nullptr,
        HFILL}},
      {&hf_reply_size,
       {"Largest inline Reply (bytes)", "rpcrdma_ccp.maxreply_sendsize", FT_UINT32, BASE_DEC, nullptr, 0, nullptr,
        HFILL}},
      {&hf_align,
       {"Alignment of padded messages (bytes)", "rpcrdma_ccp.align", FT_UINT32, BASE_DEC, nullptr, 0, nullptr, HFILL}},
      {&hf_reads,
       {"RDMA Reads outstanding, at most", "rpcrdma_ccp.maxrdmaread", FT_UINT32, BASE_DEC, nullptr, 0, nullptr,
        HFILL}}};
  static int* const trees[] = {&ccp_tree};
  proto_register_field_array(ccp_protocol, fields, static_cast<int>(std::size(fields)));
  proto_register_subtree_array(trees, 1);
}

void HandOffCcp() {
  for (const uint32_t program : {rpcrdma::kCcpProgramDraft, rpcrdma::kCcpProgramRfc5666}) {
    rpc_init_prog(ccp_protocol, program, ccp_tree, std::size(versions), versions);
  }
}

}  // namespace stag::plugin
