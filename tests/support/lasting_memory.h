// SPDX-License-Identifier: GPL-2.0-or-later
//
// LastingMemory: memory of the test's that stands for a file (protocol/base/lasting.h).
#pragma once

#include <algorithm>

#include "protocol/base/lasting.h"

namespace stag::test {

class LastingMemory final : public Lasting {
 public:
  // The caller owns `memory`.
  explicit LastingMemory(Bytes memory) : memory_(memory) { Set(memory, 0); }
  Bytes Again(uint64_t place, size_t size) const override {
    if (place >= memory_.size()) return {};
    return memory_.subspan(static_cast<size_t>(place), std::min(size, memory_.size() - static_cast<size_t>(place)));
  }
  // The file ends after `size` bytes from now on.
  void Shorten(size_t size) { memory_ = memory_.first(size); }

 private:
  Bytes memory_;
};

}  // namespace stag::test
