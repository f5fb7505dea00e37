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

}  // namespace

Copies::Copies() : seen_(kRemembered), buckets_(size_t{1} << kBucketBits) {}

// The key is of what does not change on the way. The ICRC stands for all of a RoCE or InfiniBand packet; the byte of
// congestion notification, the BTH's fifth, changes. Nearly all packets are whole, and are no copies: they leave here.
bool Copies::IsCopy(const link::Packet& packet, const FrameRef& frame) {
  const Bytes payload = packet.payload;
  if (packet.carrier == link::Carrier::kTcp || payload.size() != packet.wire_length ||
      payload.size() < ib::kBthLength + ib::kIcrcLength)
    return IsOtherCopy(packet, frame);
  const uint64_t key =
      Mix((LoadBe64(payload.data() + 4) << 8) * kOdd, LoadBe32(payload.data() + payload.size() - ib::kIcrcLength));
  if (Holds(BucketOf(key))) return LookUp(key, packet, frame);
  return Remember(key, packet, frame);
}

bool Copies::IsOtherCopy(const link::Packet& packet, const FrameRef& frame) {
  const uint64_t key = OtherKeyOf(packet);
  return key != 0 && LookUp(key, packet, frame);
}

// Looks at the newest packet with the same key.
bool Copies::LookUp(uint64_t key, const link::Packet& packet, const FrameRef& frame) {
  for (uint32_t number = BucketOf(key); Holds(number); number = At(number).before) {
    if (At(number).key != key) continue;
    if (IsCopyOf(At(number), packet, frame)) return true;
    break;
  }
  return Remember(key, packet, frame);
}

// False.
inline bool Copies::Remember(uint64_t key, const link::Packet& packet, const FrameRef& frame) {
  uint32_t& bucket = BucketOf(key);
  Seen& seen = At(next_);
  seen.key = key;
  seen.time_ns = frame.time_ns;
  seen.way = packet.way;
  seen.before = bucket;
  seen.other_ways_used = 0;
  bucket = next_++;
  return false;
}

bool Copies::IsCopyOf(Seen& first, const link::Packet& packet, const FrameRef& frame) {
  const auto others = first.other_ways.begin(), others_end = others + first.other_ways_used;
  if (packet.way == first.way || std::find(others, others_end, packet.way) != others_end) return false;
  const uint64_t a = static_cast<uint64_t>(first.time_ns), b = static_cast<uint64_t>(frame.time_ns);
  const uint64_t apart = first.time_ns < frame.time_ns ? b - a : a - b;
  if (apart > static_cast<uint64_t>(kWindow)) return false;
  if (first.other_ways_used < first.other_ways.size()) first.other_ways[first.other_ways_used++] = packet.way;
  return true;
}

}  // namespace stag::fabric
