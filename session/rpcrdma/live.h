// SPDX-License-Identifier: GPL-2.0-or-later
//
// Live and Ledger: the transactions that a Session holds, with their storage. A Live is a Transaction plus the Session's own
// bookkeeping; a Ledger hands them out, recycles them with their buffers, keeps them in order of age and counts the bytes
// they hold.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "session/rpcrdma/transaction.h"

namespace stag::session {

struct Live : Transaction {
  Live* older = nullptr;  // in order of age over all connections
  Live* newer = nullptr;
  Live* previous = nullptr;  // in order of age on its connection
  Live* next = nullptr;
  uint64_t bytes = 0;         // counted against the memory limit
  uint64_t read_missing = 0;  // bytes of the Read list not captured yet
  bool retired = false;       // ended; kept for a while so that late RDMA operations can be told
};

class Ledger {
 public:
  // A transaction with empty lists, the newest by age. Never fails.
  Live* Open();
  // Takes it out of the order of age and gives up its payload bytes; its segments stay known until Recycle.
  void Retire(Live* live);
  void Recycle(Live* live);

  // Makes `count` empty segment records in `records`, with recycled buffers.
  void Resize(std::vector<SegmentRecord>& records, size_t count);
  void Charge(Live* live, uint64_t bytes);
  uint64_t used() const { return used_; }
  Live* oldest() const { return oldest_; }

 private:
  void ReleaseRecords(std::vector<SegmentRecord>& records);
  void ReleasePayload(Payload& payload);
  void Uncharge(Live* live);

  std::vector<std::unique_ptr<Live>> all_;
  std::vector<Live*> free_;
  std::vector<SegmentRecord> spare_;
  std::vector<std::vector<std::byte>> spare_streams_;
  uint64_t spare_bytes_ = 0;  // capacity of the buffers in spare_ and spare_streams_
  Live* oldest_ = nullptr;
  Live* newest_ = nullptr;
  uint64_t used_ = 0;
};

}  // namespace stag::session
