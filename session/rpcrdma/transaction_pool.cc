// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/transaction_pool.h"

namespace stag::session {

namespace {
// Buffers kept for reuse: few and not large, so that a burst of big transactions does not stay in memory.
constexpr uint64_t kMaxSpareBytes = 16u << 20;
constexpr size_t kMaxSpare = 4096;
// Buffers of so many bytes stay with their transaction: to hand them on costs more than they are worth.
constexpr size_t kSmallStream = 512;
}  // namespace

void TransactionEntry::Clear() {
  Transaction::Clear();
  bytes = read_missing = 0;
  retired = false;
  outstanding_at = reading_at = -1;
}

std::vector<std::byte> TransactionPool::Take(Buffers& spare) {
  if (spare.empty()) return {};
  std::vector<std::byte> buffer = std::move(spare.back());
  spare.pop_back();
  spare_bytes_ -= buffer.capacity();
  return buffer;
}

void TransactionPool::Release(std::vector<std::byte>&& given, Buffers& spare) {
  std::vector<std::byte> buffer = std::move(given);
  if (spare_bytes_ + buffer.capacity() > kMaxSpareBytes || spare.size() >= kMaxSpare) return;
  spare_bytes_ += buffer.capacity();
  buffer.clear();
  spare.push_back(std::move(buffer));
}

TransactionEntry* TransactionPool::Open() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<TransactionEntry>());
    free_.push_back(all_.back().get());
  }
  TransactionEntry* entry = free_.back();
  free_.pop_back();
  if (entry->call.storage.capacity() == 0) entry->call.storage = TakeStream();
  ages_.Push(entry);
  return entry;
}

void TransactionPool::Retire(TransactionEntry* entry) {
  ages_.Remove(entry);
  retired_.Push(entry);
  entry->retired = true;
  Uncharge(entry);
  for (Half* half : {static_cast<Half*>(&entry->call), static_cast<Half*>(&entry->reply)}) {
    for (SegmentRecord& record : half->segments)
      if (record.used && record.data.capacity() > 0) Release(std::move(record.data), spare_data_);
    half->stream = {};
    half->storage.clear();
    if (half->storage.capacity() > kSmallStream) Release(std::move(half->storage), spare_streams_);
    half->present = half->complete = false;
  }
}

void TransactionPool::Recycle(TransactionEntry* entry) {
  retired_.Remove(entry);
  entry->Clear();
  free_.push_back(entry);
}

void TransactionPool::Charge(TransactionEntry* entry, uint64_t bytes) {
  entry->bytes += bytes;
  used_ += bytes;
}

void TransactionPool::Uncharge(TransactionEntry* entry) {
  used_ -= entry->bytes;
  entry->bytes = 0;
}

}  // namespace stag::session
