// SPDX-License-Identifier: GPL-2.0-or-later
//
// Outcome: what a check answers when it is asked about one event. RuleTally: how often a rule had each outcome. Silence
// is not conformance: a rule that never passed nor failed says nothing about the traffic.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "conformance/engine/finding.h"

namespace stag::conformance {

// The last four: the rule applies, but the capture does not show enough.
enum class Outcome : uint8_t {
  kNotApplicable,
  kPass,
  kFail,
  kGap,         // packets that would tell were lost by the capture, or evicted for lack of memory
  kTruncated,   // bytes that would tell were cut by the snap length
  kNoSetup,     // the connection's set-up, or its history up to here, was not captured
  kUpperLayer,  // the RPC program is unknown, or its bytes are hidden or cannot be followed
};
inline constexpr size_t kOutcomes = 7;
// "not applicable", "pass", "fail", "gap", "truncation", "set-up not seen", "upper layer not decodable".
std::string_view OutcomeName(Outcome outcome);

struct RuleTally {
  const RuleInfo* rule = nullptr;
  std::array<uint64_t, kOutcomes> counts{};  // events, by Outcome

  uint64_t& operator[](Outcome outcome) { return counts[static_cast<size_t>(outcome)]; }
  uint64_t operator[](Outcome outcome) const { return counts[static_cast<size_t>(outcome)]; }
  uint64_t exercised() const { return (*this)[Outcome::kPass] + (*this)[Outcome::kFail]; }
  uint64_t not_checked() const {
    return (*this)[Outcome::kGap] + (*this)[Outcome::kTruncated] + (*this)[Outcome::kNoSetup] +
           (*this)[Outcome::kUpperLayer];
  }
  // Of all events together: fail if any failed, else pass if any passed, else the most frequent reason for not
  // checking, else not applicable.
  Outcome verdict() const;
};

// Adds each tally of `from` to that of the same rule in `to`. Both are in the order of the catalogue, and stay so.
void AddTallies(std::vector<RuleTally>& to, const std::vector<RuleTally>& from);

}  // namespace stag::conformance
