// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/plan_account.h"

#include <algorithm>

namespace stag::replay {

void PlanAccount::Add(const PlannedCall& call) {
  if (call.what != PlannedCall::What::kCall) return;
  const auto [it, added] = index_.try_emplace(call.connection->id, connections_.size());
  if (added) connections_.push_back({call.connection});
  ++connections_[it->second].calls;
  ++procedures_[call.procedure];
  if (!call.root.empty()) {
    const Bytes handle = std::as_bytes(std::span(call.root)).subspan(1);  // behind its kind
    root_.assign(handle.begin(), handle.end());
    root_frame_ = call.rpc.call_frame.number;
  }
  CountUnknown(call);
  if (call.gives) AddGifts(call);
}

void PlanAccount::CountUnknown(const PlannedCall& call) {
  uint32_t kinds = 0;  // each kind once for a call
  for (const Use& use : call.uses) {
    if (use.key.empty() || use.secondary()) continue;
    const Bytes given = given_.Find(use.key);
    if (!given.empty() && LoadBe64(given.data()) < call.after) continue;
    Unknown& unknown = by_kind_[static_cast<size_t>(use.kind)];
    const uint32_t bit = 1u << static_cast<uint32_t>(use.kind);
    if (!(kinds & bit)) ++unknown.calls;
    kinds |= bit;
    if (unknown.calls == 1 && unknown.first_frame == 0) unknown.first_frame = call.rpc.call_frame.number;
    unknown.kind = use.kind;
    if (!counted_.Find(use.key).empty()) continue;
    counted_.Set(use.key, std::as_bytes(std::span("1", 1)));
    ++unknown.values;
  }
}

void PlanAccount::AddGifts(const PlannedCall& call) {
  const Bytes message = call.rpc.call.bytes, reply = call.rpc.reply.bytes;
  const rpc::CallHeader header = rpc::DecodeCall(message, message.size());
  reply_values_.OfReply(header, rpc::DecodeReply(reply, reply.size()), reply);
  call_values_.OfCall(header, message);
  ForEachKey(reply_values_.found(), call_values_.found(), [&](const KeyedValue& value) {
    std::byte rank[8];
    const Bytes before = given_.Find(value.key);
    StoreBe64(rank, before.empty() ? call.answer : std::min(call.answer, LoadBe64(before.data())));
    given_.Set(value.key, rank);
  });
}

std::vector<PlanAccount::Unknown> PlanAccount::unknown() const {
  std::vector<Unknown> all;
  for (const Unknown& unknown : by_kind_)
    if (unknown.calls > 0) all.push_back(unknown);
  return all;
}

}  // namespace stag::replay
