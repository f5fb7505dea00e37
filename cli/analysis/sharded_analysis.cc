// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/sharded_analysis.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace stag::cli {
namespace {

// A round is sealed when it has so much, memory of frames that is kept included: that comes in pieces of up to 1 MiB.
constexpr size_t kRoundEvents = 1024;
constexpr uint64_t kRoundBytes = 2 << 20;
// After so many periods the way that took longer is tried again, for a period.
constexpr unsigned kPeriodsUntilTrial = 32;
// So many pairs of addresses are dealt out in turns; further ones by their hash.
constexpr size_t kMaxPairs = 4096;

}  // namespace

size_t ShardedAnalysis::PairHash::operator()(const Pair& pair) const { return MixHash(MixHash(0, pair[0]), pair[1]); }

int64_t ShardedAnalysis::SteadyNow() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ShardedAnalysis::ShardedAnalysis(const session::SessionOptions& options, std::vector<Shard*> shards, HandOver when,
                                 std::function<int64_t()> now_ns)
    : when_(when), parts_(shards.size()), now_ns_(std::move(now_ns)), period_began_ns_(now_ns_()) {
  session::SessionOptions own = options;
  own.memory_limit = options.memory_limit / shards.size();
  for (size_t i = 0; i < shards.size(); ++i) {
    parts_[i].shard = shards[i];
    parts_[i].session = std::make_unique<session::Session>(own, shards[i]->Observers());
  }
  if (when == HandOver::kAlways) BeginHandingOver();
}

size_t ShardedAnalysis::ShardOf(const fabric::ConnectionInfo& info) {
  if (info.id == last_connection_) return last_shard_;
  last_connection_ = info.id;
  const auto [known, is_new] = connections_.try_emplace(info.id, 0);
  if (!is_new) return last_shard_ = known->second;
  Pair pair{info.endpoint[0].address, info.endpoint[1].address};
  if (pair[1] < pair[0]) std::swap(pair[0], pair[1]);
  if (const auto found = pairs_.find(pair); found != pairs_.end()) {
    known->second = found->second;
  } else if (pairs_.size() < kMaxPairs) {
    known->second = pairs_.size() % parts_.size();
    pairs_.emplace(pair, known->second);
  } else {
    known->second = PairHash{}(pair) % parts_.size();
  }
  return last_shard_ = known->second;
}

void ShardedAnalysis::OnEvent(const fabric::Event& event) {
  Part& part = parts_[ShardOf(*event.connection)];
  if (event.kind() == fabric::EventKind::kClosed) {
    connections_.erase(event.connection->id);
    last_connection_ = 0;
  }
  const uint64_t number = next_number_++;
  if (handing_over_) {
    CountIn(part.batches[sealed_ % Shard::kRounds].Add(event, number, frame_ ? frame_->bytes : Bytes{}, *memory_));
  } else {
    part.shard->clock_ = {event.now.order(), first_time_ns_, number >= over_from_};
    const bool timed = number % kTimedEvery == 0;
    if (timed) timed_ns_ -= now_ns_();
    part.session->OnEvent(event);
    if (timed) timed_ns_ += now_ns_();
  }
  if (++period_events_ == kPeriodEvents) EndPeriod();
}

void ShardedAnalysis::OnAside(const fabric::Aside& aside) {
  const uint64_t number = next_number_++;
  const size_t copies = IsForAll(aside) ? parts_.size() : 1;
  size_t copied = 0;
  for (size_t i = 0; i < copies; ++i) {
    Part& part = parts_[i];
    if (handing_over_) {
      copied += part.batches[sealed_ % Shard::kRounds].Add(aside, number);
    } else {
      part.shard->clock_ = {aside.frame.order(), first_time_ns_, false};
      part.session->OnAside(aside);
    }
  }
  if (handing_over_) CountIn(copied);
}

// What the packets of a connection tell, besides its events.
template <typename Told>
void ShardedAnalysis::Pass(const Told& told, void (session::Session::*give)(const Told&)) {
  const auto known = connections_.find(told.connection);
  if (known == connections_.end()) return;  // of a connection without any event
  Part& part = parts_[known->second];
  const uint64_t number = next_number_++;
  if (handing_over_) {
    part.batches[sealed_ % Shard::kRounds].Add(told, number);
    CountIn(0);
  } else {
    part.shard->clock_ = {told.frame.order(), first_time_ns_, false};
    (part.session.get()->*give)(told);
  }
}

void ShardedAnalysis::OnRecovery(const fabric::Recovery& recovery) { Pass(recovery, &session::Session::OnRecovery); }

void ShardedAnalysis::OnSighting(const fabric::Sighting& sighting) { Pass(sighting, &session::Session::OnSighting); }

void ShardedAnalysis::EndPeriod() {
  period_events_ = 0;
  if (when_ == HandOver::kAlways) return;
  if (!std::exchange(settling_, false) && Measure() != handing_over_) {
    settling_ = true;
    if (handing_over_) {
      Drain();
      handing_over_ = false;
      for (const Part& part : parts_) part.shard->alone_ = true;
    } else {
      cost_ns_[1] = 0;
      BeginHandingOver();
    }
  }
  timed_ns_ = 0;
  period_began_ns_ = now_ns_();
}

