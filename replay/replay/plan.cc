// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

namespace stag::replay {

namespace {

using nfs::ValueKind;

constexpr size_t kSmallestCall = 40;  // of an RPC Call header

// The operations of a COMPOUND.
class OperationList final : public nfs::Visitor {
 public:
  void OnOperation(uint32_t, uint32_t op) override { all.push_back(op); }
  std::vector<uint32_t> all;
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

class Planner {
 public:
  Planner(const recording::Recording& recording, const PlanOptions& options)
      : recording_(recording), options_(options) {}

  Result<Plan> Make() {
    Choose();
    Order();
    for (PlannedCall& call : plan_.calls) {
      FindUses(call);
      if (Size() > options_.memory)
        return Fail(
            "the plan of so many calls takes more than half of --memory: raise it, or take fewer with --select");
    }
    given_.assign(plan_.values, kUnanswered);
    for (PlannedCall& call : plan_.calls) FindGifts(call);
    FindUnknown();
    return std::move(plan_);
  }

 private:
  void Choose();
  void Order();
  void FindUses(PlannedCall& call);
  void FindGifts(PlannedCall& call);
  void FindUnknown();
  uint64_t Size() const {
    return plan_.calls.size() * (sizeof(PlannedCall) + sizeof(uint32_t)) + plan_.uses.size() * sizeof(Use) + key_bytes_;
  }

