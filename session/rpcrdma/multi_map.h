// SPDX-License-Identifier: GPL-2.0-or-later
//
// MultiMap: 32-bit keys (xids, handles) to small values, newest first. Entries live in one vector with a free list and
// chained buckets, so inserting and erasing allocate nothing once the map has grown to the connection's working set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stag::session {

template <typename Value>
class MultiMap {
 public:
  // Returns where the entry is, for EraseAt: it stays there.
  int32_t Insert(uint32_t key, Value value) {
    if (size_ >= buckets_.size()) [[unlikely]]
      Grow();
    if (free_ < 0) [[unlikely]]
      MakeFree();
    const int32_t index = free_;
    Entry& entry = entries_[At(index)];
    free_ = entry.next;
    entry.key = key;
    entry.value = value;
    Link(index, entry);
    ++size_;
    return index;
  }

  // Calls fn(value) for every entry of `key`, newest first, until it returns true.
  template <typename Fn>
  bool Find(uint32_t key, Fn fn) const {
    if (buckets_.empty()) return false;
    for (int32_t i = buckets_[Bucket(key)]; i >= 0; i = entries_[At(i)].next)
      if (entries_[At(i)].key == key && fn(entries_[At(i)].value)) return true;
    return false;
  }

  // Erases the entry that Insert returned, however many share its key.
  void EraseAt(int32_t index) {
    Entry& entry = entries_[At(index)];
    (entry.previous >= 0 ? entries_[At(entry.previous)].next : buckets_[Bucket(entry.key)]) = entry.next;
    if (entry.next >= 0) entries_[At(entry.next)].previous = entry.previous;
    entry.next = free_;
    free_ = index;
    --size_;
  }

  size_t size() const { return size_; }
  // Whether the storage has grown since the last call.
  bool TakeGrowth() { return std::exchange(grown_, false); }
  // Bytes of storage, which stays when entries are erased, until Trim.
  uint64_t storage() const { return buckets_.capacity() * sizeof(int32_t) + entries_.capacity() * sizeof(Entry); }
  // Gives the storage back where there is no entry.
  void Trim() {
    if (size_ == 0) *this = MultiMap();
  }

 private:
  struct Entry {
    uint32_t key = 0;
    int32_t next = -1, previous = -1;
    Value value{};
  };
  static size_t At(int32_t index) { return static_cast<size_t>(index); }
  size_t Bucket(uint32_t key) const { return (key * 0x9e3779b1u >> 7) & (buckets_.size() - 1); }
  // In front of its bucket.
  void Link(int32_t index, Entry& entry) {
    int32_t& head = buckets_[Bucket(entry.key)];
    entry.next = head;
    entry.previous = -1;
    if (head >= 0) entries_[At(head)].previous = index;
    head = index;
  }
  [[gnu::noinline]] void MakeFree() {
    free_ = static_cast<int32_t>(entries_.size());
    entries_.emplace_back();
    grown_ = true;
  }
  [[gnu::noinline]] void Grow() {
    grown_ = true;
    std::vector<int32_t> old(buckets_.empty() ? 16 : buckets_.size() * 2, -1);
    old.swap(buckets_);
    for (int32_t head : old) {
      // Oldest first, so that the newest ends up at the head again.
      int32_t reversed = -1;
      while (head >= 0) {
        int32_t next = entries_[At(head)].next;
        entries_[At(head)].next = reversed;
        reversed = head;
        head = next;
      }
      while (reversed >= 0) {
        const int32_t next = entries_[At(reversed)].next;
        Link(reversed, entries_[At(reversed)]);
        reversed = next;
      }
    }
  }

  std::vector<int32_t> buckets_;
  std::vector<Entry> entries_;
  int32_t free_ = -1;
  size_t size_ = 0;
  bool grown_ = false;
};

}  // namespace stag::session
