// SPDX-License-Identifier: GPL-2.0-or-later
//
// Lasting: memory whose bytes stay as they are, as that of a mapped file. Places in it are kept in place of bytes.
#pragma once

#include "protocol/base/bytes.h"

namespace stag {

class Lasting {
 public:
  Lasting() = default;
  // The caller owns `memory`.
  explicit Lasting(Bytes memory) : begin_(reinterpret_cast<uintptr_t>(memory.data())), size_(memory.size()) {}
  // Whether `bytes`, which lie wholly in the memory or wholly outside, lie in it.
  bool Holds(Bytes bytes) const { return reinterpret_cast<uintptr_t>(bytes.data()) - begin_ < size_; }

 private:
  uintptr_t begin_ = 0;
  size_t size_ = 0;
};

}  // namespace stag
