// SPDX-License-Identifier: GPL-2.0-or-later
//
// Values: what a walk over one RPC message found of values that a server gives out or that name a client
// (protocol/nfs/walk.h, OnValue), and how values of a recorded and a live message belong together. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/nfs/walk.h"

namespace stag::replay {

struct FoundValue {
  nfs::ValueKind kind = nfs::ValueKind::kHandle;
  uint32_t op_index = 0;
  uint64_t offset = 0;  // in the stream that was walked
  Bytes bytes;
  Bytes name;  // of the directory entry that it belongs to; empty: none
};

// An eligible result of a live Reply.
struct FoundItem {
  uint64_t offset = 0;  // in the stream: where its first byte stands or would stand
  uint32_t length = 0;
  uint32_t chunk = UINT32_MAX;  // the Write chunk that brought it; UINT32_MAX: it is in the stream
};

// Views point into the messages. Reuse the object: it keeps its storage.
class Values final : private nfs::Visitor {
 public:
  // An unreduced Call.
  void OfCall(const rpc::CallHeader& header, Bytes message);
  // A Reply whose results came in `chunks`, the Write chunks of the Call, where these are not empty: an item for each
  // chunk, in order (RFC 8166 section 3.4.6). Without chunks: an unreduced Reply.
  void OfReply(const rpc::CallHeader& call, const rpc::ReplyHeader& header, Bytes message,
               std::span<const Bytes> chunks = {});

  std::span<const FoundValue> found() const { return found_; }
  std::span<const FoundItem> items() const { return items_; }
  const nfs::Walk& walk() const { return walk_; }
  // Of a Call: the operation at an index; 0: none is known.
  uint32_t op(uint32_t op_index) const { return op_index < ops_.size() ? ops_[op_index] : 0; }
  // Of a Call: what SETCLIENTID says of where to call back; empty: it does not.
  Bytes callback_netid() const { return callback_netid_; }
  Bytes callback_address() const { return callback_address_; }
  bool sequence_done() const { return sequence_done_; }  // of a Reply: SEQUENCE, and with success

 private:
  bool IsReduced(const nfs::Item& item) override;
  void OnValue(const nfs::Value& value) override;
  void OnOperation(uint32_t op_index, uint32_t op) override;
  void OnCallbackAddress(uint32_t op_index, Bytes netid, Bytes address) override;
  void OnOperationResult(uint32_t op_index, uint32_t op, uint32_t status) override;

  Bytes message_;
  std::span<const Bytes> chunks_;
  std::vector<FoundValue> found_;
  std::vector<FoundItem> items_;
  std::vector<uint32_t> ops_;
  Bytes callback_netid_, callback_address_;
  nfs::Walk walk_;
  bool sequence_done_ = false;
};

// Names of recorded values, so that a use and the reply that gave the value meet. The key of a cookie holds the
// directory, that of a sequence its client; a stateid has two: what names the state, and its seqid.
struct KeyedValue {
  std::string_view key;  // valid until the next one
  uint64_t offset = 0;   // what is to be exchanged: in the stream, ...
  Bytes bytes;           // ... and as it is now
  nfs::ValueKind kind = nfs::ValueKind::kHandle;
  size_t index = 0;  // in found()
};

// Gives every value of `values` that a table can hold, with its key. `call`: the values of the Call that it is, or
// answers (directories are named there).
void ForEachKey(std::span<const FoundValue> values, std::span<const FoundValue> call,
                const std::function<void(const KeyedValue&)>& fn);

// For each value of `recorded` the index of its counterpart in `live`, SIZE_MAX: none. Entries of directories belong
// together by name, other values by operation, kind and order.
void Match(std::span<const FoundValue> recorded, std::span<const FoundValue> live, std::vector<size_t>& out);

// "file handle", "directory cookie", ...
std::string_view ValueName(nfs::ValueKind kind);

}  // namespace stag::replay
