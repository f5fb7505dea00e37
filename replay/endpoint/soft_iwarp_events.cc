// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/soft_iwarp_events.h"

namespace stag::endpoint {

using fabric::SetupMessage;

namespace {

// What a connection may hold of unfinished messages.
fabric::DecoderOptions Limits() {
  fabric::DecoderOptions options;
  options.memory_limit = 8u << 20;
  return options;
}

}  // namespace

SoftIwarpEvents::SoftIwarpEvents(EventLog& log, const fabric::ConnectionInfo& info, bool peer_to_peer)
    : log_(log), shown_(log), info_(info), context_(Limits(), log), rdmap_(context_, info) {
  rdmap_.set_may_be_ready(0, peer_to_peer);
  rdmap_.set_may_be_ready(1, false);
}

template <typename Kind>
void SoftIwarpEvents::Emit(fabric::Side from, const Kind& what) {
  log_.InFrame([&](const FrameRef& frame) { log_.OnEvent({info_, from, frame, frame, what}); });
}

void SoftIwarpEvents::OnSetup(const iwarp::MpaFrame& frame) {
  const bool request = frame.kind == iwarp::MpaFrame::Kind::kRequest;
  fabric::Setup setup;
  setup.message = request ? SetupMessage::kRequest : frame.reject ? SetupMessage::kReject : SetupMessage::kReply;
  setup.private_data = frame.private_data;
  if (frame.enhanced && frame.enhanced->ird != iwarp::kReadsNotNegotiated) setup.reads_served = frame.enhanced->ird;
  if (frame.enhanced && frame.enhanced->ord != iwarp::kReadsNotNegotiated) setup.reads_issued = frame.enhanced->ord;
  Emit(request ? 0 : 1, setup);
}

void SoftIwarpEvents::OnOpened() {
  Emit(1, fabric::Opened{});  // the reply of side 1 opened the connection
}

void SoftIwarpEvents::OnSegment(fabric::Side from, const iwarp::DdpHeader& header, std::span<const Bytes> payload,
                                uint32_t length) {
  iwarp::DdpSegment segment;
  segment.header = header;
  segment.payload_length = length;
  const bool whole = payload.size() == 1;
  if (whole) {
    segment.payload = payload[0];
  } else {
    scratch_.clear();
    for (const Bytes piece : payload) scratch_.insert(scratch_.end(), piece.begin(), piece.end());
    segment.payload = scratch_;
  }
  shown_.InFrame(whole ? segment.payload : Bytes{}, [&](const FrameRef& frame) {
    context_.set_now(frame);
    rdmap_.OnSegment(from, segment, fabric::Missing::kTruncatedByCapture, frame, frame);
  });
}

void SoftIwarpEvents::OnClosed(fabric::CloseReason reason, fabric::Side from) { Emit(from, fabric::Closed{reason}); }

}  // namespace stag::endpoint
