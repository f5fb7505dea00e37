// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/recording/payload_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace stag::recording {

namespace {

constexpr uint64_t kPage = 65536;  // a multiple of every page size

// A file without a name where temporary files go; -1 with errno.
int OpenUnlinked(std::string& directory) {
  std::error_code ignored;
  directory = std::filesystem::temp_directory_path(ignored).string();
  if (directory.empty()) directory = "/tmp";
  const int file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string name = directory + "/stag-XXXXXX";  // file systems without O_TMPFILE
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

PayloadStore::PayloadStore(uint64_t memory, uint64_t block) : limit_(memory), block_(std::max<uint64_t>(block, 8)) {}

PayloadStore::~PayloadStore() {
  for (const Mapping& mapping : mappings_) ::munmap(mapping.at, mapping.size);
  if (file_ >= 0) ::close(file_);
}

MutableBytes PayloadStore::Allocate(uint64_t size) {
  if (size == 0 || !error_.empty()) return {};
  const uint64_t rounded = (size + 7) & ~uint64_t{7};
  if (rounded > free_.size()) {
    const MutableBytes block = NewBlock(std::max(rounded, block_));
    if (block.empty()) return {};
    if (rounded > block_) return block.first(size);  // a block of its own; the rest of the last one stays in use
    free_ = block;
  }
  const MutableBytes taken = free_.first(size);
  free_ = free_.subspan(rounded);
  return taken;
}

Bytes PayloadStore::Keep(Bytes bytes) {
  const MutableBytes kept = Allocate(bytes.size());
  std::ranges::copy(bytes.first(kept.size()), kept.begin());
  return kept;
}

MutableBytes PayloadStore::MemoryOf(Bytes kept) const {
  const auto next = memory_.upper_bound(kept.data());
  if (next == memory_.begin()) return {};
  const auto& [at, size] = *std::prev(next);
  const MutableBytes memory(const_cast<std::byte*>(at), size);  // which this store owns
  return Contains(memory, kept) ? memory : MutableBytes{};
}

MutableBytes PayloadStore::NewBlock(uint64_t size) {
  if (size > limit_ || in_memory_ > limit_ - size) return NewMapping((size + kPage - 1) / kPage * kPage);
  blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
  in_memory_ += size;
  memory_.emplace(blocks_.back().get(), size);
  return {blocks_.back().get(), size};
}

MutableBytes PayloadStore::NewMapping(uint64_t size) {
  std::string directory;
  if (file_ < 0 && (file_ = OpenUnlinked(directory)) < 0) {
    error_ = "no temporary file in " + directory + ": " + std::strerror(errno) +
             "; set TMPDIR, or raise --memory so that none is needed";
    return {};
  }
  // Room on the disk first: a full one must be an error here, not a signal at the first use.
  const int full = ::posix_fallocate(file_, static_cast<off_t>(in_file_), static_cast<off_t>(size));
  void* at = full == 0 ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(in_file_))
                       : MAP_FAILED;
  if (at == MAP_FAILED) {
    error_ = std::string("no room for another part of the recording in a temporary file: ") +
             std::strerror(full != 0 ? full : errno) + "; set TMPDIR to a larger disk, or raise --memory";
    return {};
  }
  in_file_ += size;
  mappings_.push_back({static_cast<std::byte*>(at), size});
  memory_.emplace(mappings_.back().at, size);
  return {mappings_.back().at, size};
}

}  // namespace stag::recording
