// SPDX-License-Identifier: GPL-2.0-or-later
//
// RegionTable: the registered memory of one software iWARP connection, and who may do what with it (RFC 5042 section 5;
// RFC 5040 section 7). A handle is random, of this connection only, for one direction and one range.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "replay/endpoint/endpoint.h"
#include "replay/endpoint/pages.h"

namespace stag::endpoint {

class RegionTable {
 public:
  // What is wrong with an access of the peer's.
  enum class Verdict : uint8_t { kFine, kInvalidHandle, kOutOfBounds, kNoAccess, kWraps };

  // `pages` go with the registration; none: the memory is the caller's.
  Region Add(MutableBytes memory, Access access, Pages pages);
  // False: `region` is none of this table's.
  bool Remove(const Region& region);
  bool Renew(Region& region);
  // False: also when another region has the handle, or the range would wrap.
  bool Rename(Region& region, uint32_t handle, uint64_t offset);

  // Memory of registered regions, whether their handles are valid or not.
  bool Holds(Bytes memory) const { return Find(memory, false) != nullptr; }
  // The handle and offset by which the peer may know `memory`, to answer an RDMA Read with it; false: none, or the
  // handle is invalid, or nothing is to be written there.
  bool Name(Bytes memory, uint32_t& handle, uint64_t& offset) const;
  bool IsValid(uint32_t handle) const { return Lookup(handle) != nullptr; }

  // Whether the peer may access `length` bytes; `at` is where they are.
  Verdict Check(uint32_t handle, uint64_t offset, uint64_t length, Access access, std::byte*& at) const;
  // The peer invalidates a handle. kNoAccess: a handle that it was never given.
  Verdict Invalidate(uint32_t handle);

 private:
  struct Entry {
    MutableBytes bytes;
    uint64_t offset = 0;
    uint32_t handle = 0;
    Access access = Access::kLocal;
    bool registered = false;
    bool valid = false;  // the handle
    Pages pages;
  };
  // Of an open hash table by handle, where 0 is an empty cell; `zero_` is the region whose handle is 0.
  struct Cell {
    uint32_t handle = 0, entry = 0;
  };

  const Entry* Find(Bytes memory, bool with_handle) const;
  const Entry* Lookup(uint32_t handle) const;
  Entry* EntryOf(const Region& region);
  void AssignHandle(uint32_t entry);
  void Insert(uint32_t entry, uint32_t handle);
  void Forget(Entry& entry);
  void Grow();
  uint32_t Random();
  size_t Home(uint32_t handle) const { return handle & (cells_.size() - 1); }

  std::vector<Entry> entries_;
  std::vector<uint32_t> unused_;
  std::vector<Cell> cells_ = std::vector<Cell>(64);
  size_t named_ = 0;
  std::optional<uint32_t> zero_;
  mutable std::array<uint32_t, 64> found_{};  // of entries_, where memory was found, by its page; may be outdated
  std::array<uint32_t, 64> random_{};
  size_t random_left_ = 0;
};

}  // namespace stag::endpoint
