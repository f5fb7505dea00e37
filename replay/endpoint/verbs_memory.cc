// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/verbs_memory.h"

#include <algorithm>
#include <cerrno>

#include "replay/endpoint/guard.h"
#include "replay/endpoint/system.h"
#include "replay/endpoint/verbs_trouble.h"

namespace stag::endpoint {
namespace {

// A new handle of a window differs in its low 8 bits (IBA section 10.6.7.2).
constexpr uint32_t WindowOf(uint32_t handle) { return handle >> 8; }

}  // namespace

Result<void> VerbsMemory::Register(Entry& entry) {
  // iWARP: the peer's Read Responses come as tagged messages, so memory that is read into is open to the peer's Writes.
  unsigned access = entry.access == Access::kSource ? 0 : IBV_ACCESS_LOCAL_WRITE;
  const bool offered = entry.access == Access::kRemoteRead || entry.access == Access::kRemoteWrite;
  if (entry.access == Access::kLocal && iwarp_) access |= IBV_ACCESS_REMOTE_WRITE;
  const bool windowed = windows_ && offered;
  if (windowed) access |= IBV_ACCESS_MW_BIND;
  if (!windowed && entry.access == Access::kRemoteRead) access |= IBV_ACCESS_REMOTE_READ;
  if (!windowed && entry.access == Access::kRemoteWrite) access |= IBV_ACCESS_REMOTE_WRITE;
  // No device registers nothing.
  const MutableBytes memory = entry.bytes.empty() ? entry.pages.bytes() : entry.bytes;
  Owned<ibv_mr> mr(::ibv_reg_mr(pd_, memory.data(), memory.size(), access));
  if (!mr) return Fail(WhyNoMemory(memory.size(), errno));
  if (windowed) {
    entry.window.reset(::ibv_alloc_mw(pd_, IBV_MW_TYPE_2));
    if (!entry.window) return Fail("no memory window: " + ErrorText(errno));
    bound_[WindowOf(entry.window->rkey)] = false;
  }
  entry.mr = std::move(mr);  // the old one goes last: no two registrations in a row have the same handle
  entry.handle = windowed ? entry.window->rkey : entry.mr->rkey;
  return {};
}

Result<Region> VerbsMemory::Add(MutableBytes memory, Access access, Pages pages) {
  Entry entry;
  if (memory.empty() && pages.bytes().empty()) pages = Pages(1);
  entry.pages = std::move(pages);
  entry.bytes = memory;
  entry.access = access;
  if (auto registered = Register(entry); !registered) return tl::unexpected(registered.error());
  entry.cookie = ++last_cookie_;
  const auto place =
      std::ranges::upper_bound(entries_, entry.bytes.data(), {}, [](const Entry& e) { return e.bytes.data(); });
  return RegionOf(*entries_.insert(place, std::move(entry)));
}

void VerbsMemory::Remove(const Region& region) {
  const auto it = Locate(region);
  if (it == entries_.end()) return;
  if (it->window) bound_.erase(WindowOf(it->handle));
  it->window.reset();
  it->mr.reset();
  entries_.erase(it);
}

std::vector<VerbsMemory::Entry>::iterator VerbsMemory::Locate(const Region& region) {
  auto it = std::ranges::lower_bound(entries_, region.bytes.data(), std::less<>(),
                                     [](const Entry& e) { return e.bytes.data(); });
  while (it != entries_.end() && it->bytes.data() == region.bytes.data() && it->cookie != region.cookie) ++it;
  return it != entries_.end() && it->cookie == region.cookie ? it : entries_.end();
}

bool VerbsMemory::HasWindow(const Region& region) {
  const auto it = Locate(region);
  return it != entries_.end() && it->window;
}

bool VerbsMemory::Bound(const Region& region) const {
  const auto it = bound_.find(WindowOf(region.handle));
  return it != bound_.end() && it->second;
}

ibv_send_wr VerbsMemory::Unbind(const Region& region) {
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_LOCAL_INV;
  wr.invalidate_rkey = region.handle;
  bound_[WindowOf(region.handle)] = false;
  return wr;
}

ibv_send_wr VerbsMemory::NextBind(Region& region) {
  const auto it = Locate(region);
  STAG_GUARD(it != entries_.end() && it->window);
  it->handle = ::ibv_inc_rkey(it->handle);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw.mw = it->window.get();
  wr.bind_mw.rkey = it->handle;
  wr.bind_mw.bind_info = {
      it->mr.get(), reinterpret_cast<uintptr_t>(it->mr->addr), it->mr->length,
      it->access == Access::kRemoteRead ? unsigned{IBV_ACCESS_REMOTE_READ} : unsigned{IBV_ACCESS_REMOTE_WRITE}};
  bound_[WindowOf(it->handle)] = true;
  region = RegionOf(*it);
  return wr;
}

void VerbsMemory::Invalidated(uint32_t handle) {
  const auto it = bound_.find(WindowOf(handle));
  if (it != bound_.end()) it->second = false;
}

Result<void> VerbsMemory::Renew(Region& region) {
  const auto it = Locate(region);
  if (it == entries_.end()) return Fail("the region is not registered with this endpoint");
  if (auto registered = Register(*it); !registered) return registered;
  region = RegionOf(*it);
  return {};
}

Region VerbsMemory::RegionOf(const Entry& entry) {
  Region region;
  region.bytes = entry.bytes;
  region.handle = entry.handle;
  region.offset = reinterpret_cast<uintptr_t>(entry.mr->addr);
  region.access = entry.access;
  region.cookie = entry.cookie;
  return region;
}

bool VerbsMemory::Holds(const Entry& entry, Bytes memory, bool read_target) const {
  if (!Contains(entry.bytes, memory)) return false;
  return !read_target || (entry.access != Access::kSource && !(iwarp_ && entry.access == Access::kRemoteRead));
}

const uint32_t* VerbsMemory::Find(Bytes memory, bool read_target) {
  uint32_t& found = found_[reinterpret_cast<uintptr_t>(memory.data()) / kPage % found_.size()];
  if (found < entries_.size() && Holds(entries_[found], memory, read_target)) return &entries_[found].mr->lkey;
  auto it = std::ranges::upper_bound(entries_, memory.data(), std::less<>(),
                                     [](const Entry& e) -> const std::byte* { return e.bytes.data(); });
  // The last that begins at or before it; earlier ones only when regions overlap.
  while (it != entries_.begin()) {
    --it;
    if (!Holds(*it, memory, read_target)) continue;
    found = static_cast<uint32_t>(it - entries_.begin());
    return &it->mr->lkey;
  }
  return nullptr;
}

}  // namespace stag::endpoint
