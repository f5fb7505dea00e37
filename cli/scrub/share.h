// SPDX-License-Identifier: GPL-2.0-or-later
//
// Share: what one entry of a table takes of a limit that all entries share. It is given back when the entry goes.
#pragma once

#include <cstdint>
#include <utility>

namespace stag::cli {

// A number of bytes or of entries that must not be passed.
class SharedLimit {
 public:
  explicit SharedLimit(uint64_t most) : most_(most) {}
  SharedLimit(const SharedLimit&) = delete;
  SharedLimit& operator=(const SharedLimit&) = delete;
  uint64_t used() const { return used_; }

 private:
  friend class Share;
  const uint64_t most_;
  uint64_t used_ = 0;
};

class Share {
 public:
  Share() = default;
  Share(Share&& other) noexcept
      : limit_(std::exchange(other.limit_, nullptr)), amount_(std::exchange(other.amount_, 0)) {}
  Share& operator=(Share&& other) noexcept {
    std::swap(limit_, other.limit_);
    std::swap(amount_, other.amount_);
    return *this;
  }
  ~Share() { Release(); }

  // Takes so much more of the limit, which outlives this and is the same each time. False: there is not so much left,
  // and nothing was taken.
  bool Take(SharedLimit& limit, uint64_t amount) {
    if (amount > limit.most_ - limit.used_) return false;
    limit_ = &limit;
    limit_->used_ += amount;
    amount_ += amount;
    return true;
  }
  // Takes over what the other one has of the same limit.
  void Add(Share&& other) {
    limit_ = std::exchange(other.limit_, nullptr);
    amount_ += std::exchange(other.amount_, 0);
  }
  void Release() {
    if (limit_) limit_->used_ -= std::exchange(amount_, 0);
  }

 private:
  SharedLimit* limit_ = nullptr;
  uint64_t amount_ = 0;
};

}  // namespace stag::cli
