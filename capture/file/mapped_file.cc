// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file/mapped_file.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <limits>

#include "protocol/base/check.h"

namespace stag::capture {

struct MappedRange {
  std::atomic<bool> taken = false, shrunk = false;
  std::atomic<uintptr_t> begin = 0, end = 0;  // 0: nothing is mapped
};

namespace {

// Files that are mapped at once; more are read.
std::array<MappedRange, 16> ranges;
struct sigaction before {};
std::atomic<bool> handled = false;

constexpr uint64_t kHugePage = 2u << 20;
constexpr uint64_t kSweep = 32u << 20;

static_assert(std::atomic<uintptr_t>::is_always_lock_free);

// Only what a handler may do: atomics and system calls.
void OnBusError(int, siginfo_t* info, void*) {
  const int error = errno;
  auto* const fault = static_cast<std::byte*>(info->si_addr);
  const auto at = reinterpret_cast<uintptr_t>(fault);
  for (MappedRange& range : ranges) {
    if (at < range.begin || at >= range.end) continue;
    void* const page = fault - at % MappedFile::kPage;
    if (::mmap(page, MappedFile::kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
    range.shrunk = true;
    errno = error;
    return;
  }
  // Not ours: comes again as soon as this returns, to whom it would have come.
  ::sigaction(SIGBUS, &before, nullptr);
  errno = error;
}

MappedRange* TakeRange() {
  for (MappedRange& range : ranges)
    if (!range.taken.exchange(true)) return &range;
  return nullptr;
}

}  // namespace

void MappedFile::HandleBusErrors() {
  if (handled || ::sysconf(_SC_PAGESIZE) != static_cast<long>(kPage)) return;
  struct sigaction action {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  handled = ::sigaction(SIGBUS, &action, &before) == 0;
}

std::shared_ptr<MappedFile> MappedFile::Make(int descriptor, uint64_t size) {
  if (!handled || size > std::numeric_limits<ptrdiff_t>::max()) return nullptr;
  MappedRange* const range = TakeRange();
  if (!range) return nullptr;
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (bytes == MAP_FAILED) {
    range->taken = false;
    return nullptr;
  }
  range->shrunk = false;
  range->begin = reinterpret_cast<uintptr_t>(bytes);
  range->end = range->begin + size;
  return std::shared_ptr<MappedFile>(new MappedFile(descriptor, static_cast<std::byte*>(bytes), size, *range));
}

MappedFile::MappedFile(int descriptor, std::byte* bytes, uint64_t size, MappedRange& range)
    : descriptor_(descriptor), bytes_(bytes), size_(size), range_(range) {}

MappedFile::~MappedFile() {
  range_.begin = range_.end = 0;
  ::munmap(bytes_, size_);
  range_.taken = false;
}

FrameMemory MappedFile::Piece(uint64_t begin, size_t size) {
  STAG_CHECK(begin % kPage == 0 && begin + size <= size_);
  std::byte* const at = bytes_ + begin;
#ifdef MADV_POPULATE_READ
  // All pages at once cost less than a fault for every few. Older kernels than 5.14 do not know it.
  // What cannot be had is told when it is looked at.
  (void)::madvise(at, size, MADV_POPULATE_READ);
#endif
  const auto let_go = [file = shared_from_this(), end = begin + size](const std::byte*) { file->LetGo(end); };
  return {std::shared_ptr<const std::byte[]>(at, let_go), size};
}

// Not each piece by itself: all threads are told of pages that go. What another piece shares comes back when it is
// looked at, with what the system keeps with it, at most a huge page: that is let go again.
// Now and then so are those that somebody came back to.
void MappedFile::LetGo(uint64_t end) {
  if (end < kept_from_ + kHugePage) return;
  const bool sweep = end / kSweep != kept_from_ / kSweep;
  const uint64_t from = sweep ? kept_from_ - std::min(kept_from_, 2 * kSweep) : kept_from_;
  ::madvise(bytes_ + from, end - from, MADV_DONTNEED);
  kept_from_ = end / kHugePage * kHugePage;
}

bool MappedFile::shrunk() const {
  struct stat about {};
  return range_.shrunk || ::fstat(descriptor_, &about) != 0 || static_cast<uint64_t>(about.st_size) < size_;
}

}  // namespace stag::capture
