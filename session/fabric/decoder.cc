// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/decoder.h"

#include <bit>
#include <optional>

#include "session/fabric/copies.h"
#include "session/fabric/ib_tracker.h"
#include "session/fabric/ip_fragments.h"
#include "session/fabric/iwarp_tracker.h"

namespace stag::fabric {

struct Decoder::Impl {
  Impl(const DecoderOptions& options, Sink& sink)
      : context(options, sink), fragments(context.budget(), context.stats().stopped), ib(context), iwarp(context) {
    if (!options.keep_copies) copies.emplace(context.ack_timeouts());
  }

  void OnRpcbind(const link::Packet& packet, const FrameRef& frame);
  void OnFragment(const link::Packet& packet, const FrameRef& frame);
  void OnWhole(const link::Packet& packet, const FrameRef& frame);
  void CountTunnels(const link::Packet& packet);
  bool IsCopy(const link::Packet& packet, const FrameRef& frame) {
    if (!copies || !copies->IsCopy(packet, frame)) return false;
    ++context.stats().copies;
    context.stats().unclear_copies = copies->unclear();
    context.stats().first_unclear_copy = copies->first_unclear();
    context.NoteCopy();
    return true;
  }

  // Between packets: the tracker that took the last one gives up what is over the limits. Nothing else does.
  template <typename Tracker>
  void Relieve(Tracker& tracker) {
    if (!context.crowded()) [[likely]]
      return;
    context.Relieved();
    tracker.Relieve();
  }

  TrackerContext context;
  std::optional<Copies> copies;  // none: they are kept
  link::Packet current;          // of the frame being processed
  link::Packet assembled;        // of the fragments that it ends
  IpFragments fragments;
  IbTracker ib;
  IwarpTracker iwarp;
};

void Decoder::Impl::OnRpcbind(const link::Packet& packet, const FrameRef& frame) {
  if (packet.payload.empty()) return;
  Aside aside;
  aside.kind = Aside::Kind::kRpcbind;
  aside.frame = frame;
  aside.from = {packet.source, packet.source_port};
  aside.to = {packet.destination, packet.destination_port};
  aside.bytes = packet.payload;
  aside.length = packet.wire_length;
  context.Emit(aside);
}

void Decoder::Impl::CountTunnels(const link::Packet& packet) {
  DecoderStats& stats = context.stats();
  ++stats.tunneled;
  for (uint32_t left = packet.tunnels; left != 0; left &= left - 1)
    ++stats.tunnels[static_cast<size_t>(std::countr_zero(left))];
}

Decoder::Decoder(const DecoderOptions& options, Sink& sink) : impl_(std::make_unique<Impl>(options, sink)) {
  if (options.packets) options.packets->OnLasting(options.lasting);
}
Decoder::~Decoder() = default;

void Decoder::OnFrame(const Frame& frame) {
  link::Decode(frame, impl_->current, impl_->context.options().tunnel_ports);
  OnPacket(impl_->current, frame.ref);
}

void Decoder::OnPacket(const link::Packet& packet, const FrameRef& frame) {
  impl_->context.set_now(frame);
  ++impl_->context.stats().frames;
  if (packet.tunnels != 0) impl_->CountTunnels(packet);
  packet.ip_fragment ? impl_->OnFragment(packet, frame) : impl_->OnWhole(packet, frame);
}

// What was put together may be a fragment, too, of what was in a tunnel.
void Decoder::Impl::OnFragment(const link::Packet& packet, const FrameRef& frame) {
  ++context.stats().ip_fragments;
  if (!context.options().assemble) return context.stats().stopped.Add(packet.stop);
  const IpFragments::Whole* whole = fragments.Take(packet, frame);
  for (unsigned depth = 0; whole && depth < link::kTunnelDepth; ++depth) {
    if (context.packets()) context.packets()->OnFragments(whole->frames, frame);
    link::Decode(whole->frame, assembled, context.options().tunnel_ports);
    assembled.way ^= whole->way;
    if (assembled.tunnels != 0 && whole->tunnels == 0) CountTunnels(assembled);
    if (!assembled.ip_fragment) return OnWhole(assembled, frame);
    assembled.tunnels |= whole->tunnels;
    whole = fragments.Take(assembled, frame);
  }
}

void Decoder::Impl::OnWhole(const link::Packet& packet, const FrameRef& frame) {
  switch (packet.carrier) {
    case link::Carrier::kRoceV2:
    case link::Carrier::kRoceV1:
    case link::Carrier::kInfiniBand:
      if (IsCopy(packet, frame)) return;
      ib.OnPacket(packet, frame);
      return Relieve(ib);
    case link::Carrier::kTcp:
      if (packet.status != ParseStatus::kOk || IsCopy(packet, frame)) return;
      if (packet.source_port == link::kRpcbindPort || packet.destination_port == link::kRpcbindPort)
        OnRpcbind(packet, frame);
      iwarp.OnPacket(packet, frame);
      return Relieve(iwarp);
    case link::Carrier::kRpcbind: return OnRpcbind(packet, frame);
    case link::Carrier::kOther:
      if (packet.stop.reason != link::StopReason::kNone) context.stats().stopped.Add(packet.stop);
      return;
  }
}

void Decoder::Finish() {
  impl_->fragments.Finish();
  impl_->ib.Finish();
  impl_->iwarp.Finish();
}

const DecoderStats& Decoder::stats() const { return impl_->context.stats(); }

}  // namespace stag::fabric
