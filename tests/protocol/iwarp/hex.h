// SPDX-License-Identifier: GPL-2.0-or-later
//
// Hex: bytes from text for tests; blanks are ignored.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "protocol/base/bytes.h"

namespace stag::test {

inline std::vector<std::byte> Hex(std::string_view text) {
  std::vector<std::byte> out;
  int high = -1;
  for (const char c : text) {
    if (c == ' ') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high < 0) {
      high = digit;
    } else {
      out.push_back(std::byte(high << 4 | digit));
      high = -1;
    }
  }
  return out;
}

}  // namespace stag::test
