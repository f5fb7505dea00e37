// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/shares.h"

#include <algorithm>
#include <cstdint>

namespace stag::cli {
namespace {

// A round is sealed when it has so much, memory of frames that is kept included: that comes in pieces of up to 1 MiB.
constexpr size_t kRoundEvents = 1024;
constexpr uint64_t kRoundBytes = 2 << 20;
// So many pairs of addresses are dealt out in turns; further ones by their hash.
constexpr size_t kMaxPairs = 4096;

}  // namespace

size_t Shares::PairHash::operator()(const Pair& pair) const { return MixHash(MixHash(0, pair[0]), pair[1]); }

Shares::Shares(const session::SessionOptions& options, std::vector<Share*> shares) : parts_(shares.size()) {
  session::SessionOptions own = options;
  own.memory_limit = options.memory_limit / shares.size();
  for (size_t i = 0; i < shares.size(); ++i) {
    parts_[i].share = shares[i];
    parts_[i].session = std::make_unique<session::Session>(own, shares[i]->Observers());
  }
  while (helpers_.size() + 1 < shares.size()) helpers_.emplace_back([this] { Help(); });
}

Shares::~Shares() { Finish(); }

size_t Shares::ShareOfConnection(const fabric::ConnectionInfo& info) {
  const auto [known, is_new] = connections_.try_emplace(info.id, 0);
  if (!is_new) return known->second;
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
  return known->second;
}

void Shares::OnEvent(const fabric::Event& event) {
  const size_t to = ShareOfConnection(*event.connection);
  if (event.kind() == fabric::EventKind::kClosed) connections_.erase(event.connection->id);
  CountIn(parts_[to].batches[sealed_ % Share::kRounds].Add(event, next_number_++, frame_ ? frame_->bytes : Bytes{},
                                                           *memory_));
}

void Shares::OnAside(const fabric::Aside& aside) {
  const size_t copies = IsForAll(aside) ? parts_.size() : 1;
  size_t copied = 0;
  for (size_t i = 0; i < copies; ++i) copied += parts_[i].batches[sealed_ % Share::kRounds].Add(aside, next_number_);
  ++next_number_;
  CountIn(copied);
}

// An event or aside of which so many bytes were copied.
void Shares::CountIn(size_t copied) {
  ++round_events_;
  round_bytes_ += copied;
  if (memory_->owner.get() != counted_) {
    counted_ = memory_->owner.get();
    round_bytes_ += memory_->size;
  }
  if (round_events_ >= kRoundEvents || round_bytes_ >= kRoundBytes) Seal(false);
}

void Shares::Seal(bool last) {
  round_events_ = 0;
  round_bytes_ = 0;
  counted_ = nullptr;
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    left_[sealed_ % Share::kRounds] = parts_.size();
    ++sealed_;
    last_ = last;
    full = sealed_ - handed_on_ == Share::kRounds;
  }
  sealed_one_.notify_all();
  // The next round needs the storage of the oldest; others are handed on as far as they are done.
  if (full) HandOnOldest();
  while (handed_on_ < sealed_) {
    {
      const std::lock_guard lock(mutex_);
      if (!Done(handed_on_)) break;
    }
    HandOnOldest();
  }
}

// Sees to it that the oldest round is done, and merges what the shares found.
void Shares::HandOnOldest() {
  const size_t round = handed_on_ % Share::kRounds;
  {
    std::unique_lock lock(mutex_);
    while (!Done(handed_on_))
      if (!WorkOnOldest(lock)) done_one_.wait(lock);
  }
  std::vector<size_t> next(parts_.size(), 0);
  for (;;) {
    size_t first = parts_.size();
    uint64_t number = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Share& share = *parts_[i].share;
      if (next[i] == share.Count(round)) continue;
      if (first < parts_.size() && share.NumberOf(round, next[i]) >= number) continue;
      first = i;
      number = share.NumberOf(round, next[i]);
    }
    if (first == parts_.size()) break;
    parts_[first].share->HandOn(round, next[first]++);
  }
  for (Part& part : parts_) {
    part.share->Clear(round);
    part.batches[round].Clear();
  }
  ++handed_on_;
}

// Until nothing is left that no other thread is at.
void Shares::Help() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (WorkOnOldest(lock)) continue;
    if (last_) return;
    sealed_one_.wait(lock);
  }
}

// The share with the oldest batch to work on; null if there is none.
Shares::Part* Shares::Ready() {
  Part* oldest = nullptr;
  for (Part& part : parts_)
    if (!part.in_work && part.next < sealed_ && (!oldest || part.next < oldest->next)) oldest = &part;
  return oldest;
}

// False if there is nothing to do. Unlocks while it works.
bool Shares::WorkOnOldest(std::unique_lock<std::mutex>& lock) {
  Part* part = Ready();
  if (!part) return false;
  part->in_work = true;
  part->share->clock_.first_time_ns = first_time_ns_;
  const bool last = last_ && sealed_ == part->next + 1;
  lock.unlock();
  Work(*part, last);
  lock.lock();
  part->in_work = false;
  if (--left_[part->next++ % Share::kRounds] == 0) done_one_.notify_one();
  return true;
}

void Shares::Work(Part& part, bool last) {
  Share& share = *part.share;
  share.round_ = part.next % Share::kRounds;
  part.batches[share.round_].Give(*part.session, [&share](uint64_t number, const FrameRef& now) {
    share.number_ = number;
    share.clock_.frame = now.number;
  });
  if (!last) return;
  share.number_ = UINT64_MAX;
  part.session->Finish();
}

void Shares::Finish() {
  if (last_) return;
  Seal(true);
  while (handed_on_ < sealed_) HandOnOldest();
  for (std::thread& helper : helpers_) helper.join();
}

session::SessionStats Shares::stats() const {
  session::SessionStats sum;
  for (const Part& part : parts_) {
    const session::SessionStats& one = part.session->stats();
    sum.connections += one.connections;
    sum.transactions += one.transactions;
    sum.messages += one.messages;
    sum.evicted_transactions += one.evicted_transactions;
    sum.dropped_bytes += one.dropped_bytes;
  }
  return sum;
}

}  // namespace stag::cli
