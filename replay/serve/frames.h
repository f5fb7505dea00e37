// SPDX-License-Identifier: GPL-2.0-or-later
//
// Frames: memory in frames of 16 KiB that several may use at a time: a file that has a frame as its block, the Replies
// that are being sent from it, a Call that landed there. A frame is free again once the last of them has given it back.
// Slabs of frames are registered with connections as they are, so no frame moves, and no slab goes before the Frames.
//
// Threads: any; but Return of the last use must not race with Share of the same frame.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "replay/rpcrdma/service.h"

namespace stag::serve {

class Frames final : public rpcrdma::Lender {
 public:
  static constexpr size_t kFrame = 16384, kSlab = size_t{16} << 20;

  // Takes address space for `most` bytes, rounded up to slabs, and memory as it is needed.
  explicit Frames(uint64_t most);
  ~Frames();
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  // `count` frames one after the other (at most a slab), with any contents, each used once. `most`: bytes that all
  // frames in use may have together then. Empty: there is no room.
  MutableBytes Take(size_t count, uint64_t most = UINT64_MAX);
  // Whether `bytes` lie in frames.
  bool Has(Bytes bytes) const { return Contains({base_, size_}, bytes); }
  // Whether `bytes` are one whole frame.
  bool IsWhole(Bytes bytes) const {
    return Has(bytes) && bytes.size() == kFrame && static_cast<size_t>(bytes.data() - base_) % kFrame == 0;
  }
  // One use more, or less, of each frame that `bytes` touch.
  void Share(Bytes bytes);
  void Return(Bytes bytes) override;
  // Whether a frame has more than one use.
  bool shared(const std::byte* frame) const;
  // The slab that a frame is in.
  MutableBytes slab(const std::byte* frame) const;

 private:
  static constexpr size_t kPerSlab = kSlab / kFrame, kWord = 64;
  struct Slab {
    std::array<std::atomic<uint32_t>, kPerSlab> uses{};
    std::array<uint64_t, kPerSlab / kWord> free{};  // bit by bit, with mutex_
    size_t unused = kPerSlab;                       // likewise
  };
  size_t IndexOf(const std::byte* at) const { return static_cast<size_t>(at - base_) / kFrame; }
  std::atomic<uint32_t>& UsesOf(size_t frame) const { return slabs_[frame / kPerSlab]->uses[frame % kPerSlab]; }
  bool Grow();
  static size_t FindRun(const Slab& slab, size_t from, size_t count);
  static void Mark(Slab& slab, size_t first, size_t count, bool free);
  void Free(size_t first, size_t count);

  std::byte* base_ = nullptr;
  size_t size_ = 0;                           // of the address space
  std::vector<std::unique_ptr<Slab>> slabs_;  // a place for each that there may be
  std::mutex mutex_;
  size_t made_ = 0;             // slabs
  size_t in_use_ = 0;           // frames
  size_t slab_ = 0, from_ = 0;  // where frames were taken last
};

}  // namespace stag::serve
