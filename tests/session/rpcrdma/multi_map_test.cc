// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/multi_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace stag::session {
namespace {

std::vector<int> All(const MultiMap<int>& map, uint32_t key) {
  std::vector<int> out;
  map.Find(key, [&](int value) { return out.push_back(value), false; });
  return out;
}

TEST(MultiMap, NewestFirst) {
  MultiMap<int> map;
  for (int i = 0; i < 5; ++i) map.Insert(7, i);
  EXPECT_EQ(All(map, 7), (std::vector<int>{4, 3, 2, 1, 0}));
  EXPECT_TRUE(All(map, 8).empty());
}

TEST(MultiMap, GrowingKeepsTheOrder) {
  MultiMap<int> map;
  for (int i = 0; i < 1000; ++i) map.Insert(static_cast<uint32_t>(i % 10), i);
  for (uint32_t key = 0; key < 10; ++key) {
    const std::vector<int> values = All(map, key);
    EXPECT_EQ(values.size(), 100u);
    EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
  }
}

TEST(MultiMap, AgreesWithStdMultimap) {
  std::mt19937 random(1);
  MultiMap<int> map;
  std::multimap<uint32_t, int> model;
  std::map<int, int32_t> places;  // by value
  for (int i = 0; i < 20000; ++i) {
    const auto key = static_cast<uint32_t>(random() % 50);
    if (random() % 2) {
      places[i] = map.Insert(key, i);
      model.insert({key, i});
    } else {
      const int parity = static_cast<int>(random() % 2);
      auto [it, end] = model.equal_range(key);
      while (it != end) {
        if (it->second % 2 == parity) map.EraseAt(places[it->second]);
        it = it->second % 2 == parity ? model.erase(it) : std::next(it);
      }
    }
    ASSERT_EQ(map.size(), model.size());
    std::vector<int> values = All(map, key), expected;
    auto [it, end] = model.equal_range(key);
    for (; it != end; ++it) expected.push_back(it->second);
    std::reverse(expected.begin(), expected.end());
    ASSERT_EQ(values, expected);
  }
}

}  // namespace
}  // namespace stag::session
