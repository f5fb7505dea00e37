// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/verbs_work.h"

#include <gtest/gtest.h>

#include <random>

namespace stag::endpoint {
namespace {

struct Item {
  int id = 0;
};
using Works = WorkRing<Item>;

std::vector<uint64_t> Signalled(Works& ring, const Works::Run& run) {
  std::vector<uint64_t> numbers;
  for (uint64_t n = run.first; n < run.end; ++n)
    if (ring.Sign(run, n, false)) numbers.push_back(n);
  return numbers;
}

TEST(WorkRing, TheLastOfARunIsSignalled) {
  Works ring(100, 100);
  for (int i = 0; i < 3; ++i) ring.Post().id = i;
  const auto run = ring.Next();
  EXPECT_EQ(run.first, 0u);
  EXPECT_EQ(run.end, 3u);
  EXPECT_EQ(Signalled(ring, run).back(), 2u);
  ring.HandOver(run.end);
  EXPECT_TRUE(ring.Next().empty());
  ring.Post().id = 3;
  EXPECT_EQ(Signalled(ring, ring.Next()), std::vector<uint64_t>{3});
}

TEST(WorkRing, MostOfALongRunIsNotSignalled) {
  Works ring(1000, 256);
  for (int i = 0; i < 1000; ++i) ring.Post();
  EXPECT_TRUE(ring.full());
  const auto run = ring.Next();
  EXPECT_EQ(run.end, 256u);
  const auto signalled = Signalled(ring, run);
  EXPECT_LE(signalled.size(), 256u / 8);
  // Room comes before the device has nothing left to do.
  for (size_t i = 1; i < signalled.size(); ++i) EXPECT_LE(signalled[i] - signalled[i - 1], 128u);
}

TEST(WorkRing, ACompletionSpeaksForThoseBeforeIt) {
  Works ring(10, 100);
  for (int i = 0; i < 5; ++i) ring.Post().id = i;
  for (uint64_t n = 0; n < 5; ++n) ring.Sign({0, 100}, n, n == 2 || n == 4);
  ring.HandOver(ring.Next().end);
  std::vector<std::pair<int, bool>> seen;
  const auto note = [&](Item& item, bool last) { seen.emplace_back(item.id, last); };
  EXPECT_TRUE(ring.Complete(0, note));  // one in so many is signed, beginning with the first
  EXPECT_TRUE(ring.Complete(2, note));
  EXPECT_EQ(seen, (std::vector<std::pair<int, bool>>{{0, true}, {1, false}, {2, true}}));
  EXPECT_EQ(ring.uncompleted(), 2u);
  seen.clear();
  EXPECT_FALSE(ring.Complete(1, note)) << "it was completed before";
  EXPECT_FALSE(ring.Complete(5, note)) << "the device never got it";
  EXPECT_TRUE(seen.empty());
  EXPECT_TRUE(ring.Complete(4, note));
  EXPECT_EQ(ring.uncompleted(), 0u);
}

TEST(WorkRing, TheDeviceHoldsNoMoreThanItsDepth) {
  Works ring(100, 8);
  for (int i = 0; i < 20; ++i) ring.Post().id = i;
  for (uint64_t n = 0; n < 8; ++n) ring.Sign({0, 8}, n, n == 3);
  ring.HandOver(ring.Next().end);
  EXPECT_EQ(ring.with_device(), 8u);
  EXPECT_TRUE(ring.Next().empty());
  ring.Complete(0, [](Item&, bool) {});
  ring.Complete(3, [](Item&, bool) {});
  EXPECT_EQ(ring.Next().first, 8u);
  EXPECT_EQ(ring.Next().end, 12u);
}

TEST(WorkRing, WhatIsAbandonedComesBackInOrder) {
  Works ring(100, 8);
  for (int i = 0; i < 20; ++i) ring.Post().id = i;
  for (uint64_t n = 0; n < 8; ++n) ring.Sign({0, 100}, n, n == 0 || n == 1 || n == 4);
  ring.HandOver(5);  // the device took so many
  ring.Complete(0, [](Item&, bool) {});
  ring.Complete(1, [](Item&, bool) {});
  std::vector<int> ids;
  ring.Abandon([&](Item& item) { ids.push_back(item.id); });
  ASSERT_EQ(ids.size(), 18u);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], static_cast<int>(i) + 2);
  EXPECT_EQ(ring.with_device(), 0u);
  EXPECT_EQ(ring.uncompleted(), 0u);
}

TEST(WorkRing, AReadMayEndLaterThanWhatWasPostedAfterIt) {
  Works ring(10, 100);
  for (int i = 0; i < 4; ++i) ring.Post().id = i;
  for (uint64_t n = 0; n < 4; ++n) ring.Sign({0, 4}, n, n == 1);  // 1 is a Read; 0 is signed as the first of sixteen
  ring.HandOver(4);
  std::vector<int> ids;
  const auto note = [&](Item& item, bool) { ids.push_back(item.id); };
  EXPECT_TRUE(ring.Complete(3, note));
  EXPECT_EQ(ids, (std::vector<int>{2, 3}));
  EXPECT_EQ(ring.with_device(), 4u);
  EXPECT_FALSE(ring.Complete(3, note));
  EXPECT_TRUE(ring.Complete(0, note));
  EXPECT_EQ(ring.with_device(), 3u);
  EXPECT_TRUE(ring.Complete(1, note));
  EXPECT_EQ(ids, (std::vector<int>{2, 3, 0, 1}));
  EXPECT_EQ(ring.with_device(), 0u);
}

// A device that works through what it has, and tells of what is signalled: each work ends once and in order.
TEST(WorkRing, EveryWorkEndsOnce) {
  std::mt19937 random(7);
  for (const size_t depth : {1u, 3u, 8u, 64u, 100u}) {
    Works ring(100, depth);
    std::vector<uint64_t> reported;  // by the device, not looked at
    int posted = 0, ended = 0;
    while (ended < 5000) {
      for (auto n = random() % 40; n > 0 && !ring.full(); --n) ring.Post().id = posted++;
      const auto run = ring.Next();
      EXPECT_LE(run.end - ring.completed(), depth);
      for (const uint64_t n : Signalled(ring, run)) reported.push_back(n);
      ring.HandOver(run.end);
      const size_t look = std::min<size_t>(random() % 4, reported.size());
      for (size_t i = 0; i < look; ++i)
        EXPECT_TRUE(ring.Complete(reported[i], [&](Item& item, bool) { EXPECT_EQ(item.id, ended++); }));
      reported.erase(reported.begin(), reported.begin() + static_cast<ptrdiff_t>(look));
      // Nothing stays without a completion to come.
      if (reported.empty()) {
        EXPECT_EQ(ring.with_device(), 0u);
      }
    }
  }
}

}  // namespace
}  // namespace stag::endpoint
