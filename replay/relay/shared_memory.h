// SPDX-License-Identifier: GPL-2.0-or-later
//
// SharedMemory: memory that both sides of a relay have registered, so that what is pulled from one peer is offered to
// the other, and what the other wrote is pushed from where it stands.
#pragma once

#include <string>

#include "replay/endpoint/endpoint.h"
#include "replay/endpoint/pages.h"

namespace stag::relay {

class SharedMemory {
 public:
  size_t size() const { return near_.bytes.size(); }
  MutableBytes bytes() const { return near_.bytes; }
  // How the far peer names it.
  uint32_t handle() const { return far_.handle; }
  uint64_t offset() const { return far_.offset; }

  // The far peer invalidated the handle: it gets another before the memory is used again.
  void Invalidated(uint32_t handle) { spent_ |= size() > 0 && handle == far_.handle; }
  // Makes sure of a valid handle, and of `size` bytes (what it held goes if it has to grow). `near`: pulls into it and
  // pushes from it; `far`: its peer has `access`.
  Result<void> Prepare(size_t size, endpoint::Endpoint& near, endpoint::Endpoint& far, endpoint::Access access) {
    if (size <= this->size()) {
      if (!spent_) return {};
      spent_ = false;
      return far.Renew(far_);
    }
    Drop(near, far);
    memory_ = endpoint::Pages(size);
    const MutableBytes all = memory_.bytes();
    if (all.empty()) return Fail("no memory for chunks of " + std::to_string(size) + " bytes");
    Result<endpoint::Region> near_region = near.Register(all, endpoint::Access::kLocal);
    if (!near_region) return tl::unexpected(near_region.error());
    near_ = *near_region;
    Result<endpoint::Region> far_region = far.Register(all, access);
    if (!far_region) return Drop(near, far), tl::unexpected(far_region.error());
    far_ = *far_region;
    return {};
  }
  // Nothing that was posted may name it.
  void Drop(endpoint::Endpoint& near, endpoint::Endpoint& far) {
    if (!near_.bytes.empty()) near.Deregister(near_);
    if (!far_.bytes.empty()) far.Deregister(far_);
    near_ = far_ = {};
    memory_ = {};
    spent_ = false;
  }

 private:
  endpoint::Pages memory_;
  endpoint::Region near_, far_;
  bool spent_ = false;
};

}  // namespace stag::relay
