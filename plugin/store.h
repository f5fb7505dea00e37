// SPDX-License-Identifier: GPL-2.0-or-later
//
// All records of the open file. Records never move and are freed with the Store: pointers to them stay valid for the
// file.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "plugin/records.h"

namespace stag::plugin {

class Store {
 public:
  // `limit`: bytes of copies over the file.
  explicit Store(uint64_t limit) : limit_(limit) {}

  // What is shown at the frame; nullptr: nothing.
  const FrameRecord* Find(uint32_t frame) const;
  FrameRecord& At(uint64_t frame);
  // The frame number is used again: frames that a read filter drops have no number of their own. What was recorded is
  // no longer shown.
  void Forget(uint32_t frame);
  OperationRecord* NewOperation(const OperationRecord& record) { return &operations_.emplace_back(record); }
  ConnectionRecord& Connection(ConnectionId id);
  uint32_t connections() const { return last_connection_; }  // the highest id
  TransactionRecord& Transaction(uint64_t serial);
  TransactionRecord* FindTransaction(uint64_t serial);
  // Copies bytes that must outlive the frame; nullptr when the limit would be passed.
  std::unique_ptr<std::byte[]> Keep(Bytes bytes);
  // One copy of each text that many records share.
  const std::string* Share(const std::string& text) { return &*shared_.insert(text).first; }

 private:
  std::vector<std::unique_ptr<FrameRecord>> frames_;  // by frame number
  std::vector<std::unique_ptr<FrameRecord>> forgotten_;
  std::deque<OperationRecord> operations_;
  std::unordered_map<ConnectionId, ConnectionRecord> connections_;
  std::deque<TransactionRecord> transactions_;
  std::vector<TransactionRecord*> by_serial_;
  std::unordered_set<std::string> shared_;
  ConnectionId last_connection_ = 0;
  uint64_t limit_, kept_ = 0;
};

}  // namespace stag::plugin
