// SPDX-License-Identifier: GPL-2.0-or-later
//
// The tables behind fields.h. Wireshark keeps pointers into them, so they live as long as the plugin.
#include "plugin/fields.h"

#include <cstdint>
#include <vector>

#include "plugin/records.h"

namespace stag::plugin {
namespace {

template <typename E>
constexpr uint32_t Value(E e) {
  return static_cast<uint32_t>(e);
}

const value_string kProcs[] = {{rpcrdma::kMsg, "RDMA_MSG"},     {rpcrdma::kNomsg, "RDMA_NOMSG"},
                               {rpcrdma::kMsgp, "RDMA_MSGP"},   {rpcrdma::kDone, "RDMA_DONE"},
                               {rpcrdma::kError, "RDMA_ERROR"}, {0, nullptr}};
const value_string kErrors[] = {{rpcrdma::kErrVers, "ERR_VERS"}, {rpcrdma::kErrChunk, "ERR_CHUNK"}, {0, nullptr}};
const value_string kFabrics[] = {{Value(fabric::FabricKind::kInfiniBand), "InfiniBand"},
                                 {Value(fabric::FabricKind::kRoceV1), "RoCEv1"},
                                 {Value(fabric::FabricKind::kRoceV2), "RoCEv2"},
                                 {Value(fabric::FabricKind::kIwarp), "iWARP"},
                                 {0, nullptr}};
const value_string kDirections[] = {{Value(Direction::kUnknown), "unknown"},
                                    {Value(Direction::kClientToServer), "client to server"},
                                    {Value(Direction::kServerToClient), "server to client"},
                                    {0, nullptr}};
const value_string kRoles[] = {{Value(session::Role::kUnknown), "unknown"}, {Value(session::Role::kCall), "Call"},
                               {Value(session::Role::kReply), "Reply"},     {Value(session::Role::kError), "Error"},
                               {Value(session::Role::kDone), "Done"},       {0, nullptr}};
const value_string kCallForms[] = {{Value(session::CallForm::kShort), "Short"},
                                   {Value(session::CallForm::kChunked), "Chunked"},
                                   {Value(session::CallForm::kLong), "Long"},
                                   {Value(session::CallForm::kLongChunked), "Long and Chunked"},
                                   {Value(session::CallForm::kMsgp), "Padded (RDMA_MSGP)"},
                                   {0, nullptr}};
const value_string kReplyForms[] = {{Value(session::ReplyForm::kNone), "none"},
                                    {Value(session::ReplyForm::kShort), "Short"},
                                    {Value(session::ReplyForm::kChunked), "Chunked"},
                                    {Value(session::ReplyForm::kLong), "Long"},
                                    {Value(session::ReplyForm::kLongChunked), "Long and Chunked"},
                                    {Value(session::ReplyForm::kError), "Error"},
                                    {0, nullptr}};
const value_string kOperations[] = {{Value(fabric::EventKind::kWrite), "RDMA Write"},
                                    {Value(fabric::EventKind::kReadRequest), "RDMA Read Request"},
                                    {Value(fabric::EventKind::kReadResponse), "RDMA Read Response"},
                                    {0, nullptr}};
const value_string kSetups[] = {{Value(fabric::SetupMessage::kRequest), "Connection request"},
                                {Value(fabric::SetupMessage::kReply), "Connection reply"},
                                {Value(fabric::SetupMessage::kReady), "Ready to use"},
                                {Value(fabric::SetupMessage::kReject), "Connection rejected"},
                                {Value(fabric::SetupMessage::kDisconnectRequest), "Disconnect request"},
                                {Value(fabric::SetupMessage::kDisconnectReply), "Disconnect reply"},
                                {0, nullptr}};
const value_string kInvalidations[] = {
    {Value(Invalidation::kAllowed), "allowed: a segment of the Call, and both peers support it"},
    {Value(Invalidation::kUnknown), "a segment of the Call; the peers' support was not captured"},
    {Value(Invalidation::kNotAgreed), "not allowed: not both peers support it"},
    {Value(Invalidation::kNotOffered), "not allowed: no segment of the Call has this handle"},
    {Value(Invalidation::kOnCall), "not allowed: the message is not an answer"},
    {Value(Invalidation::kNoCall), "the Call is not known"},
    {0, nullptr}};
const value_string kNaks[] = {{Value(fabric::NakKind::kRnr), "Receiver not ready"},
                              {Value(fabric::NakKind::kSequence), "PSN sequence error"},
                              {Value(fabric::NakKind::kInvalidRequest), "Invalid request"},
                              {Value(fabric::NakKind::kRemoteAccess), "Remote access error"},
                              {Value(fabric::NakKind::kRemoteOperation), "Remote operational error"},
                              {Value(fabric::NakKind::kTerminate), "RDMAP Terminate"},
                              {0, nullptr}};
const value_string kCertainties[] = {{Value(conformance::Certainty::kProven), "proven"},
                                     {Value(conformance::Certainty::kPresumed), "presumed"},
                                     {0, nullptr}};
const value_string kSeverities[] = {{Value(conformance::Severity::kNote), "note"},
                                    {Value(conformance::Severity::kWarning), "warning"},
                                    {Value(conformance::Severity::kError), "error"},
                                    {0, nullptr}};

hf_register_info Field(int* id, const char* name, const char* filter, ftenum type, int display,
                       const void* strings = nullptr, uint64_t mask = 0) {
  return {id, {name, filter, type, display, strings, mask, nullptr, HFILL}};
}

void RegisterHeaderFields(std::vector<hf_register_info>& table) {
  const void* request = FRAMENUM_TYPE(FT_FRAMENUM_REQUEST);
  const void* response = FRAMENUM_TYPE(FT_FRAMENUM_RESPONSE);
  const auto add = [&](auto... arguments) { table.push_back(Field(arguments...)); };
  add(&hf.connection, "Connection", "rpcrdma.connection", FT_UINT32, BASE_DEC);
  add(&hf.fabric, "Fabric", "rpcrdma.fabric", FT_UINT8, BASE_DEC, VALS(kFabrics));
  add(&hf.direction, "Direction", "rpcrdma.direction", FT_UINT8, BASE_DEC, VALS(kDirections));
  add(&hf.backward, "Backward direction (RFC 8167)", "rpcrdma.backward", FT_BOOLEAN, BASE_NONE);
  add(&hf.source_number, "Source QP or port", "rpcrdma.srcport", FT_UINT32, BASE_DEC);
  add(&hf.destination_number, "Destination QP or port", "rpcrdma.dstport", FT_UINT32, BASE_DEC);
  add(&hf.number, "Source or destination QP or port", "rpcrdma.port", FT_UINT32, BASE_DEC);
  add(&hf.setup_in, "Set up in frame", "rpcrdma.setup_in", FT_FRAMENUM, BASE_NONE);
  add(&hf.role, "Role", "rpcrdma.role", FT_UINT8, BASE_DEC, VALS(kRoles));
  add(&hf.xid, "XID", "rpcrdma.xid", FT_UINT32, BASE_HEX);
  add(&hf.vers, "Version", "rpcrdma.vers", FT_UINT32, BASE_DEC);
  add(&hf.credits, "Credits", "rpcrdma.credits", FT_UINT32, BASE_DEC);
  add(&hf.credits_requested, "Credits requested", "rpcrdma.credits.requested", FT_UINT32, BASE_DEC);
  add(&hf.credits_granted, "Credits granted", "rpcrdma.credits.granted", FT_UINT32, BASE_DEC);
  add(&hf.credits_outstanding, "Calls outstanding", "rpcrdma.credits.outstanding", FT_UINT32, BASE_DEC);
  add(&hf.credits_available, "Credits last granted", "rpcrdma.credits.last_granted", FT_UINT32, BASE_DEC);
  add(&hf.proc, "Procedure", "rpcrdma.proc", FT_UINT32, BASE_DEC, VALS(kProcs));
  add(&hf.call_form, "Form of the Call", "rpcrdma.call_form", FT_UINT8, BASE_DEC, VALS(kCallForms));
  add(&hf.reply_form, "Form of the Reply", "rpcrdma.reply_form", FT_UINT8, BASE_DEC, VALS(kReplyForms));
  add(&hf.length, "Message length", "rpcrdma.length", FT_UINT64, BASE_DEC);
  add(&hf.header_length, "Header length", "rpcrdma.header_length", FT_UINT32, BASE_DEC);
  add(&hf.threshold, "Inline threshold in this direction", "rpcrdma.threshold", FT_UINT32, BASE_DEC);
  add(&hf.invalidated, "Invalidated handle", "rpcrdma.invalidated_handle", FT_UINT32, BASE_HEX);
  add(&hf.invalidated_segment, "Invalidated", "rpcrdma.invalidated_segment", FT_STRING, BASE_NONE);
  add(&hf.invalidation, "Remote invalidation", "rpcrdma.invalidation", FT_UINT8, BASE_DEC, VALS(kInvalidations));
  add(&hf.sent_in, "Sent in frame", "rpcrdma.sent_in", FT_FRAMENUM, BASE_NONE);
  add(&hf.shown_in, "Shown in frame", "rpcrdma.shown_in", FT_FRAMENUM, BASE_NONE);
  add(&hf.rpc_program, "RPC program", "rpcrdma.rpc.program", FT_UINT32, BASE_DEC);
  add(&hf.rpc_version, "RPC program version", "rpcrdma.rpc.version", FT_UINT32, BASE_DEC);
  add(&hf.rpc_procedure, "RPC procedure", "rpcrdma.rpc.procedure", FT_UINT32, BASE_DEC);
  add(&hf.rpc_operations, "Operations", "rpcrdma.rpc.operations", FT_STRING, BASE_NONE);
  add(&hf.rpc_name, "RPC", "rpcrdma.rpc.name", FT_STRING, BASE_NONE);
  add(&hf.chunks, "Chunks", "rpcrdma.chunks", FT_STRING, BASE_NONE);
  add(&hf.align, "Alignment", "rpcrdma.align", FT_UINT32, BASE_DEC);
  add(&hf.thresh, "Alignment threshold", "rpcrdma.thresh", FT_UINT32, BASE_DEC);
  add(&hf.error, "Error code", "rpcrdma.error", FT_UINT32, BASE_DEC, VALS(kErrors));
  add(&hf.error_call, "Ends the Call in frame", "rpcrdma.error.call_in", FT_FRAMENUM, BASE_NONE, request);
  add(&hf.vers_low, "Lowest version", "rpcrdma.vers_low", FT_UINT32, BASE_DEC);
  add(&hf.vers_high, "Highest version", "rpcrdma.vers_high", FT_UINT32, BASE_DEC);
  add(&hf.bad_discriminator, "Discriminator", "rpcrdma.bad_discriminator", FT_UINT32, BASE_HEX);
  add(&hf.call_in, "Call in frame", "rpcrdma.call_in", FT_FRAMENUM, BASE_NONE, request);
  add(&hf.reply_in, "Reply in frame", "rpcrdma.reply_in", FT_FRAMENUM, BASE_NONE, response);
  add(&hf.delivered_in, "Reply delivered in frame", "rpcrdma.delivered_in", FT_FRAMENUM, BASE_NONE, response);
  add(&hf.rpc_call_in, "RPC Call reassembled in frame", "rpcrdma.reassembled_in", FT_FRAMENUM, BASE_NONE);
  add(&hf.time, "Time from the Call", "rpcrdma.time", FT_RELATIVE_TIME, BASE_NONE);
  add(&hf.phases[0], "Call to first RDMA Read", "rpcrdma.phase.to_first_read", FT_RELATIVE_TIME, BASE_NONE);
  add(&hf.phases[1], "RDMA Reads", "rpcrdma.phase.pull", FT_RELATIVE_TIME, BASE_NONE);
  add(&hf.phases[2], "Service", "rpcrdma.phase.service", FT_RELATIVE_TIME, BASE_NONE);
  add(&hf.phases[3], "RDMA Writes", "rpcrdma.phase.push", FT_RELATIVE_TIME, BASE_NONE);
  add(&hf.phases[4], "Last RDMA Write to Reply", "rpcrdma.phase.finish", FT_RELATIVE_TIME, BASE_NONE);
  add(&hf.phases[5], "Recovery", "rpcrdma.phase.recovery", FT_RELATIVE_TIME, BASE_NONE);
  add(&hf.rpc_length, "RPC message length", "rpcrdma.rpc.length", FT_UINT32, BASE_DEC);
  add(&hf.rpc_data, "RPC message", "rpcrdma.rpc.data", FT_BYTES, BASE_NONE);
}

void RegisterChunkFields(std::vector<hf_register_info>& table) {
  const auto add = [&](auto... arguments) { table.push_back(Field(arguments...)); };
  add(&hf.read_segments, "Read list segments", "rpcrdma.read_list.segments", FT_UINT32, BASE_DEC);
  add(&hf.read_chunk, "Read chunk", "rpcrdma.read_chunk", FT_NONE, BASE_NONE);
  add(&hf.read_position, "Position", "rpcrdma.read_chunk.position", FT_UINT32, BASE_DEC);
  add(&hf.read_length, "Chunk length", "rpcrdma.read_chunk.length", FT_UINT64, BASE_DEC);
  add(&hf.read_count, "Segments", "rpcrdma.read_chunk.segments", FT_UINT32, BASE_DEC);
  add(&hf.write_chunks, "Write list chunks", "rpcrdma.write_list.chunks", FT_UINT32, BASE_DEC);
  add(&hf.write_chunk, "Write chunk", "rpcrdma.write_chunk", FT_NONE, BASE_NONE);
  add(&hf.write_index, "Index", "rpcrdma.write_chunk.index", FT_UINT32, BASE_DEC);
  add(&hf.write_count, "Segments", "rpcrdma.write_chunk.segments", FT_UINT32, BASE_DEC);
  add(&hf.write_offered, "Offered length", "rpcrdma.write_chunk.offered", FT_UINT64, BASE_DEC);
  add(&hf.write_returned, "Returned length", "rpcrdma.write_chunk.returned", FT_UINT64, BASE_DEC);
  add(&hf.reply_chunk, "Reply chunk", "rpcrdma.reply_chunk", FT_NONE, BASE_NONE);
  add(&hf.reply_count, "Segments", "rpcrdma.reply_chunk.segments", FT_UINT32, BASE_DEC);
  add(&hf.reply_offered, "Offered length", "rpcrdma.reply_chunk.offered", FT_UINT64, BASE_DEC);
  add(&hf.reply_returned, "Returned length", "rpcrdma.reply_chunk.returned", FT_UINT64, BASE_DEC);
  add(&hf.segment, "Segment", "rpcrdma.segment", FT_NONE, BASE_NONE);
  add(&hf.segment_position, "Position", "rpcrdma.segment.position", FT_UINT32, BASE_DEC);
  add(&hf.segment_handle, "Handle", "rpcrdma.segment.handle", FT_UINT32, BASE_HEX);
  add(&hf.segment_length, "Length", "rpcrdma.segment.length", FT_UINT32, BASE_DEC);
  add(&hf.segment_offset, "Offset", "rpcrdma.segment.offset", FT_UINT64, BASE_HEX);
  add(&hf.segment_offered, "Offered length", "rpcrdma.segment.offered", FT_UINT32, BASE_DEC);
  add(&hf.segment_moved, "Bytes moved", "rpcrdma.segment.moved", FT_UINT64, BASE_DEC);
  add(&hf.segment_requested_in, "Requested in frame", "rpcrdma.segment.requested_in", FT_FRAMENUM, BASE_NONE);
  add(&hf.segment_moved_in, "Moved in frame", "rpcrdma.segment.moved_in", FT_FRAMENUM, BASE_NONE);
  add(&hf.segment_invalidated_in, "Invalidated in frame", "rpcrdma.segment.invalidated_in", FT_FRAMENUM, BASE_NONE);
  add(&hf.operation, "RDMA operation", "rpcrdma.rdma", FT_UINT8, BASE_DEC, VALS(kOperations));
  add(&hf.operation_handle, "Handle", "rpcrdma.rdma.handle", FT_UINT32, BASE_HEX);
  add(&hf.operation_offset, "Offset", "rpcrdma.rdma.offset", FT_UINT64, BASE_HEX);
  add(&hf.operation_length, "Length", "rpcrdma.rdma.length", FT_UINT64, BASE_DEC);
  add(&hf.operation_chunk, "Chunk", "rpcrdma.rdma.chunk", FT_STRING, BASE_NONE);
  add(&hf.operation_position, "Position", "rpcrdma.rdma.position", FT_UINT32, BASE_DEC);
  add(&hf.operation_segment, "Segment", "rpcrdma.rdma.segment", FT_UINT32, BASE_DEC);
  add(&hf.operation_segment_offset, "Offset in the segment", "rpcrdma.rdma.segment_offset", FT_UINT64, BASE_DEC);
}

void RegisterConnectionFields(std::vector<hf_register_info>& table) {
  const auto add = [&](auto... arguments) { table.push_back(Field(arguments...)); };
  add(&hf.setup, "Message", "rpcrdma.setup", FT_UINT8, BASE_DEC, VALS(kSetups));
  add(&hf.reject_reason, "Reject reason", "rpcrdma.setup.reject_reason", FT_UINT16, BASE_DEC);
  add(&hf.private_data, "Private data (RFC 8797)", "rpcrdma.private_data", FT_BYTES, BASE_NONE);
  add(&hf.identifier, "Format identifier", "rpcrdma.private_data.identifier", FT_UINT32, BASE_HEX);
  add(&hf.private_version, "Version", "rpcrdma.private_data.version", FT_UINT8, BASE_DEC);
  add(&hf.flags, "Flags", "rpcrdma.private_data.flags", FT_UINT8, BASE_HEX);
  add(&hf.flag_remote_invalidation, "Remote invalidation supported (R)", "rpcrdma.private_data.remote_invalidation",
      FT_BOOLEAN, 8, nullptr, uint64_t{0x01});
  add(&hf.flags_reserved, "Reserved", "rpcrdma.private_data.reserved", FT_UINT8, BASE_HEX, nullptr, uint64_t{0xfe});
  add(&hf.send_size, "Send size", "rpcrdma.private_data.send_size", FT_UINT8, BASE_DEC);
  add(&hf.receive_size, "Receive size", "rpcrdma.private_data.receive_size", FT_UINT8, BASE_DEC);
  add(&hf.send_bytes, "Send size in bytes", "rpcrdma.private_data.send_bytes", FT_UINT32, BASE_DEC);
  add(&hf.receive_bytes, "Receive size in bytes", "rpcrdma.private_data.receive_bytes", FT_UINT32, BASE_DEC);
  add(&hf.client_to_server, "Inline threshold, client to server", "rpcrdma.threshold.client_to_server", FT_UINT32,
      BASE_DEC);
  add(&hf.server_to_client, "Inline threshold, server to client", "rpcrdma.threshold.server_to_client", FT_UINT32,
      BASE_DEC);
  add(&hf.remote_invalidation, "Remote invalidation on this connection", "rpcrdma.remote_invalidation", FT_BOOLEAN,
      BASE_NONE);
  add(&hf.nak, "Refused", "rpcrdma.nak", FT_UINT8, BASE_DEC, VALS(kNaks));
  add(&hf.nak_refused, "Refused frame", "rpcrdma.nak.frame", FT_FRAMENUM, BASE_NONE);
  add(&hf.gap, "Missing from the capture", "rpcrdma.gap", FT_UINT64, BASE_DEC);
  add(&hf.retransmission, "Sent before", "rpcrdma.transport.retransmission", FT_BOOLEAN, BASE_NONE);
  add(&hf.retransmission_of, "Sent before in frame", "rpcrdma.transport.retransmission_of", FT_FRAMENUM, BASE_NONE);
  add(&hf.changed, "With other bytes than before", "rpcrdma.transport.changed", FT_BOOLEAN, BASE_NONE);
  add(&hf.repeated_response, "RDMA Read Response sent before", "rpcrdma.transport.repeated_response", FT_BOOLEAN,
      BASE_NONE);
  add(&hf.repeated_response_of, "RDMA Read Response sent before in frame", "rpcrdma.transport.repeated_response_of",
      FT_FRAMENUM, BASE_NONE);
  add(&hf.transport_out_of_order, "Overtaken by later packets", "rpcrdma.transport.out_of_order", FT_BOOLEAN,
      BASE_NONE);
  add(&hf.rnr_timer, "RNR timer", "rpcrdma.transport.rnr_timer", FT_RELATIVE_TIME, BASE_NONE);
  add(&hf.rnr_stall, "Waited for a receive (RNR)", "rpcrdma.transport.rnr_stall", FT_RELATIVE_TIME, BASE_NONE);
  add(&hf.rnr_nak, "RNR NAK in frame", "rpcrdma.transport.rnr_nak", FT_FRAMENUM, BASE_NONE);
  add(&hf.finding, "Finding", "rpcrdma.finding", FT_STRING, BASE_NONE);
  add(&hf.finding_severity, "Severity", "rpcrdma.finding.severity", FT_UINT8, BASE_DEC, VALS(kSeverities));
  add(&hf.finding_certainty, "Certainty", "rpcrdma.finding.certainty", FT_UINT8, BASE_DEC, VALS(kCertainties));
  add(&hf.finding_frame, "Frame that breaks the rule", "rpcrdma.finding.frame", FT_FRAMENUM, BASE_NONE);
  add(&hf.finding_proven_frame, "Frame that proves it", "rpcrdma.finding.proven_frame", FT_FRAMENUM, BASE_NONE);
  add(&hf.finding_proves, "Proves a finding in frame", "rpcrdma.finding.proves", FT_FRAMENUM, BASE_NONE);
  add(&hf.finding_message, "Message", "rpcrdma.finding.message", FT_STRING, BASE_NONE);
  add(&hf.finding_expected, "Expected", "rpcrdma.finding.expected", FT_STRING, BASE_NONE);
  add(&hf.finding_actual, "Actual", "rpcrdma.finding.actual", FT_STRING, BASE_NONE);
  add(&hf.finding_xid, "XID", "rpcrdma.finding.xid", FT_UINT32, BASE_HEX);
  add(&hf.finding_related, "Related frame", "rpcrdma.finding.related", FT_FRAMENUM, BASE_NONE);
  add(&hf.finding_source, "Specification", "rpcrdma.finding.source", FT_STRING, BASE_NONE);
  add(&hf.finding_see_also, "See also", "rpcrdma.finding.see_also", FT_STRING, BASE_NONE);
}

}  // namespace

const char* CallFormText(session::CallForm form) { return val_to_str_const(Value(form), kCallForms, "unknown"); }
const char* ReplyFormText(session::ReplyForm form) { return val_to_str_const(Value(form), kReplyForms, "unknown"); }

const char* NakText(fabric::NakKind nak) { return val_to_str_const(Value(nak), kNaks, "unknown"); }

void RegisterFields() {
  static std::vector<hf_register_info> table;
  RegisterHeaderFields(table);
  RegisterChunkFields(table);
  RegisterConnectionFields(table);
  static int* const subtrees[] = {&ett.message,      &ett.lists, &ett.chunk,   &ett.segment, &ett.operation, &ett.setup,
                                  &ett.private_data, &ett.flags, &ett.finding, &ett.note,    &ett.rpc};
  proto_register_field_array(protocol, table.data(), static_cast<int>(table.size()));
  proto_register_subtree_array(subtrees, static_cast<int>(std::size(subtrees)));
  RegisterExperts();
}

}  // namespace stag::plugin
