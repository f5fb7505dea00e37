// SPDX-License-Identifier: GPL-2.0-or-later
//
// The protocol's fields, subtrees and expert infos (filter prefix "rpcrdma"), filled in by RegisterFields. Names are
// part of the contract with users' display filters: they are added to, never changed.
#pragma once

#include "conformance/engine/finding.h"
#include "plugin/compat.h"
#include "session/rpcrdma/phases.h"

namespace stag::plugin {

struct Fields {
  int connection = -1, fabric = -1, direction = -1, backward = -1, role = -1;
  int source_number = -1, destination_number = -1, number = -1, setup_in = -1;
  int xid = -1, vers = -1, credits = -1, credits_requested = -1, credits_granted = -1, credits_outstanding = -1,
      credits_available = -1, proc = -1;
  int call_form = -1, reply_form = -1, length = -1, header_length = -1, threshold = -1, sent_in = -1, shown_in = -1;
  int invalidated = -1, invalidated_segment = -1, invalidation = -1;
  int rpc_program = -1, rpc_version = -1, rpc_procedure = -1, rpc_operations = -1, rpc_name = -1, chunks = -1;
  int align = -1, thresh = -1, error = -1, error_call = -1, vers_low = -1, vers_high = -1, bad_discriminator = -1;
  int read_segments = -1, write_chunks = -1;
  int read_chunk = -1, read_position = -1, read_length = -1, read_count = -1;
  int write_chunk = -1, write_index = -1, write_count = -1, write_offered = -1, write_returned = -1;
  int reply_chunk = -1, reply_count = -1, reply_offered = -1, reply_returned = -1;
  int segment = -1, segment_position = -1, segment_handle = -1, segment_length = -1, segment_offset = -1,
      segment_offered = -1, segment_moved = -1, segment_requested_in = -1, segment_moved_in = -1,
      segment_invalidated_in = -1;
  int call_in = -1, reply_in = -1, delivered_in = -1, rpc_call_in = -1, time = -1;
  std::array<int, session::kPhases> phases{-1, -1, -1, -1, -1, -1};  // by session::Phase
  int rpc_length = -1, rpc_data = -1;
  int operation = -1, operation_handle = -1, operation_offset = -1, operation_length = -1, operation_chunk = -1,
      operation_position = -1, operation_segment = -1, operation_segment_offset = -1;
  int setup = -1, reject_reason = -1;
  int private_data = -1, identifier = -1, private_version = -1, flags = -1, flag_remote_invalidation = -1,
      flags_reserved = -1, send_size = -1, receive_size = -1, send_bytes = -1, receive_bytes = -1;
  int client_to_server = -1, server_to_client = -1, remote_invalidation = -1;
  int nak = -1, nak_refused = -1, gap = -1;
  int retransmission = -1, retransmission_of = -1, changed = -1, repeated_response = -1, repeated_response_of = -1,
      transport_out_of_order = -1, rnr_timer = -1, rnr_stall = -1, rnr_nak = -1;
  int finding = -1, finding_severity = -1, finding_message = -1, finding_expected = -1, finding_actual = -1,
      finding_certainty = -1, finding_frame = -1, finding_proven_frame = -1, finding_proves = -1, finding_related = -1,
      finding_source = -1, finding_see_also = -1, finding_xid = -1;
};

struct Subtrees {
  int message = -1, lists = -1, chunk = -1, segment = -1, operation = -1, setup = -1, private_data = -1, flags = -1,
      finding = -1, note = -1, rpc = -1;
};

struct Experts {
  expert_field malformed = EI_INIT, unsupported = EI_INIT, truncated = EI_INIT, lost = EI_INIT, gap = EI_INIT,
               nak = EI_INIT, incomplete = EI_INIT, undecodable = EI_INIT, over_limit = EI_INIT, orphan = EI_INIT,
               repeated = EI_INIT, out_of_order = EI_INIT, unknown_program = EI_INIT, no_segment = EI_INIT,
               retransmission = EI_INIT, changed = EI_INIT, repeated_response = EI_INIT, rnr_stall = EI_INIT,
               two_clocks = EI_INIT;
};

inline int protocol = -1;
inline Fields hf;
inline Subtrees ett;
inline Experts ei;

// The values of rpcrdma.* fields as text, for the tables of the statistics.
const char* CallFormText(session::CallForm form);
const char* ReplyFormText(session::ReplyForm form);
const char* NakText(fabric::NakKind nak);

// Registers everything under `protocol`, with one expert info per rule of the conformance catalogue
// ("rpcrdma.rule.<id>", lower case).
void RegisterFields();

// The expert info of a rule of the catalogue at a severity.
expert_field* ExpertOf(const conformance::RuleInfo& rule, conformance::Severity severity);
// Registers the expert infos; a part of RegisterFields.
void RegisterExperts();

}  // namespace stag::plugin
