// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/ib_tracker.h"

#include "protocol/ib/icrc.h"
#include "session/fabric/ib_cm.h"

namespace stag::fabric {
namespace {

FabricKind FabricOf(link::Carrier carrier) {
  switch (carrier) {
    case link::Carrier::kRoceV1: return FabricKind::kRoceV1;
    case link::Carrier::kInfiniBand: return FabricKind::kInfiniBand;
    default: return FabricKind::kRoceV2;
  }
}

Address Lid(const std::byte* bytes) {
  Address a;
  a.kind = Address::Kind::kLid;
  a.bytes[0] = bytes[0];
  a.bytes[1] = bytes[1];
  return a;
}

}  // namespace

struct IbTracker::Impl {
  explicit Impl(TrackerContext& c) : context(c), flows(c), cm(c, flows) {}

  bool Intact(const link::Packet& packet);
  void OnPacket(const link::Packet& packet, const FrameRef& frame);
  void OnDatagram(const ib::Transport& t, const link::Packet& packet, const FrameRef& frame, const Address& source,
                  const Address& destination);
  void OnUnreliable(const ib::Transport& t, const link::Packet& packet, const FrameRef& frame);

  TrackerContext& context;
  IbFlows flows;
  IbCm cm;
};

// False: the ICRC was checked and is wrong.
bool IbTracker::Impl::Intact(const link::Packet& packet) {
  if (!context.options().verify_crc) return true;
  ib::IcrcStatus icrc = ib::CheckIcrc(packet);
  if (icrc != ib::IcrcStatus::kAbsent) ++context.stats().checked_crc;
  if (icrc == ib::IcrcStatus::kBad) ++context.stats().bad_crc;
  return icrc != ib::IcrcStatus::kBad;
}

void IbTracker::Impl::OnPacket(const link::Packet& packet, const FrameRef& frame) {
  DecoderStats& stats = context.stats();
  if (packet.status == ParseStatus::kTruncatedByCapture || packet.payload.size() < packet.wire_length)
    ++stats.truncated_frames;
  cm.Tick(frame.time_ns);
  ib::Transport t = ib::ParseTransport(packet.payload, packet.wire_length);
  // Cut within the headers: the connection sees it as missing. Malformed: nobody would accept it.
  if (t.status != ParseStatus::kOk) return;
  const ib::OpcodeInfo& info = ib::LookUpOpcode(t.bth.opcode);

  // With a GRH the addresses shown are GIDs; packets of one connection may come with and without, so flows go by LIDs.
  Address source = packet.source, destination = packet.destination;
  if (packet.carrier == link::Carrier::kInfiniBand && packet.icrc_headers.size() >= 8) {
    destination = Lid(packet.icrc_headers.data() + 2);
    source = Lid(packet.icrc_headers.data() + 6);
  }
  if (info.service == ib::Service::kUd) return OnDatagram(t, packet, frame, source, destination);
  if (info.service == ib::Service::kUc) OnUnreliable(t, packet, frame);
  if (info.service != ib::Service::kRc || !Intact(packet)) return;

  RcPacket p;
  p.frame = frame;
  p.info = &info;
  p.psn = t.bth.psn;
  p.solicited = t.bth.solicited;
  p.reth = t.reth;
  p.aeth = t.aeth;
  p.immediate = t.immediate;
  p.invalidated = t.invalidated;
  p.data = t.data;
  p.data_length = t.data_length;
  FlowKey key{source, destination, t.bth.destination_qp};
  if (cm.waiting() && !flows.Knows(key)) cm.BeforeNewFlow(key);
  flows.OnPacket(key, p, FabricOf(packet.carrier), packet.source, packet.destination);
}

void IbTracker::Impl::OnDatagram(const ib::Transport& t, const link::Packet& packet, const FrameRef& frame,
                                 const Address& source, const Address& destination) {
  if (t.bth.destination_qp == ib::kGsiQp) {
    if (!Intact(packet)) return;
    ib::CmMessage m = ib::ParseCm(ib::ParseMad(t.data, t.data_length));
    if (m.status == ParseStatus::kOk)
      cm.OnMessage(m, {source, destination, packet.source, packet.destination, FabricOf(packet.carrier), frame});
    if (m.status != ParseStatus::kUnsupported) return;
  }
  OnUnreliable(t, packet, frame);
}

void IbTracker::Impl::OnUnreliable(const ib::Transport& t, const link::Packet& packet, const FrameRef& frame) {
  ++context.stats().unreliable;
  const ib::OpcodeInfo& info = ib::LookUpOpcode(t.bth.opcode);
  if (info.operation != ib::Operation::kSend || !info.first || !info.last || !Intact(packet)) return;
  Aside aside;
  aside.kind = Aside::Kind::kUnreliable;
  aside.frame = frame;
  aside.from = {packet.source, 0};
  aside.to = {packet.destination, t.bth.destination_qp};
  aside.bytes = t.data;
  aside.length = t.data_length;
  context.Emit(aside);
}

IbTracker::IbTracker(TrackerContext& context) : impl_(std::make_unique<Impl>(context)) {}
IbTracker::~IbTracker() = default;

void IbTracker::OnPacket(const link::Packet& packet, const FrameRef& frame) { impl_->OnPacket(packet, frame); }

void IbTracker::Finish() {
  impl_->cm.Finish();
  impl_->flows.Finish();
}

}  // namespace stag::fabric
