// SPDX-License-Identifier: GPL-2.0-or-later
//
// Percentiles against the sorted values themselves.
#include "replay/rpcrdma/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace stag::rpcrdma {
namespace {

constexpr double kPercents[] = {0, 1, 50, 75, 90, 95, 99, 99.9, 99.99, 100};

// The value of that rank: the smallest that so many percent do not exceed.
uint64_t Exact(const std::vector<uint64_t>& sorted, double percent) {
  const auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size()) * (1 - 1e-12)));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

void ExpectClose(const Histogram& histogram, std::vector<uint64_t> values) {
  std::ranges::sort(values);
  ASSERT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.min(), values.front());
  EXPECT_EQ(histogram.max(), values.back());
  for (const double percent : kPercents) {
    const uint64_t exact = Exact(values, percent), said = histogram.Percentile(percent);
    EXPECT_GE(said, exact) << percent;
    EXPECT_LE(said - exact, exact / 128) << percent;
  }
}

TEST(Histogram, Empty) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0.0);
  EXPECT_EQ(histogram.Percentile(50), 0u);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t value = 1; value <= 200; ++value) histogram.Record(value);
  for (unsigned percent = 1; percent <= 100; ++percent) EXPECT_EQ(histogram.Percentile(percent), 2 * percent);
  EXPECT_EQ(histogram.mean(), 100.5);
}

// Alone, each value is what all percentiles say; with a larger one, the rounding shows.
TEST(Histogram, EveryMagnitude) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (const uint64_t value : {power - 1, power, power + 1, power + power / 3, power + (power - 1)}) {
      Histogram histogram;
      histogram.Record(value);
      for (const double percent : kPercents) EXPECT_EQ(histogram.Percentile(percent), value);
      histogram.Record(UINT64_MAX);
      ExpectClose(histogram, {value, UINT64_MAX});
    }
  }
}

TEST(Histogram, AgainstSortedValues) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> spread(10, 3);
  std::vector<uint64_t> values;
  Histogram whole, parts[3];
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<uint64_t>(spread(random)));
    whole.Record(values.back());
    parts[i % 3].Record(values.back());
  }
  ExpectClose(whole, values);
  Histogram merged;
  for (const Histogram& part : parts) merged.Merge(part);
  ExpectClose(merged, values);
  EXPECT_NEAR(merged.mean(), whole.mean(), whole.mean() * 1e-9);
}

TEST(Histogram, GoesToAnotherProcessWhole) {
  Histogram histogram, empty;
  for (const uint64_t value : {uint64_t{0}, uint64_t{7}, uint64_t{7}, uint64_t{123'456'789}, UINT64_MAX})
    histogram.Record(value);
  const std::string bytes = Pack(histogram, empty);
  EXPECT_LT(bytes.size(), 200u);
  Histogram copy, of_empty;
  copy.Record(uint64_t{1});  // is replaced
  ASSERT_TRUE(Unpack(bytes, copy, of_empty));
  EXPECT_EQ(copy.count(), 5u);
  EXPECT_EQ(copy.min(), 0u);
  EXPECT_EQ(copy.max(), UINT64_MAX);
  EXPECT_EQ(copy.mean(), histogram.mean());
  for (const double percent : {0.0, 20.0, 50.0, 61.0, 80.0, 100.0})
    EXPECT_EQ(copy.Percentile(percent), histogram.Percentile(percent));
  EXPECT_EQ(of_empty.count(), 0u);
  of_empty.Record(uint64_t{9});
  EXPECT_EQ(of_empty.min(), 9u);
}

TEST(Histogram, NegativeLatencyIsNone) {
  Histogram histogram;
  histogram.Record(std::chrono::nanoseconds(-5));
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.count(), 1u);
}

}  // namespace
}  // namespace stag::rpcrdma
