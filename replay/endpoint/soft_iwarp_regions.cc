// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/soft_iwarp_regions.h"

#include <sys/random.h>

namespace stag::endpoint {

uint32_t RegionTable::Random() {
  while (random_left_ == 0) {
    const ssize_t n = ::getrandom(random_.data(), sizeof random_, 0);
    random_left_ = n > 0 ? static_cast<size_t>(n) / sizeof random_[0] : 0;
  }
  return random_[--random_left_];
}

Region RegionTable::Add(MutableBytes memory, Access access, Pages pages) {
  uint32_t i = 0;
  if (unused_.empty()) {
    i = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back();
    unused_.reserve(entries_.size());
  } else {
    i = unused_.back();
    unused_.pop_back();
  }
  Entry& entry = entries_[i];
  entry.bytes = memory;
  entry.access = access;
  entry.registered = true;
  entry.pages = std::move(pages);
  // Not the address, which is nobody's business; 47 bits with a page's alignment, as addresses have.
  entry.offset = (uint64_t{Random()} << 15 | Random() >> 17) & ~uint64_t{0xfff};
  AssignHandle(i);
  return {memory, entry.handle, entry.offset, access, i};
}

RegionTable::Entry* RegionTable::EntryOf(const Region& region) {
  const bool known = region.cookie < entries_.size() && entries_[region.cookie].registered &&
                     entries_[region.cookie].handle == region.handle;
  return known ? &entries_[region.cookie] : nullptr;
}

bool RegionTable::Remove(const Region& region) {
  Entry* entry = EntryOf(region);
  if (!entry) return false;
  Forget(*entry);
  entry->registered = false;
  entry->pages = {};
  entry->bytes = {};
  unused_.push_back(static_cast<uint32_t>(region.cookie));
  return true;
}

bool RegionTable::Renew(Region& region) {
  Entry* entry = EntryOf(region);
  if (!entry) return false;
  Forget(*entry);
  AssignHandle(static_cast<uint32_t>(region.cookie));
  region.handle = entry->handle;
  return true;
}

bool RegionTable::Rename(Region& region, uint32_t handle, uint64_t offset) {
  Entry* entry = EntryOf(region);
  if (!entry || region.bytes.size() > ~offset) return false;
  if (const Entry* other = Lookup(handle); other && other != entry) return false;
  Forget(*entry);
  Insert(static_cast<uint32_t>(region.cookie), handle);
  region.handle = handle;
  region.offset = entry->offset = offset;
  return true;
}

void RegionTable::AssignHandle(uint32_t entry) {
  uint32_t handle = 0;
  while (handle == 0 || handle == entries_[entry].handle || Lookup(handle)) handle = Random();
  Insert(entry, handle);
}

void RegionTable::Insert(uint32_t entry, uint32_t handle) {
  entries_[entry].handle = handle;
  entries_[entry].valid = true;
  if (handle == 0) {
    zero_ = entry;
    return;
  }
  if ((named_ + 1) * 2 > cells_.size()) Grow();
  size_t at = Home(handle);
  while (cells_[at].handle != 0) at = Home(static_cast<uint32_t>(at) + 1);
  cells_[at] = {handle, entry};
  ++named_;
}

void RegionTable::Grow() {
  std::vector<Cell> old = std::move(cells_);
  cells_.assign(old.size() * 2, {});
  for (const Cell& cell : old) {
    if (cell.handle == 0) continue;
    size_t at = Home(cell.handle);
    while (cells_[at].handle != 0) at = Home(static_cast<uint32_t>(at) + 1);
    cells_[at] = cell;
  }
}

// Takes the handle out of the hash table, and moves up what stands behind it.
void RegionTable::Forget(Entry& entry) {
  if (!entry.valid) return;
  entry.valid = false;
  if (entry.handle == 0) {
    zero_.reset();
    return;
  }
  --named_;
  const size_t mask = cells_.size() - 1;
  size_t hole = Home(entry.handle);
  while (cells_[hole].handle != entry.handle) hole = (hole + 1) & mask;
  for (size_t at = (hole + 1) & mask; cells_[at].handle != 0; at = (at + 1) & mask) {
    if (((at - Home(cells_[at].handle)) & mask) < ((at - hole) & mask)) continue;
    cells_[hole] = cells_[at];
    hole = at;
  }
  cells_[hole] = {};
}

const RegionTable::Entry* RegionTable::Lookup(uint32_t handle) const {
  if (handle == 0) return zero_ ? &entries_[*zero_] : nullptr;
  size_t at = Home(handle);
  while (cells_[at].handle != handle) {
    if (cells_[at].handle == 0) return nullptr;
    at = Home(static_cast<uint32_t>(at) + 1);
  }
  return &entries_[cells_[at].entry];
}

const RegionTable::Entry* RegionTable::Find(Bytes memory, bool with_handle) const {
  const auto fits = [&](const Entry& e) {
    return e.registered && (e.valid || !with_handle) && Contains(e.bytes, memory);
  };
  uint32_t& found = found_[reinterpret_cast<uintptr_t>(memory.data()) / 4096 % found_.size()];
  if (found < entries_.size() && fits(entries_[found])) return &entries_[found];
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    if (!fits(entries_[i])) continue;
    found = i;
    return &entries_[i];
  }
  return nullptr;
}

bool RegionTable::Name(Bytes memory, uint32_t& handle, uint64_t& offset) const {
  const Entry* entry = Find(memory, true);
  if (!entry || entry->access == Access::kSource) return false;
  handle = entry->handle;
  offset = entry->offset + static_cast<uint64_t>(memory.data() - entry->bytes.data());
  return true;
}

RegionTable::Verdict RegionTable::Check(uint32_t handle, uint64_t offset, uint64_t length, Access access,
                                        std::byte*& at) const {
  const Entry* entry = Lookup(handle);
  if (!entry) return Verdict::kInvalidHandle;
  if (entry->access != access) return Verdict::kNoAccess;
  if (length > ~offset) return Verdict::kWraps;
  const uint64_t skip = offset - entry->offset;
  if (offset < entry->offset || skip > entry->bytes.size() || length > entry->bytes.size() - skip)
    return Verdict::kOutOfBounds;
  at = entry->bytes.data() + skip;
  return Verdict::kFine;
}

RegionTable::Verdict RegionTable::Invalidate(uint32_t handle) {
  const Entry* entry = Lookup(handle);
  if (!entry) return Verdict::kInvalidHandle;
  if (entry->access != Access::kRemoteRead && entry->access != Access::kRemoteWrite) return Verdict::kNoAccess;
  Forget(entries_[static_cast<size_t>(entry - entries_.data())]);
  return Verdict::kFine;
}

}  // namespace stag::endpoint
