// SPDX-License-Identifier: GPL-2.0-or-later
//
// Selection: what the user of stag slice asks for, and how it is written on the command line. What is given of one kind
// is united, different kinds intersect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/filter.h"
#include "conformance/engine/finding.h"

namespace stag::cli {

struct WantedRule {
  const conformance::RuleInfo* rule = nullptr;
  uint64_t number = 0;  // its so-manyth finding, in the order of stag check; 0: all
};

// "RDLIST-003", "rdlist-003#2".
std::optional<WantedRule> ParseWantedRule(std::string_view text);

struct Selection : analysis::Filter {
  std::vector<WantedRule> findings;
  uint64_t slowest = 0;  // how many; 0: not asked for
  uint64_t around = 0;   // a frame; 0: not asked for

  // RPCs are asked for, by what they are.
  bool rpcs() const { return of_rpcs() || slowest != 0 || around != 0; }
  bool empty() const { return Filter::empty() && findings.empty() && !rpcs(); }
  // All frames of a range are asked for, whatever they carry.
  bool frames_alone() const { return ranged() && findings.empty() && !rpcs(); }
  bool connections_alone() const { return of_connections() && !ranged() && findings.empty() && !rpcs(); }
};

}  // namespace stag::cli
