// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/decoder.h"

#include "session/fabric/ib_tracker.h"
#include "session/fabric/iwarp_tracker.h"

namespace stag::fabric {

struct Decoder::Impl {
  Impl(const DecoderOptions& options, Sink& sink) : context(options, sink), ib(context), iwarp(context) {}

  TrackerContext context;
  IbTracker ib;
  IwarpTracker iwarp;
};

Decoder::Decoder(const DecoderOptions& options, Sink& sink) : impl_(std::make_unique<Impl>(options, sink)) {}
Decoder::~Decoder() = default;

void Decoder::OnFrame(const Frame& frame) {
  impl_->context.set_now(frame.ref);
  ++impl_->context.stats().frames;
  link::Packet packet = link::Decode(frame);
  if (packet.ip_fragment) ++impl_->context.stats().ip_fragments;
  switch (packet.carrier) {
    case link::Carrier::kRoceV2:
    case link::Carrier::kRoceV1:
    case link::Carrier::kInfiniBand: return impl_->ib.OnPacket(packet, frame);
    case link::Carrier::kTcp:
      if (packet.status == ParseStatus::kOk) impl_->iwarp.OnPacket(packet, frame);
      return;
    case link::Carrier::kOther: return;
  }
}

void Decoder::Finish() {
  impl_->ib.Finish();
  impl_->iwarp.Finish();
}

const DecoderStats& Decoder::stats() const { return impl_->context.stats(); }

}  // namespace stag::fabric
