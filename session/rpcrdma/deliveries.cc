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

Deliveries::Deliveries(bool iwarp, DeliveryNotes& notes) : iwarp_(iwarp), notes_(notes) {
  if (iwarp) {
    delivery_ = std::make_unique<delivery::TcpDelivery>();
  } else {
    delivery_ = std::make_unique<delivery::RcDelivery>();
  }
}

void Deliveries::Carry(const fabric::Event& event, uint64_t serial) {
  const bool read = event.kind() == EventKind::kReadResponse;
  const Lane lane = read ? LaneOfReads(event.from) : Lane{event.from, false};
  const bool is_send = event.kind() == EventKind::kSend;
  std::vector<Carried>& carried = carried_[lane.index()];
  const uint32_t mask = iwarp_ ? UINT32_MAX : 0xffffff;
  const uint32_t count = (event.last_number - event.first_number) & mask;
  if (!carried.empty()) {
    Carried& before = carried.back();
    if (before.serial == serial && before.is_send == is_send && event.first_number == ((before.number + 1) & mask)) {
      before.last += count + 1;
      before.number = event.last_number;
      return;
    }
  }
  if (carried.size() >= kMostCarried) carried.erase(carried.begin(), carried.begin() + kMostCarried / 2);
  const uint64_t last = delivery_->PlaceOf(lane, event.last_number);
  const Carried next{last - count, last, serial, event.last_number, is_send};
  if (carried.empty() || carried.back().first < next.first) return carried.push_back(next);
  carried.insert(std::ranges::upper_bound(carried, next.first, {}, &Carried::first), next);
}

template <typename Fn>
void Deliveries::ForEachCarried(const Lane& lane, const Numbers& numbers, Fn fn) const {
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

bool Deliveries::IsKnown(const TransactionEntry& entry) const {
  const Lane lane = LaneOfReply(entry);
  if (!delivery_->IsKnown(lane, delivery_->PlaceOf(lane, entry.reply_number))) return false;
  if (!delivery_->troubled()) return true;
  return !delivery_->AnyTrouble([&](const Lane& of, const Numbers& numbers) {
    bool any = false;
    ForEachCarried(of, numbers, [&](const Carried& carried) { any = any || carried.serial == entry.serial; });
    return any;
  });
}

void Deliveries::Take(TransactionEntry& entry) {
  const Lane lane = LaneOfReply(entry);
  if (!delivered_.empty()) {
    const uint64_t last = delivery_->PlaceOf(lane, entry.reply_number);
    for (const Delivered& delivered : delivered_)
      if (delivered.lane == lane && delivered.numbers.first <= last && last <= delivered.numbers.last)
        entry.delivered = delivered.frame;
  }
  if (waited_.empty()) return;
  for (const Waited& waited : waited_)
    if (waited.serial == entry.serial) entry.waits.push_back(waited.wait);
  std::erase_if(waited_, [&](const Waited& waited) { return waited.serial == entry.serial; });
  PutTogether(entry.waits);
}

uint64_t Deliveries::storage() const {
  uint64_t bytes = sizeof *this + delivery_->storage() + waited_.capacity() * sizeof(Waited) +
                   delivered_.capacity() * sizeof(Delivered) + ended.capacity() * sizeof(void*);
  for (const std::vector<Carried>& carried : carried_) bytes += carried.capacity() * sizeof(Carried);
  return bytes;
}

}  // namespace stag::session
