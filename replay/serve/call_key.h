// SPDX-License-Identifier: GPL-2.0-or-later
//
// CallKey: what an RPC Call asks for, without what differs when a client asks for the same again: xid, credentials,
// sessions and their slots, who an NFSv4 client and its owners are. Two Calls with the same key get the same answer.
// Also fits a recorded Reply to a live Call: what NFSv4.1 results repeat of the arguments. Pure.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "protocol/nfs/walk.h"

namespace stag::serve {

// A Call may name a file by another state than the recorded one did: a client that still has a delegation reads with
// that.
enum class Stateids : uint8_t { kKept, kLeftOut };

// Reuse the object: it keeps its storage.
class CallKey final : private nfs::Visitor {
 public:
  // `call`: unreduced, and `header` its own, with status kOk. Valid until the next call: program, version, procedure,
  // and the arguments but for what is left out.
  Bytes Of(const rpc::CallHeader& header, Bytes call, Stateids stateids = Stateids::kKept);

  bool has_stateid() const { return has_stateid_; }
  // Of the last call, which must still be there: the operations of a COMPOUND.
  const std::vector<uint32_t>& operations() const { return operations_; }
  // The first file handle in it; empty: none.
  Bytes handle() const { return handle_; }
  // Makes `reply`, a Reply to a Call with the same key, the answer to the last call.
  void Fit(std::vector<std::byte>& reply) const;

 private:
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  void OnOperation(uint32_t op_index, uint32_t op) override;
  void OnValue(const nfs::Value& value) override;
  void LeaveOut(uint64_t begin, uint64_t size) { ranges_.push_back({begin, begin + size}); }

  Bytes call_;
  uint32_t xid_ = 0;
  std::vector<uint32_t> operations_;
  std::vector<Range> ranges_;  // left out
  std::vector<std::byte> key_;
  // SEQUENCE: session, sequence number, slot; CREATE_SESSION: the sequence number.
  Bytes session_, slot_, client_sequence_;
  Bytes handle_;
  Stateids stateids_ = Stateids::kKept;
  bool has_stateid_ = false;
};

}  // namespace stag::serve
