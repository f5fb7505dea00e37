// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stag::conformance {

// The last N of something, oldest first when it is full.
template <typename T, size_t N>
class Recent {
 public:
  void Add(const T& value) { items_[count_++ % N] = value; }
  // A new one, to be filled where it stays.
  T& Add() { return items_[count_++ % N] = T{}; }
  size_t size() const { return count_ < N ? static_cast<size_t>(count_) : N; }
  // back == 0: the newest.
  const T& FromEnd(size_t back) const { return items_[(count_ - 1 - back) % N]; }
  T& FromEnd(size_t back) { return items_[(count_ - 1 - back) % N]; }

 private:
  std::array<T, N> items_{};
  uint64_t count_ = 0;
};

}  // namespace stag::conformance
