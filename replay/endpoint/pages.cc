// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace stag::endpoint {
namespace {

// Smaller ones come from the heap: the system has a limit for the number of mappings.
constexpr size_t kPage = 4096, kMapped = 16384, kHugePage = 2u << 20;

constexpr size_t RoundUp(size_t size, size_t to) { return (size + to - 1) / to * to; }

std::byte* OfHeap(size_t size) {
  void* const at = std::aligned_alloc(kPage, size);
  if (at) std::memset(at, 0, size);
  return static_cast<std::byte*>(at);
}

std::byte* Map(size_t size, int flags) {
  void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

}  // namespace

Pages::Pages(size_t size) {
  if (size > SIZE_MAX - kHugePage) return;
  if (size < kMapped) {
    at_ = OfHeap(RoundUp(std::max(size, kPage), kPage));
  } else {
    if (size >= kHugePage) at_ = Map(mapped_ = RoundUp(size, kHugePage), MAP_HUGETLB);
    if (!at_) at_ = Map(mapped_ = RoundUp(size, kPage), 0);
    if (at_ && size >= kHugePage) (void)::madvise(at_, mapped_, MADV_HUGEPAGE);
  }
  if (at_) size_ = std::max<size_t>(size, 1);
}

Pages::Pages(Pages&& other) noexcept
    : at_(std::exchange(other.at_, nullptr)), size_(std::exchange(other.size_, 0)), mapped_(other.mapped_) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(at_, other.at_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

Pages::~Pages() {
  if (at_ && mapped_ > 0) ::munmap(at_, mapped_);
  if (mapped_ == 0) std::free(at_);
}

}  // namespace stag::endpoint
