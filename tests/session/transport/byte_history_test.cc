// SPDX-License-Identifier: GPL-2.0-or-later
//
// ByteHistory against a model that keeps the whole stream, whether segments last or not.
#include "session/transport/byte_history.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "tests/support/lasting_memory.h"

namespace stag::transport {
namespace {

enum class Where : uint8_t { kLasting, kGone, kMixed };

// The segments are in memory as those of a capture file are in the file: one behind the other.
class History : public testing::TestWithParam<Where> {
 protected:
  static constexpr size_t kFile = size_t{24} << 20;

  History() {
    if (GetParam() != Where::kGone) shared_.lasting = &lasting_;
  }

  static std::byte At(uint64_t position) { return static_cast<std::byte>(position * 0x9e3779b97f4a7c15u >> 56); }
  // The bytes of the stream, one of them changed.
  bool Add(uint64_t begin, size_t size, std::optional<uint64_t> changed = {}) {
    const bool lasts = GetParam() != Where::kMixed || ++segments_ % 1000 != 0;
    std::byte* const bytes = lasts ? &file_[used_] : gone_.data();
    for (size_t i = 0; i < size; ++i) bytes[i] = At(begin + i);
    if (changed) bytes[*changed - begin] ^= std::byte{1};
    used_ += lasts ? size : 0;
    const bool differs = history_->Add(begin, {bytes, size});
    if (!lasts || GetParam() == Where::kGone) std::fill_n(bytes, size, std::byte{0xee});
    return differs;
  }

  std::vector<std::byte> file_ = std::vector<std::byte>(kFile), gone_ = std::vector<std::byte>(size_t{1} << 16);
  test::LastingMemory lasting_{file_};
  size_t used_ = 0, segments_ = 0;
  // Where segments last, their places take little, until there are many.
  Shared shared_{(ByteHistory::kBytes * 2 + 4096) * 4 / 3};
  std::optional<ByteHistory> history_{std::in_place, shared_};
};

TEST_P(History, AChangedByteIsSeenInTheLastMiB) {
  constexpr uint64_t kBegin = 12345, kSize = 1460, kSegments = 2000;
  for (uint64_t i = 0; i < kSegments; ++i) EXPECT_FALSE(Add(kBegin + i * kSize, kSize));
  const uint64_t end = kBegin + kSegments * kSize, oldest = end - ByteHistory::kBytes;
  for (const uint64_t begin : {oldest, oldest + 1, oldest + 1000, end - 3000, end - 1}) {
    EXPECT_FALSE(Add(begin, end - begin > 3000 ? 3000 : end - begin));
    EXPECT_TRUE(Add(begin, 1, begin)) << end - begin;
    const size_t size = std::min<size_t>(2500, end - begin);
    EXPECT_TRUE(Add(begin, size, begin + size - 1)) << end - begin;
  }
  EXPECT_FALSE(Add(oldest - 1, 1, oldest - 1));  // too old
  EXPECT_TRUE(Add(end - 10, 20, end - 1));       // half of it is new
  EXPECT_FALSE(Add(end - 10, 20));               // and the first copy counts
  EXPECT_TRUE(Add(end - 10, 20, end + 9));
}

TEST_P(History, SegmentsOfAnySizeInAnyOrder) {
  std::mt19937_64 random(7);
  // So few holes that none is forgotten.
  for (const auto& [most, sides] : {std::pair<size_t, uint64_t>{3, 4096}, {60, 256}, {9000, 32}}) {
    std::vector<bool> seen;  // by position
    history_.emplace(shared_);
    used_ = 0;
    uint64_t next = 0;
    while (used_ + most * 2 < kFile && next < ByteHistory::kBytes * 3 / 2) {
      const size_t size = 1 + random() % most;
      uint64_t begin = next;
      const uint64_t dice = random() % sides;
      if (dice == 0) begin += random() % (3 * most);                              // a hole
      if (dice == 1) begin -= std::min<uint64_t>(begin, random() % (20 * most));  // a late one, or a copy
      if (dice == 2) begin -= std::min<uint64_t>(begin, random() % (1u << 19));
      const uint64_t end = begin + size, top = std::max(next, end);
      const uint64_t changed = begin + random() % size;
      const bool change = dice < 3 && random() % 2 == 0;
      seen.resize(top);
      const bool known = seen[changed] && top - begin <= ByteHistory::kBytes;
      // What is changed and new would be remembered so: it stays as it is.
      EXPECT_EQ(Add(begin, size, change && known ? std::optional(changed) : std::nullopt), change && known)
          << most << " " << begin << " " << size;
      std::fill(seen.begin() + static_cast<ptrdiff_t>(begin), seen.begin() + static_cast<ptrdiff_t>(end), true);
      next = top;
    }
  }
}

TEST_P(History, MemoryIsGivenBackAndBounded) {
  Charge other(shared_.budget);  // with it, two histories take all memory
  if (GetParam() != Where::kGone) other.Set(ByteHistory::kBytes);
  EXPECT_FALSE(Add(0, 100));
  ByteHistory second(shared_), third(shared_);
  const std::vector<std::byte> a(50, std::byte{1}), b(50, std::byte{2});
  EXPECT_FALSE(second.Add(0, a));
  EXPECT_TRUE(second.Add(0, b));
  EXPECT_FALSE(third.Add(0, a));
  EXPECT_FALSE(third.Add(0, b));  // nothing is remembered: two take all memory
  history_->Close();
  other.Set(0);
  EXPECT_FALSE(Add(0, 100, 3));
  EXPECT_FALSE(third.Add(0, a));
  EXPECT_TRUE(third.Add(0, b));
}

// What cannot be read again differs from nothing, also where pieces have become bytes.
TEST_P(History, AFileThatBecomesShorter) {
  if (GetParam() != Where::kLasting) return;
  for (const size_t size : {1000u, 20u}) {
    history_.emplace(shared_);
    used_ = 0;
    lasting_ = test::LastingMemory(file_);
    uint64_t at = 0;
    for (int i = 0; i < 100; ++i, at += size) EXPECT_FALSE(Add(at, size));
    lasting_.Shorten(50 * size);
    for (int i = 0; i < 20000; ++i, at += size) EXPECT_FALSE(Add(at, size));
    lasting_.Shorten(0);
    EXPECT_FALSE(Add(at - size, size, at - size));
  }
}

INSTANTIATE_TEST_SUITE_P(ByteHistory, History, testing::Values(Where::kLasting, Where::kGone, Where::kMixed));

}  // namespace
}  // namespace stag::transport
