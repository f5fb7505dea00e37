// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/arrow.h"

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
using Kind = Arrow::Kind;

Arrow Begin(const Connection& connection, Kind kind, session::Side from, FrameRef frame, FrameRef first_frame) {
  Arrow arrow;
  arrow.kind = kind;
  arrow.client_to_server = connection.IsClientToServer(from);
  arrow.frame = frame;
  arrow.first_frame = first_frame.number ? first_frame.number : frame.number;
  arrow.now = connection.now.number;
  return arrow;
}

std::string PrivateDataText(const session::SetupData& setup) {
  if (!setup.has_data()) return setup.meaningful().empty() ? "" : Text("private data: ", setup.kind());
  return Text("sends up to ", ByteCount(setup.send_bytes()), ", receives up to ", ByteCount(setup.receive_bytes()),
              setup.remote_invalidation() ? ", remote invalidation" : "");
}

void TakeLists(Arrow& arrow, const rpcrdma::Header& header) {
  arrow.read_segments = static_cast<uint32_t>(header.reads.size());
  for (const rpcrdma::ReadSegment& read : header.reads) arrow.read_bytes += read.target.length;
  arrow.write_chunks = static_cast<uint32_t>(header.write_chunks.size());
  for (const rpcrdma::Chunk& chunk : header.write_chunks)
    for (const rpcrdma::Segment& segment : header.Of(chunk)) arrow.write_bytes += segment.length;
  arrow.reply_chunk = header.reply_chunk.has_value();
  if (arrow.reply_chunk)
    for (const rpcrdma::Segment& segment : header.Of(*header.reply_chunk)) arrow.reply_bytes += segment.length;
}

std::string_view SetupName(fabric::SetupMessage setup) {
  using fabric::SetupMessage;
  switch (setup) {
    case SetupMessage::kRequest: return "Connection request";
    case SetupMessage::kReply: return "Connection reply";
    case SetupMessage::kReady: return "Ready to use";
    case SetupMessage::kReject: return "Connection rejected";
    case SetupMessage::kDisconnectRequest: return "Disconnect request";
    case SetupMessage::kDisconnectReply: return "Disconnect reply";
  }
  return "";
}

std::string NakName(const Arrow& arrow) {
  const std::string_view name = fabric::NakName(arrow.nak);
  if (arrow.nak != fabric::NakKind::kTerminate) return std::string(name);
  return Text(name, ": layer ", arrow.terminate[0], ", type ", arrow.terminate[1], ", code ", arrow.terminate[2]);
}

std::string SendName(const Arrow& arrow) {
  switch (arrow.role) {
    case Role::kCall: return arrow.backward.value_or(false) ? "Backward Call" : "Call";
    case Role::kReply: return arrow.backward.value_or(false) ? "Backward Reply" : "Reply";
    case Role::kError: return Text("RDMA_ERROR ", rpcrdma::ErrorName(arrow.error));
    case Role::kDone: return "RDMA_DONE";
    case Role::kUnknown: return "Send";
  }
  return "";
}

std::string OperationList(const Arrow& arrow) {
  std::string out;
  const bool callback = arrow.procedure && nfs::IsCallbackProgram(arrow.procedure->program);
  for (size_t i = 0; i < std::min<size_t>(arrow.operation_count, arrow.operations.size()); ++i) {
    const uint32_t op = arrow.operations[i];
    const char* name = callback ? nfs::CallbackOperationName(op) : nfs::OperationName(op);
    out.append(out.empty() ? "" : " ").append(name ? std::string(name) : Text("OP_", op));
  }
  return arrow.operation_count > arrow.operations.size() ? out + " ..." : out;
}

std::string SendDetail(const Arrow& arrow) {
  std::string out = arrow.xid ? Text("xid ", Hex{*arrow.xid}, ", ") : "";
  if (arrow.words >= 4 && arrow.role != Role::kError && arrow.role != Role::kDone)
    out.append(Text(rpcrdma::ProcName(arrow.proc), ", "));
  if (arrow.words >= 2 && arrow.version != rpcrdma::kVersion1) out.append(Text("version ", arrow.version, ", "));
  out.append(ByteCount(arrow.length));
  if (arrow.cut) out.append(" (not all captured)");
  if (arrow.words >= 3) out.append(Text(", credits ", arrow.credit));
  if (arrow.read_segments > 0)
    out.append(Text(", Read list: ", Count(arrow.read_segments, "segment"), " of ", ByteCount(arrow.read_bytes)));
  if (arrow.write_chunks > 0)
    out.append(Text(", Write list: ", Count(arrow.write_chunks, "chunk"), " of ", ByteCount(arrow.write_bytes)));
  if (arrow.reply_chunk) out.append(Text(", Reply chunk of ", ByteCount(arrow.reply_bytes)));
  if (arrow.invalidated) out.append(Text(", invalidates ", Hex{*arrow.invalidated}));
  if (arrow.operation_count > 0) out.append(Text(", ", OperationList(arrow)));
  return out;
}

std::string RdmaDetail(const Arrow& arrow) {
  std::string out = Text("handle ", Hex{arrow.handle});
  if (arrow.in_segment) {
    const std::string place = arrow.list == session::ListKind::kReadList    ? "the Read list"
                              : arrow.list == session::ListKind::kWriteList ? Text("Write chunk ", arrow.chunk + 1)
                                                                            : "the Reply chunk";
    out.append(Text(", byte ", Grouped(arrow.segment_offset), " of a segment of ", place));
  } else {
    out.append(Text(", offset ", Hex{arrow.offset}, ", memory that no outstanding Call advertises"));
  }
  if (arrow.xid) out.append(Text(", xid ", Hex{*arrow.xid}));
  if (arrow.retired) out.append(", already answered");
  if (arrow.overrun) out.append(", past the end of the segment");
  return out;
}

}  // namespace

