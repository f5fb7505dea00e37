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

template <typename Fn>
void Members(FrameRef& v, Fn fn) {
  auto& [number, time_ns, timed, clock, moved] = v;
  fn(number, time_ns, timed, clock, moved);
}
template <typename Fn>
void Members(Address& v, Fn fn) {
  auto& [kind, bytes] = v;
  fn(kind, bytes);
}
template <typename Fn>
void Members(Endpoint& v, Fn fn) {
  auto& [address, number] = v;
  fn(address, number);
}
template <typename Fn>
void Members(conformance::Procedure& v, Fn fn) {
  auto& [program, version, procedure] = v;
  fn(program, version, procedure);
}
template <typename Fn>
void Members(conformance::Finding& v, Fn fn) {
  auto& [rule, profile, severity, certainty, frame, proven, connection, client_to_server, xid, call_number, start_ns,
         procedure, message, expected, actual, unseen, related_frames, see_also, once_for] = v;
  fn(rule, profile, severity, certainty, frame, proven, connection, client_to_server, xid, call_number, start_ns,
     procedure, message, expected, actual, unseen, related_frames, see_also, once_for);
}
template <typename Fn>
void Members(conformance::RuleTally& v, Fn fn) {
  auto& [rule, counts] = v;
  fn(rule, counts);
}
template <typename Fn>
void Members(session::Judged& v, Fn fn) {
  auto& [rpcs, cut, missing, one_direction, sampled, foreign, dropped] = v;
  fn(rpcs, cut, missing, one_direction, sampled, foreign, dropped);
}
template <typename Fn>
void Members(conformance::Summary& v, Fn fn) {
  auto& [files, not_judged, frames, connections, transactions, gaps, truncated_frames, judged, first_time_ns, rules] =
      v;
  fn(files, not_judged, frames, connections, transactions, gaps, truncated_frames, judged, first_time_ns, rules);
}
template <typename Fn>
void Members(conformance::DiagramEvent& v, Fn fn) {
  auto& [serial, kind, client_to_server, frame, first_frame, now, length, last, xid, backward, role, words, proc,
         version, credit, error, read_segments, write_chunks, read_bytes, write_bytes, reply_bytes, reply_chunk, cut,
         invalidated, procedure, operations, operation_count, handle, offset, in_segment, overrun, retired, list, chunk,
         segment_offset, anomaly, setup, nak, terminate, reject_reason, close_reason, private_data] = v;
  fn(serial, kind, client_to_server, frame, first_frame, now, length, last, xid, backward, role, words, proc, version,
     credit, error, read_segments, write_chunks, read_bytes, write_bytes, reply_bytes, reply_chunk, cut, invalidated,
     procedure, operations, operation_count, handle, offset, in_segment, overrun, retired, list, chunk, segment_offset,
     anomaly, setup, nak, terminate, reject_reason, close_reason, private_data);
}
template <typename Fn>
void Members(conformance::DiagramRow& v, Fn fn) {
  auto& [event, mark, folded, folded_bytes, folded_from] = v;
  fn(event, mark, folded, folded_bytes, folded_from);
}
template <typename Fn>
void Members(rpcrdma::PrivateData& v, Fn fn) {
  auto& [version, flags, send_size, receive_size] = v;
  fn(version, flags, send_size, receive_size);
}
template <typename Fn>
void Members(rpcrdma::PrivateDataSearch& v, Fn fn) {
  auto& [found, offset, data] = v;
  fn(found, offset, data);
}
template <typename Fn>
void Members(session::SetupData& v, Fn fn) {
  auto& [seen, truncated, frame, bytes, fixed_size, search, reads_served, reads_issued] = v;
  fn(seen, truncated, frame, bytes, fixed_size, search, reads_served, reads_issued);
}
template <typename Fn>
void Members(session::MinMaxLast& v, Fn fn) {
  auto& [any, min, max, last] = v;
  fn(any, min, max, last);
}
// Without what only a running session needs.
template <typename Fn>
void Members(session::CreditState& v, Fn fn) {
  auto& [requested, granted, outstanding, max_outstanding, known, replied, window, received, request_limit] = v;
  fn(requested, granted, outstanding, max_outstanding, known, replied, request_limit);
}
template <typename Fn>
void Members(session::SideCounters& v, Fn fn) {
  auto& [messages, send_bytes, write_operations, write_bytes, read_operations, read_bytes, naks, gaps,
         send_with_invalidate] = v;
  fn(messages, send_bytes, write_operations, write_bytes, read_operations, read_bytes, naks, gaps,
     send_with_invalidate);
}
// Without the slot and the acknowledgements, which mean something only where its Session runs.
template <typename Fn>
void Members(fabric::ConnectionInfo& v, Fn fn) {
  auto& [id, slot, fabric, endpoint, roles_known, of_slice, service_port, service_id, rdma_hidden, acknowledged_in,
         acknowledged_right_before, sends_received] = v;
  fn(id, fabric, endpoint, roles_known, of_slice, service_port, service_id, rdma_hidden);
}
template <typename Fn>
void Members(session::Coverage& v, Fn fn) {
  auto& [gaps, unclear, gap_in, last, before_gap, heard, sampled] = v;
  fn(gaps, unclear, gap_in, last, before_gap, heard, sampled);
}
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
