// SPDX-License-Identifier: GPL-2.0-or-later
//
// Copies: finds packets that a capture holds more than once, as from a mirror of both sides of a switch. A copy has the
// same innermost packet, but for what routers change, and comes at most kWindow before or after the first one. Most
// took another way: interfaces of the capture, link-layer addresses, VLANs, time to live, tunnels or their ends differ.
// Who sends again sends the same way, but as an IPv4 packet of its own: a packet that came the same way is a copy when
// it has the same identification, its sender is one that counts packets with it, not PSNs or bytes, and some packets of
// that sender came twice, one after the other, before. Otherwise it was sent again.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "protocol/base/frame.h"
#include "protocol/link/packet.h"

namespace stag::fabric {

class Copies {
 public:
  static constexpr int64_t kWindow = 10'000'000;  // ns
  static constexpr uint32_t kRemembered = 1024;   // packets, copies not counted

  Copies();
  // A RoCE, InfiniBand or TCP packet. True: it is a copy of one of the last; false: it is remembered.
  bool IsCopy(const link::Packet& packet, const FrameRef& frame);

 private:
  struct alignas(64) Seen {
    uint64_t key = 0;
    int64_t time_ns = 0;
    uint64_t way = 0;
    uint64_t flow = 0;                 // both addresses, where there is an identification: IPv4
    uint32_t before = 0;               // the one before it in the same bucket
    uint16_t ip_id = 0, position = 0;  // the identification; the low bits of its PSN or TCP sequence number
    uint8_t other_ways_used = 0;
    std::array<uint64_t, 2> other_ways{};
  };
  static constexpr unsigned kBucketBits = 13;

  static constexpr uint32_t kLookedAt = 64;  // of the last packets, for what a sender counts

  bool Holds(uint32_t number) const { return next_ - number <= kRemembered; }
  Seen& At(uint32_t number) { return seen_[number % kRemembered]; }
  uint16_t& BucketOf(uint64_t key) { return buckets_[key >> (64 - kBucketBits)]; }
  // The number below `next_` that ends as the bucket does: the last 65,536 are told apart, and the key of a packet
  // tells a number that is older. `next_` ends as a bucket does that is so many old: it is not that packet.
  uint32_t NumberOf(uint16_t bucket) const { return next_ - 1 - static_cast<uint16_t>(next_ - 1 - bucket); }
  bool IsCopy(uint64_t key, const link::Packet& packet, const FrameRef& frame, bool tcp);
  [[gnu::noinline]] bool IsOtherCopy(const link::Packet& packet, const FrameRef& frame);
  [[gnu::noinline]] bool LookUp(uint64_t key, const link::Packet& packet, const FrameRef& frame);
  bool Remember(uint64_t key, const link::Packet& packet, const FrameRef& frame, bool tcp);
  bool IsCopyOf(uint32_t number, const link::Packet& packet, const FrameRef& frame);
  bool IsMirrored(uint32_t number);

  // Packets are numbered; the numbers go round.
  std::vector<Seen> seen_;
  std::vector<uint16_t> buckets_;  // the last number of each, the lower bits: half the cache
  uint32_t next_ = kRemembered + 1;
  // From one host to another, in the place that a hash of the addresses says.
  struct Flow {
    uint64_t key = 0;
    uint32_t twins = 0;     // packets that were followed by the same one, before another of the flow
    bool counting = false;  // packets, with the identification
  };
  static constexpr unsigned kFlowBits = 10;
  static constexpr uint32_t kTwins = 4;  // show a mirror: who sends again sends a packet more often, or several
  std::vector<Flow> flows_;
};

}  // namespace stag::fabric
