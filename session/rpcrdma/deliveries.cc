// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/deliveries.h"

#include <algorithm>

#include "session/delivery/rc_delivery.h"
#include "session/delivery/tcp_delivery.h"

namespace stag::session {

using delivery::Lane;
using delivery::Numbers;
using fabric::EventKind;

// In the order of their beginnings; those that overlap become one.
static void PutTogether(std::vector<Wait>& waits) {
  std::erase_if(waits, [](const Wait& wait) { return Elapsed(wait.since, wait.until).value_or(0) == 0; });
  const auto by_time = [](const FrameRef& frame) { return std::pair(frame.time_ns, frame.order()); };
  std::ranges::sort(waits, {}, [&](const Wait& wait) { return by_time(wait.since); });
  size_t kept = 0;
  for (const Wait& wait : waits) {
    if (kept > 0 && wait.since.time_ns < waits[kept - 1].until.time_ns) {
      waits[kept - 1].until = std::max(waits[kept - 1].until, wait.until,
                                       [&](const FrameRef& a, const FrameRef& b) { return by_time(a) < by_time(b); });
    } else {
      waits[kept++] = wait;
    }
  }
  waits.resize(kept);
}

Deliveries::Deliveries(bool iwarp, DeliveryNotes& notes) : iwarp_(iwarp), notes_(notes) {}

void Deliveries::OnSighting(const fabric::Sighting& sighting) {
  using Part = fabric::Sighting::Part;
  if (sighting.part == Part::kBegins || sighting.part == Part::kResumes || !delivery_)
    Begin(sighting.part != Part::kBegins);
  if (next_proof_ < proofs_.size()) ProveUpTo(sighting.frame.order());
  delivery_->OnSighting(sighting, *this);
  telling_ = sighting.part != Part::kLast;
  if (!telling_ && !delivery_->troubled()) End();
}

void Deliveries::Begin(bool resumes) {
  delivered_.clear();
  Finish();
  if (iwarp_) {
    delivery_ = std::make_unique<delivery::TcpDelivery>();
  } else {
    delivery_ = std::make_unique<delivery::RcDelivery>(resumes);
  }
  next_proof_ = 0;
}

void Deliveries::Finish() {
  if (!delivery_) return;
  delivery_->Finish(*this);
  End();
}

// What RPCs carry is remembered by the numbers of the wire again.
void Deliveries::End() {
  delivery_.reset();
  if (!std::exchange(placed_, false)) return;
  for (std::vector<Carried>& carried : carried_) {
    if (carried.size() > kFewCarried) carried.erase(carried.begin(), carried.end() - kFewCarried);
    for (Carried& c : carried) c.first &= mask();
  }
}

void Deliveries::Place() {
  if (std::exchange(placed_, true)) return;
  for (size_t i = 0; i < carried_.size(); ++i) {
    const Lane lane{static_cast<fabric::Side>(i % 2), i >= 2};
    for (Carried& c : carried_[i]) {
      c.last = delivery_->PlaceOf(lane, c.number);
      c.first = c.last - ((c.number - static_cast<uint32_t>(c.first)) & mask());
    }
    std::ranges::sort(carried_[i], {}, &Carried::first);
  }
}

// Proofs in frames before `order`.
void Deliveries::ProveUpTo(uint64_t order) {
  for (; next_proof_ < proofs_.size() && proofs_[next_proof_].frame.order() < order; ++next_proof_) {
    const Proof& proof = proofs_[next_proof_];
    delivery_->Prove(proof.lane, delivery_->PlaceOf(proof.lane, proof.number), proof.frame, *this);
  }
}

void Deliveries::Prove(const Lane& lane, uint32_t number, const FrameRef& frame) {
  if (proofs_.size() >= kMostProofs) {
    proofs_.erase(proofs_.begin(), proofs_.begin() + kMostProofs / 2);
    next_proof_ -= std::min(next_proof_, kMostProofs / 2);
  }
  proofs_.push_back({lane, number, frame});
  if (delivery_) ProveUpTo(UINT64_MAX);
}

void Deliveries::Carry(const fabric::Event& event, uint64_t serial) {
  const bool read = event.kind() == EventKind::kReadResponse;
  const Lane lane = read ? LaneOfReads(event.from) : Lane{event.from, false};
  const bool is_send = event.kind() == EventKind::kSend;
  if (delivery_) Place();
  std::vector<Carried>& carried = carried_[lane.index()];
  const uint32_t count = (event.last_number - event.first_number) & mask();
  if (!carried.empty()) {
    Carried& before = carried.back();
    if (before.serial == serial && before.is_send == is_send && event.first_number == ((before.number + 1) & mask())) {
      before.last += count + 1;
      before.number = event.last_number;
      return;
    }
  }
  const size_t most = delivery_ ? kMostCarried : kFewCarried;
  if (carried.size() >= most) carried.erase(carried.begin(), carried.begin() + static_cast<ptrdiff_t>(most / 2));
  if (!delivery_) return carried.push_back({event.first_number, 0, serial, event.last_number, is_send});
  const uint64_t last = delivery_->PlaceOf(lane, event.last_number);
  const Carried next{last - count, last, serial, event.last_number, is_send};
  if (carried.empty() || carried.back().first < next.first) return carried.push_back(next);
  carried.insert(std::ranges::upper_bound(carried, next.first, {}, &Carried::first), next);
}

template <typename Fn>
void Deliveries::ForEachCarried(const Lane& lane, const Numbers& numbers, Fn fn) {
  Place();
  const std::vector<Carried>& carried = carried_[lane.index()];
  for (auto at = std::ranges::lower_bound(carried, numbers.first, {}, &Carried::last);
       at != carried.end() && at->first <= numbers.last; ++at)
    fn(*at);
}

void Deliveries::OnWait(const Lane& lane, const Numbers& numbers, const FrameRef& due, const FrameRef& delivered,
                        delivery::Cause cause) {
  const Wait wait{due, delivered, cause, lane.responses};
  notes_.OnWait(wait);
  ForEachCarried(lane, numbers, [&](const Carried& carried) {
    if (!waited_.empty() && waited_.back().serial == carried.serial && waited_.back().wait.cause == cause &&
        waited_.back().wait.since.order() == due.order() && waited_.back().wait.until.order() == delivered.order())
      return;
    if (waited_.size() >= kMostWaited) waited_.erase(waited_.begin(), waited_.begin() + kMostWaited / 2);
    waited_.push_back({carried.serial, wait});
  });
}

void Deliveries::OnDelivered(const Lane& lane, const Numbers& numbers, const FrameRef& frame) {
  if (lane.responses) return;
  if (delivered_.size() >= kMostDelivered)
    delivered_.erase(delivered_.begin(), delivered_.begin() + kMostDelivered / 2);
  delivered_.push_back({lane, numbers, frame});
}

void Deliveries::OnSpurious(const Lane& lane, const Numbers& numbers, const FrameRef& first, const FrameRef& copy) {
  bool is_send = false;
  ForEachCarried(lane, numbers, [&](const Carried& carried) { is_send = is_send || carried.is_send; });
  notes_.OnSpurious({lane.sender(), is_send, first, copy});
}

bool Deliveries::IsKnown(const TransactionEntry& entry) {
  const Lane lane = LaneOfReply(entry);
  const bool arrived = telling_ ? delivery_->IsKnown(lane, delivery_->PlaceOf(lane, entry.reply_number))
                                : entry.reply_proven || received[entry.requester] >= entry.reply_send;
  if (!arrived) return false;
  if (!troubled()) return true;
  return !delivery_->AnyTrouble([&](const Lane& of, const Numbers& numbers) {
    bool any = false;
    ForEachCarried(of, numbers, [&](const Carried& carried) { any = any || carried.serial == entry.serial; });
    return any;
  });
}

void Deliveries::Take(TransactionEntry& entry) {
  const Lane lane = LaneOfReply(entry);
  for (const Delivered& delivered : delivered_)
    if (delivered.lane == lane && ((entry.reply_number - static_cast<uint32_t>(delivered.numbers.first)) & mask()) <=
                                      delivered.numbers.last - delivered.numbers.first)
      entry.delivered = delivered.frame;
  if (waited_.empty()) return;
  for (const Waited& waited : waited_)
    if (waited.serial == entry.serial) entry.waits.push_back(waited.wait);
  std::erase_if(waited_, [&](const Waited& waited) { return waited.serial == entry.serial; });
  PutTogether(entry.waits);
}

uint64_t Deliveries::storage() const {
  uint64_t bytes = sizeof *this + (delivery_ ? delivery_->storage() : 0) + proofs_.capacity() * sizeof(Proof) +
                   waited_.capacity() * sizeof(Waited) + delivered_.capacity() * sizeof(Delivered) +
                   ended.capacity() * sizeof(void*);
  for (const std::vector<Carried>& carried : carried_) bytes += carried.capacity() * sizeof(Carried);
  return bytes;
}

bool Deliveries::TakeGrowth() {
  size_t capacity = proofs_.capacity() + ended.capacity();
  for (const std::vector<Carried>& carried : carried_) capacity += carried.capacity();
  return std::exchange(capacity_, capacity) != capacity;
}

}  // namespace stag::session
