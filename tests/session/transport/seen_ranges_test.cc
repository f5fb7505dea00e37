// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/transport/seen_ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "session/transport/byte_history.h"
#include "session/transport/shared.h"
#include "tests/support/messages.h"

namespace stag::transport {
namespace {

TEST(SeenRanges, IsASetOfNumbers) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Budget budget(1u << 20);
    {
      SeenRanges seen(budget);
      std::set<uint64_t> model;
      for (int i = 0; i < 60; ++i) {
        const uint64_t begin = 100 + random() % 60, end = begin + random() % 6;
        uint64_t added = 0;
        for (uint64_t n = begin; n < end; ++n) added += model.insert(n).second ? 1 : 0;
        EXPECT_EQ(seen.Add(begin, end), added);
        for (uint64_t n = 90; n < 175; ++n) EXPECT_EQ(seen.Contains(n), model.contains(n));
        uint64_t missing = 0;
        for (uint64_t n = 95; n < 140; ++n) missing += model.contains(n) ? 0 : 1;
        EXPECT_EQ(seen.Missing(95, 140), missing);
        if (!model.empty()) {
          EXPECT_EQ(seen.first(), *model.begin());
          EXPECT_EQ(seen.next(), *model.rbegin() + 1);
        }
      }
    }
    EXPECT_EQ(budget.used(), 0u);
  }
}

TEST(SeenRanges, WhatIsPassedOverIsNotSeen) {
  Budget budget(1u << 20);
  SeenRanges seen(budget);
  seen.Start(10);
  seen.PassOver(12);
  seen.PassOver(15);
  EXPECT_EQ(seen.Missing(10, 15), 5u);
  EXPECT_EQ(seen.Add(12, 13), 1u);
  EXPECT_EQ(seen.Missing(10, 15), 4u);
  EXPECT_EQ(seen.next(), 15u);
}

TEST(SeenRanges, IsBounded) {
  Budget budget(1u << 20);
  SeenRanges seen(budget);
  uint64_t taken = 0;
  for (uint64_t n = 0; n < 10000; n += 2) {
    seen.Add(n, n + 1);
    while (seen.full()) taken += seen.TakeOldest().size();
  }
  EXPECT_EQ(seen.holes(), 1024u);
  EXPECT_EQ(taken + seen.holes(), 4999u);
  EXPECT_LE(budget.used(), 2048 * sizeof(SeenRanges::Range));
}

TEST(SeenRanges, HasFewHolesWhereTheBudgetIsUsedUp) {
  Budget budget(1000);
  SeenRanges seen(budget);
  uint64_t taken = 0;
  for (uint64_t n = 0; n < 10000; n += 2) {
    seen.Add(n, n + 1);
    while (seen.full()) taken += seen.TakeOldest().size();
    EXPECT_LE(budget.used(), 1000u);
  }
  EXPECT_EQ(taken + seen.holes(), 4999u);
}

TEST(ByteHistory, TellsWhetherACopyDiffers) {
  Shared shared(ByteHistory::kBytes * 2);
  ByteHistory history(shared);
  const auto bytes = test::Pattern(3000, 1);
  auto other = bytes;
  other[1500] ^= std::byte{1};
  EXPECT_FALSE(history.Add(1000, Bytes(bytes).first(1000)));
  EXPECT_FALSE(history.Add(2500, Bytes(bytes).subspan(1500, 1000)));
  EXPECT_FALSE(history.Add(1000, Bytes(other).first(1500)));         // the same over what is known; the rest is new
  EXPECT_FALSE(history.Add(1200, Bytes(bytes).subspan(200, 1200)));  // cut anew
  EXPECT_TRUE(history.Add(2000, Bytes(other).subspan(1000, 1000)));
  EXPECT_FALSE(history.Add(2000, Bytes(bytes).subspan(1000, 1000)));  // the first copy is what is remembered
}

TEST(ByteHistory, ForgetsWhatIsTooOld) {
  Shared shared(ByteHistory::kBytes * 2);
  ByteHistory history(shared);
  const auto bytes = test::Pattern(1000, 1), other = test::Pattern(1000, 2);
  EXPECT_FALSE(history.Add(0, bytes));
  for (uint64_t at = 1000; at < ByteHistory::kBytes + 1000; at += 1000) EXPECT_FALSE(history.Add(at, bytes));
  EXPECT_FALSE(history.Add(0, other));
  EXPECT_TRUE(history.Add(ByteHistory::kBytes - 2000 - ByteHistory::kBytes % 1000, other));
}

TEST(ByteHistory, WithoutMemoryNothingIsRemembered) {
  Shared shared(ByteHistory::kBytes);  // less is for buffers
  ByteHistory history(shared);
  EXPECT_FALSE(history.Add(0, test::Pattern(100, 1)));
  EXPECT_FALSE(history.Add(0, test::Pattern(100, 2)));
}

}  // namespace
}  // namespace stag::transport
