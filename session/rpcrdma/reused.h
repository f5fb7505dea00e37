// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reused: a list whose elements keep their storage. What is taken out stays behind the end, and Add gives it out again
// after T::Clear, which sets everything but the storage back to its first value. So a list that is filled and emptied
// again and again allocates nothing once it was as long as it gets.
#pragma once

#include <cstddef>
#include <vector>

namespace stag::session {

template <typename T>
class Reused {
 public:
  // One more element, at the end.
  T& Add() {
    if (size_ == made_) [[unlikely]]
      Make();
    T& added = elements_[size_++];
    added.Clear();
    return added;
  }
  void clear() { size_ = 0; }
  // Storage for so many, in one piece.
  void Reserve(size_t size) {
    if (size > elements_.capacity()) elements_.reserve(size);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Elements that there is storage for.
  size_t capacity() const { return elements_.capacity(); }
  T& operator[](size_t i) { return elements_[i]; }
  const T& operator[](size_t i) const { return elements_[i]; }
  T& back() { return elements_[size_ - 1]; }
  const T& front() const { return elements_.front(); }
  const T& back() const { return elements_[size_ - 1]; }
  T* begin() { return elements_.data(); }
  T* end() { return elements_.data() + size_; }
  const T* begin() const { return elements_.data(); }
  const T* end() const { return elements_.data() + size_; }

 private:
  [[gnu::noinline]] void Make() {
    elements_.emplace_back();
    made_ = elements_.size();
  }

  std::vector<T> elements_;
  size_t size_ = 0, made_ = 0;  // made_: elements_.size(), which takes a division
};

}  // namespace stag::session
