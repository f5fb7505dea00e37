// SPDX-License-Identifier: GPL-2.0-or-later
//
// SightingJournal: the last packets of a connection. What comes once and in order is remembered only. When a packet
// comes again, or late, all that is remembered is told, in order, and then each packet, until what was sent by then is
// acknowledged and nothing of the kind has come for a while.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "protocol/base/budget.h"
#include "session/fabric/fabric_event.h"

namespace stag::fabric {

class SightingJournal {
 public:
  // What it remembers is charged. REQUIRES: `budget` outlives this.
  explicit SightingJournal(Budget& budget) : charge_(budget) {}

  // A Sighting but for what is the same for all of the connection, and SACK.
  struct Seen {
    FrameRef frame;
    uint32_t number = 0, count = 1, acknowledged = 0;
    Sighting::Kind kind = Sighting::Kind::kRequest;
    Side from = 0;
    bool acknowledges = false;
  };

  // Takes a packet, and what SACK says in it. `tell`: of a Sighting, whose `part` is set. Where it `may_tell` only
  // later, what is to be told waits.
  template <typename Tell>
  void Take(const Seen& seen, std::span<const Sighting::Block> sack, bool may_tell, Tell tell) {
    if (IsOdd(seen) || !sack.empty()) [[unlikely]]
      BeginTrouble();
    if (!pending_ && !telling_) [[likely]]
      return Remember(seen, may_tell);
    TellOf(seen, sack, may_tell, tell);
  }

 private:
  // The requests of a side, or the RDMA Read Responses to them. Numbers are compared as of 32 bits: the 24 of a PSN are
  // the upper ones.
  struct Lane {
    uint32_t end = 0;           // behind the highest number
    uint32_t acknowledged = 0;  // behind the highest that is
    uint32_t awaited = 0;       // trouble lasts until that much is acknowledged
    bool any = false, any_acknowledged = false, awaits = false;
  };
  static constexpr size_t kFew = 16, kUsual = 128, kResponses = 1024, kMost = 1 << 15;
  // So many packets without trouble end it.
  static constexpr uint32_t kCalm = 256;

  static bool IsBehind(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) > 0; }
  static unsigned Shift(Sighting::Kind kind) { return kind == Sighting::Kind::kSegment ? 0 : 8; }

  // Notes the packet. Whether it comes again or late.
  bool IsOdd(const Seen& s) {
    using Kind = Sighting::Kind;
    const unsigned shift = Shift(s.kind);
    const uint32_t begin = s.number << shift;
    switch (s.kind) {
      case Kind::kSegment:
        if (s.acknowledges) Acknowledge(lanes_[1 - s.from], s.acknowledged);
        return s.count > 0 && !Advances(lanes_[s.from], begin, begin + s.count);
      case Kind::kRequest:
      case Kind::kReadRequest: return !Advances(lanes_[s.from], begin, begin + (s.count << shift));
      case Kind::kReadResponse:
        Acknowledge(lanes_[1 - s.from], begin + (1u << shift));
        return !Advances(lanes_[3 - s.from], begin, begin + (1u << shift));
      case Kind::kAck: Acknowledge(lanes_[1 - s.from], begin + (1u << shift)); return false;
      case Kind::kNak:
      case Kind::kRnrNak: Acknowledge(lanes_[1 - s.from], begin); return false;
    }
    return false;
  }
  static bool Advances(Lane& lane, uint32_t begin, uint32_t end) {
    const bool advances = !lane.any || !IsBehind(lane.end, begin);
    if (!lane.any || IsBehind(end, lane.end)) lane.end = end;
    lane.any = true;
    return advances;
  }
  static void Acknowledge(Lane& lane, uint32_t end) {
    if (!lane.any_acknowledged || IsBehind(end, lane.acknowledged)) lane.acknowledged = end;
    lane.any_acknowledged = true;
  }

  void Remember(const Seen& seen, bool may_grow) {
    if (next_ - first_ == ring_.size()) [[unlikely]] {
      MakeRoom(may_grow);
      if (ring_.empty()) return;
    }
    ring_[next_++ & (ring_.size() - 1)] = seen;
  }
  void MakeRoom(bool may_grow);
  bool IsAcknowledged(const Seen& seen) const;
  void BeginTrouble();
  bool IsCalm() const;

  static Sighting Told(const Seen& seen, Sighting::Part part) {
    Sighting told;
    told.part = part;
    told.frame = seen.frame;
    told.number = seen.number;
    told.count = seen.count;
    told.acknowledged = seen.acknowledged;
    told.kind = seen.kind;
    told.from = seen.from;
    told.acknowledges = seen.acknowledges;
    return told;
  }
  template <typename Tell>
  [[gnu::noinline]] void TellOf(const Seen& seen, std::span<const Sighting::Block> sack, bool may_tell, Tell tell) {
    if (pending_ && !may_tell) return Remember(seen, false);
    auto part = Sighting::Part::kNext;
    if (std::exchange(pending_, false)) {
      part = forgotten_ ? Sighting::Part::kResumes : Sighting::Part::kBegins;
      for (uint64_t i = first_; i != next_; ++i) {
        Sighting earlier = Told(ring_[i & (ring_.size() - 1)], std::exchange(part, Sighting::Part::kNext));
        tell(earlier);
      }
      telling_ = true;
      Forget();
    }
    if (calm_++ > 0) Remember(seen, true);
    if (IsCalm()) {
      part = Sighting::Part::kLast;
      telling_ = false;
    }
    Sighting told = Told(seen, part);
    std::ranges::copy(sack, told.sack.begin());
    told.blocks = static_cast<uint8_t>(sack.size());
    tell(told);
  }
  void Forget() {
    first_ = next_;
    forgotten_ = true;
  }

  Charge charge_;
  std::vector<Seen> ring_;  // a power of two
  uint64_t first_ = 0, next_ = 0;
  bool forgotten_ = false;  // something of the connection is not in the ring any more
  bool pending_ = false;    // something is to be told, from the ring's first on
  bool telling_ = false;
  uint32_t calm_ = 0;  // packets since the last that was odd
  std::array<Lane, 4> lanes_;
};

}  // namespace stag::fabric
