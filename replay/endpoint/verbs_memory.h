// SPDX-License-Identifier: GPL-2.0-or-later
//
// VerbsMemory: the registered memory of one connection, in a protection domain of its own, so that a handle is good on
// no other connection (RFC 8166 section 8.1).
#pragma once

#include <vector>

#include "replay/endpoint/endpoint.h"
#include "replay/endpoint/verbs_handles.h"

namespace stag::endpoint {

// Zeroed pages: huge ones for large sizes where the system has some to give, ordinary ones otherwise.
class Pages {
 public:
  Pages() = default;
  explicit Pages(size_t size);  // bytes() is empty: no memory
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();
  MutableBytes bytes() const { return {at_, size_}; }

 private:
  std::byte* at_ = nullptr;
  size_t size_ = 0, mapped_ = 0;
};

class VerbsMemory {
 public:
  VerbsMemory(ibv_pd* pd, bool iwarp) : pd_(pd), iwarp_(iwarp) {}

  // `pages`: of the memory; they go with the registration. Without: it is the caller's.
  Result<Region> Add(MutableBytes memory, Access access, Pages pages);
  void Remove(const Region& region);
  Result<void> Renew(Region& region);

  // The local key for registered memory; nullptr: it is not (wholly) registered. `read_target`: to be read into.
  const uint32_t* Find(Bytes memory, bool read_target = false);

 private:
  struct Entry {
    Pages pages;
    MutableBytes bytes;
    Access access = Access::kLocal;
    Owned<ibv_mr> mr;
    uint64_t cookie = 0;
  };

  Result<void> Register(Entry& entry);
  static Region RegionOf(const Entry& entry);
  bool Holds(const Entry& entry, Bytes memory, bool read_target) const;

  ibv_pd* const pd_;
  const bool iwarp_;
  std::vector<Entry> entries_;  // by address
  size_t last_found_ = 0;
  uint64_t last_cookie_ = 0;
};

}  // namespace stag::endpoint
