// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/base/sequence.h"

#include <gtest/gtest.h>

namespace stag {
namespace {

TEST(Sequence, TheNearestPositionIsAheadOrBehind) {
  const uint64_t start = FirstPosition(100);
  EXPECT_EQ(NearestPosition<32>(start, 100), start);
  EXPECT_EQ(NearestPosition<32>(start, 160), start + 60);
  EXPECT_EQ(NearestPosition<32>(start, 40), start - 60);
  EXPECT_EQ(NearestPosition<24>(start, 160), start + 60);
  EXPECT_EQ(NearestPosition<24>(start, 40), start - 60);
}

TEST(Sequence, NumbersThatWrapGoOn) {
  EXPECT_EQ(NearestPosition<32>(FirstPosition(0xfffffff0), 0x10), FirstPosition(0xfffffff0) + 0x20);
  EXPECT_EQ(NearestPosition<32>(FirstPosition(0x10), 0xfffffff0), FirstPosition(0x10) - 0x20);
  EXPECT_EQ(NearestPosition<24>(FirstPosition(0xfffff0), 0x10), FirstPosition(0xfffff0) + 0x20);
  EXPECT_EQ(NearestPosition<24>(FirstPosition(0x10), 0xfffff0), FirstPosition(0x10) - 0x20);
}

TEST(Sequence, HalfTheNumbersAreBehind) {
  const uint64_t start = FirstPosition(0);
  EXPECT_EQ(NearestPosition<32>(start, 0x7fffffff), start + 0x7fffffff);
  EXPECT_EQ(NearestPosition<32>(start, 0x80000000), start - 0x80000000);
  EXPECT_EQ(NearestPosition<24>(start, 0x7fffff), start + 0x7fffff);
  EXPECT_EQ(NearestPosition<24>(start, 0x800000), start - 0x800000);
}

}  // namespace
}  // namespace stag
