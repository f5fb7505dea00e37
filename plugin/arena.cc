// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/arena.h"

namespace stag::plugin {

void* Arena::Allocate(size_t size, size_t alignment) {
  if (size > kLarge) return blocks_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(size)).get();
  const size_t skip = -reinterpret_cast<size_t>(free_) & (alignment - 1);
  if (skip + size <= left_) {
    std::byte* const at = free_ + skip;
    free_ = at + size;
    left_ -= skip + size;
    return at;
  }
  std::byte* const at = blocks_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(kBlock)).get();
  free_ = at + size;
  left_ = kBlock - size;
  return at;
}

}  // namespace stag::plugin
