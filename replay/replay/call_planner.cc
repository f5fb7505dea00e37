// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/call_planner.h"

#include <algorithm>
#include <array>

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
  FindUses(call);
  call.gives = Gives(call);
}

void CallPlanner::FindUses(PlannedCall& call) {
  const Bytes message = call.rpc.call.bytes;
  call_values_.OfCall(rpc::DecodeCall(message, message.size()), message);
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
  for (const recording::RecordedItem& item : call.rpc.call.items)
    if (item.reduced && item.length > 0 && (!call.item || item.length > call.item->length)) call.item = &item;
  std::ranges::sort(uses_, {}, &Use::offset);
  call.uses = call.store.Keep(uses_);
}

// Whether its recorded reply gives values that a Call can name.
bool CallPlanner::Gives(const PlannedCall& call) {
  const recording::RecordedRpc& rpc = call.rpc;
  if (call.answer == kUnanswered || rpc.reply.bytes.empty()) return false;
  const rpc::CallHeader header = rpc::DecodeCall(rpc.call.bytes, rpc.call.bytes.size());
  reply_values_.OfReply(header, rpc::DecodeReply(rpc.reply.bytes, rpc.reply.bytes.size()), rpc.reply.bytes);
  bool gives = false;
  if (!reply_values_.found().empty())
    ForEachKey(reply_values_.found(), call_values_.found(), [&](const KeyedValue&) { gives = true; });
  return gives;
}

}  // namespace stag::replay
