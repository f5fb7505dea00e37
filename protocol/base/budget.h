// SPDX-License-Identifier: GPL-2.0-or-later
//
// Budget: the bytes that the state of one component may take, over everything that draws on it. Charge: the part of a
// Budget that one owner holds; a Charge gives its bytes back when it goes, so memory that is charged cannot be counted
// twice or forgotten.
//
// An owner charges bytes before it takes the memory. Nothing that charges evicts: a component that is over its budget
// gives up what it can at one place, between packets, so that no pointer dies inside a call. One packet may therefore
// take the component over its budget by what that packet needs.
#pragma once

#include <cstdint>
#include <utility>

#include "protocol/base/check.h"

namespace stag {

class Budget {
 public:
  // Bytes.
  explicit Budget(uint64_t limit) : limit_(limit) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_; }
  bool over() const { return used_ > limit_; }
  // Whether `bytes` more stay within the limit.
  bool HasRoom(uint64_t bytes) const { return used_ <= limit_ && bytes <= limit_ - used_; }

 private:
  friend class Charge;
  const uint64_t limit_;
  uint64_t used_ = 0;
};

class Charge {
 public:
  // REQUIRES: `budget` outlives the Charge.
  explicit Charge(Budget& budget, uint64_t bytes = 0) : budget_(&budget) { Set(bytes); }
  Charge(Charge&& other) noexcept : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    if (this == &other) return *this;
    Set(0);
    budget_ = other.budget_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~Charge() { Set(0); }

  uint64_t bytes() const { return bytes_; }
  // Holds `bytes` from now on, also where that is over the limit.
  void Set(uint64_t bytes) {
    STAG_CHECK(budget_->used_ >= bytes_);
    budget_->used_ += bytes - bytes_;
    bytes_ = bytes;
  }
  void Add(uint64_t bytes) { Set(bytes_ + bytes); }
  // Returns false, and changes nothing, where that would be over the limit.
  bool TrySet(uint64_t bytes) {
    if (bytes > bytes_ && !budget_->HasRoom(bytes - bytes_)) return false;
    Set(bytes);
    return true;
  }
  bool TryAdd(uint64_t bytes) { return TrySet(bytes_ + bytes); }

 private:
  Budget* budget_;
  uint64_t bytes_ = 0;
};

}  // namespace stag
