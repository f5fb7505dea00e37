// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/transaction_pool.h"

#include <algorithm>

namespace stag::session {

namespace {
// Buffers kept for reuse: few and not large, so that a burst of big transactions does not stay in memory.
constexpr uint64_t kMaxSpareBytes = 16u << 20;
constexpr size_t kMaxSpare = 4096;
// Buffers of so many bytes stay with their transaction: to hand them on costs more than they are worth.
constexpr size_t kSmallStream = 512;
// A transaction of larger storage is not used again.
constexpr uint64_t kMaxKept = 256u << 10;
}  // namespace

void TransactionEntry::Clear() {
  Transaction::Clear();
  read_missing = 0;
  call_proven = reply_proven = was_read = ending = retired = false;
  outstanding_at = reading_at = -1;
}

TransactionPool::~TransactionPool() {
  for (const ByAge* list : {&ages_, &retired_}) {
    TransactionEntry* next = list->oldest();
    while (next) {
      const std::unique_ptr<TransactionEntry> gone(next);
      next = gone->newer;
    }
  }
}

std::vector<std::byte> TransactionPool::Take(Buffers& spare) {
  if (spare.empty()) return {};
  std::vector<std::byte> buffer = std::move(spare.back());
  spare.pop_back();
  spare_charge_.Set(spare_charge_.bytes() - buffer.capacity());
  return buffer;
}

void TransactionPool::Release(std::vector<std::byte>&& given, Buffers& spare) {
  std::vector<std::byte> buffer = std::move(given);
  const uint64_t most = std::min(kMaxSpareBytes, budget_.limit() / 16);
  if (spare_charge_.bytes() + buffer.capacity() > most || spare.size() >= kMaxSpare) return;
  spare_charge_.Add(buffer.capacity());
  buffer.clear();
  spare.push_back(std::move(buffer));
}

TransactionEntry* TransactionPool::Open() {
  TransactionEntry* entry = nullptr;
  if (free_.empty()) {
    entry = std::make_unique<TransactionEntry>(budget_).release();
  } else {
    entry = free_.back().release();
    free_.pop_back();
  }
  if (entry->call.storage.capacity() == 0) entry->call.storage = TakeStream();
  ages_.Push(entry);
  return entry;
}

void TransactionPool::Retire(TransactionEntry* entry) {
  ages_.Remove(entry);
  retired_.Push(entry);
  entry->retired = true;
  for (Half* half : {static_cast<Half*>(&entry->call), static_cast<Half*>(&entry->reply)}) {
    for (SegmentRecord& record : half->segments)
      if (record.used && record.data.capacity() > 0) Release(std::move(record.data), spare_data_);
    half->stream = {};
    half->storage.clear();
    if (half->storage.capacity() > kSmallStream) Release(std::move(half->storage), spare_streams_);
    half->present = half->complete = false;
  }
  entry->Count(entry->data_bytes, 0);
  if (entry->call.storage.capacity() == 0) entry->CountCall();
  entry->CountReply();
}

void TransactionPool::Recycle(TransactionEntry* entry) {
  retired_.Remove(entry);
  std::unique_ptr<TransactionEntry> given(entry);
  if (entry->call_bytes + entry->reply_bytes > kMaxKept || budget_.over()) return;
  if (entry->range_bytes > 0) {
    for (Half* half : {static_cast<Half*>(&entry->call), static_cast<Half*>(&entry->reply)})
      for (SegmentRecord& record : half->segments) record.Clear();
    entry->Count(entry->range_bytes, 0);
  }
  entry->Clear();
  free_.push_back(std::move(given));
}

void TransactionPool::DropSpare() {
  free_.clear();
  spare_streams_.clear();
  spare_data_.clear();
  spare_charge_.Set(0);
}

}  // namespace stag::session
