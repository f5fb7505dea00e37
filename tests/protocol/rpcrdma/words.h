// SPDX-License-Identifier: GPL-2.0-or-later
//
// Bytes written as big-endian words, for the tests of RPC, NFS and RPC-over-RDMA.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "protocol/base/bytes.h"
#include "tests/protocol/hex.h"

namespace stag::test {

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
