// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/range_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace stag::session {
namespace {

TEST(RangeSet, MergesNeighboursAndCountsOverlap) {
  RangeSet set;
  EXPECT_EQ(set.Add(10, 20), 0u);
  EXPECT_EQ(set.Add(30, 40), 0u);
  EXPECT_EQ(set.Add(20, 30), 0u);
  ASSERT_EQ(set.ranges().size(), 1u);
  EXPECT_EQ(set.Add(5, 45), 30u);
  EXPECT_EQ(set.total(), 40u);
  EXPECT_TRUE(set.Covers(5, 45));
  EXPECT_FALSE(set.Covers(4, 45));
  EXPECT_EQ(set.Prefix(7), 38u);
  EXPECT_EQ(set.Prefix(45), 0u);
  EXPECT_EQ(set.end(), 45u);
  EXPECT_TRUE(set.Covers(100, 100));
}

TEST(RangeSet, EmptyRangesChangeNothing) {
  RangeSet set;
  set.Add(3, 3);
  EXPECT_TRUE(set.empty());
  set.Add(9, 4);
  EXPECT_TRUE(set.empty());
}

// Against the plainest possible model: an array of flags.
TEST(RangeSet, AgreesWithFlags) {
  std::mt19937 random(42);
  for (int round = 0; round < 200; ++round) {
    RangeSet set;
    std::vector<bool> flags(64);
    for (int step = 0; step < 20; ++step) {
      const uint64_t begin = random() % 64, end = begin + random() % (65 - begin);
      uint64_t overlap = 0;
      for (uint64_t i = begin; i < end; ++i) {
        overlap += flags[i];
        flags[i] = true;
      }
      EXPECT_EQ(set.Add(begin, end), overlap);
      EXPECT_EQ(set.total(), static_cast<uint64_t>(std::count(flags.begin(), flags.end(), true)));
      for (uint64_t i = 0; i < 64; ++i) {
        uint64_t prefix = 0;
        while (i + prefix < 64 && flags[i + prefix]) ++prefix;
        ASSERT_EQ(set.Prefix(i), prefix);
      }
    }
  }
}

}  // namespace
}  // namespace stag::session
