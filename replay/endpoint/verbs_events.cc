// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/verbs_events.h"

namespace stag::replay {

using fabric::Event;
using fabric::EventKind;
using fabric::SetupMessage;

namespace {

// A whole RDMA Read or Write of `length` bytes at that place of the other side's memory.
Event Operation(uint64_t length, uint32_t handle, uint64_t offset) {
  Event event;
  event.length = length;
  event.handle = handle;
  event.offset = offset;
  event.first = event.last = true;
  return event;
}

}  // namespace

void VerbsEvents::Emit(Event& event, EventKind kind, fabric::Side from) {
  event.kind = kind;
  event.from = from;
  event.connection = &info_;
  event.frame = event.first_frame = event.now = log_.NextFrame();
  log_.OnEvent(event);
}

void VerbsEvents::Setup(SetupMessage message, fabric::Side from, const VerbsSetup& setup, uint16_t reason) {
  Event event;
  event.setup = message;
  event.private_data = setup.private_data;
  event.private_data_fixed = !iwarp();  // InfiniBand's CM pads it
  event.reject_reason = reason;
  if (message != SetupMessage::kReject) {
    event.reads_served = setup.reads_served;
    event.reads_issued = setup.reads_issued;
  }
  Emit(event, EventKind::kSetup, from);
}

void VerbsEvents::OnSetup(const VerbsSetup& request, const VerbsSetup& reply) {
  Setup(SetupMessage::kRequest, 0, request);
  Setup(SetupMessage::kReply, 1, reply);
  Event event;
  Emit(event, EventKind::kOpened, 1);
}

void VerbsEvents::OnRejected(const VerbsSetup& request, Bytes private_data, uint16_t reason) {
  Setup(SetupMessage::kRequest, 0, request);
  Setup(SetupMessage::kReject, 1, {private_data, 0, 0}, reason);
  OnClosed(fabric::CloseReason::kRejected, own_ == 0);
}

void VerbsEvents::OnSend(std::span<const Bytes> pieces, std::optional<uint32_t> invalidate) {
  Event event;
  if (pieces.size() == 1) {
    event.bytes = pieces[0];
  } else {
    scratch_.clear();
    for (const Bytes piece : pieces) scratch_.insert(scratch_.end(), piece.begin(), piece.end());
    event.bytes = scratch_;
  }
  event.length = event.bytes.size();
  event.invalidated = invalidate;
  Emit(event, EventKind::kSend, own_);
}

void VerbsEvents::OnWrite(Bytes bytes, uint32_t handle, uint64_t offset) {
  Event event = Operation(bytes.size(), handle, offset);
  event.bytes = bytes;
  Emit(event, EventKind::kWrite, own_);
}

void VerbsEvents::OnReadRequest(uint64_t length, uint32_t handle, uint64_t offset) {
  Event event = Operation(length, handle, offset);
  Emit(event, EventKind::kReadRequest, own_);
}

void VerbsEvents::OnReadResponse(Bytes bytes, uint32_t handle, uint64_t offset) {
  Event event = Operation(bytes.size(), handle, offset);
  event.bytes = bytes;
  Emit(event, EventKind::kReadResponse, peer());
}

void VerbsEvents::OnReceived(Bytes message, std::optional<uint32_t> invalidated) {
  Event event;
  event.bytes = message;
  event.length = message.size();
  event.invalidated = invalidated;
  Emit(event, EventKind::kSend, peer());
}

void VerbsEvents::OnNak(fabric::NakKind kind, uint32_t handle, uint64_t offset, uint64_t length) {
  Event event;
  event.nak = kind;
  event.handle = handle;
  event.offset = offset;
  event.length = length;
  Emit(event, EventKind::kNak, peer());
}

void VerbsEvents::OnClosed(fabric::CloseReason reason, bool by_peer) {
  Event event;
  event.close_reason = reason;
  Emit(event, EventKind::kClosed, by_peer ? peer() : own_);
}

}  // namespace stag::replay
