// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/sighting_journal.h"

#include <algorithm>

namespace stag::fabric {

// Its receiver has it, as far as acknowledgments say; of an RDMA Read Response none does.
bool SightingJournal::IsAcknowledged(const Seen& seen) const {
  using Kind = Sighting::Kind;
  if (seen.kind == Kind::kReadResponse) return ring_.size() >= kResponses;
  if (seen.kind > Kind::kSegment || seen.count == 0) return true;
  const Lane& lane = lanes_[seen.from];
  const unsigned shift = Shift(seen.kind);
  return lane.any_acknowledged && !IsBehind((seen.number + seen.count) << shift, lane.acknowledged);
}

// Forgets the older half as far as it is acknowledged, else remembers more.
void SightingJournal::MakeRoom(bool may_grow) {
  const size_t size = ring_.size();
  const uint64_t half = first_ + (size + 1) / 2;
  uint64_t unneeded = first_;
  if (size >= kUsual)
    while (unneeded < half && IsAcknowledged(ring_[unneeded & (size - 1)])) ++unneeded;
  const size_t more = std::max(2 * size, kFew);
  const bool fits = unneeded < half || size == 0;
  if (fits && more <= (may_grow ? kMost : kUsual) && charge_.TrySet(more * sizeof(Seen))) {
    std::vector<Seen> ring(more);
    for (uint64_t i = first_; i != next_; ++i) ring[i & (more - 1)] = ring_[i & (size - 1)];
    ring_.swap(ring);
    return;
  }
  forgotten_ = true;
  first_ = std::max(unneeded, first_ + size / 4);
}

void SightingJournal::BeginTrouble() {
  for (Lane& lane : lanes_) {
    lane.awaits = lane.any;
    lane.awaited = lane.end;
  }
  calm_ = 0;
  if (telling_) return Forget();  // it was told
  pending_ = true;
}

bool SightingJournal::IsCalm() const {
  return calm_ > kCalm && std::none_of(lanes_.begin(), lanes_.begin() + 2, [](const Lane& lane) {
           return lane.awaits && (!lane.any_acknowledged || IsBehind(lane.awaited, lane.acknowledged));
         });
}

}  // namespace stag::fabric
