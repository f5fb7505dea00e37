// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/event_script.h"

#include "protocol/base/writer.h"

namespace stag::test {

using fabric::Event;
using fabric::EventKind;
using fabric::Side;

EventScript::EventScript(fabric::Sink& sink, fabric::ConnectionId id) : sink_(sink) { info_.id = id; }

Event EventScript::Next(EventKind kind, Side from) {
  ++frame_;
  Event event;
  event.kind = kind;
  event.connection = &info_;
  event.from = from;
  event.frame = event.first_frame = event.now = {frame_, static_cast<int64_t>(frame_) * 1000};
  return event;
}

void EventScript::Open(std::optional<rpcrdma::PrivateData> client, std::optional<rpcrdma::PrivateData> server) {
  info_.roles_known = true;
  info_.service_port = rpcrdma::kServicePort;
  for (Side side : {Side{0}, Side{1}}) {
    Buffer data;
    if (const auto& settings = side == 0 ? client : server) rpcrdma::Encode(*settings, data);
    Event event = Next(EventKind::kSetup, side);
    event.setup = side == 0 ? fabric::SetupMessage::kRequest : fabric::SetupMessage::kReply;
    event.private_data = data;
    sink_.OnEvent(event);
  }
  sink_.OnEvent(Next(EventKind::kOpened, 0));
}

void EventScript::OpenMidstream() { sink_.OnEvent(Next(EventKind::kOpened, 0)); }

void EventScript::Close(fabric::CloseReason reason) {
  Event event = Next(EventKind::kClosed, 0);
  event.close_reason = reason;
  sink_.OnEvent(event);
}

namespace {

Buffer MessageBytes(const rpcrdma::Header& header, const Buffer& payload) {
  Buffer bytes;
  rpcrdma::Encode(header, bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

}  // namespace

void EventScript::Send(Side from, const rpcrdma::Header& header, const Buffer& payload,
                       std::optional<uint32_t> invalidated) {
  SendBytes(from, MessageBytes(header, payload), invalidated);
}

void EventScript::SendBytes(Side from, const Buffer& bytes, std::optional<uint32_t> invalidated) {
  Event event = Next(EventKind::kSend, from);
  event.bytes = bytes;
  event.length = bytes.size();
  event.invalidated = invalidated;
  sink_.OnEvent(event);
}

void EventScript::SendPart(Side from, const Buffer& bytes, size_t captured, uint64_t length, fabric::Missing missing) {
  Event event = Next(EventKind::kSend, from);
  event.bytes = Bytes(bytes).first(captured);
  event.length = length;
  if (captured < bytes.size()) event.missing = missing;
  sink_.OnEvent(event);
}

void EventScript::SendTruncated(Side from, const rpcrdma::Header& header, const Buffer& payload, size_t captured) {
  const Buffer bytes = MessageBytes(header, payload);
  SendPart(from, bytes, captured, bytes.size(), fabric::Missing::kTruncatedByCapture);
}

void EventScript::SendLost(Side from, const rpcrdma::Header& header, const Buffer& payload, size_t captured) {
  SendPart(from, MessageBytes(header, payload), captured, captured, fabric::Missing::kLost);
}

void EventScript::Write(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  Event event = Next(EventKind::kWrite, from);
  event.handle = handle;
  event.offset = offset;
  event.bytes = bytes;
  event.length = bytes.size();
  event.first = event.last = true;
  sink_.OnEvent(event);
}

void EventScript::ReadRequest(Side from, uint32_t handle, uint64_t offset, uint32_t length) {
  Event event = Next(EventKind::kReadRequest, from);
  event.handle = handle;
  event.offset = offset;
  event.length = length;
  event.first = event.last = true;
  sink_.OnEvent(event);
}

void EventScript::ReadResponse(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  Event event = Next(EventKind::kReadResponse, from);
  event.handle = handle;
  event.offset = offset;
  event.bytes = bytes;
  event.length = bytes.size();
  event.first = event.last = true;
  sink_.OnEvent(event);
}

void EventScript::Read(Side reader, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  ReadRequest(reader, handle, offset, static_cast<uint32_t>(bytes.size()));
  ReadResponse(Side(1 - reader), handle, offset, bytes);
}

void EventScript::Gap(Side from) {
  Event event = Next(EventKind::kGap, from);
  event.gap_size = 1;
  sink_.OnEvent(event);
}

void EventScript::Nak(Side from, fabric::NakKind kind) {
  Event event = Next(EventKind::kNak, from);
  event.nak = kind;
  sink_.OnEvent(event);
}

rpcrdma::Header MakeHeader(uint32_t proc, uint32_t xid, uint32_t credit) {
  rpcrdma::Header header;
  header.words = 4;
  header.xid = xid;
  header.vers = rpcrdma::kVersion1;
  header.credit = credit;
  header.proc = proc;
  return header;
}

void AddRead(rpcrdma::Header& header, uint32_t position, rpcrdma::Segment segment) {
  header.reads.push_back({position, segment});
}

void AddWriteChunk(rpcrdma::Header& header, std::vector<rpcrdma::Segment> segments) {
  header.write_chunks.push_back(
      {static_cast<uint32_t>(header.segments.size()), static_cast<uint32_t>(segments.size())});
  header.segments.insert(header.segments.end(), segments.begin(), segments.end());
}

void SetReplyChunk(rpcrdma::Header& header, std::vector<rpcrdma::Segment> segments) {
  header.reply_chunk =
      rpcrdma::Chunk{static_cast<uint32_t>(header.segments.size()), static_cast<uint32_t>(segments.size())};
  header.segments.insert(header.segments.end(), segments.begin(), segments.end());
}

Buffer MakeCall(uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure, const Buffer& body) {
  return Join({Words({xid, rpc::kCall, 2, program, version, procedure, 0, 0, 0, 0}), body});
}

Buffer MakeReply(uint32_t xid, const Buffer& body, uint32_t accept_stat) {
  return Join({Words({xid, rpc::kReply, rpc::kAccepted, 0, 0, accept_stat}), body});
}

Buffer Words(std::initializer_list<uint32_t> words) {
  Buffer out;
  Writer writer(out);
  for (uint32_t word : words) writer.U32(word);
  return out;
}

Buffer Opaque(const Buffer& data) {
  Buffer out;
  Writer(out).Opaque(data);
  return out;
}

Buffer Join(std::initializer_list<Buffer> parts) {
  Buffer out;
  for (const Buffer& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

Buffer Pattern(size_t n, uint8_t seed) {
  Buffer out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
  return out;
}

}  // namespace stag::test
