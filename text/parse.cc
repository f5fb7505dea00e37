// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/parse.h"

#include <chrono>
#include <string>
#include <utility>

namespace stag {

static constexpr int64_t kSecondNs = 1'000'000'000;

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

std::optional<int64_t> ParseSeconds(std::string_view text) {
  const size_t point = text.find('.');
  const auto seconds = ParseNumber<uint32_t>(text.substr(0, point));
  if (!seconds) return std::nullopt;
  int64_t ns = int64_t{*seconds} * kSecondNs;
  if (point == std::string_view::npos) return ns;
  std::string digits(text.substr(point + 1));
  if (digits.empty() || digits.size() > 9) return std::nullopt;
  digits.resize(9, '0');
  const auto fraction = ParseNumber<uint32_t>(digits);
  if (!fraction) return std::nullopt;
  return ns + *fraction;
}

std::optional<int64_t> ParseIsoTime(std::string_view text) {
  if (text.ends_with('Z') || text.ends_with('z')) text.remove_suffix(1);
  if (text.size() < 16 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't' && text[10] != ' ') ||
      text[13] != ':')
    return std::nullopt;
  const auto year = ParseNumber<int>(text.substr(0, 4));
  const auto month = ParseNumber<unsigned>(text.substr(5, 2)), day = ParseNumber<unsigned>(text.substr(8, 2));
  const auto hour = ParseNumber<unsigned>(text.substr(11, 2)), minute = ParseNumber<unsigned>(text.substr(14, 2));
  if (!year || !month || !day || !hour || !minute || *hour > 23 || *minute > 59) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{*month}, std::chrono::day{*day}};
  if (!date.ok() || *year < 1970 || *year > 2200) return std::nullopt;
  int64_t ns = 0;
  text.remove_prefix(16);
  if (!text.empty()) {
    if (text.size() < 3 || text[0] != ':') return std::nullopt;
    const auto seconds = ParseNumber<unsigned>(text.substr(1, 2));
    if (!seconds || *seconds > 60) return std::nullopt;
    ns = *seconds * kSecondNs;
    text.remove_prefix(3);
    if (!text.empty()) {
      if (text[0] != '.' || text.size() < 2 || text.size() > 10) return std::nullopt;
      const auto fraction = ParseSeconds("0" + std::string(text));
      if (!fraction) return std::nullopt;
      ns += *fraction;
    }
  }
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (days * 86400 + *hour * 3600 + *minute * 60) * kSecondNs + ns;
}

}  // namespace stag
