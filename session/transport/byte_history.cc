// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/transport/byte_history.h"

#include <algorithm>
#include <cstring>

namespace stag::transport {
namespace {

// Calls fn(place in the ring, part) for the one or two parts in which `bytes` lie in it.
template <typename Fn>
void InRing(uint64_t begin, Bytes bytes, Fn fn) {
  while (!bytes.empty()) {
    const auto place = static_cast<size_t>(begin % ByteHistory::kBytes);
    const size_t size = std::min<size_t>(bytes.size(), static_cast<size_t>(ByteHistory::kBytes) - place);
    fn(place, bytes.first(size));
    begin += size;
    bytes = bytes.subspan(size);
  }
}

}  // namespace

bool ByteHistory::Add(uint64_t begin, Bytes bytes) {
  if (bytes.size() >= kBytes || bytes.empty() || closed_) return false;
  if (!ring_ && !shared_.rings.empty()) {
    ring_ = std::move(shared_.rings.back());
    shared_.rings.pop_back();
  }
  if (!ring_) {
    if (!shared_.Take(kBytes)) return false;
    ring_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(kBytes));
  }
  const uint64_t end = begin + bytes.size(), next = std::max(known_.next(), end);
  // Older bytes were overwritten, or are by these.
  const uint64_t oldest = known_.started() && next > kBytes ? next - kBytes : 0;
  if (begin < oldest) return false;
  if (begin == known_.next()) {  // as nearly all
    Write(begin, bytes);
    known_.Add(begin, end);
    return false;
  }
  bool differs = false;
  uint64_t at = begin;
  const auto part = [&](uint64_t from, uint64_t to) {
    return bytes.subspan(static_cast<size_t>(from - begin), static_cast<size_t>(to - from));
  };
  known_.ForEachSeen(begin, end, [&](uint64_t from, uint64_t to) {
    differs = differs || Differs(from, part(from, to));
    Write(at, part(at, from));
    at = to;
  });
  Write(at, part(at, end));
  known_.Add(begin, end);
  if (known_.full()) known_.Start(end);  // what was captured of them is forgotten
  return differs;
}

void ByteHistory::Close() {
  if (ring_) shared_.rings.push_back(std::move(ring_));
  closed_ = true;
}

void ByteHistory::Write(uint64_t begin, Bytes bytes) {
  InRing(begin, bytes, [&](size_t place, Bytes part) { std::memcpy(&ring_[place], part.data(), part.size()); });
}

bool ByteHistory::Differs(uint64_t begin, Bytes bytes) const {
  bool differs = false;
  InRing(begin, bytes, [&](size_t place, Bytes part) {
    differs = differs || std::memcmp(&ring_[place], part.data(), part.size()) != 0;
  });
  return differs;
}

}  // namespace stag::transport
