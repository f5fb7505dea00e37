// SPDX-License-Identifier: GPL-2.0-or-later
//
// FrameSet: a set of numbers that count from 1 (frames of a file, RPCs of a capture), a bit each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stag::cli {

class FrameSet {
 public:
  void Add(uint64_t number) {
    const auto word = static_cast<size_t>(number / 64);
    if (word >= words_.size()) words_.resize(std::max(word + 1, words_.size() * 2));
    words_[word] |= uint64_t{1} << (number % 64);
  }
  // Both ends included.
  void AddRange(uint64_t first, uint64_t last) {
    for (uint64_t number = first; number <= last; ++number) Add(number);
  }
  bool Contains(uint64_t number) const {
    const auto word = static_cast<size_t>(number / 64);
    return word < words_.size() && (words_[word] >> (number % 64) & 1) != 0;
  }
  uint64_t Count() const {
    uint64_t count = 0;
    for (const uint64_t word : words_) count += static_cast<uint64_t>(std::popcount(word));
    return count;
  }
  bool empty() const {
    return std::ranges::none_of(words_, [](uint64_t word) { return word != 0; });
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace stag::cli
