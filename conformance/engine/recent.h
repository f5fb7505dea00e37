// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace stag::conformance {

// The last N of something, oldest first when it is full. A large one takes memory as it fills.
template <typename T, size_t N>
class Recent {
 public:
  void Add(const T& value) { Next() = value; }
  // A new one, to be filled where it stays until the next.
  T& Add() { return Next() = T{}; }
  bool full() const { return count_ >= N; }
  size_t size() const { return count_ < N ? static_cast<size_t>(count_) : N; }
  // back == 0: the newest.
  const T& FromEnd(size_t back) const { return items_[(count_ - 1 - back) % N]; }
  T& FromEnd(size_t back) { return items_[(count_ - 1 - back) % N]; }
  uint64_t storage() const { return kGrows ? items_.size() * sizeof(T) : 0; }  // bytes, beside its own size

 private:
  static constexpr bool kGrows = sizeof(T) * N > 1024;

  [[gnu::noinline]] void Make() { items_.emplace_back(); }
  T& Next() {
    if constexpr (kGrows) {
      if (!full()) [[unlikely]]
        Make();
    }
    return items_[count_++ % N];
  }

  std::conditional_t<kGrows, std::vector<T>, std::array<T, N>> items_{};
  uint64_t count_ = 0;
};

}  // namespace stag::conformance
