// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/diagram_event.h"

#include <algorithm>

#include "conformance/engine/text.h"
#include "conformance/report/procedure.h"
#include "protocol/nfs/walk.h"
#include "session/fabric/names.h"
#include "text/put.h"

namespace stag::conformance {

namespace {

using fabric::Event;
using fabric::EventKind;
using session::Connection;
using session::Role;
using Kind = DiagramEvent::Kind;

DiagramEvent Begin(const Connection& connection, Kind kind, session::Side from, FrameRef frame, FrameRef first_frame) {
  DiagramEvent entry;
  entry.kind = kind;
  entry.client_to_server = connection.IsClientToServer(from);
  entry.frame = frame;
  entry.first_frame = first_frame.number ? first_frame.number : frame.number;
  entry.now = connection.now.number;
  return entry;
}

std::string PrivateDataText(const session::SetupData& setup) {
  if (!setup.has_data()) return setup.meaningful().empty() ? "" : Text("private data: ", setup.kind());
  return Text("sends up to ", ByteCount(setup.send_bytes()), ", receives up to ", ByteCount(setup.receive_bytes()),
              setup.remote_invalidation() ? ", remote invalidation" : "");
}

void TakeLists(DiagramEvent& entry, const rpcrdma::Header& header) {
  entry.read_segments = static_cast<uint32_t>(header.reads.size());
  for (const rpcrdma::ReadSegment& read : header.reads) entry.read_bytes += read.target.length;
  entry.write_chunks = static_cast<uint32_t>(header.write_chunks.size());
  for (const rpcrdma::Chunk& chunk : header.write_chunks)
    for (const rpcrdma::Segment& segment : header.Of(chunk)) entry.write_bytes += segment.length;
  entry.reply_chunk = header.reply_chunk.has_value();
  if (entry.reply_chunk)
    for (const rpcrdma::Segment& segment : header.Of(*header.reply_chunk)) entry.reply_bytes += segment.length;
}

constexpr std::string_view kSetupNames[] = {  // by fabric::SetupMessage
    "Connection request",  "Connection reply",   "Ready to use",
    "Connection rejected", "Disconnect request", "Disconnect reply"};

std::string NakName(const DiagramEvent& entry) {
  const std::string_view name = fabric::NakName(entry.nak);
  if (entry.nak != fabric::NakKind::kTerminate) return std::string(name);
  return Text(name, ": layer ", entry.terminate[0], ", type ", entry.terminate[1], ", code ", entry.terminate[2]);
}

std::string SendName(const DiagramEvent& entry) {
  switch (entry.role) {
    case Role::kCall: return entry.backward.value_or(false) ? "Backward Call" : "Call";
    case Role::kReply: return entry.backward.value_or(false) ? "Backward Reply" : "Reply";
    case Role::kError: return Text("RDMA_ERROR ", rpcrdma::ErrorName(entry.error));
    case Role::kDone: return "RDMA_DONE";
    case Role::kUnknown: return "Send";
  }
  return "";
}

std::string OperationList(const DiagramEvent& entry) {
  std::string out;
  const bool callback = entry.procedure && nfs::IsCallbackProgram(entry.procedure->program);
  for (size_t i = 0; i < std::min<size_t>(entry.operation_count, entry.operations.size()); ++i) {
    const uint32_t op = entry.operations[i];
    const char* name = callback ? nfs::CallbackOperationName(op) : nfs::OperationName(op);
    out.append(out.empty() ? "" : " ").append(name ? std::string(name) : Text("OP_", op));
  }
  return entry.operation_count > entry.operations.size() ? out + " ..." : out;
}

std::string SendDetail(const DiagramEvent& entry) {
  std::string out = entry.xid ? Text("xid ", Hex{*entry.xid}, ", ") : "";
  if (entry.words >= 4 && entry.role != Role::kError && entry.role != Role::kDone)
    out.append(Text(rpcrdma::ProcName(entry.proc), ", "));
  if (entry.words >= 2 && entry.version != rpcrdma::kVersion1) out.append(Text("version ", entry.version, ", "));
  out.append(ByteCount(entry.length));
  if (entry.cut) out.append(" (not all captured)");
  if (entry.words >= 3) out.append(Text(", credits ", entry.credit));
  if (entry.read_segments > 0)
    out.append(Text(", Read list: ", Count(entry.read_segments, "segment"), " of ", ByteCount(entry.read_bytes)));
  if (entry.write_chunks > 0)
    out.append(Text(", Write list: ", Count(entry.write_chunks, "chunk"), " of ", ByteCount(entry.write_bytes)));
  if (entry.reply_chunk) out.append(Text(", Reply chunk of ", ByteCount(entry.reply_bytes)));
  if (entry.invalidated) out.append(Text(", invalidates ", Hex{*entry.invalidated}));
  if (entry.operation_count > 0) out.append(Text(", ", OperationList(entry)));
  return out;
}

std::string RdmaDetail(const DiagramEvent& entry) {
  std::string out = Text("handle ", Hex{entry.handle});
  if (entry.in_segment) {
    const std::string place = entry.list == session::ListKind::kReadList    ? "the Read list"
                              : entry.list == session::ListKind::kWriteList ? Text("Write chunk ", entry.chunk + 1)
                                                                            : "the Reply chunk";
    out.append(Text(", byte ", Grouped(entry.segment_offset), " of a segment of ", place));
  } else {
    out.append(Text(", offset ", Hex{entry.offset}, ", memory that no outstanding Call advertises"));
  }
  if (entry.xid) out.append(Text(", xid ", Hex{*entry.xid}));
  if (entry.retired) out.append(", already answered");
  if (entry.overrun) out.append(", past the end of the segment");
  return out;
}

}  // namespace

DiagramEvent MakeSetupEvent(const Connection& connection, const Event& event) {
  DiagramEvent entry = Begin(connection, Kind::kSetup, event.from, event.frame, event.first_frame);
  entry.setup = event.setup().message;
  entry.reject_reason = event.setup().reject_reason;
  if (entry.setup == fabric::SetupMessage::kRequest || entry.setup == fabric::SetupMessage::kReply)
    entry.private_data = PrivateDataText(connection.setup[event.from]);
  return entry;
}

DiagramEvent MakeSendEvent(const Connection& connection, const session::Message& message,
                           const session::Transaction* transaction) {
  DiagramEvent entry = Begin(connection, Kind::kSend, message.from, message.frame, message.first_frame);
  const rpcrdma::Header& header = message.header;
  entry.length = message.length;
  entry.cut = message.missing != fabric::Missing::kNothing;
  entry.role = message.role;
  entry.words = header.words;
  entry.proc = header.proc;
  entry.version = header.vers;
  entry.credit = header.credit;
  entry.error = header.err;
  entry.invalidated = message.invalidated;
  if (header.words > 0) entry.xid = header.xid;
  if (transaction) {
    entry.backward = transaction->backward;
  } else if (message.role == Role::kCall || message.role == Role::kDone) {
    entry.backward = !entry.client_to_server;
  }
  if (header.has_lists()) TakeLists(entry, header);
  const rpc::CallHeader& call = transaction ? transaction->call.rpc : message.call;
  if (call.words >= 6 && call.msg_type == rpc::kCall)
    entry.procedure = Procedure{call.program, call.version, call.procedure};
  return entry;
}

void TakeOperations(DiagramEvent& entry, const session::Transaction& transaction) {
  entry.operation_count = static_cast<uint32_t>(transaction.operations.size());
  for (size_t i = 0; i < std::min<size_t>(entry.operation_count, entry.operations.size()); ++i)
    entry.operations[i] = transaction.operations[i].op;
  const rpc::CallHeader& call = transaction.call.rpc;
  if (call.words >= 6 && call.msg_type == rpc::kCall)
    entry.procedure = Procedure{call.program, call.version, call.procedure};
}

DiagramEvent MakeRdmaEvent(const Connection& connection, const session::RdmaOperation& operation) {
  const Event& event = *operation.event;
  const Kind kind = event.kind() == EventKind::kWrite         ? Kind::kWrite
                    : event.kind() == EventKind::kReadRequest ? Kind::kReadRequest
                                                              : Kind::kReadResponse;
  DiagramEvent entry = Begin(connection, kind, event.from, event.frame, event.first_frame);
  const fabric::RdmaPacket& packet = event.rdma();
  entry.length = packet.length;
  entry.last = packet.last || kind == Kind::kReadRequest;
  entry.handle = packet.handle;
  entry.offset = packet.offset;
  entry.overrun = operation.overrun;
  entry.retired = operation.retired;
  if (operation.transaction) {
    entry.xid = operation.transaction->xid;
    entry.backward = operation.transaction->backward;
  }
  if (operation.segment) {
    entry.in_segment = true;
    entry.list = operation.segment->list;
    entry.chunk = operation.segment->chunk;
    entry.segment_offset = operation.segment_offset;
  }
  return entry;
}

DiagramEvent MakeOtherEvent(const Connection& connection, const Event& event) {
  const Kind kind = event.kind() == EventKind::kNak       ? Kind::kNak
                    : event.kind() == EventKind::kGap     ? Kind::kGap
                    : event.kind() == EventKind::kAnomaly ? Kind::kAnomaly
                                                          : Kind::kClosed;
  DiagramEvent entry = Begin(connection, kind, event.from, event.frame, event.first_frame);
  if (kind == Kind::kNak) {
    const fabric::Nak& nak = event.nak();
    entry.nak = nak.kind;
    entry.terminate = {nak.terminate_layer, nak.terminate_type, nak.terminate_code};
  } else if (kind == Kind::kGap) {
    entry.length = event.gap().size;
  } else if (kind == Kind::kAnomaly) {
    entry.anomaly = event.anomaly().kind;
  } else {
    entry.close_reason = event.closed().reason;
  }
  return entry;
}

std::string EventTitle(const DiagramEvent& entry) {
  switch (entry.kind) {
    case Kind::kSetup: return std::string(kSetupNames[static_cast<size_t>(entry.setup)]);
    case Kind::kSend: {
      const bool named = entry.procedure && (entry.role == Role::kCall || entry.role == Role::kReply);
      return named ? Text(SendName(entry), " ", ProcedureText(*entry.procedure)) : SendName(entry);
    }
    case Kind::kWrite: return Text("RDMA Write, ", ByteCount(entry.length));
    case Kind::kReadRequest: return Text("RDMA Read request, ", ByteCount(entry.length));
    case Kind::kReadResponse: return Text("RDMA Read response, ", ByteCount(entry.length));
    case Kind::kNak: return NakName(entry);
    case Kind::kGap: return "The capture lost packets here";
    case Kind::kAnomaly: return std::string(fabric::AnomalyName(entry.anomaly));
    case Kind::kClosed:
      if (entry.close_reason == fabric::CloseReason::kEndOfCapture) return "The capture ends here";
      return Text("End of the connection: ", fabric::CloseName(entry.close_reason));
  }
  return "";
}

std::string EventDetail(const DiagramEvent& entry) {
  switch (entry.kind) {
    case Kind::kSend: return SendDetail(entry);
    case Kind::kWrite:
    case Kind::kReadRequest:
    case Kind::kReadResponse: return RdmaDetail(entry);
    case Kind::kSetup:
      return entry.setup == fabric::SetupMessage::kReject ? Text("reason ", entry.reject_reason) : entry.private_data;
    case Kind::kNak:
    case Kind::kGap:
    case Kind::kAnomaly:
    case Kind::kClosed: return "";
  }
  return "";
}

}  // namespace stag::conformance
