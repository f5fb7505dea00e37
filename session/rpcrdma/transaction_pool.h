// SPDX-License-Identifier: GPL-2.0-or-later
//
// TransactionPool: the transactions that a Session holds, with their storage. It hands TransactionEntries out, recycles
// them with their buffers, keeps them in order of age and counts the bytes that they hold.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "session/rpcrdma/transaction.h"

namespace stag::session {

// A Transaction and the Session's own bookkeeping of it.
struct TransactionEntry : Transaction {
  uint32_t slot = 0;                  // of its connection
  TransactionEntry* older = nullptr;  // over all connections
  TransactionEntry* newer = nullptr;
  TransactionEntry* previous = nullptr;  // on its connection
  TransactionEntry* next = nullptr;
  uint32_t call_number = 0;   // of the Call among its sender's Sends, from 1
  uint64_t bytes = 0;         // counted against the memory limit
  uint64_t read_missing = 0;  // bytes of the Read list not captured yet
  bool retired = false;       // ended; kept for a while so that late RDMA operations can be told
  uint32_t ended_at = 0;      // retired: its place among those of its connection that have ended
  // Where the connection's tables have it; -1: not in there.
  int32_t outstanding_at = -1, reading_at = -1;

  // Everything but the storage goes back to its first value. The entry is in no list and in no table.
  void Clear();
};

// A list of transactions through two of their pointers, oldest first.
template <TransactionEntry* TransactionEntry::*kBack, TransactionEntry* TransactionEntry::*kForward>
class TransactionList {
 public:
  TransactionEntry* oldest() const { return oldest_; }
  TransactionEntry* newest() const { return newest_; }
  size_t size() const { return size_; }
  void Push(TransactionEntry* entry) {
    entry->*kBack = newest_;
    entry->*kForward = nullptr;
    (newest_ ? newest_->*kForward : oldest_) = entry;
    newest_ = entry;
    ++size_;
  }
  void Remove(TransactionEntry* entry) {
    (entry->*kBack ? entry->*kBack->*kForward : oldest_) = entry->*kForward;
    (entry->*kForward ? entry->*kForward->*kBack : newest_) = entry->*kBack;
    entry->*kBack = entry->*kForward = nullptr;
    --size_;
  }

 private:
  TransactionEntry* oldest_ = nullptr;
  TransactionEntry* newest_ = nullptr;
  size_t size_ = 0;
};
using ByAge = TransactionList<&TransactionEntry::older, &TransactionEntry::newer>;           // over all connections
using OnConnection = TransactionList<&TransactionEntry::previous, &TransactionEntry::next>;  // of one

class TransactionPool {
 public:
  // A transaction with empty lists, the newest by age. Never fails.
  TransactionEntry* Open();
  // Takes it out of the order of age and gives up its payload bytes; its segments stay known until Recycle.
  void Retire(TransactionEntry* entry);
  void Recycle(TransactionEntry* entry);

  // For the bytes of a segment record, and for a stream: empty, with the storage of one that was given up.
  std::vector<std::byte> TakeData() { return Take(spare_data_); }
  std::vector<std::byte> TakeStream() { return Take(spare_streams_); }
  void Charge(TransactionEntry* entry, uint64_t bytes);
  uint64_t used() const { return used_; }
  TransactionEntry* oldest() const { return ages_.oldest(); }
  // The transaction that was retired first, and how many are retired and not recycled.
  TransactionEntry* oldest_retired() const { return retired_.oldest(); }
  size_t retired() const { return retired_.size(); }

 private:
  using Buffers = std::vector<std::vector<std::byte>>;
  std::vector<std::byte> Take(Buffers& spare);
  // Leaves `given` without storage.
  void Release(std::vector<std::byte>&& given, Buffers& spare);
  void Uncharge(TransactionEntry* entry);

  std::vector<std::unique_ptr<TransactionEntry>> all_;
  std::vector<TransactionEntry*> free_;
  Buffers spare_streams_, spare_data_;
  uint64_t spare_bytes_ = 0;  // capacity of both
  ByAge ages_, retired_;
  uint64_t used_ = 0;
};

}  // namespace stag::session
