// SPDX-License-Identifier: GPL-2.0-or-later
//
// BudgetVector: a growing array of plain values whose storage counts against the budget that all connections share. Its
// storage is kept for reuse until it is destroyed or Shrink() is called; growing fails instead of passing the budget.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "session/fabric/tracker.h"

namespace stag::fabric {

template <typename T>
class BudgetVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit BudgetVector(TrackerContext& context) : charge_(context.budget()) {}
  BudgetVector(const BudgetVector&) = delete;
  BudgetVector& operator=(const BudgetVector&) = delete;

  // False, and nothing appended, when the budget does not allow it.
  bool Append(std::span<const T> more) {
    const size_t wanted = items_.size() + more.size();
    if (wanted > items_.capacity()) {
      const size_t grown = std::max({wanted, items_.capacity() * 2, kSmallest});
      if (!charge_.TrySet(grown * sizeof(T))) return false;
      items_.reserve(grown);
    }
    items_.insert(items_.end(), more.begin(), more.end());
    return true;
  }
  void DropFront(size_t n) { items_.erase(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(n)); }
  void Clear() { items_.clear(); }
  // Gives the storage back.
  void Shrink() {
    std::vector<T>().swap(items_);
    charge_.Set(0);
  }

  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  size_t capacity() const { return items_.capacity(); }
  T& operator[](size_t i) { return items_[i]; }
  std::span<const T> view() const { return items_; }

 private:
  static constexpr size_t kSmallest = 2048 / sizeof(T) + 1;

  Charge charge_;
  std::vector<T> items_;
};

}  // namespace stag::fabric
