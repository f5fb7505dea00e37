// SPDX-License-Identifier: GPL-2.0-or-later
//
// PayloadStore: memory that only grows, for what is kept of a recording. Up to its cap it is ordinary memory; what
// comes after lies in an unlinked temporary file that is mapped, so that nothing is lost and the kernel may write it
// out. Views stay valid as long as the store.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "protocol/base/bytes.h"

namespace stag::recording {

class PayloadStore {
 public:
  // `memory`: bytes of ordinary memory. `block`: how much is taken at a time (for tests).
  explicit PayloadStore(uint64_t memory, uint64_t block = 4u << 20);
  ~PayloadStore();
  PayloadStore(const PayloadStore&) = delete;
  PayloadStore& operator=(const PayloadStore&) = delete;

  // `size` bytes of any content, aligned to 8; empty when `size` is 0 or there is no room: see error().
  MutableBytes Allocate(uint64_t size);
  Bytes Keep(Bytes bytes);
  // A copy of `values`.
  template <typename T>
  std::span<const T> Keep(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 8);
    const Bytes kept = Keep(std::as_bytes(std::span(values)));
    return {reinterpret_cast<const T*>(kept.data()), kept.size() / sizeof(T)};
  }

  // The memory that kept bytes lie in, as it was taken from the system: it has bytes of this store alone.
  MutableBytes MemoryOf(Bytes kept) const;

  uint64_t in_memory() const { return in_memory_; }
  uint64_t in_file() const { return in_file_; }
  // Why something could not be kept, for people; empty: all is there. It stays.
  const std::string& error() const { return error_; }

 private:
  struct Mapping {
    std::byte* at = nullptr;
    uint64_t size = 0;
  };
  MutableBytes NewBlock(uint64_t size);
  MutableBytes NewMapping(uint64_t size);

  const uint64_t limit_, block_;
  uint64_t in_memory_ = 0, in_file_ = 0;
  MutableBytes free_;  // the rest of the last block
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::map<const std::byte*, uint64_t> memory_;  // of blocks_ and mappings_: where, and how much
  std::vector<Mapping> mappings_;
  int file_ = -1;
  std::string error_;
};

}  // namespace stag::recording
