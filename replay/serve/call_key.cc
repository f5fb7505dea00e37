// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/call_key.h"

#include <algorithm>

#include "protocol/base/cursor.h"
#include "protocol/nfs/nfs4_operations.h"

namespace stag::serve {
namespace {

using nfs::ValueKind;

constexpr size_t kSessionSize = 16, kSequenceAndSlot = 8;

bool HasOwner(uint32_t op) {
  return op == nfs::kOpOpen || op == nfs::kOpLock || op == nfs::kOpLockt || op == nfs::kOpReleaseLockowner;
}

}  // namespace

Bytes CallKey::Of(const rpc::CallHeader& header, Bytes call, Stateids stateids) {
  call_ = call;
  xid_ = header.xid;
  operations_.clear();
  ranges_.clear();
  stateids_ = stateids;
  has_stateid_ = false;
  session_ = slot_ = client_sequence_ = handle_ = {};
  (void)nfs::WalkCall(header, call, call.size(), *this);
  std::ranges::sort(ranges_, {}, &Range::begin);
  const auto append = [this](uint64_t begin, uint64_t end) {
    if (begin < end)
      key_.insert(key_.end(), call_.begin() + static_cast<ptrdiff_t>(begin),
                  call_.begin() + static_cast<ptrdiff_t>(end));
  };
  key_.clear();
  append(12, 24);
  uint64_t at = header.length;
  for (const Range& range : ranges_) {
    append(at, std::min<uint64_t>(range.begin, call.size()));
    at = std::max(at, range.end);
  }
  append(at, call.size());
  return key_;
}

void CallKey::OnOperation(uint32_t, uint32_t op) { operations_.push_back(op); }

void CallKey::OnValue(const nfs::Value& value) {
  const uint32_t op = value.op_index < operations_.size() ? operations_[value.op_index] : 0;
  const Bytes bytes = call_.subspan(static_cast<size_t>(value.offset), value.length);
  const uint64_t end = value.offset + value.length;
  switch (value.kind) {
    case ValueKind::kHandle:
      if (handle_.empty()) handle_ = bytes;
      return;
    case ValueKind::kSession:
      if (op == nfs::kOpSequence && value.op_index == 0) session_ = bytes;
      return LeaveOut(value.offset, value.length);
    case ValueKind::kSlot:
      if (value.op_index == 0) slot_ = bytes;
      return LeaveOut(value.offset, value.length);
    case ValueKind::kClientSequence: client_sequence_ = bytes; [[fallthrough]];
    // Behind these the client describes itself: its implementation, its callback, its machine's name. EXCHANGE_ID,
    // SETCLIENTID and CREATE_SESSION are the last of their COMPOUNDs.
    case ValueKind::kClientVerifier:
    case ValueKind::kClientOwner: return LeaveOut(value.offset, call_.size() - value.offset);
    case ValueKind::kClientId: {
      LeaveOut(value.offset, value.length);
      if (!HasOwner(op) || end + 4 > call_.size()) return;
      LeaveOut(end, 4 + RoundUp4(LoadBe32(call_.data() + end)));
      if (op == nfs::kOpOpen && value.offset >= 12) {
        LeaveOut(value.offset - 12, 4);  // its seqid, in front of the share modes
        // What delegation it wants (OPEN4_SHARE_ACCESS_WANT_..., 0xff00): a wish, which clients with the same Call
        // differ in.
        LeaveOut(value.offset - 8 + 2, 1);
      }
      if (op == nfs::kOpLock && value.offset >= 4) LeaveOut(value.offset - 4, 4);  // the lock_seqid
      return;
    }
    case ValueKind::kStateid: {
      has_stateid_ = true;
      if (stateids_ == Stateids::kLeftOut) LeaveOut(value.offset, value.length);
      // What an owner counts its requests with stands beside it (RFC 7530 sections 16.2 and 16.10 to 16.19); of LOCK in
      // front of it for a new owner, or else what says that there is none.
      const bool front = op == nfs::kOpClose || op == nfs::kOpLock || op == nfs::kOpLocku;
      const bool behind = op == nfs::kOpLock || op == nfs::kOpOpenConfirm || op == nfs::kOpOpenDowngrade;
      if (front && value.offset >= 4) LeaveOut(value.offset - 4, 4);
      if (behind) LeaveOut(end, 4);
      return;
    }
    default: return;
  }
}

void CallKey::Fit(std::vector<std::byte>& reply) const {
  if (reply.size() >= 4) StoreBe32(reply.data(), xid_);
  const bool sequence = !session_.empty() && !slot_.empty();
  const rpc::ReplyHeader header = rpc::DecodeReply(reply, reply.size());
  if (!header.success() || (!sequence && client_sequence_.empty())) return;
  // COMPOUND4res: status, tag, number of results; then the first result: operation, status.
  Cursor results(Bytes(reply).subspan(header.length));
  results.Skip(4);
  results.Skip(RoundUp4(results.U32()));
  const uint32_t count = results.U32(), op = results.U32(), status = results.U32();
  const uint64_t at = header.length + results.offset();
  results.Skip(kSessionSize + kSequenceAndSlot);
  if (!results.ok() || count == 0 || status != 0) return;
  std::byte* const body = reply.data() + at;
  if (op == nfs::kOpSequence && sequence) {
    std::ranges::copy(session_, body);
    std::ranges::copy(slot_.first(kSequenceAndSlot), body + kSessionSize);
  }
  if (op == nfs::kOpCreateSession && !client_sequence_.empty())
    std::ranges::copy(client_sequence_, body + kSessionSize);
}

}  // namespace stag::serve
