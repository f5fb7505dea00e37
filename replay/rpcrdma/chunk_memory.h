// SPDX-License-Identifier: GPL-2.0-or-later
//
// ChunkMemory: one limit for the memory that Calls take on all connections of a command: what their chunks are pulled
// into, and long Replies. A connection has a ChunkShare of it, and what holds memory has a ChunkCharge, which gives it
// back when it goes. A Call for which there is no memory waits. Shares get memory in the order in which they asked for
// it in vain, so that none waits for ever as long as memory comes back. A share has at most a quarter of the limit, or
// one Call, once half of the limit is taken: no connection keeps the others out. Threads: ChunkMemory: any; a share and
// its charges: one.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

namespace stag::rpcrdma {

class ChunkShare;

class ChunkMemory {
 public:
  static constexpr uint64_t kDefault = 256u << 20;
  explicit ChunkMemory(uint64_t most = kDefault) : most_(most) {}
  // Bytes that are taken.
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  // A share waits: memory that is kept for later is to be given back.
  bool wanted() const { return waiting_.load(std::memory_order_relaxed) > 0; }

 private:
  friend class ChunkShare;
  bool Take(ChunkShare& share, uint64_t bytes);
  void Return(uint64_t bytes);
  void Forget(ChunkShare& share);
  void Leave(ChunkShare& share);

  const uint64_t most_;
  std::atomic<uint64_t> used_{0}, returns_{0};
  std::atomic<size_t> waiting_{0};  // queue_.size()
  std::mutex mutex_;
  std::deque<ChunkShare*> queue_;  // with mutex_: those that asked in vain
};

class ChunkShare {
 public:
  // `memory` must outlive this.
  explicit ChunkShare(ChunkMemory& memory) : memory_(memory) {}
  ~ChunkShare();
  ChunkShare(const ChunkShare&) = delete;
  ChunkShare& operator=(const ChunkShare&) = delete;

  bool wanted() const { return memory_.wanted(); }
  // Whether a Call of which it is not known what it will take may begin.
  bool open() const { return held_ <= kSmall || (MayHave(1) && memory_.used() < memory_.most_); }
  // Whether memory that was refused may be there now.
  bool worth_asking() const { return !refused_ || seen_ != memory_.returns_.load(std::memory_order_relaxed); }
  uint64_t held() const { return held_; }

 private:
  friend class ChunkCharge;
  friend class ChunkMemory;
  static constexpr uint64_t kSmall = 64u << 10, kShares = 4;
  bool MayHave(uint64_t more) const {
    return held_ == 0 || held_ + more <= memory_.most_ / kShares || memory_.used() + more <= memory_.most_ / 2;
  }
  bool Take(uint64_t bytes);
  void Add(uint64_t bytes);
  void Return(uint64_t bytes);

  ChunkMemory& memory_;
  uint64_t held_ = 0, seen_ = 0;
  bool refused_ = false;
};

class ChunkCharge {
 public:
  explicit ChunkCharge(ChunkShare& share) : share_(&share) {}
  ChunkCharge(ChunkCharge&& other) noexcept : share_(other.share_), bytes_(std::exchange(other.bytes_, 0)) {}
  ChunkCharge& operator=(ChunkCharge&&) = delete;
  ~ChunkCharge() { Set(0); }

  uint64_t bytes() const { return bytes_; }
  // Takes what `bytes` are more than it has. False: it is to wait.
  bool Grow(uint64_t bytes) {
    if (bytes > bytes_ && !share_->Take(bytes - bytes_)) return false;
    bytes_ = bytes > bytes_ ? bytes : bytes_;
    return true;
  }
  // What is there already is counted, or what has gone.
  void Set(uint64_t bytes) {
    if (bytes > bytes_) share_->Add(bytes - bytes_);
    if (bytes < bytes_) share_->Return(bytes_ - bytes);
    bytes_ = bytes;
  }

 private:
  ChunkShare* share_;
  uint64_t bytes_ = 0;
};

}  // namespace stag::rpcrdma
