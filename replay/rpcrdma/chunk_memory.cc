// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/rpcrdma/chunk_memory.h"

#include <algorithm>

namespace stag::rpcrdma {

// A share that has nothing gets memory for one Call, however large, when nobody else has any.
bool ChunkMemory::Take(ChunkShare& share, uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  share.seen_ = returns_.load(std::memory_order_relaxed);
  const uint64_t used = this->used();
  const bool first = queue_.empty() || queue_.front() == &share;
  if (!first || (used > 0 && (used >= most_ || bytes > most_ - used))) {
    if (std::ranges::find(queue_, &share) == queue_.end()) queue_.push_back(&share);
    waiting_.store(queue_.size(), std::memory_order_relaxed);
    return false;
  }
  used_.fetch_add(bytes, std::memory_order_relaxed);
  if (!queue_.empty()) Forget(share);
  return true;
}

void ChunkMemory::Return(uint64_t bytes) {
  used_.fetch_sub(bytes, std::memory_order_relaxed);
  returns_.fetch_add(1, std::memory_order_relaxed);
}

// With mutex_.
void ChunkMemory::Forget(ChunkShare& share) {
  std::erase(queue_, &share);
  waiting_.store(queue_.size(), std::memory_order_relaxed);
  returns_.fetch_add(1, std::memory_order_relaxed);  // the next is the first now
}

void ChunkMemory::Leave(ChunkShare& share) {
  const std::scoped_lock lock(mutex_);
  Forget(share);
}

ChunkShare::~ChunkShare() {
  if (refused_) memory_.Leave(*this);
}

bool ChunkShare::Take(uint64_t bytes) {
  if (!MayHave(bytes)) {  // it waits for itself, and keeps nobody waiting
    if (refused_) memory_.Leave(*this);
    refused_ = false;
    return false;
  }
  refused_ = !memory_.Take(*this, bytes);
  if (!refused_) held_ += bytes;
  return !refused_;
}

void ChunkShare::Add(uint64_t bytes) {
  memory_.used_.fetch_add(bytes, std::memory_order_relaxed);
  held_ += bytes;
}

void ChunkShare::Return(uint64_t bytes) {
  held_ -= bytes;
  memory_.Return(bytes);
}

}  // namespace stag::rpcrdma
