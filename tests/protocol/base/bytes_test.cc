// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/base/bytes.h"

#include <gtest/gtest.h>

#include <array>

namespace stag {
namespace {

TEST(Bytes, TheMostSignificantByteOfABigEndianFieldStandsFirstAndOfALittleEndianOneLast) {
  constexpr std::array<std::byte, 4> kField{std::byte{0x12}, std::byte{0x34}, std::byte{0x56}, std::byte{0x78}};
  EXPECT_EQ(LoadBe32(kField.data()), 0x12345678u);
  EXPECT_EQ(LoadLe32(kField.data()), 0x78563412u);
  std::array<std::byte, 4> stored{};
  StoreBe32(stored.data(), 0x12345678);
  EXPECT_EQ(stored, kField);
  StoreLe32(stored.data(), 0x78563412);
  EXPECT_EQ(stored, kField);
}

}  // namespace
}  // namespace stag
