// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/shares.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "protocol/base/hash.h"

namespace stag::cli {
namespace {

// A round is sealed when it has so much; small enough to stay in a processor's cache.
constexpr size_t kRoundEvents = 1024;
constexpr uint64_t kRoundBytes = 512 << 10;
// So many pairs of addresses are dealt out in turns; further ones by their hash.
constexpr size_t kMaxPairs = 4096;

bool Less(const Address& a, const Address& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  return std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) < 0;
}

}  // namespace

size_t Shares::PairHash::operator()(const Pair& pair) const {
  uint64_t hash = 0;
  for (const Address& address : pair)
    for (size_t i = 0; i < address.bytes.size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, address.bytes.data() + i, 8);
      hash = MixHash(hash, word);
    }
  return hash;
}

Shares::Shares(const session::SessionOptions& options, std::vector<Share*> shares) : workers_(shares.size()) {
  session::SessionOptions own = options;
  own.memory_limit = options.memory_limit / shares.size();
  for (size_t i = 0; i < shares.size(); ++i) {
    workers_[i].share = shares[i];
    workers_[i].session = std::make_unique<session::Session>(own, shares[i]->Observers());
  }
  for (Worker& worker : workers_) worker.thread = std::thread([this, &worker] { Work(worker); });
}

Shares::~Shares() { Finish(); }

size_t Shares::ShareOfConnection(const fabric::ConnectionInfo& info) {
  const auto [known, is_new] = connections_.try_emplace(info.id, 0);
  if (!is_new) return known->second;
  Pair pair{info.endpoint[0].address, info.endpoint[1].address};
  if (Less(pair[1], pair[0])) std::swap(pair[0], pair[1]);
  if (const auto found = pairs_.find(pair); found != pairs_.end()) {
    known->second = found->second;
  } else if (pairs_.size() < kMaxPairs) {
    known->second = pairs_.size() % workers_.size();
    pairs_.emplace(pair, known->second);
  } else {
    known->second = PairHash{}(pair) % workers_.size();
  }
  return known->second;
}

void Shares::OnEvent(const fabric::Event& event) {
  const size_t to = ShareOfConnection(*event.connection);
  if (event.kind == fabric::EventKind::kClosed) connections_.erase(event.connection->id);
  workers_[to].batches[sealed_ % Share::kRounds].Add(event, next_number_++);
  CountIn(event.bytes.size());
}

void Shares::OnAside(const fabric::Aside& aside) {
  const size_t copies = IsForAll(aside) ? workers_.size() : 1;
  for (size_t i = 0; i < copies; ++i) workers_[i].batches[sealed_ % Share::kRounds].Add(aside, next_number_);
  ++next_number_;
  CountIn(aside.bytes.size());
}

void Shares::CountIn(uint64_t bytes) {
  ++round_events_;
  round_bytes_ += bytes;
  if (round_events_ >= kRoundEvents || round_bytes_ >= kRoundBytes) Seal(false);
}

void Shares::Seal(bool last) {
  round_events_ = 0;
  round_bytes_ = 0;
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    left_[sealed_ % Share::kRounds] = workers_.size();
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

// Waits for the oldest round, and merges what the shares found.
void Shares::HandOnOldest() {
  const size_t round = handed_on_ % Share::kRounds;
  {
    std::unique_lock lock(mutex_);
    done_one_.wait(lock, [&] { return Done(handed_on_); });
  }
  std::vector<size_t> next(workers_.size(), 0);
  for (;;) {
    size_t first = workers_.size();
    uint64_t number = 0;
    for (size_t i = 0; i < workers_.size(); ++i) {
      const Share& share = *workers_[i].share;
      if (next[i] == share.Count(round)) continue;
      if (first < workers_.size() && share.NumberOf(round, next[i]) >= number) continue;
      first = i;
      number = share.NumberOf(round, next[i]);
    }
    if (first == workers_.size()) break;
    workers_[first].share->HandOn(round, next[first]++);
  }
  for (Worker& worker : workers_) {
    worker.share->Clear(round);
    worker.batches[round].Clear();
  }
  ++handed_on_;
}

void Shares::Work(Worker& worker) {
  Share& share = *worker.share;
  for (uint64_t round = 0;; ++round) {
    bool last = false;
    {
      std::unique_lock lock(mutex_);
      sealed_one_.wait(lock, [&] { return sealed_ > round; });
      last = last_ && sealed_ == round + 1;
      share.clock_.first_time_ns = first_time_ns_;
    }
    share.round_ = round % Share::kRounds;
    worker.batches[share.round_].Give(*worker.session, [&share](uint64_t number, const FrameRef& now) {
      share.number_ = number;
      share.clock_.frame = now.number;
    });
    if (last) {
      share.number_ = UINT64_MAX;
      worker.session->Finish();
    }
    bool done = false;
    {
      const std::lock_guard lock(mutex_);
      done = --left_[share.round_] == 0;
    }
    if (done) done_one_.notify_one();
    if (last) return;
  }
}

void Shares::Finish() {
  if (last_) return;
  Seal(true);
  while (handed_on_ < sealed_) HandOnOldest();
  for (Worker& worker : workers_) worker.thread.join();
}

session::SessionStats Shares::stats() const {
  session::SessionStats sum;
  for (const Worker& worker : workers_) {
    const session::SessionStats& one = worker.session->stats();
    sum.connections += one.connections;
    sum.transactions += one.transactions;
    sum.messages += one.messages;
    sum.evicted_transactions += one.evicted_transactions;
    sum.dropped_bytes += one.dropped_bytes;
  }
  return sum;
}

}  // namespace stag::cli
