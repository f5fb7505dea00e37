// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/event_script.h"

namespace stag::test {

using fabric::Event;
using fabric::EventKind;
using fabric::Side;

EventScript::EventScript(fabric::Sink& sink, fabric::ConnectionId id) : sink_(sink) {
  info_.id = info_.slot = id;
  info_.service_port = rpcrdma::kServicePort;
}

template <typename Kind>
Event EventScript::Next(Side from, const Kind& what) {
  ++frame_;
  const FrameRef now{frame_, static_cast<int64_t>(frame_) * 1000};
  const Event event(info_, from, now, now, what);
  if (event.kind() != EventKind::kNak && event.kind() != EventKind::kGap) last_[from] = event.frame;
  return event;
}

void EventScript::OpenWith(const Buffer& client, const Buffer& server) {
  info_.roles_known = true;
  for (Side side : {Side{0}, Side{1}}) {
    fabric::Setup setup;
    setup.message = side == 0 ? fabric::SetupMessage::kRequest : fabric::SetupMessage::kReply;
    setup.private_data = side == 0 ? client : server;
    setup.reads_served = reads_[side].served;
    setup.reads_issued = reads_[side].issued;
    sink_.OnEvent(Next(side, setup));
  }
  sink_.OnEvent(Next(0, fabric::Opened{}));
}

void EventScript::OpenMidstream() {
  info_.service_port = 0;
  sink_.OnEvent(Next(0, fabric::Opened{}));
}

void EventScript::CloseFor(fabric::CloseReason reason) { sink_.OnEvent(Next(0, fabric::Closed{reason})); }

void EventScript::SendMessage(Side from, const Buffer& bytes, std::optional<uint32_t> invalidated) {
  fabric::Send send;
  send.bytes = bytes;
  send.length = bytes.size();
  send.invalidated = invalidated;
  sink_.OnEvent(Next(from, send));
}

void EventScript::SendPart(Side from, const Buffer& bytes, size_t captured, uint64_t length, fabric::Missing missing) {
  fabric::Send send;
  send.bytes = Bytes(bytes).first(captured);
  send.length = length;
  if (captured < bytes.size()) send.missing = missing;
  sink_.OnEvent(Next(from, send));
}

void EventScript::SendTruncated(Side from, const rpcrdma::Header& header, const Buffer& payload, size_t captured) {
  const Buffer bytes = MessageBytes(header, payload);
  SendPart(from, bytes, captured, bytes.size(), fabric::Missing::kTruncatedByCapture);
}

void EventScript::SendLost(Side from, const rpcrdma::Header& header, const Buffer& payload, size_t captured) {
  SendPart(from, MessageBytes(header, payload), captured, captured, fabric::Missing::kLost);
}

template <typename Kind>
void EventScript::Rdma(Side from, uint32_t handle, uint64_t offset, Bytes bytes, uint64_t length, bool last) {
  Kind packet;
  packet.handle = handle;
  packet.offset = offset;
  packet.bytes = bytes;
  packet.length = length;
  packet.first = true;
  packet.last = last;
  sink_.OnEvent(Next(from, packet));
}

void EventScript::Write(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  Rdma<fabric::Write>(from, handle, offset, bytes, bytes.size(), true);
}

void EventScript::ReadRequest(Side from, uint32_t handle, uint64_t offset, uint32_t length) {
  Rdma<fabric::ReadRequest>(from, handle, offset, {}, length, true);
}

void EventScript::ReadResponse(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  Rdma<fabric::ReadResponse>(from, handle, offset, bytes, bytes.size(), true);
}

void EventScript::ReadResponseBegins(Side from, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  Rdma<fabric::ReadResponse>(from, handle, offset, bytes, bytes.size(), false);
}

void EventScript::Gap(Side from, const fabric::Gap& gap) { sink_.OnEvent(Next(from, gap)); }
void EventScript::CloseWith(const fabric::Closed& closed) { sink_.OnEvent(Next(0, closed)); }

void EventScript::Nak(Side from, fabric::NakKind kind) {
  fabric::Nak nak;
  nak.kind = kind;
  Refuse(from, nak);
}

void EventScript::Terminate(Side from, uint8_t layer, uint8_t type, uint8_t code) {
  fabric::Nak nak;
  nak.kind = fabric::NakKind::kTerminate;
  nak.terminate_layer = layer;
  nak.terminate_type = type;
  nak.terminate_code = code;
  Refuse(from, nak);
}

void EventScript::Refuse(Side from, fabric::Nak& nak) {
  nak.refused = last_[1 - from];
  sink_.OnEvent(Next(from, nak));
}

}  // namespace stag::test
