// SPDX-License-Identifier: GPL-2.0-or-later
//
// Copies: finds packets that a capture holds more than once, as from a mirror of both sides of a switch. A copy has the
// same innermost packet, but for what routers change, and comes at most kWindow before or after the first one. Most
// took another way: interfaces of the capture, link-layer addresses, VLANs, time to live, tunnels or their ends differ.
// Who sends again sends the same way. A packet that came the same way and is the same in every byte is a copy,
//   - when its sender cannot have sent it again yet: it is too soon for its timer (AckTimeouts; TCP waits two round
//     trips, and its timestamps go on), no NAK, no duplicate acknowledgements came, and it did not go back;
//   - when it has the same IPv4 identification, with which its sender counts packets, not PSNs or bytes, and some
//     packets before it have copies;
//   - when nearly each packet before it has one, at about the same distance.
// Where only some of these have one, nothing tells: it is left out as a copy, and counted as unclear. Else it was sent
// again. Of acknowledgements that are equal, and near each other, the first counts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "protocol/base/frame.h"
#include "protocol/link/packet.h"
#include "session/fabric/ack_timeouts.h"

namespace stag::fabric {

class Copies {
 public:
  static constexpr int64_t kWindow = 10'000'000;  // ns
  static constexpr uint32_t kRemembered = 1024;   // packets, copies not counted

  // `timeouts` must outlive it.
  explicit Copies(const AckTimeouts& timeouts);
  // A RoCE, InfiniBand or TCP packet. True: it is a copy of one of the last; false: it is remembered.
  bool IsCopy(const link::Packet& packet, const FrameRef& frame);
  // How many copies may have been sent again, and the first of them.
  uint64_t unclear() const { return unclear_; }
  uint64_t first_unclear() const { return first_unclear_; }

 private:
  struct alignas(64) Seen {
    uint64_t key = 0;
    int64_t time_ns = 0;
    uint64_t way = 0;
    uint64_t place = 0;   // bytes 4 to 11 of the BTH: queue pair and PSN; TCP: sequence number, acknowledgment
    uint32_t flow = 0;    // hash of the sender and the receiver; TCP: with ports
    uint32_t before = 0;  // the one before it in the same bucket
    uint32_t rest = 0;    // hash of what the key lacks of it
    uint32_t apart = 0;   // ns: how far the last of its copies that came the same way is from it
    uint16_t ip_id = 0;   // IPv4 identification
    uint8_t kind = 0;     // opcode; TCP: whether there is payload
    uint8_t detail = 0;   // AETH syndrome; TCP: bytes of the header
    uint8_t copies = 0;   // that came the same way
    uint8_t flags = 0;    // kAgain, number of other ways
    std::array<uint32_t, 2> other_ways{};
  };
  static constexpr uint8_t kAgain = 0x80;  // it was sent again
  static constexpr unsigned kBucketBits = 13;

  static constexpr uint32_t kLookedAt = 64;  // neighbours of a packet that came the same way
  static constexpr uint32_t kSome = 4, kMany = 16;

  // What the packets before one that came the same way tell.
  struct Neighbours {
    uint32_t looked = 0;                        // of these ...
    uint32_t copied = 0;                        // ... so many have copies ...
    uint32_t copies = 0;                        // ... and so many of them
    int64_t shortest = INT64_MAX, longest = 0;  // ns: distances of copies
    int64_t span = 0;                           // ns: since the oldest
    bool counting = false;                      // the sender counts packets with the identification
    uint32_t usual() const;                     // copies of one of them
    bool Near(int64_t apart) const;             // about the same distance
  };

  bool Holds(uint32_t number) const { return next_ - number <= kRemembered; }
  Seen& At(uint32_t number) { return seen_[number % kRemembered]; }
  const Seen& At(uint32_t number) const { return seen_[number % kRemembered]; }
  uint16_t& BucketOf(uint64_t key) { return buckets_[key >> (64 - kBucketBits)]; }
  // The number below `next_` that ends as the bucket does: the last 65,536 are told apart, and the key of a packet
  // tells a number that is older. `next_` ends as a bucket does that is so many old: it is not that packet.
  uint32_t NumberOf(uint16_t bucket) const { return next_ - 1 - static_cast<uint16_t>(next_ - 1 - bucket); }
  enum class Form : uint8_t { kWhole, kTcp, kOther };  // kWhole: of RoCE or InfiniBand, with an ICRC
  static void Describe(uint64_t key, uint32_t flow, uint32_t rest, const link::Packet& packet, const FrameRef& frame,
                       Form form, Seen& seen);
  bool IsCopy(uint64_t key, uint32_t flow, uint32_t rest, const link::Packet& packet, const FrameRef& frame, Form form);
  [[gnu::noinline]] bool IsOtherCopy(const link::Packet& packet, const FrameRef& frame);
  [[gnu::noinline]] bool LookUp(uint64_t key, uint32_t rest, const link::Packet& packet, const FrameRef& frame,
                                Form form);
  void Remember(uint64_t key, uint32_t flow, uint32_t rest, const link::Packet& packet, const FrameRef& frame,
                Form form);
  bool IsCopyOf(uint32_t number, const link::Packet& packet, const FrameRef& frame);
  bool CameTwice(uint32_t number, const link::Packet& packet, const FrameRef& frame, int64_t apart);
  // What came between a packet and its like.
  struct Between {
    bool again = false;     // its sender may have gone back to it
    bool answered = false;  // a later answer: an RDMA Read Request for what was missing before it may follow
  };
  Between LookBetween(uint32_t number, const link::Packet& packet, bool tcp) const;
  Neighbours NeighboursOf(uint32_t number, int64_t now_ns, bool tcp) const;

  const AckTimeouts& timeouts_;
  // Packets are numbered; the numbers go round.
  std::vector<Seen> seen_;
  std::vector<uint16_t> buckets_;  // the last number of each, the lower bits: half the cache
  uint32_t next_ = kRemembered + 1;
  uint64_t unclear_ = 0, first_unclear_ = 0;
};

}  // namespace stag::fabric
