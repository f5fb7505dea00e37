// SPDX-License-Identifier: GPL-2.0-or-later
//
// Hex: bytes written as hexadecimal digits; blanks are ignored.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace stag::test {

inline std::vector<std::byte> Hex(std::string_view text) {
  auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  std::vector<std::byte> out;
  int high = -1;
  for (char c : text) {
    if (c == ' ' || c == '\n') continue;
    if (high < 0) {
      high = digit(c);
    } else {
      out.push_back(static_cast<std::byte>(high * 16 + digit(c)));
      high = -1;
    }
  }
  return out;
}

}  // namespace stag::test
