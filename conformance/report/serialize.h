// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a reporter gets, serialized (protocol/base/serialize.h).
#pragma once

#include "conformance/report/ladder.h"
#include "conformance/report/reporter.h"
#include "protocol/base/serialize.h"

namespace stag {

// Rules go by their ids.
template <typename Archive>
void Serialize(Archive& archive, std::string_view& v) {
  std::string id(v);
  archive.Text(id);
  const conformance::RuleInfo* const rule = conformance::FindRule(id);
  v = rule ? rule->id : std::string_view{};
}
template <typename Archive>
void Serialize(Archive& archive, const conformance::RuleInfo*& v) {
  std::string_view id = v ? v->id : std::string_view{};
  Serialize(archive, id);
  v = conformance::FindRule(id);
}

STAG_MEMBERS(FrameRef, number, time_ns, timed, clock, moved)
STAG_MEMBERS(Address, kind, bytes)
STAG_MEMBERS(Endpoint, address, number)
STAG_MEMBERS(conformance::Procedure, program, version, procedure)
STAG_MEMBERS(conformance::Finding, rule, profile, severity, certainty, frame, proven, connection, client_to_server, xid,
             call_number, start_ns, procedure, message, expected, actual, unseen, related_frames, see_also, once_for,
             known)
STAG_MEMBERS(conformance::RuleTally, rule, counts)
STAG_MEMBERS(session::Judged, rpcs, cut, missing, one_direction, sampled, foreign, dropped)
STAG_MEMBERS(conformance::Summary, files, not_judged, frames, connections, transactions, gaps, truncated_frames, judged,
             first_time_ns, rules)
STAG_MEMBERS(conformance::DiagramEvent, serial, kind, client_to_server, frame, first_frame, now, length, last, xid,
             backward, role, words, proc, version, credit, error, read_segments, write_chunks, read_bytes, write_bytes,
             reply_bytes, reply_chunk, cut, invalidated, procedure, operations, operation_count, handle, offset,
             in_segment, overrun, retired, list, chunk, segment_offset, anomaly, setup, nak, terminate, reject_reason,
             close_reason, private_data)
STAG_MEMBERS(conformance::DiagramRow, event, mark, folded, folded_bytes, folded_from)
STAG_MEMBERS(rpcrdma::PrivateData, version, flags, send_size, receive_size)
STAG_MEMBERS(rpcrdma::PrivateDataSearch, found, offset, data)
STAG_MEMBERS(session::SetupData, seen, truncated, frame, bytes, fixed_size, search, reads_served, reads_issued)
STAG_MEMBERS(session::MinMaxLast, any, min, max, last)
// Without what only a running session needs.
template <typename Fn>
void Members(session::CreditState& v, Fn fn) {
  auto& [requested, granted, outstanding, max_outstanding, known, replied, window, received, request_limit] = v;
  fn(requested, granted, outstanding, max_outstanding, known, replied, request_limit);
}
STAG_MEMBERS(session::SideCounters, messages, send_bytes, write_operations, write_bytes, read_operations, read_bytes,
             naks, gaps, send_with_invalidate)
// Without the slot and the acknowledgements, which mean something only where its Session runs.
template <typename Fn>
void Members(fabric::ConnectionInfo& v, Fn fn) {
  auto& [id, slot, fabric, endpoint, roles_known, of_slice, service_port, service_id, ack_timeout_ns, rdma_hidden,
         acknowledged_in, acknowledged_right_before, sends_received] = v;
  fn(id, fabric, endpoint, roles_known, of_slice, service_port, service_id, ack_timeout_ns, rdma_hidden);
}
STAG_MEMBERS(session::Coverage, gaps, unclear, gap_in, last, before_gap, heard, sampled)
template <typename Fn>
void Members(session::Connection& v, Fn fn) {
  auto& [info, proof, first_frame, last_frame, now, setup_seen, packets, rejected, opened, closed, close_reason,
         close_frame, reject_reason, lossy, disturbed, setup, client_known, client, coverage, spurious, troubled_since,
         credits, counters, foreign, calls, replies, errors, backward_calls, replies_without_call, truncated_messages,
         unclear_messages, evicted_transactions, other_messages] = v;
  fn(info, proof, first_frame, last_frame, now, setup_seen, packets, rejected, opened, closed, close_reason,
     close_frame, reject_reason, lossy, disturbed, setup, client_known, client, coverage, spurious, credits, counters,
     foreign, calls, replies, errors, backward_calls, replies_without_call, truncated_messages, unclear_messages,
     evicted_transactions, other_messages);
}

}  // namespace stag
