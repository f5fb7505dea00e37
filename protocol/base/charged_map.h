// SPDX-License-Identifier: GPL-2.0-or-later
//
// ChargedMap: a hash table whose entries are charged to a Budget. Values stay where they are. It never refuses an
// entry: its owner looks at full() and at the Budget between packets, and erases what it can spare.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

#include "protocol/base/budget.h"

namespace stag {

template <typename Key, typename Value, typename Hash = std::hash<Key>>
class ChargedMap {
 public:
  // `most`: entries, beyond which it is full.
  ChargedMap(Budget& budget, size_t most) : most_(most), charge_(budget) {}

  size_t size() const { return map_.size(); }
  bool empty() const { return map_.empty(); }
  bool full() const { return map_.size() > most_; }
  size_t most() const { return most_; }

  // Null: there is none.
  Value* Find(const Key& key) {
    const auto found = map_.find(key);
    return found == map_.end() ? nullptr : &found->second;
  }
  const Value* Find(const Key& key) const {
    const auto found = map_.find(key);
    return found == map_.end() ? nullptr : &found->second;
  }
  // The value of the key, made with `args` where there is none.
  template <typename... Args>
  Value& FindOrAdd(const Key& key, Args&&... args) {
    const auto [at, added] = map_.try_emplace(key, std::forward<Args>(args)...);
    if (added) charge_.Set(map_.size() * kEntryBytes);
    return at->second;
  }
  void Erase(const Key& key) {
    map_.erase(key);
    charge_.Set(map_.size() * kEntryBytes);
  }
  // Calls fn(key, value) for each entry; erases those for which it returns true.
  template <typename Fn>
  void EraseIf(Fn fn) {
    std::erase_if(map_, [&](auto& entry) { return fn(entry.first, entry.second); });
    charge_.Set(map_.size() * kEntryBytes);
  }
  template <typename Fn>
  void ForEach(Fn fn) {
    for (auto& [key, value] : map_) fn(key, value);
  }
  void Clear() {
    map_.clear();
    charge_.Set(0);
  }

 private:
  // The entry with its hash, the pointer to the next one, two places in the array of buckets, and what an allocation
  // costs.
  static constexpr size_t kEntryBytes = sizeof(std::pair<const Key, Value>) + 3 * sizeof(void*) + 2 * sizeof(void*);

  size_t most_;
  Charge charge_;
  std::unordered_map<Key, Value, Hash> map_;
};

}  // namespace stag
