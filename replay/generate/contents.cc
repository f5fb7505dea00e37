// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/generate/contents.h"

#include <algorithm>

#include "protocol/base/check.h"

namespace stag::generate {
namespace {

// The eight bytes at 8 * `index`, in the order of memory of a little-endian machine.
class Pattern {
 public:
  Pattern(uint32_t file, uint32_t generation) : key_(((uint64_t{generation} << 32 | file) + 1) * 0x9e3779b97f4a7c15u) {}
  uint64_t Word(uint64_t index) const {
    const uint64_t x = (key_ ^ index) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 29);
  }
  std::byte At(uint64_t offset) const { return static_cast<std::byte>(Word(offset / 8) >> (offset % 8 * 8)); }

 private:
  uint64_t key_;
};

void StoreLe64(std::byte* to, uint64_t value) {
  if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace

void FillPattern(MutableBytes bytes, uint32_t file, uint64_t offset, uint32_t generation) {
  const Pattern pattern(file, generation);
  size_t i = 0;
  for (; i < bytes.size() && (offset + i) % 8 != 0; ++i) bytes[i] = pattern.At(offset + i);
  for (; i + 8 <= bytes.size(); i += 8) StoreLe64(bytes.data() + i, pattern.Word((offset + i) / 8));
  for (; i < bytes.size(); ++i) bytes[i] = pattern.At(offset + i);
}

std::optional<size_t> FindMismatch(Bytes bytes, uint32_t file, uint64_t offset, uint32_t generation) {
  constexpr size_t kBlock = 4096;
  std::byte expected[kBlock];
  for (size_t i = 0; i < bytes.size(); i += kBlock) {
    const Bytes block = bytes.subspan(i, std::min(kBlock, bytes.size() - i));
    FillPattern({expected, block.size()}, file, offset + i, generation);
    if (std::memcmp(expected, block.data(), block.size()) == 0) continue;
    return i + static_cast<size_t>(std::ranges::mismatch(block, expected).in1 - block.begin());
  }
  return {};
}

Contents::Contents(uint32_t file, uint64_t begin, uint64_t length) : file_(file), begin_(begin), end_(begin + length) {
  from_[begin] = 0;
}

void Contents::Split(uint64_t at) {
  if (at >= end_) return;
  const auto next = from_.upper_bound(at);
  from_.emplace_hint(next, at, std::prev(next)->second);
}

void Contents::Set(uint64_t offset, uint64_t length, uint32_t generation) {
  STAG_CHECK(offset >= begin_ && length <= end_ - offset);
  if (length == 0) return;
  Split(offset);
  Split(offset + length);
  const auto first = from_.find(offset);
  first->second = generation;
  from_.erase(std::next(first), from_.lower_bound(offset + length));
}

Contents::Checked Contents::Check(uint64_t offset, Bytes bytes) const {
  STAG_CHECK(offset >= begin_ && bytes.size() <= end_ - offset);
  Checked checked;
  auto range = std::prev(from_.upper_bound(offset));
  while (!bytes.empty()) {
    const auto next = std::next(range);
    const uint64_t until = next == from_.end() ? end_ : next->first;
    const Bytes piece = bytes.first(static_cast<size_t>(std::min<uint64_t>(until - offset, bytes.size())));
    if (range->second == kUnknown) {
      checked.unknown += piece.size();
    } else if (const auto wrong = FindMismatch(piece, file_, offset, range->second)) {
      if (!checked.wrong) checked.wrong = offset + *wrong;
    } else {
      checked.good += piece.size();
    }
    bytes = bytes.subspan(piece.size());
    offset += piece.size();
    range = next;
  }
  return checked;
}

bool InFlight::Apart(uint32_t part, uint64_t offset, uint64_t length, bool write) const {
  return std::ranges::none_of(ranges_, [&](const Range& r) {
    return r.part == part && (write || r.write) && offset < r.offset + r.length && r.offset < offset + length;
  });
}

void InFlight::Add(uint32_t part, uint64_t offset, uint64_t length, bool write) {
  ranges_.push_back({part, write, offset, length});
}

void InFlight::Remove(uint32_t part, uint64_t offset, uint64_t length, bool write) {
  const auto found = std::ranges::find(ranges_, Range{part, write, offset, length});
  STAG_CHECK(found != ranges_.end());
  *found = ranges_.back();
  ranges_.pop_back();
}

}  // namespace stag::generate
