// SPDX-License-Identifier: GPL-2.0-or-later
//
// Arena: memory for objects that live until the file is closed. Nothing is freed before the arena, and no destructor
// runs: an allocation of the heap for each 64 KiB, and for each large array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace stag::plugin {

class Arena {
 public:
  template <typename T, typename... Arguments>
  T* New(Arguments&&... arguments) {
    static_assert(std::is_trivially_destructible_v<T>);
    return ::new (Allocate(sizeof(T), alignof(T))) T{std::forward<Arguments>(arguments)...};
  }

  // Objects as T{} makes them.
  template <typename T>
  std::span<T> NewArray(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count == 0) return {};
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer.
    T* first = static_cast<T*>(Allocate(count * sizeof(T), alignof(T)));
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
  }

  template <typename Range>
  auto Copy(const Range& from) {
    using T = std::remove_cvref_t<decltype(*std::begin(from))>;
    const std::span<T> copy = NewArray<T>(std::size(from));
    std::copy(std::begin(from), std::end(from), copy.begin());
    return std::span<const T>(copy);
  }

  size_t blocks() const { return blocks_.size(); }  // how many allocations of the heap hold the objects

  // Uninitialised; `alignment` is at most that of any fundamental type.
  void* Allocate(size_t size, size_t alignment);

 private:
  static constexpr size_t kBlock = 64 << 10, kLarge = kBlock / 8;

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* free_ = nullptr;  // of the last block
  size_t left_ = 0;
};

}  // namespace stag::plugin
