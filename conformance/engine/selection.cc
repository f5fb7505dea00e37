// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/selection.h"

#include <algorithm>

#include "conformance/engine/engine.h"

namespace stag::conformance {

namespace {

// Whether `text` in upper case is `upper`.
bool IsUpper(std::string_view text, std::string_view upper) {
  return std::ranges::equal(text, upper, {},
                            [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
}

// "RFC8166", or "RFC8166:4.3" for sections 4.3 and 4.3.1. The name in `source` may go on in parentheses.
bool Names(std::string_view selector, const Source& source) {
  const size_t colon = selector.find(':');
  if (!IsUpper(source.document.substr(0, source.document.find('(')), selector.substr(0, colon))) return false;
  if (colon == std::string_view::npos) return true;
  const std::string_view section = selector.substr(colon + 1);
  return !section.empty() && source.section.starts_with(section) &&
         (source.section.size() == section.size() || source.section[section.size()] == '.');
}

}  // namespace

bool Matches(std::string_view selector, const RuleInfo& rule) {
  if (selector.empty()) return false;
  return rule.id.starts_with(selector) || IsUpper(rule.level, selector) ||
         std::ranges::any_of(rule.sources, [&](const Source& source) { return Names(selector, source); });
}

bool IsSelected(const RuleInfo& rule, const std::vector<std::string>& select, const std::vector<std::string>& ignore) {
  const auto matches = [&](const std::string& selector) { return Matches(selector, rule); };
  return (select.empty() || std::ranges::any_of(select, matches)) && std::ranges::none_of(ignore, matches);
}

bool IsInForce(const RuleInfo& rule, Profile profile) {
  for (const ProfileException& exception : rule.profile_exceptions)
    if (exception.profile == profile) return exception.in_force;
  return std::ranges::any_of(rule.sources, [&](const Source& source) { return InForce(source, profile); });
}

bool IsSelector(std::string_view selector) {
  return std::ranges::any_of(Catalogue(), [&](const RuleInfo& rule) { return Matches(selector, rule); });
}

}  // namespace stag::conformance
