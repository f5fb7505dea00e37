// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/copies.h"

#include <algorithm>
#include <cstring>

#include "protocol/ib/transport.h"

namespace stag::fabric {
namespace {

uint64_t Load64(const std::byte* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;

uint64_t Mix(uint64_t h, uint64_t v) { return ((h << 23 | h >> 41) ^ v) * kOdd; }

// Of the addresses, in their order.
uint64_t FlowOf(const link::Packet& packet) {
  const std::byte *source = packet.source.bytes.data(), *destination = packet.destination.bytes.data();
  const uint64_t from = Load64(source) ^ Load64(source + 8), to = Load64(destination) ^ Load64(destination + 8);
  return from * kOdd ^ to;
}

// The key of a RoCE packet that is cut by the capture, of what there is of its headers, or of a TCP segment; 0: there
// is too little of it.
uint64_t OtherKeyOf(const link::Packet& packet) {
  const Bytes payload = packet.payload;
  if (packet.carrier == link::Carrier::kTcp) {
    const uint64_t ports = uint64_t{packet.source_port} << 32 | uint64_t{packet.destination_port} << 16 | packet.window;
    const uint64_t rest = packet.wire_length << 24 | uint64_t{packet.tcp_flags} << 16 | packet.ip_id;
    return Mix(Mix(Mix(ports * kOdd, uint64_t{packet.sequence} << 32 | packet.acknowledgment), rest), FlowOf(packet));
  }
  if (payload.size() < ib::kBthLength) return 0;
  uint64_t key = Mix(LoadBe32(payload.data()) ^ FlowOf(packet), packet.wire_length << 16 | packet.ip_id);
  const Bytes rest = payload.subspan(5, std::min<size_t>(payload.size() - 5, 48) & ~size_t{7});
  for (size_t at = 0; at < rest.size(); at += 8) key = Mix(key, Load64(&rest[at]));
  return key;
}

// The IPv4 addresses, in their order.
uint64_t Ipv4FlowOf(const link::Packet& packet) {
  return uint64_t{LoadLe32(packet.source.bytes.data())} << 32 | LoadLe32(packet.destination.bytes.data());
}

// Of a packet that is long enough: the low bits of the PSN or the TCP sequence number.
uint16_t PositionOf(const link::Packet& packet, bool tcp) {
  return tcp ? static_cast<uint16_t>(packet.sequence) : LoadBe16(packet.payload.data() + 10);
}

}  // namespace

Copies::Copies() : seen_(kRemembered), buckets_(size_t{1} << kBucketBits), flows_(size_t{1} << kFlowBits) {}

// The key is of what does not change on the way. The ICRC stands for all of a RoCE or InfiniBand packet; the byte of
// congestion notification, the BTH's fifth, changes: the seven behind it have the queue pair and the PSN. Nearly all
// packets are whole, and are no copies: they leave here, at a few instructions each.
bool Copies::IsCopy(const link::Packet& packet, const FrameRef& frame) {
  const Bytes payload = packet.payload;
  if (packet.carrier == link::Carrier::kTcp || payload.size() != packet.wire_length ||
      payload.size() < ib::kBthLength + ib::kIcrcLength)
    return IsOtherCopy(packet, frame);
  const uint64_t key =
      (LoadBe64(payload.data() + 4) << 8) * kOdd ^ LoadLe32(payload.data() + payload.size() - ib::kIcrcLength);
  return IsCopy(key, packet, frame, false);
}

bool Copies::IsOtherCopy(const link::Packet& packet, const FrameRef& frame) {
  const uint64_t key = OtherKeyOf(packet);
  return key != 0 && IsCopy(key, packet, frame, packet.carrier == link::Carrier::kTcp);
}

// With no packet in its bucket it is no copy.
inline bool Copies::IsCopy(uint64_t key, const link::Packet& packet, const FrameRef& frame, bool tcp) {
  if (Holds(NumberOf(BucketOf(key)))) return LookUp(key, packet, frame);
  return Remember(key, packet, frame, tcp);
}

// Looks at the newest packet with the same key.
bool Copies::LookUp(uint64_t key, const link::Packet& packet, const FrameRef& frame) {
  for (uint32_t number = NumberOf(BucketOf(key)); Holds(number); number = At(number).before) {
    if (At(number).key != key) continue;
    if (IsCopyOf(number, packet, frame)) return true;
    break;
  }
  return Remember(key, packet, frame, packet.carrier == link::Carrier::kTcp);
}

// False.
inline bool Copies::Remember(uint64_t key, const link::Packet& packet, const FrameRef& frame, bool tcp) {
  uint16_t& bucket = BucketOf(key);
  Seen& seen = At(next_);
  seen.key = key;
  seen.time_ns = frame.time_ns;
  seen.way = packet.way;
  seen.before = NumberOf(bucket);
  seen.other_ways_used = 0;
  seen.ip_id = packet.ip_id;
  if (packet.ip_id != 0) {
    seen.flow = Ipv4FlowOf(packet);
    seen.position = PositionOf(packet, tcp);
  }
  bucket = static_cast<uint16_t>(next_++);
  return false;
}

bool Copies::IsCopyOf(uint32_t number, const link::Packet& packet, const FrameRef& frame) {
  Seen& first = At(number);
  const uint64_t a = static_cast<uint64_t>(first.time_ns), b = static_cast<uint64_t>(frame.time_ns);
  const uint64_t apart = first.time_ns < frame.time_ns ? b - a : a - b;
  if (apart > static_cast<uint64_t>(kWindow)) return false;
  const auto others = first.other_ways.begin(), others_end = others + first.other_ways_used;
  if (packet.way == first.way || std::find(others, others_end, packet.way) != others_end) return IsMirrored(number);
  if (first.other_ways_used < first.other_ways.size()) first.other_ways[first.other_ways_used++] = packet.way;
  return true;
}

// A packet like this one came the same way. (It has the same identification: the key has that in it, or an ICRC that
// covers it.) Whether the sender gives each packet an identification of its own: one of the last had another, and it
// does not follow what a packet that is sent again has in common with the first; and whether its packets come twice.
bool Copies::IsMirrored(uint32_t number) {
  const Seen& first = At(number);
  if (first.ip_id == 0) return false;
  Flow& flow = flows_[first.flow * kOdd >> (64 - kFlowBits)];
  if (flow.key != first.flow) flow = {first.flow, 0, false};
  if (flow.counting && flow.twins >= kTwins) return true;
  bool follows = true;
  for (uint32_t n = next_ - 1; Holds(n) && next_ - n <= kLookedAt; --n) {
    const Seen& other = At(n);
    if (other.ip_id == 0 || other.flow != first.flow) continue;
    follows = follows && next_ - n >= next_ - number;
    if (other.ip_id != first.ip_id &&
        static_cast<uint16_t>(other.ip_id - other.position) != static_cast<uint16_t>(first.ip_id - first.position))
      flow.counting = true;
  }
  flow.twins += follows && next_ - number <= kLookedAt ? 1 : 0;
  return false;
}

}  // namespace stag::fabric
