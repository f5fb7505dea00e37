// SPDX-License-Identifier: GPL-2.0-or-later
//
// WorkRing: the work of one send queue in the order in which it was posted, from the caller to the device to its end.
// Knows no verbs: which work is handed over next, which of it is signalled, and what a completion says of the rest.
//
// Works are counted from 0 (`number`). Some have been completed, then some are with the device, then some wait:
//     completed() <= handed() <= posted()
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "replay/endpoint/guard.h"

namespace stag::endpoint {

template <typename Item>
class WorkRing {
 public:
  struct Run {
    uint64_t first = 0, end = 0;  // numbers, [first, end)
    bool empty() const { return first == end; }
  };

  // Works that may be posted and not completed; and how many of them the device holds.
  WorkRing(size_t capacity, size_t depth) : items_(std::bit_ceil(capacity)), capacity_(capacity), depth_(depth) {}

  size_t places() const { return items_.size(); }
  bool full() const { return posted_ - completed_ >= capacity_; }
  size_t room() const { return capacity_ - static_cast<size_t>(posted_ - completed_); }
  size_t uncompleted() const { return static_cast<size_t>(posted_ - completed_); }
  size_t with_device() const { return static_cast<size_t>(handed_ - completed_); }
  uint64_t posted() const { return posted_; }
  uint64_t handed() const { return handed_; }
  uint64_t completed() const { return completed_; }

  // The next work, as it was left when its place was last used.
  Item& Post() {
    STAG_GUARD(!full());
    return (*this)[posted_++];
  }
  // The place of a work: place(number) of places().
  size_t place(uint64_t number) const { return number & (items_.size() - 1); }
  Item& operator[](uint64_t number) { return items_[place(number)]; }

  // What can be handed over now.
  Run Next() const {
    const uint64_t most = completed_ + depth_;
    return {handed_, posted_ < most ? posted_ : most};
  }
  // Whether a work of `run` asks for a completion of its own, which is noted: the last one, so that none waits for what
  // comes later; enough of the others to make room at the device while it works on a long run; and those that must
  // (`always`): RDMA Reads, which siw completes later than what was posted after them.
  bool Sign(const Run& run, uint64_t number, bool always) {
    const bool own = always || number + 1 == run.end || (number & (signal_every() - 1)) == 0;
    marks_[place(number)] = own ? Mark::kSigned : Mark::kUnsigned;
    return own;
  }
  // The device took the works of Next() up to `end`.
  void HandOver(uint64_t end) { handed_ = end; }

  // A completion came for `number`: what was posted before it and has no completion of its own went well. Calls
  // done(item, last) for each, the last one being `number`. False: no such work is with the device.
  template <typename Done>
  bool Complete(uint64_t number, Done done) {
    if (number < completed_ || number >= handed_ || marks_[place(number)] == Mark::kDone) return false;
    for (uint64_t n = completed_; n < number; ++n) {
      if (marks_[place(n)] != Mark::kUnsigned) continue;
      marks_[place(n)] = Mark::kDone;
      done((*this)[n], false);
    }
    marks_[place(number)] = Mark::kDone;
    done((*this)[number], true);
    while (completed_ < handed_ && marks_[place(completed_)] == Mark::kDone) ++completed_;
    return true;
  }
  // The device will say no more.
  template <typename Done>
  void Abandon(Done done) {
    for (; completed_ < posted_; ++completed_)
      if (completed_ >= handed_ || marks_[place(completed_)] != Mark::kDone) done((*this)[completed_]);
    handed_ = completed_;
  }

 private:
  enum class Mark : uint8_t { kUnsigned, kSigned, kDone };

  uint64_t signal_every() const { return depth_ >= 64 ? 16 : depth_ >= 8 ? 4 : 1; }

  std::vector<Item> items_;
  std::vector<Mark> marks_ = std::vector<Mark>(items_.size());  // of works with the device
  const size_t capacity_, depth_;
  uint64_t posted_ = 0, handed_ = 0, completed_ = 0;
};

}  // namespace stag::endpoint
