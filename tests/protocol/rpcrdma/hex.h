// SPDX-License-Identifier: GPL-2.0-or-later
//
// Bytes written as hexadecimal text (spaces are ignored), for the tests of the RPC and RPC-over-RDMA folders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/bytes.h"

namespace stag::test {

inline std::vector<std::byte> Hex(std::string_view text) {
  std::vector<std::byte> out;
  int high = -1;
  for (char c : text) {
    if (c == ' ' || c == '\n') continue;
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (high < 0) {
      high = digit;
    } else {
      out.push_back(static_cast<std::byte>(high * 16 + digit));
      high = -1;
    }
  }
  return out;
}

// Each word big-endian.
inline std::vector<std::byte> Words(std::initializer_list<uint32_t> words) {
  std::vector<std::byte> out(words.size() * 4);
  size_t at = 0;
  for (uint32_t word : words) {
    StoreBe32(out.data() + at, word);
    at += 4;
  }
  return out;
}

inline std::string_view Text(Bytes b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

}  // namespace stag::test
