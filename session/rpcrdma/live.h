// SPDX-License-Identifier: GPL-2.0-or-later
//
// Live and Ledger: the transactions that a Session holds, with their storage. A Live is a Transaction plus the
// Session's own bookkeeping; a Ledger hands them out, recycles them with their buffers, keeps them in order of age and
// counts the bytes they hold.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "session/rpcrdma/transaction.h"

namespace stag::session {

struct Live : Transaction {
  Live* older = nullptr;  // over all connections
  Live* newer = nullptr;
  Live* previous = nullptr;  // on its connection
  Live* next = nullptr;
  uint64_t bytes = 0;         // counted against the memory limit
  uint64_t read_missing = 0;  // bytes of the Read list not captured yet
  bool retired = false;       // ended; kept for a while so that late RDMA operations can be told
  // Where the connection's tables have it: -1 for not in there. The segments' are of the Call and of the Reply.
  int32_t outstanding_at = -1, reading_at = -1;
  std::vector<int32_t> segments_at, reply_segments_at;
};

// A list of transactions through two of their pointers, oldest first.
template <Live* Live::*kBack, Live* Live::*kForward>
class LiveList {
 public:
  Live* oldest() const { return oldest_; }
  Live* newest() const { return newest_; }
  size_t size() const { return size_; }
  void Push(Live* live) {
    live->*kBack = newest_;
    live->*kForward = nullptr;
    (newest_ ? newest_->*kForward : oldest_) = live;
    newest_ = live;
    ++size_;
  }
  void Remove(Live* live) {
    (live->*kBack ? live->*kBack->*kForward : oldest_) = live->*kForward;
    (live->*kForward ? live->*kForward->*kBack : newest_) = live->*kBack;
    live->*kBack = live->*kForward = nullptr;
    --size_;
  }

 private:
  Live* oldest_ = nullptr;
  Live* newest_ = nullptr;
  size_t size_ = 0;
};
using ByAge = LiveList<&Live::older, &Live::newer>;           // over all connections
using OnConnection = LiveList<&Live::previous, &Live::next>;  // of one

class Ledger {
 public:
  // A transaction with empty lists, the newest by age. Never fails.
  Live* Open();
  // Takes it out of the order of age and gives up its payload bytes; its segments stay known until Recycle.
  void Retire(Live* live);
  void Recycle(Live* live);

  // Makes `count` empty segment records in `records`, recycled as far as there are some.
  void Resize(std::vector<SegmentRecord>& records, size_t count);
  // For the bytes of a segment record: empty, with the storage of one that was given up.
  std::vector<std::byte> TakeData() { return Take(spare_data_); }
  void Charge(Live* live, uint64_t bytes);
  uint64_t used() const { return used_; }
  Live* oldest() const { return ages_.oldest(); }
  // The transaction that was retired first, and how many are retired and not recycled.
  Live* oldest_retired() const { return retired_.oldest(); }
  size_t retired() const { return retired_.size(); }

 private:
  using Buffers = std::vector<std::vector<std::byte>>;
  std::vector<std::byte> Take(Buffers& spare);
  void Release(std::vector<std::byte> buffer, Buffers& spare);
  void ReleaseRecords(std::vector<SegmentRecord>& records);
  void ReleasePayload(Payload& payload);
  void Uncharge(Live* live);

  std::vector<std::unique_ptr<Live>> all_;
  std::vector<Live*> free_;
  std::vector<SegmentRecord> spare_;  // without bytes
  Buffers spare_streams_, spare_data_;
  uint64_t spare_bytes_ = 0;  // capacity of both
  ByAge ages_, retired_;
  uint64_t used_ = 0;
};

}  // namespace stag::session
