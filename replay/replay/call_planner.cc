// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/call_planner.h"

#include <algorithm>
#include <array>

#include "protocol/nfs/nfs4_operations.h"

namespace stag::replay {

namespace {

using nfs::ValueKind;
using What = PlannedCall::What;

constexpr size_t kSmallestCall = 40;  // of an RPC Call header

// The operations of a COMPOUND.
class OperationList final : public nfs::Visitor {
 public:
  explicit OperationList(std::vector<uint32_t>& all) : all_(all) { all_.clear(); }
  void OnOperation(uint32_t, uint32_t op) override { all_.push_back(op); }

 private:
  std::vector<uint32_t>& all_;
};

uint64_t Offered(const recording::RecordedRpc& rpc) {
  uint64_t sum = rpc.reply_chunk ? rpc.reply_chunk->offered : 0;
  for (const recording::RecordedChunk& chunk : rpc.write_chunks) sum += chunk.offered;
  return sum;
}

// Why a Call cannot be sent; empty: it can.
std::string_view Refuse(const recording::RecordedRpc& rpc, const rpc::CallHeader& header, uint64_t largest) {
  if (!rpc.call.missing.empty()) return rpc.call.missing;
  if (rpc.call.bytes.size() < kSmallestCall) return "it is shorter than the header of an RPC Call";
  if (rpc.call.bytes.size() > largest) return "it is too large";
  if (Offered(rpc) > largest) return "its Write and Reply chunks offer too much";
  if (header.credential.flavor == rpc::kRpcsecGss)
    return "its RPCSEC_GSS credential is good for the recorded client only";
  return {};
}

// What a COMPOUND is about: its first operation that is more than finding the way.
uint32_t MainOperation(std::span<const uint32_t> operations) {
  constexpr std::array<uint32_t, 8> kWay = {9, 10, 22, 23, 24, 31, 32, 53};  // GETATTR, GETFH, PUT*FH, RESTOREFH,
                                                                             // SAVEFH, SEQUENCE
  const auto more = [&](uint32_t op) { return std::ranges::find(kWay, op) == kWay.end(); };
  if (const auto it = std::ranges::find_if(operations, more); it != operations.end()) return *it;
  return operations.empty() ? 0 : operations.back();
}

std::string_view Text(Bytes kept) { return {reinterpret_cast<const char*>(kept.data()), kept.size()}; }

}  // namespace

void CallPlanner::Choose(PlannedCall& call, fabric::ConnectionId connection) {
  const recording::RecordedRpc& rpc = call.rpc;
  if (rpc.backward) {
    call.what = What::kBackward;
    return;
  }
  const rpc::CallHeader header = rpc::DecodeCall(rpc.call.bytes, rpc.call.bytes.size());
  OperationList operations(operations_);
  nfs::WalkCall(header, rpc.call.bytes, rpc.call.bytes.size(), operations);
  if (!options_.selection.empty() && !options_.selection.Matches(rpc, connection, operations_)) {
    call.what = What::kNotSelected;
    return;
  }
  call.reason = Refuse(rpc, header, options_.largest);
  call.what = call.reason.empty() ? What::kCall : What::kRefused;
  call.procedure = {rpc.program, rpc.version, rpc.procedure, MainOperation(operations_)};
}

void CallPlanner::FindValues(PlannedCall& call) {
  const Bytes message = call.rpc.call.bytes;
  call_values_.OfCall(rpc::DecodeCall(message, message.size()), message);
  const bool replied = WalkReply(call);
  FindUses(call);
  if (replied && !reply_values_.found().empty())
    ForEachKey(reply_values_.found(), call_values_.found(), [&](const KeyedValue&) { call.gives = true; });
}

void CallPlanner::FindUses(PlannedCall& call) {
  const std::span<const FoundValue> found = call_values_.found();
  uses_.clear();
  ForEachKey(found, found, [&](const KeyedValue& value) {
    const std::string_view key = Text(call.store.Keep(std::as_bytes(std::span(value.key))));
    uses_.push_back({value.offset, key, static_cast<uint32_t>(value.bytes.size()), value.kind});
    if (value.kind == ValueKind::kSession) call.session = key;
    const bool old = call.rpc.program != nfs::kNfsProgram || call.rpc.version < 4;
    const bool is_root = options_.root.empty() || std::ranges::equal(value.bytes, options_.root);
    if (value.kind == ValueKind::kHandle && old && is_root && !root_found_) {
      call.root = key;
      root_found_ = true;
    }
  });
  bool slot = false;
  for (const FoundValue& value : found) {
    if (value.kind != ValueKind::kSlot && value.kind != ValueKind::kClientVerifier &&
        value.kind != ValueKind::kClientOwner)
      continue;
    slot |= value.kind == ValueKind::kSlot;
    uses_.push_back({value.offset, {}, static_cast<uint32_t>(value.bytes.size()), value.kind});
  }
  if (!slot) call.session = {};
  FindMade(call);
  for (const recording::RecordedItem& item : call.rpc.call.items)
    if (item.reduced && item.length > 0 && (!call.item || item.length > call.item->length)) call.item = &item;
  std::ranges::sort(uses_, {}, &Use::offset);
  call.uses = call.store.Keep(uses_);
}

void CallPlanner::FindMade(PlannedCall& call) {
  const auto add = [&](Bytes place, Made made) {
    const auto offset = static_cast<uint64_t>(place.data() - call.rpc.call.bytes.data());
    uses_.push_back({offset, {}, static_cast<uint32_t>(place.size()), {}, made});
  };
  if (!call_values_.callback_netid().empty() && !call_values_.callback_address().empty()) {
    add(call_values_.callback_netid(), Made::kCallbackNetid);
    add(call_values_.callback_address(), Made::kCallbackAddress);
    call.calls_back = true;
  }
  if (call.session.empty()) return;
  // OPEN: seqid, share_access, share_deny, and its owner's client id. What it gives: the stateid of the open file, and
  // that of a delegation.
  constexpr size_t kBeforeClient = 8, kWord = 4;
  for (const FoundValue& value : call_values_.found()) {
    if (value.kind != ValueKind::kClientId || call_values_.op(value.op_index) != nfs::kOpOpen) continue;
    const auto stateids = std::ranges::count_if(reply_values_.found(), [&](const FoundValue& given) {
      return given.kind == ValueKind::kStateid && given.op_index == value.op_index;
    });
    if (stateids == 1) add(Bytes(value.bytes.data() - kBeforeClient, kWord), Made::kNoDelegation);
  }
}

// Whether there is a recorded reply that is waited for; reply_values_ are its values, or none.
bool CallPlanner::WalkReply(const PlannedCall& call) {
  const recording::RecordedRpc& rpc = call.rpc;
  const bool replied = call.answer != kUnanswered && !rpc.reply.bytes.empty();
  const Bytes reply = replied ? rpc.reply.bytes : Bytes{};
  const rpc::CallHeader header = rpc::DecodeCall(rpc.call.bytes, rpc.call.bytes.size());
  reply_values_.OfReply(header, rpc::DecodeReply(reply, reply.size()), reply);
  return replied;
}

}  // namespace stag::replay
