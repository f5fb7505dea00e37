// SPDX-License-Identifier: GPL-2.0-or-later
//
// Plan: what of a recording is played, in which order, and which values of the calls have to be exchanged for those of
// the live server. Pure.
//
// Order: a Call is sent after the Calls before it on its connection, and once all those are answered whose answers the
// recorded client had when it sent this one. So there is never more under way than was recorded, and every value that a
// Call uses was given before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/recording/recording.h"
#include "replay/replay/selection.h"
#include "replay/replay/values.h"

namespace stag::replay {

inline constexpr uint32_t kNoValue = UINT32_MAX, kUnanswered = UINT32_MAX;

// A place in a Call that is exchanged before it is sent.
struct Use {
  uint64_t offset = 0;  // in the recorded Call
  uint32_t length = 0;
  uint32_t value = kNoValue;  // which one; kNoValue: made (kSlot, kClientVerifier, kClientOwner)
  nfs::ValueKind kind = nfs::ValueKind::kHandle;
  // Goes along with another value; without a live one the recorded one is as good.
  bool secondary() const {
    return kind == nfs::ValueKind::kClientSequence || (kind == nfs::ValueKind::kStateid && length == 4);
  }
};

// What is counted as one: a procedure, or the COMPOUNDs with one main operation.
struct PlannedProcedure {
  uint32_t program = 0, version = 0, procedure = 0;
  uint32_t op = 0;  // of a COMPOUND; 0: none is known
  friend auto operator<=>(const PlannedProcedure&, const PlannedProcedure&) = default;
  std::string Name() const;  // "NFSv3 READ"
};

struct PlannedCall {
  const recording::RecordedRpc* rpc = nullptr;
  uint32_t link = 0;              // index in Plan::links
  uint32_t procedure = 0;         // index in Plan::procedures
  uint32_t after = 0;             // how many answers, of those that are played and in recorded order, must have come
  uint32_t answer = kUnanswered;  // its place in that order
  uint32_t first_use = 0, uses = 0;
  const recording::RecordedItem* item = nullptr;  // the argument that goes by a Read chunk: the largest that did
  uint32_t session = kNoValue;                    // NFSv4.1 and later: whose slot it takes
  bool gives = false;                             // its recorded reply gives values that calls use
};

// A recorded connection of which Calls are played.
struct PlannedLink {
  uint32_t connection = 0;      // index in Recording::connections
  std::vector<uint32_t> calls;  // indices in Plan::calls
};

struct Plan {
  struct Refused {
    const recording::RecordedRpc* rpc = nullptr;
    std::string_view reason;  // static
  };
  // Values that calls use and no earlier answer that is played gives.
  struct Unknown {
    nfs::ValueKind kind = nfs::ValueKind::kHandle;
    const recording::RecordedRpc* first = nullptr;  // that uses it
    uint64_t calls = 0;                             // that use one
    uint64_t values = 0;                            // how many different ones
  };

  std::vector<PlannedCall> calls;  // in the order in which they are sent
  std::vector<PlannedLink> links;
  std::vector<PlannedProcedure> procedures;
  std::vector<Use> uses;
  uint32_t values = 0;   // that are exchanged: 0 to values-1
  uint32_t answers = 0;  // that are waited for
  std::vector<Refused> refused;
  std::vector<Unknown> unknown;  // by kind
  uint64_t not_selected = 0;     // forward Calls
  std::vector<const recording::RecordedRpc*> backward;
  // The file handle that the mapping of the root takes for it: the one first used in a Call of NFSv3 or v2; and which
  // value it is (kNoValue: none is used).
  Bytes root;
  uint32_t root_value = kNoValue;
  const recording::RecordedRpc* root_user = nullptr;

  // The value that a key (ForEachKey) names; kNoValue: no Call uses it.
  uint32_t Find(std::string_view key) const;

  std::unordered_map<std::string, uint32_t> keys;
};

struct PlanOptions {
  Selection selection;
  std::vector<std::byte> root;    // the recorded handle of the root, if it is not the one first used
  uint64_t memory = 256u << 20;   // bytes that the plan itself may take
  uint64_t largest = 256u << 20;  // bytes that a Call may have, or offer in its chunks
};

// `recording` must outlive the plan. The error is for people: the plan takes more than options.memory.
Result<Plan> MakePlan(const recording::Recording& recording, const PlanOptions& options);

}  // namespace stag::replay
