// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/iwarp_rdmap.h"

#include <algorithm>

namespace stag::fabric {
namespace {

using iwarp::DdpHeader;
using iwarp::DdpSegment;
using iwarp::Opcode;

constexpr size_t kKeptSendBytes = 64u << 10;  // storage kept for the next Send

Missing WhyShort(const DdpSegment& segment, Missing missing) {
  return segment.payload.size() < segment.payload_length ? missing : Missing::kNothing;
}

}  // namespace

RdmapLayer::RdmapLayer(TrackerContext& context, const ConnectionInfo& info)
    : context_(context), info_(info), side_{SideState(context), SideState(context)} {}

bool RdmapLayer::OnUlpdu(Side from, Bytes captured, uint32_t length, Missing missing, const FrameRef& first,
                         const FrameRef& last) {
  DdpSegment segment;
  const ParseStatus status = iwarp::DecodeDdpSegment(captured, length, segment);
  if (status == ParseStatus::kTruncatedByCapture) {
    // Something was sent, nobody can say what. Bytes lost from the capture have been reported already.
    if (missing == Missing::kTruncatedByCapture) {
      Emit(from, first, last, Gap{length, Gap::Of::kContent});
    }
    OnLost(from);
    return true;
  }
  return status == ParseStatus::kOk && OnSegment(from, segment, missing, first, last);
}

bool RdmapLayer::OnSegment(Side from, const DdpSegment& segment, Missing missing, const FrameRef& first,
                           const FrameRef& last) {
  SideState& state = side_[from];
  missing = WhyShort(segment, missing);
  if (state.may_be_ready) {
    state.may_be_ready = false;
    if (IsReadyToReceive(segment)) return true;
  }
  const DdpHeader& header = segment.header;
  // Senders do not interleave messages: after a segment of another one, a Write segment begins its Write.
  if (!header.tagged || header.opcode != Opcode::kWrite) state.write_unknown = false;
  if (header.tagged) {
    if (header.opcode == Opcode::kWrite) {
      OnWrite(from, segment, missing, first, last);
    } else if (header.opcode == Opcode::kReadResponse) {
      OnReadResponse(from, segment, missing, first, last);
    } else {
      return false;
    }
  } else if (iwarp::IsSend(header.opcode) && header.queue == iwarp::kSendQueue) {
    OnSend(from, segment, missing, first, last);
  } else if (header.opcode == Opcode::kReadRequest && header.queue == iwarp::kReadRequestQueue) {
    OnReadRequest(from, segment, missing, first, last);
  } else if (header.opcode == Opcode::kTerminate && header.queue == iwarp::kTerminateQueue) {
    OnTerminate(from, segment, first, last);
  } else {
    return false;
  }
  return true;
}

bool RdmapLayer::IsReadyToReceive(const DdpSegment& segment) const {
  if (segment.header.tagged || iwarp::IsSend(segment.header.opcode)) return segment.payload_length == 0;
  iwarp::ReadRequest request;
  return segment.header.opcode == Opcode::kReadRequest &&
         iwarp::DecodeReadRequest(segment.payload, segment.payload_length, request) == ParseStatus::kOk &&
         request.length == 0;
}

void RdmapLayer::OnLost(Side from) {
  SideState& state = side_[from];
  if (state.sending) EmitUnfinishedSend(from);
  state.writing = false;
  state.write_unknown = true;
  state.reads_known = false;
}

void RdmapLayer::OnSend(Side from, const DdpSegment& segment, Missing missing, const FrameRef& first,
                        const FrameRef& last) {
  SideState& state = side_[from];
  const DdpHeader& header = segment.header;
  if (state.abandoned && header.sequence == state.abandoned_sequence) return;
  if (state.sending && header.sequence != state.send_sequence) EmitUnfinishedSend(from);
  if (!state.sending) {
    state.abandoned = false;
    state.send_number = numbers_.first;
    if (header.last && header.message_offset == 0) {  // the common case: nothing is copied
      EmitSend(from, header, segment.payload, segment.payload_length, missing, first, last);
      return;
    }
    state.sending = true;
    state.send_sequence = header.sequence;
    state.send_header = header;
    state.send_length = 0;
    state.send_missing = Missing::kNothing;
    state.send_headless = header.message_offset != 0;
    state.send_first = first;
    state.send.Clear();
  }
  state.send_header = header;
  state.send_last = last;
  if (header.message_offset > state.send_length && state.send_missing == Missing::kNothing)
    state.send_missing = Missing::kLost;
  const uint64_t end = uint64_t{header.message_offset} + segment.payload_length;
  if (state.send_missing == Missing::kNothing && end > state.send_length) {
    const auto known =
        static_cast<size_t>(state.send_length - header.message_offset);  // an overlap: the first copy wins
    Bytes fresh = segment.payload.subspan(std::min(known, segment.payload.size()));
    state.send_missing = missing;
    if (fresh.size() > context_.limits().send_bytes - state.send.size()) {
      fresh = fresh.first(context_.limits().send_bytes - state.send.size());
      state.send_missing = Missing::kLost;
    }
    if (!state.send.Append(fresh)) state.send_missing = Missing::kLost;
    if (state.send_missing == Missing::kLost && missing != Missing::kLost)
      context_.stats().dropped_for_memory += segment.payload.size();
  }
  state.send_length = std::max(state.send_length, end);
  if (!header.last) return;

  state.sending = false;
  if (state.send_headless) return;
  const Bytes bytes = state.send.view();
  const Missing why = bytes.size() < state.send_length ? state.send_missing : Missing::kNothing;
  EmitSend(from, header, bytes, state.send_length, why, state.send_first, last);
  if (state.send.capacity() > kKeptSendBytes) state.send.Shrink();
}

void RdmapLayer::EmitUnfinishedSend(Side from) {
  SideState& state = side_[from];
  state.sending = false;
  state.abandoned = true;
  state.abandoned_sequence = state.send_sequence;
  if (state.send_headless) return;
  const Missing why = state.send_missing == Missing::kNothing ? Missing::kLost : state.send_missing;
  EmitSend(from, state.send_header, state.send.view(), state.send_length, why, state.send_first, state.send_last);
}

void RdmapLayer::EmitSend(Side from, const DdpHeader& header, Bytes bytes, uint64_t length, Missing missing,
                          const FrameRef& first, const FrameRef& last) {
  SideState& state = side_[from];
  state.recent_sends[header.sequence % state.recent_sends.size()] = {header.sequence, last};
  ++state.sends;
  EventOf<Send> event(info_, from, first, last);
  event.first_number = state.send_number;
  event.last_number = numbers_.last;
  Send& message = event.rest();
  message.bytes = bytes;
  message.length = length;
  message.missing = missing;
  message.solicited = iwarp::IsSolicited(header.opcode);
  if (iwarp::IsInvalidate(header.opcode)) message.invalidated = header.invalidate_stag;
  context_.Emit(event);
}

void RdmapLayer::OnWrite(Side from, const DdpSegment& segment, Missing missing, const FrameRef& first,
                         const FrameRef& last) {
  SideState& state = side_[from];
  const DdpHeader& header = segment.header;
  const bool continues = state.writing && state.write_stag == header.stag && state.write_next == header.offset;
  EventOf<Write> event(info_, from, first, last);
  Number(event);
  Write& part = event.rest();
  part.handle = header.stag;
  part.offset = header.offset;
  part.bytes = segment.payload;
  part.length = segment.payload_length;
  part.missing = missing;
  part.first = !continues && !state.write_unknown;
  part.last = header.last;
  state.write_unknown = false;
  state.writing = !header.last;
  state.write_stag = header.stag;
  state.write_next = header.offset + segment.payload_length;
  context_.Emit(event);
}

void RdmapLayer::OnReadRequest(Side from, const DdpSegment& segment, Missing missing, const FrameRef& first,
                               const FrameRef& last) {
  SideState& state = side_[from];
  iwarp::ReadRequest request;
  const ParseStatus status = iwarp::DecodeReadRequest(segment.payload, segment.payload_length, request);
  if (status == ParseStatus::kTruncatedByCapture && missing == Missing::kTruncatedByCapture) {
    Emit(from, first, last, Gap{segment.payload_length, Gap::Of::kContent});
  }
  if (status != ParseStatus::kOk) {
    state.reads_known = false;
    return;
  }
  if (state.reads.size() >= context_.limits().pending_reads) {
    state.reads.DropFront(1);
    state.reads_known = false;
  }
  const PendingRead pending{request, segment.header.sequence, last};
  // Without it the response cannot be placed; it is left out then.
  if (!state.reads.Append(std::span(&pending, 1))) state.reads_known = false;
  ReadRequest wanted;
  wanted.handle = request.source_stag;
  wanted.offset = request.source_offset;
  wanted.length = wanted.whole = request.length;
  wanted.first = wanted.last = true;
  Emit(from, first, last, wanted);
}

void RdmapLayer::OnReadResponse(Side from, const DdpSegment& segment, Missing missing, const FrameRef& first,
                                const FrameRef& last) {
  BudgetVector<PendingRead>& reads = side_[from ^ 1].reads;
  const DdpHeader& header = segment.header;
  const auto answers = [&](const PendingRead& read) {
    const uint64_t at = header.offset - read.request.sink_offset;  // wraps to something large when it is in front
    return read.request.sink_stag == header.stag && at <= read.request.length &&
           segment.payload_length <= read.request.length - at;
  };
  size_t i = 0;
  while (i < reads.size() && !answers(reads[i])) ++i;
  if (i == reads.size()) return;  // the request was not captured: what was read is unknown
  const PendingRead read = reads[i];
  const uint64_t at = header.offset - read.request.sink_offset;
  // Responses come in the order of the requests: those before it have been answered, unseen.
  reads.DropFront(i + (header.last ? 1 : 0));
  const uint64_t end = at + segment.payload_length;
  if (header.last && end != read.request.length && side_[from ^ 1].reads_known)
    Emit(from, first, last,
         Anomaly{AnomalyKind::kWrongLength, read.frame.number, 0, read.request.length, end, EventKind::kReadResponse});
  if (read.request.length == 0) return;
  EventOf<ReadResponse> event(info_, from, first, last);
  Number(event);
  ReadResponse& part = event.rest();
  part.handle = read.request.source_stag;
  part.offset = read.request.source_offset + at;
  part.bytes = segment.payload;
  part.length = segment.payload_length;
  part.missing = missing;
  part.first = at == 0;
  part.last = header.last;
  context_.Emit(event);
}

void RdmapLayer::OnTerminate(Side from, const DdpSegment& segment, const FrameRef& first, const FrameRef& last) {
  iwarp::Terminate terminate;
  const ParseStatus status = iwarp::DecodeTerminate(segment.payload, segment.payload_length, terminate);
  if (status != ParseStatus::kOk && segment.payload.size() < 4) return;
  Nak nak;
  nak.kind = NakKind::kTerminate;
  nak.terminate_layer = terminate.layer;
  nak.terminate_type = terminate.type;
  nak.terminate_code = terminate.code;
  SideState& peer = side_[from ^ 1];
  if (terminate.ddp && terminate.ddp->tagged) {
    const uint16_t length = terminate.segment_length.value_or(0);
    nak.handle = terminate.ddp->stag;
    nak.offset = terminate.ddp->offset;
    nak.length = length > iwarp::kTaggedHeaderSize ? length - iwarp::kTaggedHeaderSize : 0;
  } else if (terminate.ddp && terminate.ddp->queue == iwarp::kReadRequestQueue) {
    for (const PendingRead& read : peer.reads.view())
      if (read.sequence == terminate.ddp->sequence) nak.refused = read.frame;
  } else if (terminate.ddp && terminate.ddp->queue == iwarp::kSendQueue) {
    const RecentSend& send = peer.recent_sends[terminate.ddp->sequence % peer.recent_sends.size()];
    if (send.sequence == terminate.ddp->sequence) nak.refused = send.frame;
  }
  if (terminate.read_request) {
    nak.handle = terminate.read_request->source_stag;
    nak.offset = terminate.read_request->source_offset;
    nak.length = terminate.read_request->length;
  }
  Emit(from, first, last, nak);
}

}  // namespace stag::fabric