// At the end of a period: whether the next one is handed over.
bool ShardedAnalysis::Measure() {
  const int64_t took_ns = std::max<int64_t>(now_ns_() - period_began_ns_, 1);
  cost_ns_[handing_over_ ? 1 : 0] = took_ns;
  if (!handing_over_) {
    // Twice in a row: an interruption in one timed event counts for kTimedEvery.
    const bool analysis_is_half = timed_ns_ * static_cast<int64_t>(2 * kTimedEvery) >= took_ns;
    if (!std::exchange(analysis_was_half_, analysis_is_half) || !analysis_is_half) return false;
  }
  const bool try_other = cost_ns_[1] == 0 || ++periods_ % kPeriodsUntilTrial == 0;
  return try_other ? !handing_over_ : cost_ns_[1] < cost_ns_[0];
}

// Waits for the results of all events that were handed over.
void ShardedAnalysis::Drain() {
  Seal(false);
  while (delivered_ < sealed_) DeliverOldest();
}

void ShardedAnalysis::BeginHandingOver() {
  handing_over_ = true;
  for (const Part& part : parts_) part.shard->alone_ = false;
  while (helpers_.size() + 1 < parts_.size())
    helpers_.emplace_back([this](const std::stop_token& stop) { Help(stop); });
}

// An event or aside of which so many bytes were copied.
void ShardedAnalysis::CountIn(size_t copied) {
  ++round_events_;
  round_bytes_ += copied;
  if (memory_->owner.get() != counted_) {
    counted_ = memory_->owner.get();
    round_bytes_ += memory_->size;
  }
  if (round_events_ >= kRoundEvents || round_bytes_ >= kRoundBytes) Seal(false);
}

void ShardedAnalysis::Seal(bool last) {
  round_events_ = 0;
  round_bytes_ = 0;
  counted_ = nullptr;
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    left_[sealed_ % Shard::kRounds] = parts_.size();
    ++sealed_;
    last_ = last;
    full = sealed_ - delivered_ == Shard::kRounds;
  }
  sealed_one_.notify_all();
  // The next round needs the storage of the oldest; others are delivered as far as they are done.
  if (full) DeliverOldest();
  while (delivered_ < sealed_) {
    {
      const std::lock_guard lock(mutex_);
      if (!Done(delivered_)) break;
    }
    DeliverOldest();
  }
}

// Waits until the oldest round is done, working meanwhile, and merges the results of the shards.
void ShardedAnalysis::DeliverOldest() {
  const size_t round = delivered_ % Shard::kRounds;
  {
    std::unique_lock lock(mutex_);
    while (!error_ && !Done(delivered_))
      if (!WorkOnOldest(lock)) done_one_.wait(lock);
    if (error_) std::rethrow_exception(error_);
  }
  std::vector<size_t> next(parts_.size(), 0);
  for (;;) {
    size_t first = parts_.size();
    uint64_t number = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Shard& shard = *parts_[i].shard;
      if (next[i] == shard.Count(round)) continue;
      if (first < parts_.size() && shard.NumberOf(round, next[i]) >= number) continue;
      first = i;
      number = shard.NumberOf(round, next[i]);
    }
    if (first == parts_.size()) break;
    parts_[first].shard->DeliverAt(round, next[first]++);
  }
  for (Part& part : parts_) {
    part.shard->Clear(round);
    part.batches[round].Clear();
  }
  ++delivered_;
}

// Works until nothing is left that no other thread works on.
void ShardedAnalysis::Help(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (WorkOnOldest(lock)) continue;
    if (last_ || error_) return;
    sealed_one_.wait(lock, stop, [this] { return last_ || error_ || Ready(); });
  }
}

// The shard with the oldest batch to work on; null if there is none.
ShardedAnalysis::Part* ShardedAnalysis::Ready() {
  Part* oldest = nullptr;
  if (error_) return oldest;
  for (Part& part : parts_)
    if (!part.in_work && part.next < sealed_ && (!oldest || part.next < oldest->next)) oldest = &part;
  return oldest;
}

// False if there is nothing to do. Unlocks while it works.
bool ShardedAnalysis::WorkOnOldest(std::unique_lock<std::mutex>& lock) {
  Part* part = Ready();
  if (!part) return false;
  part->in_work = true;
  part->shard->clock_.first_time_ns = first_time_ns_;
  const bool last = last_ && sealed_ == part->next + 1;
  std::exception_ptr error;
  lock.unlock();
  try {
    Work(*part, last);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  part->in_work = false;
  if (error) {
    if (!error_) error_ = error;
    sealed_one_.notify_all();
    done_one_.notify_one();
  } else if (--left_[part->next++ % Shard::kRounds] == 0) {
    done_one_.notify_one();
  }
  return true;
}

void ShardedAnalysis::Work(Part& part, bool last) {
  Shard& shard = *part.shard;
  shard.round_ = part.next % Shard::kRounds;
  part.batches[shard.round_].Give(*part.session, [this, &shard](uint64_t number, const FrameRef& now) {
    shard.number_ = number;
    shard.clock_.frame = now.order();
    shard.clock_.over = number >= over_from_;
  });
  if (!last) return;
  shard.number_ = UINT64_MAX;
  part.session->Finish();
}

void ShardedAnalysis::Finish() {
  if (last_) return;
  if (!handing_over_)  // else threads read it
    for (const Part& part : parts_) part.shard->alone_ = false;
  Seal(true);
  while (delivered_ < sealed_) DeliverOldest();
  helpers_.clear();
}

session::SessionStats ShardedAnalysis::stats() const {
  session::SessionStats sum;
  for (const Part& part : parts_) {
    const session::SessionStats& one = part.session->stats();
    sum.connections += one.connections;
    sum.transactions += one.transactions;
    sum.messages += one.messages;
    sum.evicted_transactions += one.evicted_transactions;
    sum.dropped_bytes += one.dropped_bytes;
    sum.copies_given_up += one.copies_given_up;
    sum.judged += one.judged;
  }
  return sum;
}

}  // namespace stag::cli
