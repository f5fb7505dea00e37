// SPDX-License-Identifier: GPL-2.0-or-later
//
// Text: the sentences of findings, put together from pieces. Built only when something is wrong, so it need not be
// fast.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace stag::conformance {

struct Hex {
  uint64_t value = 0;
};

inline void AppendText(std::string& out, std::string_view text) { out.append(text); }
inline void AppendText(std::string& out, const Hex& hex) {
  constexpr char kDigits[] = "0123456789abcdef";
  out.append("0x");
  int shift = hex.value > 0xffffffffu ? 60 : 28;
  for (; shift >= 0; shift -= 4) out.push_back(kDigits[(hex.value >> shift) & 15]);
}
template <std::integral T>
void AppendText(std::string& out, T value) {
  out.append(std::to_string(value));
}

// Text("Position ", 5, " of ", Hex{7}) -> "Position 5 of 0x00000007".
template <typename... Parts>
std::string Text(const Parts&... parts) {
  std::string out;
  (AppendText(out, parts), ...);
  return out;
}

// "1 segment", "2 segments".
inline std::string Count(uint64_t n, std::string_view noun) { return Text(n, " ", noun, n == 1 ? "" : "s"); }

}  // namespace stag::conformance
