// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/null_verbs/memory.h"

#include <sched.h>
#include <signal.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace stag::null_verbs {
namespace {

// All of it, by calls that may move a part.
template <typename Call>
bool Whole(Call call, uint32_t pid, uint64_t here, uint64_t there, uint64_t length) {
  while (length > 0) {
    const iovec own{reinterpret_cast<void*>(here), length}, other{reinterpret_cast<void*>(there), length};
    const ssize_t n = call(static_cast<pid_t>(pid), &own, 1, &other, 1, 0);
    if (n <= 0) return false;
    here += static_cast<uint64_t>(n);
    there += static_cast<uint64_t>(n);
    length -= static_cast<uint64_t>(n);
  }
  return true;
}

}  // namespace

bool Invalidate(Region& region) {
  const bool was = (region.use.fetch_and(~Region::kValid, std::memory_order_acq_rel) & Region::kValid) != 0;
  // A process that died while it copied copies no more.
  for (uint32_t looks = 0; region.use.load(std::memory_order_acquire) != 0 && looks < 1'000'000; ++looks)
    ::sched_yield();
  return was;
}

bool Copy(const Memory& to, const Memory& from, uint64_t length) {
  if (to.pid == Self() && from.pid == Self()) {
    std::memmove(reinterpret_cast<void*>(to.address), reinterpret_cast<const void*>(from.address), length);
    return true;
  }
  if (to.pid == Self()) return Whole(::process_vm_readv, from.pid, to.address, from.address, length);
  return Whole(::process_vm_writev, to.pid, from.address, to.address, length);
}

}  // namespace stag::null_verbs
