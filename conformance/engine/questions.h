// SPDX-License-Identifier: GPL-2.0-or-later
//
// Questions: which checks are asked about which event, and how they came out. Most checks of messages are about Calls
// or about Replies only, and about some kind of chunk; asking no others is most of what makes the engine fast.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "conformance/engine/check.h"
#include "conformance/engine/engine.h"

namespace stag::conformance {

// Kinds of events. Messages are of as many kinds as there are roles, RDMA operations of as many as they have packets.
enum class Lane : uint8_t {
  kSetup,
  kUnknown,
  kCall,
  kReply,
  kError,
  kDone,
  kCallComplete,
  kWrite,
  kReadRequest,
  kReadResponse,
  kNak,
  kClosed,
  kAside
};
inline constexpr size_t kLanes = static_cast<size_t>(Lane::kAside) + 1;
Lane LaneOf(Role role);
Lane LaneOf(fabric::EventKind operation);
// Of a message, which may be without a transaction, or of a transaction's Call.
Traits TraitsOf(const Message* message, const Transaction* transaction);

class Questions {
 public:
  struct Check {
    CheckFunction* ask = nullptr;
    size_t rule = 0;             // index in the catalogue
    RuleTally* tally = nullptr;  // of the rule, to be counted up
  };

  // Of the rules that `options` select, under each profile those that are in force.
  explicit Questions(const EngineOptions& options);
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;

  // What to ask about one event, in the order of the table of checks. `profile`: not kAuto; `traits`: 0 for events that
  // are no messages or Calls.
  std::span<const Check> Ask(Profile profile, Lane lane, Traits traits) {
    Asked& asked = asked_[IndexOf(profile)][static_cast<size_t>(lane)][traits];
    if (asked.events++ == 0) Fill(asked, profile, lane, traits);
    return asked.checks;
  }
  // Checks that are about other messages or operations: not applicable to this one, and counted so.
  std::span<const Check> Others(Profile profile, Lane lane, Traits traits) const {
    return asked_[IndexOf(profile)][static_cast<size_t>(lane)][traits].others;
  }

  RuleTally& tally(const RuleInfo& rule);
  // Engine::Tallies.
  std::vector<RuleTally> Tallies() const;

 private:
  static constexpr size_t kProfiles = 3, kTraits = kAnyTraits + 1;
  static size_t IndexOf(Profile profile) { return static_cast<size_t>(profile) - 1; }
  struct Asked {
    std::vector<Check> checks, others;
    uint64_t events = 0;
  };
  void Fill(Asked& asked, Profile profile, Lane lane, Traits traits);

  struct RuleState {
    bool selected = false;
    RuleTally tally;
  };
  struct Selected {
    const CheckEntry* entry = nullptr;
    size_t rule = 0;
  };
  std::vector<RuleState> rules_;  // parallel to Catalogue()
  std::vector<Selected> selected_;
  std::array<std::array<std::array<Asked, kTraits>, kLanes>, kProfiles> asked_;  // filled when asked first
};

}  // namespace stag::conformance