Arrow MakeSetupArrow(const Connection& connection, const Event& event) {
  Arrow arrow = Begin(connection, Kind::kSetup, event.from, event.frame, event.first_frame);
  arrow.setup = event.setup().message;
  arrow.reject_reason = event.setup().reject_reason;
  if (arrow.setup == fabric::SetupMessage::kRequest || arrow.setup == fabric::SetupMessage::kReply)
    arrow.private_data = PrivateDataText(connection.setup[event.from]);
  return arrow;
}

Arrow MakeSendArrow(const Connection& connection, const session::Message& message,
                    const session::Transaction* transaction) {
  Arrow arrow = Begin(connection, Kind::kSend, message.from, message.frame, message.first_frame);
  const rpcrdma::Header& header = message.header;
  arrow.length = message.length;
  arrow.cut = message.missing != fabric::Missing::kNothing;
  arrow.role = message.role;
  arrow.words = header.words;
  arrow.proc = header.proc;
  arrow.version = header.vers;
  arrow.credit = header.credit;
  arrow.error = header.err;
  arrow.invalidated = message.invalidated;
  if (header.words > 0) arrow.xid = header.xid;
  if (transaction) {
    arrow.backward = transaction->backward;
  } else if (message.role == Role::kCall || message.role == Role::kDone) {
    arrow.backward = !arrow.client_to_server;
  }
  if (header.has_lists()) TakeLists(arrow, header);
  const rpc::CallHeader& call = transaction ? transaction->call.rpc : message.call;
  if (call.words >= 6 && call.msg_type == rpc::kCall)
    arrow.procedure = Procedure{call.program, call.version, call.procedure};
  return arrow;
}

void TakeOperations(Arrow& arrow, const session::Transaction& transaction) {
  arrow.operation_count = static_cast<uint32_t>(transaction.operations.size());
  for (size_t i = 0; i < std::min<size_t>(arrow.operation_count, arrow.operations.size()); ++i)
    arrow.operations[i] = transaction.operations[i].op;
  const rpc::CallHeader& call = transaction.call.rpc;
  if (call.words >= 6 && call.msg_type == rpc::kCall)
    arrow.procedure = Procedure{call.program, call.version, call.procedure};
}

Arrow MakeRdmaArrow(const Connection& connection, const session::RdmaOperation& operation) {
  const Event& event = *operation.event;
  const Kind kind = event.kind() == EventKind::kWrite         ? Kind::kWrite
                    : event.kind() == EventKind::kReadRequest ? Kind::kReadRequest
                                                              : Kind::kReadResponse;
  Arrow arrow = Begin(connection, kind, event.from, event.frame, event.first_frame);
  const fabric::RdmaPacket& packet = event.rdma();
  arrow.length = packet.length;
  arrow.last = packet.last || kind == Kind::kReadRequest;
  arrow.handle = packet.handle;
  arrow.offset = packet.offset;
  arrow.overrun = operation.overrun;
  arrow.retired = operation.retired;
  if (operation.transaction) {
    arrow.xid = operation.transaction->xid;
    arrow.backward = operation.transaction->backward;
  }
  if (operation.segment) {
    arrow.in_segment = true;
    arrow.list = operation.segment->list;
    arrow.chunk = operation.segment->chunk;
    arrow.segment_offset = operation.segment_offset;
  }
  return arrow;
}

Arrow MakeEventArrow(const Connection& connection, const Event& event) {
  const Kind kind = event.kind() == EventKind::kNak   ? Kind::kNak
                    : event.kind() == EventKind::kGap ? Kind::kGap
                                                      : Kind::kClosed;
  Arrow arrow = Begin(connection, kind, event.from, event.frame, event.first_frame);
  if (kind == Kind::kNak) {
    const fabric::Nak& nak = event.nak();
    arrow.nak = nak.kind;
    arrow.terminate = {nak.terminate_layer, nak.terminate_type, nak.terminate_code};
  } else if (kind == Kind::kGap) {
    arrow.length = event.gap().size;
  } else {
    arrow.close_reason = event.closed().reason;
  }
  return arrow;
}

std::string ArrowTitle(const Arrow& arrow) {
  switch (arrow.kind) {
    case Kind::kSetup: return std::string(SetupName(arrow.setup));
    case Kind::kSend: {
      const bool named = arrow.procedure && (arrow.role == Role::kCall || arrow.role == Role::kReply);
      return named ? Text(SendName(arrow), " ", ProcedureText(*arrow.procedure)) : SendName(arrow);
    }
    case Kind::kWrite: return Text("RDMA Write, ", ByteCount(arrow.length));
    case Kind::kReadRequest: return Text("RDMA Read request, ", ByteCount(arrow.length));
    case Kind::kReadResponse: return Text("RDMA Read response, ", ByteCount(arrow.length));
    case Kind::kNak: return NakName(arrow);
    case Kind::kGap: return "The capture lost packets here";
    case Kind::kClosed:
      if (arrow.close_reason == fabric::CloseReason::kEndOfCapture) return "The capture ends here";
      return Text("End of the connection: ", fabric::CloseName(arrow.close_reason));
  }
  return "";
}

std::string ArrowDetail(const Arrow& arrow) {
  switch (arrow.kind) {
    case Kind::kSend: return SendDetail(arrow);
    case Kind::kWrite:
    case Kind::kReadRequest:
    case Kind::kReadResponse: return RdmaDetail(arrow);
    case Kind::kSetup:
      return arrow.setup == fabric::SetupMessage::kReject ? Text("reason ", arrow.reject_reason) : arrow.private_data;
    case Kind::kNak:
    case Kind::kGap:
    case Kind::kClosed: return "";
  }
  return "";
}

}  // namespace stag::conformance
