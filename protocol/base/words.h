// SPDX-License-Identifier: GPL-2.0-or-later
//
// Words as people write them: names in either case, whole numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace stag {

// Letters of ASCII alone.
inline std::string UpperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  return upper;
}
inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return lower;
}

// A whole number; nullopt when `text` is none, or too large for T.
template <typename T>
std::optional<T> ParseNumber(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace stag
