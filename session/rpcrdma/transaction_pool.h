// SPDX-License-Identifier: GPL-2.0-or-later
//
// TransactionPool: the transactions that a Session holds, with their storage. It hands TransactionEntries out, recycles
// them with their buffers, keeps them in order of age, and charges the storage of all of them, also of those that are
// not in use, to the Session's budget.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "protocol/base/budget.h"
#include "session/rpcrdma/transaction.h"

namespace stag::session {

// A Transaction and the Session's own bookkeeping of it.
struct TransactionEntry : Transaction {
  explicit TransactionEntry(Budget& budget) : charge(budget, kCost) {}
  static constexpr uint64_t kCost = 1024;  // beside its storage: itself, and its places in tables

  uint32_t slot = 0;                  // of its connection
  TransactionEntry* older = nullptr;  // over all connections
  TransactionEntry* newer = nullptr;
  TransactionEntry* previous = nullptr;  // on its connection
  TransactionEntry* next = nullptr;
  uint32_t call_number = 0;   // of the Call among its sender's Sends, from 1
  uint64_t peak_place = 0;    // of the Call in its connection's OutstandingPeak
  Charge charge;              // kCost and the next four
  uint64_t call_bytes = 0;    // storage of the Call and of `operations`
  uint64_t reply_bytes = 0;   // storage of the Reply
  uint64_t data_bytes = 0;    // storage of SegmentRecord::data
  uint64_t range_bytes = 0;   // storage of ranges of segments
  uint64_t read_missing = 0;  // bytes of the Read list not captured yet
  // Event::last_number of the Call, of the Reply, and of the last Read Response.
  uint32_t call_last = 0, reply_number = 0, read_number = 0;
  uint64_t reply_send = 0;    // the Reply's number among the Sends of its sender
  bool reply_proven = false;  // an RPC shows that the Reply had arrived
  bool call_proven = false;   // to Deliveries
  bool was_read = false;      // read_number is set
  bool ending = false;        // ended, and in Deliveries::ended
  bool retired = false;       // ended; kept for a while so that late RDMA operations can be told
  uint32_t ended_at = 0;      // its place among those of its connection that have ended: ConnectionState::endings then
  // Where the connection's tables have it; -1: not in there.
  int32_t outstanding_at = -1, reading_at = -1;

  // After something of the storage may have changed. `part`: one of the four, which is `bytes` now.
  void Count(uint64_t& part, uint64_t bytes) {
    if (bytes == part) [[likely]]
      return;
    charge.Set(charge.bytes() - part + bytes);
    part = bytes;
  }
  void CountCall() { Count(call_bytes, call.Storage() + operations.capacity() * sizeof(Operation)); }
  void CountReply() { Count(reply_bytes, reply.Storage()); }
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
  explicit TransactionPool(Budget& budget) : budget_(budget), spare_charge_(budget) {}
  ~TransactionPool();
  TransactionPool(const TransactionPool&) = delete;
  TransactionPool& operator=(const TransactionPool&) = delete;

  // A transaction with empty lists, the newest by age. Never fails.
  TransactionEntry* Open();
  // Takes it out of the order of age and gives up its payload bytes; its segments stay known until Recycle.
  void Retire(TransactionEntry* entry);
  void Recycle(TransactionEntry* entry);

  // For the bytes of a segment record, and for a stream: empty, with the storage of one that was given up.
  std::vector<std::byte> TakeData() { return Take(spare_data_); }
  std::vector<std::byte> TakeStream() { return Take(spare_streams_); }
  // Gives the storage of all that is not in use back.
  void DropSpare();
  // The oldest that has not ended, and how many there are.
  TransactionEntry* oldest() const { return ages_.oldest(); }
  size_t live() const { return ages_.size(); }
  // The transaction that was retired first, and how many are retired and not recycled.
  TransactionEntry* oldest_retired() const { return retired_.oldest(); }
  size_t retired() const { return retired_.size(); }

 private:
  using Buffers = std::vector<std::vector<std::byte>>;
  std::vector<std::byte> Take(Buffers& spare);
  // Leaves `given` without storage.
  void Release(std::vector<std::byte>&& given, Buffers& spare);

  Budget& budget_;
  std::vector<std::unique_ptr<TransactionEntry>> free_;
  Buffers spare_streams_, spare_data_;
  Charge spare_charge_;  // capacity of both
  ByAge ages_, retired_;
};

}  // namespace stag::session
