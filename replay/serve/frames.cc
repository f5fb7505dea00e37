// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/frames.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace stag::serve {

Frames::Frames(uint64_t most) {
  constexpr uint64_t kMost = uint64_t{1} << 46;  // what processors have at least
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  for (uint64_t slabs = std::min(most, kMost) / kSlab + 1; slabs > 0 && !base_; slabs /= 2) {
    void* const at = ::mmap(nullptr, slabs * kSlab, PROT_NONE, flags, -1, 0);
    if (at == MAP_FAILED) continue;
    base_ = static_cast<std::byte*>(at);
    size_ = slabs * kSlab;
    slabs_.resize(slabs);
  }
}

Frames::~Frames() {
  if (base_) ::munmap(base_, size_);
}

bool Frames::Grow() {
  if (made_ == slabs_.size()) return false;
  std::byte* const at = base_ + made_ * kSlab;
  if (::mprotect(at, kSlab, PROT_READ | PROT_WRITE) != 0) return false;
  (void)::madvise(at, kSlab, MADV_HUGEPAGE);
  slabs_[made_] = std::make_unique<Slab>();
  slabs_[made_++]->free.fill(UINT64_MAX);
  return true;
}

// The first of `count` free frames one after the other, from `from` on; kPerSlab: there are none.
size_t Frames::FindRun(const Slab& slab, size_t from, size_t count) {
  size_t run = 0;
  for (size_t i = from; i < kPerSlab;) {
    const uint64_t word = slab.free[i / kWord] >> (i % kWord);
    const size_t rest = kWord - i % kWord;
    const size_t free = std::min<size_t>(static_cast<size_t>(std::countr_one(word)), rest);
    run += free;
    i += free;
    if (run >= count) return i - run;
    if (free == rest) continue;  // it goes on in the next word
    run = 0;
    i += std::min<size_t>(static_cast<size_t>(std::countr_zero(word >> free)), rest - free);
  }
  return kPerSlab;
}

void Frames::Mark(Slab& slab, size_t first, size_t count, bool free) {
  for (size_t i = first; i < first + count;) {
    const size_t n = std::min(first + count - i, kWord - i % kWord);
    const uint64_t bits = (n == kWord ? UINT64_MAX : (uint64_t{1} << n) - 1) << (i % kWord);
    slab.free[i / kWord] = free ? slab.free[i / kWord] | bits : slab.free[i / kWord] & ~bits;
    i += n;
  }
  slab.unused = free ? slab.unused + count : slab.unused - count;
}

MutableBytes Frames::Take(size_t count, uint64_t most) {
  const std::scoped_lock lock(mutex_);
  if (count == 0 || count > kPerSlab || (in_use_ + count) * kFrame > most) return {};
  // From where the last were taken: through all slabs once, and the first of them again from its begin.
  size_t slab = slab_, from = from_, found = kPerSlab;
  for (size_t tried = 0; tried <= made_ && made_ > 0; ++tried) {
    if (slabs_[slab]->unused >= count) found = FindRun(*slabs_[slab], from, count);
    if (found < kPerSlab) break;
    slab = (slab + 1) % made_;
    from = 0;
  }
  if (found == kPerSlab) {
    if (!Grow()) return {};
    slab = made_ - 1;
    found = 0;
  }
  Mark(*slabs_[slab], found, count, false);
  in_use_ += count;
  slab_ = slab;
  from_ = found + count;
  for (size_t i = found; i < found + count; ++i) slabs_[slab]->uses[i].store(1, std::memory_order_relaxed);
  return {base_ + slab * kSlab + found * kFrame, count * kFrame};
}

void Frames::Share(Bytes bytes) {
  if (bytes.empty()) return;
  const size_t last = IndexOf(bytes.data() + bytes.size() - 1);
  for (size_t i = IndexOf(bytes.data()); i <= last; ++i) UsesOf(i).fetch_add(1, std::memory_order_relaxed);
}

void Frames::Return(Bytes bytes) {
  if (bytes.empty()) return;
  const size_t last = IndexOf(bytes.data() + bytes.size() - 1);
  size_t run = 0;  // frames up to `i` that nobody uses any more
  for (size_t i = IndexOf(bytes.data()); i <= last; ++i) {
    if (UsesOf(i).fetch_sub(1, std::memory_order_acq_rel) == 1) {
      ++run;
    } else if (run > 0) {
      Free(i - run, run);
      run = 0;
    }
  }
  if (run > 0) Free(last + 1 - run, run);
}

void Frames::Free(size_t first, size_t count) {
  const std::scoped_lock lock(mutex_);
  in_use_ -= count;
  while (count > 0) {  // a run may go over slabs
    const size_t n = std::min(count, kPerSlab - first % kPerSlab);
    Mark(*slabs_[first / kPerSlab], first % kPerSlab, n, true);
    first += n;
    count -= n;
  }
}

bool Frames::shared(const std::byte* frame) const { return UsesOf(IndexOf(frame)).load(std::memory_order_acquire) > 1; }

MutableBytes Frames::slab(const std::byte* frame) const { return {base_ + IndexOf(frame) / kPerSlab * kSlab, kSlab}; }

}  // namespace stag::serve
