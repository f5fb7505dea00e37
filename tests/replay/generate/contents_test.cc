// SPDX-License-Identifier: GPL-2.0-or-later
//
// Contents against a plain array of generations; InFlight against all pairs of ranges.
#include "replay/generate/contents.h"

#include <gtest/gtest.h>

#include "replay/generate/job.h"

namespace stag::generate {
namespace {

std::vector<std::byte> Made(size_t size, uint32_t file, uint64_t offset, uint32_t generation) {
  std::vector<std::byte> bytes(size);
  FillPattern(bytes, file, offset, generation);
  return bytes;
}

TEST(Pattern, DoesNotDependOnHowItIsCut) {
  const auto whole = Made(100, 3, 1000, 5);
  for (uint64_t at = 0; at < 100; ++at)
    for (uint64_t size = 0; size <= 100 - at; size += 7) {
      const auto piece = Made(size, 3, 1000 + at, 5);
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<std::ptrdiff_t>(at)));
    }
}

TEST(Pattern, FindsTheFirstWrongByte) {
  auto bytes = Made(10'000, 1, 3, 2);
  EXPECT_FALSE(FindMismatch(bytes, 1, 3, 2));
  for (const size_t at : {9999u, 5000u, 4096u, 4095u, 8u, 0u}) {
    bytes[at] ^= std::byte{1};
    EXPECT_EQ(FindMismatch(bytes, 1, 3, 2), at);
  }
}

TEST(Pattern, OtherFilesPlacesAndGenerationsDiffer) {
  const auto bytes = Made(64, 1, 4096, 1);
  EXPECT_TRUE(FindMismatch(bytes, 2, 4096, 1));
  EXPECT_TRUE(FindMismatch(bytes, 1, 8192, 1));
  EXPECT_TRUE(FindMismatch(bytes, 1, 4104, 1));
  EXPECT_TRUE(FindMismatch(bytes, 1, 4096, 2));
}

TEST(Contents, AgainstAnArray) {
  constexpr uint64_t kBegin = 500, kSize = 300;
  constexpr uint32_t kUnknown = 0xffffffff;
  Contents contents(9, kBegin, kSize);
  std::vector<uint32_t> model(kSize, 0);
  Random random(1);
  for (uint32_t generation = 1; generation < 2000; ++generation) {
    const uint64_t at = random.Below(kSize), size = 1 + random.Below(kSize - at);
    const bool forget = random.Below(5) == 0;
    forget ? contents.Forget(kBegin + at, size) : contents.Wrote(kBegin + at, size, generation);
    std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(at), size, forget ? kUnknown : generation);

    std::vector<std::byte> bytes(kSize);
    uint64_t unknown = 0;
    for (size_t i = 0; i < kSize; ++i) {
      if (model[i] == kUnknown) ++unknown;
      FillPattern(MutableBytes(bytes).subspan(i, 1), 9, kBegin + i, model[i]);
    }
    const auto checked = contents.Check(kBegin, bytes);
    EXPECT_FALSE(checked.wrong);
    EXPECT_EQ(checked.unknown, unknown);
    EXPECT_EQ(checked.good, kSize - unknown);

    const size_t flipped = random.Below(kSize);
    bytes[flipped] ^= std::byte{0x80};
    const auto again = contents.Check(kBegin, bytes);
    if (model[flipped] == kUnknown) {
      EXPECT_FALSE(again.wrong);
    } else {
      EXPECT_EQ(again.wrong, kBegin + flipped);
    }
  }
  contents.ForgetAll();
  EXPECT_EQ(contents.Check(kBegin, std::vector<std::byte>(kSize)).unknown, kSize);
}

TEST(InFlight, OnlyReadsMayOverlap) {
  InFlight ranges;
  ranges.Add(0, 100, 50, false);
  EXPECT_TRUE(ranges.Apart(0, 100, 50, false));
  EXPECT_FALSE(ranges.Apart(0, 149, 1, true));
  EXPECT_TRUE(ranges.Apart(0, 150, 1, true));
  EXPECT_TRUE(ranges.Apart(0, 99, 1, true));
  EXPECT_FALSE(ranges.Apart(0, 0, 1000, true));
  EXPECT_TRUE(ranges.Apart(1, 100, 50, true));
  ranges.Add(1, 0, 10, true);
  EXPECT_FALSE(ranges.Apart(1, 9, 1, false));
  EXPECT_TRUE(ranges.Apart(1, 10, 1, false));
  ranges.Add(0, 100, 50, false);
  ranges.Remove(0, 100, 50, false);
  EXPECT_FALSE(ranges.Apart(0, 100, 1, true));
  ranges.Remove(0, 100, 50, false);
  ranges.Remove(1, 0, 10, true);
  EXPECT_TRUE(ranges.Apart(0, 100, 1, true));
  EXPECT_TRUE(ranges.Apart(1, 0, 10, true));
}

}  // namespace
}  // namespace stag::generate
