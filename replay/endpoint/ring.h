// SPDX-License-Identifier: GPL-2.0-or-later
//
// Ring: a queue with a fixed capacity, so that nothing is allocated once it is made.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "replay/endpoint/guard.h"

namespace stag::endpoint {

template <typename T>
class Ring {
 public:
  explicit Ring(size_t capacity) : items_(capacity) {}

  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == items_.size(); }
  size_t size() const { return size_; }

  void Push(T item) {
    STAG_GUARD(!full());
    items_[At(size_++)] = std::move(item);
  }
  T& front() { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  // Counted from the front.
  T& operator[](size_t i) {
    STAG_GUARD(i < size_);
    return items_[At(i)];
  }
  T Pop() {
    T item = std::move(front());
    first_ = At(1);
    --size_;
    return item;
  }
  void Clear() { first_ = size_ = 0; }
  // Room for `more` items in addition.
  void Extend(size_t more) {
    std::vector<T> items(items_.size() + more);
    for (size_t i = 0; i < size_; ++i) items[i] = std::move(items_[At(i)]);
    items_ = std::move(items);
    first_ = 0;
  }

 private:
  size_t At(size_t i) const { return first_ + i < items_.size() ? first_ + i : first_ + i - items_.size(); }

  std::vector<T> items_;
  size_t first_ = 0, size_ = 0;
};

}  // namespace stag::endpoint
