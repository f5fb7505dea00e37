// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/base/budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace stag {
namespace {

TEST(BudgetTest, ChargesAreGivenBackWhenTheyGo) {
  Budget budget(100);
  {
    const Charge one(budget, 30);
    const Charge other(budget, 40);
    EXPECT_EQ(budget.used(), 70u);
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST(BudgetTest, ATryStaysWithinTheLimit) {
  Budget budget(100);
  Charge charge(budget);
  EXPECT_TRUE(charge.TryAdd(100));
  EXPECT_FALSE(charge.TryAdd(1));
  EXPECT_EQ(charge.bytes(), 100u);
  EXPECT_TRUE(charge.TrySet(60));  // less is always taken
  EXPECT_TRUE(budget.HasRoom(40));
  EXPECT_FALSE(budget.HasRoom(41));
  EXPECT_FALSE(budget.HasRoom(UINT64_MAX));
}

TEST(BudgetTest, WhatIsNotTriedMayGoOver) {
  Budget budget(100);
  Charge charge(budget, 90);
  charge.Add(20);
  EXPECT_TRUE(budget.over());
  EXPECT_FALSE(budget.HasRoom(0));
  EXPECT_TRUE(charge.TrySet(110));
  charge.Set(100);
  EXPECT_FALSE(budget.over());
}

TEST(BudgetTest, AChargeThatMovesIsCountedOnce) {
  Budget budget(1000), second(1000);
  std::vector<Charge> charges;
  for (int i = 0; i < 100; ++i) charges.emplace_back(budget, 5);
  EXPECT_EQ(budget.used(), 500u);
  Charge other(second, 7);
  other = std::move(charges.back());
  EXPECT_EQ(second.used(), 0u);
  EXPECT_EQ(budget.used(), 500u);
  charges.clear();
  EXPECT_EQ(budget.used(), 5u);
  other.Set(0);
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace stag
