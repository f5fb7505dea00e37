// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/selection.h"

#include "text/parse.h"

namespace stag::cli {

std::optional<WantedRule> ParseWantedRule(std::string_view text) {
  const size_t hash = text.find('#');
  WantedRule wanted{conformance::FindRule(UpperCase(text.substr(0, hash))), 0};
  if (!wanted.rule) return std::nullopt;
  if (hash == std::string_view::npos) return wanted;
  const auto number = ParseNumber<uint64_t>(text.substr(hash + 1));
  if (!number || *number == 0) return std::nullopt;
  wanted.number = *number;
  return wanted;
}

}  // namespace stag::cli
