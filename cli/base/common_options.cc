// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/base/common_options.h"

#include <charconv>
#include <utility>

namespace stag::cli {

std::optional<uint64_t> ParseSize(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  constexpr std::string_view kUnits = "KMGT";
  unsigned shift = 0;
  if (!unit.empty()) {
    const size_t power = kUnits.find(unit[0] >= 'a' ? static_cast<char>(unit[0] - 'a' + 'A') : unit[0]);
    if (power == std::string_view::npos || !(unit.size() == 1 || unit.substr(1) == "B" || unit.substr(1) == "iB")) {
      return std::nullopt;
    }
    shift = 10 * static_cast<unsigned>(power + 1);
  }
  if (number > UINT64_MAX >> shift) return std::nullopt;
  return number << shift;
}

std::optional<int64_t> ParseDuration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !(number >= 0)) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1},         {"us", 1e3},       {"ms", 1e6},
                                                            {"", 1e9},         {"s", 1e9},        {"m", 60 * 1e9},
                                                            {"h", 3600 * 1e9}, {"d", 86400 * 1e9}};
  constexpr double kMost = 100 * 365.25 * 86400 * 1e9;
  for (const auto& [name, nanoseconds] : kUnits) {
    if (name == unit)
      return number * nanoseconds <= kMost ? std::optional(static_cast<int64_t>(number * nanoseconds)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace stag::cli
