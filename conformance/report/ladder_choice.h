// SPDX-License-Identifier: GPL-2.0-or-later
//
// LadderChoice: for which findings of a file a report asks what happened around them: the first few of each rule that
// are not repeats, and not too many in all. The choice looks at nothing but the file, so that it is the same wherever
// the file is analysed.
#pragma once

#include <map>
#include <set>
#include <tuple>

#include "conformance/engine/finding.h"

namespace stag::conformance {

class LadderChoice {
 public:
  static constexpr size_t kMost = 150, kMostOfRule = 3;

  // What makes findings repeats of one another.
  using Key = std::tuple<fabric::ConnectionId, const RuleInfo*, Severity, bool>;
  static Key KeyOf(const Finding& f) { return {f.connection, f.rule, f.severity, f.client_to_server}; }

  // Whether to ask about this finding; every finding of the file is to be shown, in their order.
  bool Takes(const Finding& finding) {
    size_t& of_rule = of_rule_[finding.rule];
    if (of_rule > 0 && (of_rule == kMostOfRule || taken_.size() >= kMost)) return false;
    if (!taken_.insert(KeyOf(finding)).second) return false;
    ++of_rule;
    return true;
  }

 private:
  std::map<const RuleInfo*, size_t> of_rule_;
  std::set<Key> taken_;
};

}  // namespace stag::conformance
