// SPDX-License-Identifier: GPL-2.0-or-later
//
// Memory regions and windows: who may do what with which memory, and moving bytes between them, also those of another
// process.
#pragma once

#include <span>

#include "tests/null_verbs/fabric.h"

namespace stag::null_verbs {

// A region that is not invalidated as long as this lives; tests true when its handle is valid.
class Pin {
 public:
  explicit Pin(uint32_t handle) : region_(RegionOf(handle)) {
    const bool valid = (region_.use.fetch_add(1, std::memory_order_acquire) & Region::kValid) != 0;
    valid_ = valid && region_.handle == handle;
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin() { region_.use.fetch_sub(1, std::memory_order_release); }
  explicit operator bool() const { return valid_; }
  const Region* operator->() const { return &region_; }

 private:
  Region& region_;
  bool valid_;
};

// Whether the `length` bytes at `address` are the region's.
inline bool Covers(const Region& region, uint64_t address, uint64_t length) {
  return address >= region.address && length <= region.length && address - region.address <= region.length - length;
}

// The handle becomes invalid; whoever copies is waited for. False: it was invalid.
bool Invalidate(Region& region);

// Bytes of a process.
struct Memory {
  uint32_t pid = 0;
  uint64_t address = 0;
};
// False: the process does not have them, or is not there any more.
bool Copy(const Memory& to, const Memory& from, uint64_t length);

}  // namespace stag::null_verbs
