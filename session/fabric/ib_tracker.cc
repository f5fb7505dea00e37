// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/ib_tracker.h"

#include "protocol/ib/icrc.h"

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

// The ECN field of the IP header that is in front of the UDP header (RFC 3168 section 5).
uint8_t EcnOf(const link::Packet& packet) {
  const Bytes ip = packet.icrc_headers;
  if (packet.carrier != link::Carrier::kRoceV2 || ip.size() < 2) return 0;
  const auto first = std::to_integer<unsigned>(ip[0]), second = std::to_integer<unsigned>(ip[1]);
  return static_cast<uint8_t>((first >> 4 == 6 ? second >> 4 : second) & 3);
}

}  // namespace

// False: the ICRC was checked and is wrong.
bool IbTracker::Intact(const link::Packet& packet) {
  if (!context_.options().verify_crc) return true;
  ib::IcrcStatus icrc = ib::CheckIcrc(packet);
  if (icrc != ib::IcrcStatus::kAbsent) ++context_.stats().checked_crc;
  if (icrc == ib::IcrcStatus::kBad) ++context_.stats().bad_crc;
  return icrc != ib::IcrcStatus::kBad;
}

void IbTracker::OnPacket(const link::Packet& packet, const FrameRef& frame) {
  DecoderStats& stats = context_.stats();
  if (packet.status == ParseStatus::kTruncatedByCapture || packet.payload.size() < packet.wire_length)
    ++stats.truncated_frames;
  cm_.Tick(frame.time_ns);
  ib::ParseTransport(packet.payload, packet.wire_length, current_);
  current_.info = &ib::LookUpOpcode(current_.bth.opcode);
  current_.frame = frame;
  current_.wire = &packet;
  current_.verified = current_.doubtful = false;
  if (context_.packets()) current_.ecn = EcnOf(packet);
  if (plain_ && current_.status == ParseStatus::kOk && current_.info->service == ib::Service::kRc &&
      packet.carrier != link::Carrier::kInfiniBand && flows_.OnFamiliar(packet.source, packet.destination, current_))
    return;
  RouteByAddresses(packet);
}

void IbTracker::RouteByAddresses(const link::Packet& packet) {
  // With a GRH the addresses shown are GIDs; packets of one connection may come with and without, so flows go by LIDs.
  if (packet.carrier == link::Carrier::kInfiniBand && packet.icrc_headers.size() >= 8) {
    const Address destination = Lid(packet.icrc_headers.data() + 2), source = Lid(packet.icrc_headers.data() + 6);
    return Route(packet, {source, destination, packet.source, packet.destination, FabricKind::kInfiniBand});
  }
  Route(packet, {packet.source, packet.destination, packet.source, packet.destination, FabricOf(packet.carrier)});
}

// True: only the PacketObserver wants to see `current_`.
bool IbTracker::ShowOnly(const link::Packet& packet, const FlowEnds& ends) {
  const FlowKey key{ends.source, ends.destination, current_.bth.destination_qp};
  if (current_.status == ParseStatus::kOk && current_.bth.opcode == ib::kCongestionNotification) {
    flows_.OnNotification(key, current_.frame);
    return true;
  }
  if (current_.status == ParseStatus::kTruncatedByCapture && packet.payload.size() >= ib::kBthLength &&
      current_.info->service == ib::Service::kRc) {
    current_.data_length = 0;
    flows_.OnCutPacket(key, current_);
    return true;
  }
  return false;
}

// `current_`, which is the content of `packet`, to whoever follows its service.
void IbTracker::Route(const link::Packet& packet, const FlowEnds& ends) {
  if (context_.packets() && ShowOnly(packet, ends)) return;
  // Cut within the headers: the connection sees it as missing. Malformed: nobody would accept it.
  if (current_.status != ParseStatus::kOk) return;
  switch (current_.info->service) {
    case ib::Service::kUd: return OnDatagram(packet, ends);
    case ib::Service::kUc: return OnUnreliable(packet);
    case ib::Service::kRc: break;
    default: return;
  }
  if (!Intact(packet)) return;
  if (cm_.waiting()) {
    const FlowKey key{ends.source, ends.destination, current_.bth.destination_qp};
    if (!flows_.Knows(key)) cm_.BeforeNewFlow(key);
  }
  flows_.OnPacket(ends, current_);
}

void IbTracker::OnDatagram(const link::Packet& packet, const FlowEnds& ends) {
  if (current_.bth.destination_qp == ib::kGsiQp) {
    if (!Intact(packet)) return;
    ib::CmMessage m = ib::ParseCm(ib::ParseMad(current_.data, current_.data_length));
    if (m.status == ParseStatus::kOk)
      cm_.OnMessage(
          m, {ends.source, ends.destination, ends.shown_source, ends.shown_destination, ends.fabric, current_.frame});
    if (m.status != ParseStatus::kUnsupported) return;
  }
  OnUnreliable(packet);
}

void IbTracker::OnUnreliable(const link::Packet& packet) {
  ++context_.stats().unreliable;
  const ib::OpcodeInfo& info = *current_.info;
  if (info.operation != ib::Operation::kSend || !info.first || !info.last || !Intact(packet)) return;
  Aside aside;
  aside.kind = Aside::Kind::kUnreliable;
  aside.frame = current_.frame;
  aside.from = {packet.source, 0};
  aside.to = {packet.destination, current_.bth.destination_qp};
  aside.bytes = current_.data;
  aside.length = current_.data_length;
  context_.Emit(aside);
}

void IbTracker::Finish() {
  cm_.Finish();
  flows_.Finish();
}

}  // namespace stag::fabric
