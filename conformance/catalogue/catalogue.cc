// SPDX-License-Identifier: GPL-2.0-or-later
//
// The catalogue as everyone sees it: the generated table plus what the table of checks says of each rule.
#include <algorithm>

#include "conformance/catalogue/catalogue_data.h"
#include "conformance/engine/check.h"

namespace stag::conformance {

namespace {

std::vector<RuleInfo> Complete() {
  const std::span<const RuleInfo> generated = catalogue::Rules();
  std::vector<RuleInfo> rules(generated.begin(), generated.end());
  for (RuleInfo& rule : rules) {
    const auto has = [&](const auto& entry) { return entry.id == rule.id; };
    rule.implemented = std::ranges::any_of(Checks(), has);
    if (rule.implemented) continue;
    const auto reason = std::ranges::find_if(ReasonsForNoCheck(), has);
    if (reason != ReasonsForNoCheck().end()) {
      rule.not_checked = reason->reason;
    } else if (rule.degree == "none") {
      rule.not_checked = "not observable";
    } else {
      rule.not_checked = rule.level == "MAY-context" ? "exempts, never flags" : "no check yet";
    }
  }
  return rules;
}

}  // namespace

std::span<const RuleInfo> Catalogue() {
  static const std::vector<RuleInfo> rules = Complete();
  return rules;
}

const RuleInfo* FindRule(std::string_view id) {
  for (const RuleInfo& rule : Catalogue())
    if (rule.id == id) return &rule;
  return nullptr;
}

std::span<const RuleInfo> FindGroup(std::string_view group) {
  const auto rules = Catalogue();
  const auto is_of_it = [&](const RuleInfo& rule) { return rule.group == group; };
  const auto first = std::ranges::find_if(rules, is_of_it);
  return {first, std::find_if_not(first, rules.end(), is_of_it)};
}

}  // namespace stag::conformance
