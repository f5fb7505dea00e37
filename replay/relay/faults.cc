// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/relay/faults.h"

#include <algorithm>

#include "protocol/nfs/walk.h"
#include "protocol/rpc/message.h"

namespace stag::relay {

namespace {

using rpcrdma::Header;

// The operations of a COMPOUND, of either direction.
class Operations final : public nfs::Visitor {
 public:
  explicit Operations(const Header& call) : call_(call) {}
  // RFC 8166 section 3.4.4: a Position counts in the unreduced stream.
  bool IsReduced(const nfs::Item& item) override {
    const bool moved = std::ranges::any_of(
        call_.reads, [&](const rpcrdma::ReadSegment& read) { return read.position == item.offset + moved_; });
    if (moved) moved_ += RoundUp4(item.length);
    return moved;
  }
  void OnOperation(uint32_t, uint32_t op) override { all.push_back(op); }
  std::vector<uint32_t> all;

 private:
  const Header& call_;
  uint64_t moved_ = 0;
};

// What the Calls of a program are called.
bool IsCalled(const std::string& name, const rpc::CallHeader& call, const Operations& operations) {
  const auto called = [&](const char* other) { return other && name == other; };
  const bool callback = nfs::IsCallbackProgram(call.program);
  return called(rpc::ProcedureName(call.program, call.version, call.procedure)) ||
         std::ranges::any_of(operations.all, [&](uint32_t op) {
           return called(callback ? nfs::CallbackOperationName(op) : nfs::OperationName(op));
         });
}

// SplitMix64: every number alike.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

Faults::Faults(const FaultOptions& options, uint64_t stream, std::vector<FaultCount>& counts)
    : options_(options), stream_(stream), counts_(counts), meant_(options.rules.size()) {}

void Faults::Choose(const Header& call, Bytes payload, std::vector<uint32_t>& hit) {
  hit.clear();
  if (options_.rules.empty()) return;
  const rpc::CallHeader rpc = rpc::DecodeCall(payload, payload.size());
  Operations operations(call);
  if (rpc.status == ParseStatus::kOk) (void)nfs::WalkCall(rpc, payload, payload.size(), operations);
  for (uint32_t i = 0; i < options_.rules.size(); ++i) {
    const FaultRule& rule = options_.rules[i];
    if (!rule.name.empty() && !(rpc.words == 6 && IsCalled(rule.name, rpc, operations))) continue;
    if (rule.program && !(rpc.words == 6 && rpc.program == rule.program && rpc.procedure == rule.procedure)) continue;
    ++counts_[i].meant;
    const uint64_t number = Mix(Mix(Mix(Mix(options_.seed) + stream_) + i) + meant_[i]++);
    // 53 bits, as a part of 100.
    if (static_cast<double>(number >> 11) * 0x1p-53 * 100 < rule.percent) hit.push_back(i);
  }
}

const FaultRule* Faults::Take(FaultKind kind, const std::vector<uint32_t>& hit) {
  for (const uint32_t i : hit) {
    if (options_.rules[i].kind != kind) continue;
    ++counts_[i].injected;
    return &options_.rules[i];
  }
  return nullptr;
}

}  // namespace stag::relay
