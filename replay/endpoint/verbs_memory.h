// SPDX-License-Identifier: GPL-2.0-or-later
//
// VerbsMemory: the registered memory of one connection, in a protection domain of its own, so that a handle is good on
// no other connection (RFC 8166 section 8.1). Where the device has memory windows of type 2, the peer reaches memory
// through windows only: another handle costs a work request and no registration, and a Send with Invalidate of the
// peer's may invalidate it.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "replay/endpoint/endpoint.h"
#include "replay/endpoint/pages.h"
#include "replay/endpoint/verbs_handles.h"

namespace stag::endpoint {

class VerbsMemory {
 public:
  // `windows`: the device has them.
  VerbsMemory(ibv_pd* pd, bool iwarp, bool windows) : pd_(pd), iwarp_(iwarp), windows_(windows) {}

  // `pages`: of the memory; they go with the registration. Without: it is the caller's.
  Result<Region> Add(MutableBytes memory, Access access, Pages pages);
  void Remove(const Region& region);
  Result<void> Renew(Region& region);

  // Whether the peer reaches the region through a window; then its handle is valid once a work was done that NextBind
  // makes. Remove waits for nothing: what was posted for its window must be done.
  bool HasWindow(const Region& region);
  // Whether the handle is valid, as far as works were made and the peer's invalidations were reported.
  bool Bound(const Region& region) const;
  // Works to be posted in this order: the window's handle becomes invalid; the window gets another one, which is the
  // region's.
  ibv_send_wr Unbind(const Region& region);
  ibv_send_wr NextBind(Region& region);
  void Invalidated(uint32_t handle);  // by the peer

  // The local key for registered memory; nullptr: it is not (wholly) registered. `read_target`: to be read into.
  const uint32_t* Find(Bytes memory, bool read_target = false);

 private:
  struct Entry {
    Pages pages;
    MutableBytes bytes;
    Access access = Access::kLocal;
    Owned<ibv_mr> mr;
    Owned<ibv_mw> window;
    uint32_t handle = 0;
    uint64_t cookie = 0;
  };

  Result<void> Register(Entry& entry);
  std::vector<Entry>::iterator Locate(const Region& region);
  static Region RegionOf(const Entry& entry);
  bool Holds(const Entry& entry, Bytes memory, bool read_target) const;

  ibv_pd* const pd_;
  const bool iwarp_, windows_;
  std::vector<Entry> entries_;                // by address
  std::unordered_map<uint32_t, bool> bound_;  // windows, by what stays of their handles
  std::array<uint32_t, 64> found_{};          // places in entries_ where memory was found, by its page; may be outdated
  uint64_t last_cookie_ = 0;
};

}  // namespace stag::endpoint
