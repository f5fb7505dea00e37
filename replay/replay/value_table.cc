// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/value_table.h"

namespace stag::replay {

// An entry of the list and one of the index, with what an allocation costs.
uint64_t ValueTable::SizeOf(const Entry& entry) {
  constexpr uint64_t kNodes = sizeof(Entry) + 128;
  return kNodes + entry.key.size() + entry.value.size();
}

Bytes ValueTable::Find(std::string_view key) {
  const auto it = index_.find(key);
  if (it == index_.end()) return {};
  entries_.splice(entries_.begin(), entries_, it->second);
  return std::as_bytes(std::span(it->second->value));
}

void ValueTable::Set(std::string_view key, Bytes value) {
  const std::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
  if (const auto it = index_.find(key); it != index_.end()) {
    Entry& entry = *it->second;
    used_ -= SizeOf(entry);
    entry.value = text;
    used_ += SizeOf(entry);
    entries_.splice(entries_.begin(), entries_, it->second);
  } else {
    entries_.push_front({std::string(key), std::string(text)});
    index_.emplace(entries_.front().key, entries_.begin());
    used_ += SizeOf(entries_.front());
  }
  while (used_ > memory_ && entries_.size() > 1) {
    used_ -= SizeOf(entries_.back());
    index_.erase(entries_.back().key);
    entries_.pop_back();
    ++forgotten_;
  }
}

}  // namespace stag::replay
