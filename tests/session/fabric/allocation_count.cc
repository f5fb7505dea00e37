// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/session/fabric/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> count = 0;
}

void* operator new(size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size != 0 ? size : 1)) return p;
  std::abort();
}
// std::stable_sort uses this one. All forms must be of one kind: a sanitizer's own would not match our delete.
void* operator new(size_t size, const std::nothrow_t&) noexcept { return ::operator new(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace stag::fabric::test {
size_t AllocationCount() { return count; }
}  // namespace stag::fabric::test
