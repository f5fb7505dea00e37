// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/event_script.h"

namespace stag::test {

using fabric::Event;
using fabric::EventKind;
using fabric::Side;

EventScript::EventScript(fabric::Sink& sink, fabric::ConnectionId id) : sink_(sink) {
  info_.id = id;
  info_.service_port = rpcrdma::kServicePort;
}

Event EventScript::Next(EventKind kind, Side from) {
  ++frame_;
  Event event;
  event.kind = kind;
  event.connection = &info_;
  event.from = from;
  event.frame = event.first_frame = event.now = {frame_, static_cast<int64_t>(frame_) * 1000};
  if (kind != EventKind::kNak && kind != EventKind::kGap) last_[from] = event.frame;
  return event;
}

void EventScript::OpenWith(const Buffer& client, const Buffer& server) {
  info_.roles_known = true;
  for (Side side : {Side{0}, Side{1}}) {
    Event event = Next(EventKind::kSetup, side);
    event.setup = side == 0 ? fabric::SetupMessage::kRequest : fabric::SetupMessage::kReply;
    event.private_data = side == 0 ? client : server;
    event.reads_served = reads_[side].served;
    event.reads_issued = reads_[side].issued;
    sink_.OnEvent(event);
  }
  sink_.OnEvent(Next(EventKind::kOpened, 0));
}

void EventScript::OpenMidstream() {
  info_.service_port = 0;
  sink_.OnEvent(Next(EventKind::kOpened, 0));
}

void EventScript::CloseFor(fabric::CloseReason reason) {
  Event event = Next(EventKind::kClosed, 0);
  event.close_reason = reason;
  sink_.OnEvent(event);
}

void EventScript::SendMessage(Side from, const Buffer& bytes, std::optional<uint32_t> invalidated) {
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

void EventScript::ReadResponseBegins(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  Event event = Next(EventKind::kReadResponse, from);
  event.handle = handle;
  event.offset = offset;
  event.bytes = bytes;
  event.length = bytes.size();
  event.first = true;
  sink_.OnEvent(event);
}

void EventScript::Gap(Side from) {
  Event event = Next(EventKind::kGap, from);
  event.gap_size = 1;
  sink_.OnEvent(event);
}

void EventScript::Nak(Side from, fabric::NakKind kind) {
  Event event = Next(EventKind::kNak, from);
  event.nak = kind;
  Refuse(event);
}

void EventScript::Terminate(Side from, uint8_t layer, uint8_t type, uint8_t code) {
  Event event = Next(EventKind::kNak, from);
  event.nak = fabric::NakKind::kTerminate;
  event.terminate_layer = layer;
  event.terminate_type = type;
  event.terminate_code = code;
  Refuse(event);
}

void EventScript::Refuse(Event& event) {
  event.refused = last_[1 - event.from];
  sink_.OnEvent(event);
}

}  // namespace stag::test
