// SPDX-License-Identifier: GPL-2.0-or-later
//
// What connections between the same addresses show together, against a count of each with each.
#include "analysis/limit_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace stag::analysis {
namespace {

Address Host(unsigned n) {
  Address address;
  address.kind = Address::Kind::kIpv4;
  address.bytes[3] = static_cast<std::byte>(n);
  return address;
}

PairedConnection Between(unsigned client, unsigned server, uint64_t first, uint64_t last, uint64_t calls) {
  PairedConnection c;
  c.client = Host(client);
  c.server = Host(server);
  c.first = first;
  c.last = last;
  c.calls = calls;
  return c;
}

// Each with each.
PairCounts CountEach(const std::vector<PairedConnection>& all, const PairedConnection& c) {
  PairCounts counts;
  uint64_t newest = 0, before = 0;
  for (const PairedConnection& other : all) {
    if (!(other.client == c.client && other.server == c.server)) continue;
    newest = std::max(newest, other.first);
    before += other.last < c.first ? 1 : 0;
    const uint64_t begin = std::max(c.first, other.first), end = std::min(c.last, other.last);
    if (end <= begin || 2 * (end - begin) < c.last - c.first) continue;
    ++counts.together;
    counts.calls += other.calls;
  }
  if (c.first == newest) counts.before = before;
  return counts;
}

TEST(CountPairs, AsEachWithEach) {
  std::mt19937 random(3);
  const auto below = [&](unsigned most) { return static_cast<unsigned>(random() % most); };
  for (int round = 0; round < 2000; ++round) {
    std::vector<PairedConnection> all;
    const unsigned hosts = 1 + below(3), frames = 2 + below(40);
    for (unsigned n = below(30); n > 0; --n) {
      const unsigned first = below(frames), length = below(2) ? below(4) : below(40);
      all.push_back(Between(below(hosts), 10 + below(hosts), first, first + length, below(50)));
    }
    const std::vector<PairCounts> counts = CountPairs(all);
    ASSERT_EQ(counts.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const PairCounts expected = CountEach(all, all[i]);
      EXPECT_EQ(counts[i].together, expected.together);
      EXPECT_EQ(counts[i].calls, expected.calls);
      EXPECT_EQ(counts[i].before, expected.before);
    }
  }
}

// Each with each takes hours.
TEST(CountPairs, VeryManyBetweenTwoAddresses) {
  std::vector<PairedConnection> all;
  constexpr uint64_t kMany = 200'000;
  for (uint64_t i = 0; i < kMany; ++i) all.push_back(Between(1, 2, i, i + kMany, 1));
  const std::vector<PairCounts> counts = CountPairs(all);
  // Of the first, those that begin in its first half; of the last, those that end in its second.
  EXPECT_EQ(counts.front().together, kMany / 2 + 1);
  EXPECT_EQ(counts.back().together, kMany / 2 + 1);
  EXPECT_EQ(counts.back().before, 0u);
  EXPECT_EQ(counts.front().before, std::nullopt);
}

TEST(PairSignatures, OneCarriesMostAndTheLastOfMany) {
  std::vector<PairedConnection> all;
  for (uint64_t i = 0; i < 4; ++i) all.push_back(Between(1, 2, 0, 100, i == 2 ? 97 : 1));
  for (uint64_t i = 0; i < 4; ++i) all.push_back(Between(1, 3, i * 10, i * 10 + 5, 1));
  const std::vector<PairCounts> counts = CountPairs(all);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<std::string> told = PairSignatures(all[i], counts[i]);
    ASSERT_EQ(told.size(), i == 2 || i == 7 ? 1u : 0u) << i;
    if (i == 2) {
      EXPECT_TRUE(told[0].starts_with("it carries 97 % of the Calls of 4 connections"));
    }
    if (i == 7) {
      EXPECT_TRUE(told[0].starts_with("the client connects again and again: 3 ended before"));
    }
  }
}

}  // namespace
}  // namespace stag::analysis
