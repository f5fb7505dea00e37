// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/record_store.h"

#include <algorithm>

namespace stag::plugin {
namespace {

// The place of `index`. The table grows by half, so that growing costs nothing on average.
template <typename T>
T*& Slot(std::vector<T*>& table, uint64_t index) {
  const auto at = static_cast<size_t>(index);
  if (at >= table.size()) table.resize(std::max(at + 1, table.size() + table.size() / 2));
  return table[at];
}

template <typename T>
T& Make(Arena& arena, T*& slot) {
  if (!slot) slot = arena.New<T>();
  return *slot;
}

}  // namespace

FrameRecord& RecordStore::At(uint64_t frame) { return Make(arena_, Slot(frames_, frame)); }

FrameRecord::Messages& RecordStore::MessagesAt(uint64_t frame) { return Make(arena_, At(frame).with_messages); }

RareRecords& RecordStore::RareAt(uint64_t frame) { return Make(arena_, At(frame).with_rare); }

void RecordStore::Forget(uint32_t frame) {
  if (frame < frames_.size()) frames_[frame] = nullptr;
}

ConnectionRecord& RecordStore::Connection(ConnectionId id) {
  last_connection_ = std::max(last_connection_, id);
  return Make(arena_, Slot(by_connection_, id));
}

TransactionRecord& RecordStore::Transaction(uint64_t serial) { return Make(arena_, Slot(transactions_, serial)); }

std::byte* RecordStore::NewBytes(uint64_t size) {
  if (size > limit_ - kept_) return nullptr;
  kept_ += size;
  return static_cast<std::byte*>(arena_.Allocate(static_cast<size_t>(std::max<uint64_t>(size, 1)), 1));
}

const std::byte* RecordStore::Keep(Bytes bytes) {
  std::byte* const copy = NewBytes(bytes.size());
  if (copy) std::copy(bytes.begin(), bytes.end(), copy);
  return copy;
}

const std::string* RecordStore::Share(std::string_view text) {
  const auto found = texts_.find(text);
  return &*(found != texts_.end() ? found : texts_.emplace(text).first);
}

}  // namespace stag::plugin
