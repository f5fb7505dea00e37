// SPDX-License-Identifier: GPL-2.0-or-later
//
// RecordStore: all records of the open file. Records never move and are freed with the store: pointers to them stay
// valid for the file.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "plugin/arena.h"
#include "plugin/records.h"

namespace stag::plugin {

// For maps of texts that are looked up without a copy.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

class RecordStore {
 public:
  // `limit`: bytes of copies over the file.
  explicit RecordStore(uint64_t limit) : limit_(limit) {}

  // What is shown at the frame; nullptr: nothing.
  const FrameRecord* Find(uint32_t frame) const { return frame < frames_.size() ? frames_[frame] : nullptr; }
  FrameRecord& At(uint64_t frame);
  FrameRecord::Messages& MessagesAt(uint64_t frame);
  RareRecords& RareAt(uint64_t frame);
  // The frame number is used again: frames that a read filter drops have no number of their own. What was recorded is
  // no longer shown.
  void Forget(uint32_t frame);
  ConnectionRecord& Connection(ConnectionId id);
  // nullptr: there is none.
  const ConnectionRecord* FindConnection(ConnectionId id) const {
    return id < by_connection_.size() ? by_connection_[id] : nullptr;
  }
  uint32_t connections() const { return last_connection_; }  // the highest id
  TransactionRecord& Transaction(uint64_t serial);
  TransactionRecord* FindTransaction(uint64_t serial) {
    return serial < transactions_.size() ? transactions_[static_cast<size_t>(serial)] : nullptr;
  }
  // Room for a copy of bytes that must outlive the frame; nullptr when the limit would be passed.
  std::byte* NewBytes(uint64_t size);
  // Copies bytes that must outlive the frame; nullptr when the limit would be passed.
  const std::byte* Keep(Bytes bytes);
  // One copy of each text that many records share.
  const std::string* Share(std::string_view text);
  // For records and what they point to.
  Arena& arena() { return arena_; }

 private:
  Arena arena_;
  std::vector<FrameRecord*> frames_;              // by frame number
  std::vector<ConnectionRecord*> by_connection_;  // by id
  std::vector<TransactionRecord*> transactions_;  // by serial
  std::unordered_set<std::string, TextHash, std::equal_to<>> texts_;
  ConnectionId last_connection_ = 0;
  uint64_t limit_, kept_ = 0;
};

}  // namespace stag::plugin
