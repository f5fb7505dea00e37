// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/verbs_events.h"

namespace stag::endpoint {

using fabric::SetupMessage;

namespace {

// A whole RDMA Read or Write of `length` bytes at that place of the other side's memory.
template <typename Kind>
Kind Operation(uint64_t length, uint32_t handle, uint64_t offset, Bytes bytes = {}) {
  Kind packet;
  packet.bytes = bytes;
  packet.length = length;
  packet.handle = handle;
  packet.offset = offset;
  packet.first = packet.last = true;
  return packet;
}

}  // namespace

template <typename Kind>
void VerbsEvents::Emit(const Kind& what, fabric::Side from, Bytes bytes) {
  shown_.InFrame(bytes, [&](const FrameRef& frame) { log_.OnEvent({info_, from, frame, frame, what}); });
}

void VerbsEvents::Setup(SetupMessage message, fabric::Side from, const VerbsSetup& setup, uint16_t reason) {
  fabric::Setup what;
  what.message = message;
  what.private_data = setup.private_data;
  what.private_data_fixed = !iwarp();  // InfiniBand's CM pads it
  what.reject_reason = reason;
  if (message != SetupMessage::kReject) {
    what.reads_served = setup.reads_served;
    what.reads_issued = setup.reads_issued;
  }
  Emit(what, from);
}

void VerbsEvents::OnSetup(const VerbsSetup& request, const VerbsSetup& reply) {
  Setup(SetupMessage::kRequest, 0, request);
  Setup(SetupMessage::kReply, 1, reply);
  Emit(fabric::Opened{}, 1);
}

void VerbsEvents::OnRejected(const VerbsSetup& request, Bytes private_data, uint16_t reason) {
  Setup(SetupMessage::kRequest, 0, request);
  Setup(SetupMessage::kReject, 1, {private_data, 0, 0}, reason);
  OnClosed(fabric::CloseReason::kRejected, own_ == 0);
}

void VerbsEvents::OnSend(std::span<const Bytes> pieces, std::optional<uint32_t> invalidate) {
  fabric::Send send;
  if (pieces.size() == 1) {
    send.bytes = pieces[0];
  } else {
    scratch_.clear();
    for (const Bytes piece : pieces) scratch_.insert(scratch_.end(), piece.begin(), piece.end());
    send.bytes = scratch_;
  }
  send.length = send.bytes.size();
  send.invalidated = invalidate;
  Emit(send, own_, pieces.size() == 1 ? pieces[0] : Bytes{});
}

void VerbsEvents::OnWrite(Bytes bytes, uint32_t handle, uint64_t offset) {
  Emit(Operation<fabric::Write>(bytes.size(), handle, offset, bytes), own_, bytes);
}

void VerbsEvents::OnReadRequest(uint64_t length, uint32_t handle, uint64_t offset) {
  Emit(Operation<fabric::ReadRequest>(length, handle, offset), own_);
}

void VerbsEvents::OnReadResponse(Bytes bytes, uint32_t handle, uint64_t offset) {
  Emit(Operation<fabric::ReadResponse>(bytes.size(), handle, offset, bytes), peer(), bytes);
}

void VerbsEvents::OnReceived(Bytes message, std::optional<uint32_t> invalidated) {
  fabric::Send send;
  send.bytes = message;
  send.length = message.size();
  send.invalidated = invalidated;
  Emit(send, peer(), message);
}

void VerbsEvents::OnNak(fabric::NakKind kind, uint32_t handle, uint64_t offset, uint64_t length) {
  fabric::Nak nak;
  nak.kind = kind;
  nak.handle = handle;
  nak.offset = offset;
  nak.length = length;
  Emit(nak, peer());
}

void VerbsEvents::OnClosed(fabric::CloseReason reason, bool by_peer) {
  Emit(fabric::Closed{reason}, by_peer ? peer() : own_);
}

}  // namespace stag::endpoint