  const recording::Recording& recording_;
  const PlanOptions& options_;
  Plan plan_;
  Values call_values_, reply_values_;
  std::vector<uint32_t> given_;  // by value: the first answer that gives it
  uint64_t key_bytes_ = 0;
};

void Planner::Choose() {
  OperationList operations;
  std::map<PlannedProcedure, uint32_t> procedures;
  for (const recording::RecordedRpc* rpc : recording_.rpcs) {
    if (rpc->backward) {
      plan_.backward.push_back(rpc);
      continue;
    }
    const rpc::CallHeader header = rpc::DecodeCall(rpc->call.bytes, rpc->call.bytes.size());
    operations.all.clear();
    nfs::WalkCall(header, rpc->call.bytes, rpc->call.bytes.size(), operations);
    if (!options_.selection.empty()) {
      if (!options_.selection.Matches(*rpc, recording_.connections[rpc->connection].id, operations.all)) {
        ++plan_.not_selected;
        continue;
      }
    }
    if (const std::string_view reason = Refuse(*rpc, header, options_.largest); !reason.empty()) {
      plan_.refused.push_back({rpc, reason});
    } else {
      PlannedCall& call = plan_.calls.emplace_back();
      call.rpc = rpc;
      const PlannedProcedure procedure{rpc->program, rpc->version, rpc->procedure, MainOperation(operations.all)};
      const auto [it, added] = procedures.try_emplace(procedure, static_cast<uint32_t>(plan_.procedures.size()));
      if (added) plan_.procedures.push_back(procedure);
      call.procedure = it->second;
    }
  }
}

void Planner::Order() {
  auto& calls = plan_.calls;
  std::ranges::sort(calls, [](const PlannedCall& a, const PlannedCall& b) {
    return std::pair(a.rpc->call_frame.number, a.rpc->serial) < std::pair(b.rpc->call_frame.number, b.rpc->serial);
  });
  // A capture can have a Reply just before its Call: then it came with it.
  const auto answered = [&](uint32_t i) {
    return std::max(calls[i].rpc->reply_frame.number, calls[i].rpc->call_frame.number);
  };
  std::vector<uint32_t> answers;
  std::unordered_map<uint32_t, uint32_t> links;
  for (uint32_t i = 0; i < calls.size(); ++i) {
    if (calls[i].rpc->reply_frame.number != 0) answers.push_back(i);
    const auto [it, added] = links.try_emplace(calls[i].rpc->connection, static_cast<uint32_t>(plan_.links.size()));
    if (added) plan_.links.push_back({calls[i].rpc->connection, {}});
    calls[i].link = it->second;
    plan_.links[it->second].calls.push_back(i);
  }
  std::ranges::stable_sort(answers, {}, answered);
  plan_.answers = static_cast<uint32_t>(answers.size());
  uint32_t before = 0;
  for (PlannedCall& call : calls) {
    while (before < answers.size() && answered(answers[before]) < call.rpc->call_frame.number) ++before;
    call.after = before;
  }
  for (uint32_t rank = 0; rank < answers.size(); ++rank) calls[answers[rank]].answer = rank;
}

void Planner::FindUses(PlannedCall& call) {
  const Bytes message = call.rpc->call.bytes;
  call_values_.OfCall(rpc::DecodeCall(message, message.size()), message);
  const std::span<const FoundValue> found = call_values_.found();
  call.first_use = static_cast<uint32_t>(plan_.uses.size());
  ForEachKey(found, found, [&](const KeyedValue& value) {
    const auto [it, added] = plan_.keys.try_emplace(std::string(value.key), plan_.values);
    if (added) {
      ++plan_.values;
      key_bytes_ += value.key.size() + sizeof(*it) + 64;  // and what a table's node costs
    }
    plan_.uses.push_back({value.offset, static_cast<uint32_t>(value.bytes.size()), it->second, value.kind});
    if (value.kind == ValueKind::kSession) call.session = it->second;
    const bool old = call.rpc->program != nfs::kNfsProgram || call.rpc->version < 4;
    const bool is_root =
        options_.root.empty() ? plan_.root_value == kNoValue : std::ranges::equal(value.bytes, options_.root);
    if (value.kind == ValueKind::kHandle && old && is_root && plan_.root_value == kNoValue) {
      plan_.root = value.bytes;
      plan_.root_value = it->second;
      plan_.root_user = call.rpc;
    }
  });
  bool slot = false;
  for (const FoundValue& value : found) {
    if (value.kind != ValueKind::kSlot && value.kind != ValueKind::kClientVerifier &&
        value.kind != ValueKind::kClientOwner)
      continue;
    slot |= value.kind == ValueKind::kSlot;
    plan_.uses.push_back({value.offset, static_cast<uint32_t>(value.bytes.size()), kNoValue, value.kind});
  }
  if (!slot) call.session = kNoValue;
  for (const recording::RecordedItem& item : call.rpc->call.items)
    if (item.reduced && item.length > 0 && (!call.item || item.length > call.item->length)) call.item = &item;
  const auto uses = plan_.uses.begin() + call.first_use;
  std::sort(uses, plan_.uses.end(), [](const Use& a, const Use& b) { return a.offset < b.offset; });
  call.uses = static_cast<uint32_t>(plan_.uses.end() - uses);
}

void Planner::FindGifts(PlannedCall& call) {
  const recording::RecordedRpc& rpc = *call.rpc;
  if (call.answer == kUnanswered || rpc.reply.bytes.empty()) return;
  const rpc::CallHeader header = rpc::DecodeCall(rpc.call.bytes, rpc.call.bytes.size());
  reply_values_.OfReply(header, rpc::DecodeReply(rpc.reply.bytes, rpc.reply.bytes.size()), rpc.reply.bytes);
  if (reply_values_.found().empty()) return;
  call_values_.OfCall(header, rpc.call.bytes);
  ForEachKey(reply_values_.found(), call_values_.found(), [&](const KeyedValue& value) {
    const uint32_t id = plan_.Find(value.key);
    if (id == kNoValue) return;
    call.gives = true;
    given_[id] = std::min(given_[id], call.answer);
  });
}

void Planner::FindUnknown() {
  std::vector<bool> counted(plan_.values);
  std::array<Plan::Unknown, static_cast<size_t>(ValueKind::kClientOwner) + 1> by_kind;
  for (const PlannedCall& call : plan_.calls) {
    uint32_t kinds = 0;  // each kind once for a call
    for (uint32_t i = 0; i < call.uses; ++i) {
      const Use& use = plan_.uses[call.first_use + i];
      if (use.value == kNoValue || use.secondary()) continue;
      if (given_[use.value] != kUnanswered && given_[use.value] < call.after) continue;
      Plan::Unknown& unknown = by_kind[static_cast<size_t>(use.kind)];
      const uint32_t bit = 1u << static_cast<uint32_t>(use.kind);
      if (!(kinds & bit)) ++unknown.calls;
      kinds |= bit;
      if (!unknown.first) unknown.first = call.rpc;
      unknown.kind = use.kind;
      if (!counted[use.value]) ++unknown.values;
      counted[use.value] = true;
    }
  }
  for (const Plan::Unknown& unknown : by_kind)
    if (unknown.first) plan_.unknown.push_back(unknown);
}

}  // namespace

std::string PlannedProcedure::Name() const {
  const char* program_name = rpc::ProgramName(program, version);
  std::string name = program_name ? program_name : "program " + std::to_string(program) + " ";
  name += 'v' + std::to_string(version) + ' ';
  const bool compound = program == nfs::kNfsProgram && version == 4 && procedure == 1;
  const char* what = compound ? nfs::OperationName(op) : rpc::ProcedureName(program, version, procedure);
  return name + (what ? what : compound ? "COMPOUND" : "procedure " + std::to_string(procedure));
}

uint32_t Plan::Find(std::string_view key) const {
  const auto it = keys.find(std::string(key));
  return it == keys.end() ? kNoValue : it->second;
}

Result<Plan> MakePlan(const recording::Recording& recording, const PlanOptions& options) {
  return Planner(recording, options).Make();
}

}  // namespace stag::replay
