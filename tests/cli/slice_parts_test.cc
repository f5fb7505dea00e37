// SPDX-License-Identifier: GPL-2.0-or-later
//
// Parts of stag slice: ranges of positions against a set of all positions, sets of frames, and how selections are
// written.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "cli/slice/frame_set.h"
#include "cli/slice/position_ranges.h"
#include "cli/slice/selection.h"

namespace stag::cli {
namespace {

TEST(PositionRanges, AreTheSetOfWhatWasAdded) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    PositionRanges ranges;
    std::set<uint64_t> all;
    for (int i = 0; i < 40; ++i) {
      const uint64_t begin = random() % 200, end = begin + random() % 12;
      ranges.Add(begin, end);
      for (uint64_t at = begin; at < end; ++at) all.insert(at);
    }
    for (uint64_t at = 0; at < 220; ++at) {
      EXPECT_EQ(ranges.Contains(at), all.contains(at));
      const auto next = all.lower_bound(at);
      EXPECT_EQ(ranges.Intersects(at, at + 5), next != all.end() && *next < at + 5);
    }
    EXPECT_FALSE(ranges.Intersects(7, 7));
  }
}

TEST(PositionRanges, HoldMoreRatherThanTooMany) {
  PositionRanges ranges;
  const uint64_t count = PositionRanges::kMost * 3;
  for (uint64_t i = 0; i < count; ++i) ranges.Add(i * 10, i * 10 + 1);
  EXPECT_LE(ranges.size(), PositionRanges::kMost);
  for (uint64_t i = 0; i < count; ++i) EXPECT_TRUE(ranges.Contains(i * 10));
  EXPECT_FALSE(ranges.Contains(count * 10));
}

TEST(FrameSet, CountsWhatItHas) {
  FrameSet frames;
  EXPECT_TRUE(frames.empty());
  EXPECT_FALSE(frames.Contains(5));
  frames.Add(5);
  frames.Add(5);
  frames.Add(100000);
  EXPECT_EQ(frames.Count(), 2u);
  EXPECT_TRUE(frames.Contains(5));
  EXPECT_TRUE(frames.Contains(100000));
  EXPECT_FALSE(frames.Contains(99999));
  EXPECT_FALSE(frames.Contains(UINT64_MAX));
}

TEST(Selection, RulesAsTheyAreWritten) {
  const auto second = ParseWantedRule("rdlist-003#2"), all = ParseWantedRule("RDLIST-003");
  ASSERT_TRUE(second && all);
  EXPECT_EQ(second->rule, conformance::FindRule("RDLIST-003"));
  EXPECT_EQ(second->number, 2u);
  EXPECT_EQ(all->number, 0u);
  for (const char* text : {"", "RDLIST", "RDLIST-003#", "RDLIST-003#0", "#1"}) EXPECT_FALSE(ParseWantedRule(text));
}

}  // namespace
}  // namespace stag::cli
