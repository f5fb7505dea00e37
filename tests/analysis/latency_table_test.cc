// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/latency_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/latency_keys.h"
#include "analysis/rank_test.h"

namespace stag::analysis {
namespace {

constexpr uint64_t kPlenty = UINT64_MAX;

TimeHistogram Of(const std::vector<uint64_t>& values) {
  TimeHistogram histogram;
  for (const uint64_t value : values) histogram.Record(value);
  return histogram;
}

TEST(TimeHistogramTest, PercentilesAreOfNearestRank) {
  const std::vector<uint64_t> values{40, 10, 30, 20};
  EXPECT_EQ(Of(values).Percentile(250), 10u);
  EXPECT_EQ(Of(values).Percentile(251), 20u);
  EXPECT_EQ(Of(values).Percentile(500), 20u);
  EXPECT_EQ(Of(values).Percentile(750), 30u);
  EXPECT_EQ(Of(values).Percentile(999), 40u);
  EXPECT_EQ(Of({}).Percentile(500), 0u);
}

TEST(TimeHistogramTest, WithManyValuesTheyAreWithinAThousandth) {
  std::mt19937_64 chance(1);
  std::lognormal_distribution<double> skewed(12, 3);
  std::vector<uint64_t> values(100'000);
  TimeHistogram whole, halves[2];
  uint64_t sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<uint64_t>(skewed(chance));
    sum += values[i];
    whole.Record(values[i]);
    halves[i % 3 == 0].Record(values[i]);
  }
  halves[0].Merge(halves[1]);
  std::sort(values.begin(), values.end());
  for (const TimeHistogram* histogram : {&whole, &halves[0]}) {
    EXPECT_EQ(histogram->count(), values.size());
    EXPECT_EQ(histogram->sum(), sum);
    EXPECT_EQ(histogram->max(), values.back());
    for (uint64_t thousandths = 1; thousandths <= 1000; ++thousandths) {
      const auto exact = static_cast<double>(values[thousandths * values.size() / 1000 - 1]);
      EXPECT_NEAR(static_cast<double>(histogram->Percentile(thousandths)), exact, exact / 1000) << thousandths;
    }
  }
}

TEST(TimeHistogramTest, CoarseOnesTakeLittleAndSayHowExactTheyAre) {
  std::mt19937_64 chance(1);
  std::lognormal_distribution<double> skewed(16, 3);
  std::vector<uint64_t> values(100'000);
  TimeHistogram fine, coarse, part;
  coarse.Coarsen(3);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<uint64_t>(skewed(chance)) + 2048;
    fine.Record(values[i]);
    (i % 2 == 0 ? coarse : part).Record(values[i]);
  }
  coarse.Merge(part);
  std::sort(values.begin(), values.end());
  for (unsigned coarseness = 3; coarseness <= TimeHistogram::kCoarsest; ++coarseness) {
    coarse.Coarsen(coarseness);
    EXPECT_EQ(coarse.count(), values.size());
    EXPECT_EQ(coarse.max(), values.back());
    EXPECT_EQ(coarse.Buckets(coarseness), fine.Buckets(coarseness));
    for (uint64_t thousandths = 1; thousandths <= 1000; ++thousandths) {
      const auto exact = static_cast<double>(values[thousandths * values.size() / 1000 - 1]);
      EXPECT_NEAR(static_cast<double>(coarse.Percentile(thousandths)), exact,
                  exact * TimeHistogram::ErrorPercent(coarseness) / 100)
          << thousandths;
    }
  }
  EXPECT_LE(coarse.bytes(), 64 * 8 * sizeof(TimeHistogram::Bucket) + 256 * sizeof(uint64_t));
}

// A histogram that had to become coarse is compared with one that had not: as if both had.
TEST(RankTestTest, OfUnequalCoarseness) {
  TimeHistogram a, b;
  b.Coarsen(4);
  for (uint64_t i = 0; i < 1000; ++i) {
    a.Record(1'000'000 + i * 1000);
    b.Record(1'000'000 + i * 1000);
  }
  EXPECT_EQ(CompareRanks(a, b).effect, 0);
}

TEST(TimeHistogramTest, EveryPowerOfTwo) {
  for (unsigned bit = 0; bit < 63; ++bit) {
    for (const uint64_t value : {(uint64_t{1} << bit) - 1, uint64_t{1} << bit, (uint64_t{1} << bit) + 1}) {
      // Enough for buckets; the largest is another one.
      TimeHistogram histogram;
      for (int i = 0; i < 600; ++i) histogram.Record(value);
      histogram.Record(UINT64_MAX / 1024);
      EXPECT_NEAR(static_cast<double>(histogram.Percentile(500)), static_cast<double>(value),
                  static_cast<double>(value) / 1000);
    }
  }
}

// By hand: of the 9 pairs of {1, 2, 3} and {2, 3, 4}, b is larger in 6 and equal in 2: U is 7, its mean 4.5. Two ties
// of two make its variance 9 / 12 * (7 - 12 / 30) = 4.95, and z = (2.5 - 0.5) / sqrt(4.95) = 0.8989: p = 0.3687.
TEST(RankTestTest, SmallSamplesWithTies) {
  const RankTest test = CompareRanks(Of({1, 2, 3}), Of({2, 3, 4}));
  EXPECT_NEAR(test.effect, 2 * 7.0 / 9 - 1, 1e-12);
  EXPECT_NEAR(test.p, 0.3687, 5e-5);
}

TEST(RankTestTest, AllEqualIsNoDifference) {
  const RankTest test = CompareRanks(Of({5, 5, 5}), Of({5, 5}));
  EXPECT_EQ(test.p, 1);
  EXPECT_EQ(test.effect, 0);
}

// Of samples without a difference, p is below x as often as x says.
TEST(RankTestTest, ChanceIsWhatItSays) {
  std::mt19937_64 chance(7);
  std::lognormal_distribution<double> skewed(10, 1);
  int below = 0;
  constexpr int kRuns = 2000;
  for (int run = 0; run < kRuns; ++run) {
    TimeHistogram a, b;
    for (int i = 0; i < 40; ++i) a.Record(static_cast<uint64_t>(skewed(chance)));
    for (int i = 0; i < 60; ++i) b.Record(static_cast<uint64_t>(skewed(chance)));
    below += CompareRanks(a, b).p < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(below / double{kRuns}, 0.05, 0.015);
}

LatencySample Sample(std::string key, int64_t rtt_ns, uint64_t frame) {
  LatencySample sample;
  sample.key = std::move(key);
  sample.rtt_ns = rtt_ns;
  sample.call_frame = frame;
  sample.phases.ns[static_cast<size_t>(session::Phase::kService)] = rtt_ns;
  sample.phases.complete = true;
  return sample;
}

TEST(LatencyTableTest, KeepsTheSlowest) {
  LatencyTable table(3, kPlenty);
  for (uint64_t i = 1; i <= 100; ++i) table.Add(Sample("a", static_cast<int64_t>(i * 37 % 101), i));
  std::vector<int64_t> times;
  for (const LatencySample& sample : table.Slowest()) times.push_back(sample.rtt_ns);
  EXPECT_EQ(times, (std::vector<int64_t>{100, 99, 98}));
}

TEST(LatencyTableTest, OfEqualTimesTheFirst) {
  LatencyTable table(2, kPlenty);
  for (const uint64_t frame : {5u, 3u, 9u, 1u}) table.Add(Sample("a", 10, frame));
  EXPECT_EQ(table.Slowest()[0].call_frame, 1u);
  EXPECT_EQ(table.Slowest()[1].call_frame, 3u);
}

TEST(LatencyTableTest, KeysHaveALimitAndWhatIsLeftOutIsCounted) {
  LatencyTable table(0, kPlenty);
  for (size_t i = 0; i < LatencyTable::kMaxKeys + 5; ++i) table.Add(Sample(std::to_string(i), 1, i));
  table.Add(Sample("0", 1, 1));
  EXPECT_EQ(table.size(), LatencyTable::kMaxKeys);
  EXPECT_EQ(table.left_out(), 5u);
  EXPECT_EQ(table.count(), LatencyTable::kMaxKeys + 6);
}

TEST(LatencyTableTest, WithLittleMemoryNoKeyComesIn) {
  LatencyTable table(0, 10'000);
  for (uint64_t i = 0; i < 1000; ++i) table.Add(Sample(std::to_string(i), 1000, i));
  EXPECT_GT(table.size(), 1u);
  EXPECT_LT(table.size(), 20u);
  EXPECT_EQ(table.left_out() + table.size(), 1000u);
}

// Times of all kinds: first percentiles are less exact, then keys with few RPCs go, and do not come again.
TEST(LatencyTableTest, WithLittleMemoryHistogramsAreCoarse) {
  LatencyTable table(0, 60'000);
  std::mt19937_64 chance(1);
  std::lognormal_distribution<double> skewed(18, 6);
  uint64_t frame = 0, sum = 0;
  const auto add = [&](const std::string& key) {
    const auto ns = static_cast<int64_t>(std::min(skewed(chance), 1e15));
    if (key == "much") sum += static_cast<uint64_t>(ns);
    table.Add(Sample(key, ns, ++frame));
  };
  for (int i = 0; i < 20; ++i) add(std::to_string(i));
  EXPECT_EQ(table.size(), 20u);
  EXPECT_EQ(table.coarseness(), 0u);
  for (int i = 0; i < 50'000; ++i) add("much");
  EXPECT_EQ(table.coarseness(), TimeHistogram::kCoarsest);
  EXPECT_LT(table.size(), 21u);
  for (int i = 0; i < 20; ++i) add(std::to_string(i));
  uint64_t told = 0;
  for (const std::string& key : table.Keys()) told += table.Row(key).times[0].count();
  EXPECT_EQ(told + table.left_out(), frame);
  EXPECT_EQ(table.count(), frame);
  EXPECT_EQ(table.Row("much").times[0].count(), 50'000u);
  EXPECT_EQ(table.Row("much").times[0].sum(), sum);
}

TEST(FileNamesTest, AreTheNewestThatThereIsRoomFor) {
  FileNames names(1000);
  for (uint64_t i = 1; i <= 100; ++i) names.Take("handle " + std::to_string(i % 50), {i, "name"});
  EXPECT_GT(names.left_out(), 80u);
  names.Take("handle 1", {101, std::string(2000, 'x')});
  const FileNames::Names all = names.Release();
  EXPECT_LT(all.size(), 10u);
  EXPECT_EQ(all.at("handle 1").name, "name");
  EXPECT_EQ(all.at("handle 1").frame, 51u);
}

TEST(LatencyTableTest, RowsThatGetTheSameNameBecomeOne) {
  LatencyTable table(1, kPlenty);
  table.Add(Sample("handle 1", 10, 1));
  table.Add(Sample("handle 2", 30, 2));
  table.Rename({{"handle 1", "file"}, {"handle 2", "file"}, {"handle 3", "other"}});
  EXPECT_EQ(table.Keys(), std::vector<std::string>{"file"});
  EXPECT_EQ(table.Row("file").times[0].sum(), 40u);
  EXPECT_EQ(table.Slowest()[0].key, "file");
}

TEST(LatencyHistogramsTest, TheSlowestAreOneInAHundred) {
  LatencyHistograms row;
  for (int i = 0; i < 198; ++i) row.Add(Sample("a", 1000, 1));
  LatencySample slow = Sample("a", 1'000'000, 1);
  slow.meanwhile[static_cast<size_t>(Meanwhile::kRnrNak)] = true;
  row.Add(slow);
  row.Add(slow);
  const LatencyProfile slowest = row.Slowest();
  EXPECT_EQ(slowest.count, 2u);
  EXPECT_EQ(slowest.meanwhile[static_cast<size_t>(Meanwhile::kRnrNak)], 2u);
  EXPECT_EQ(slowest.phase_sums[static_cast<size_t>(session::Phase::kService)], 2'000'000u);
}

}  // namespace
}  // namespace stag::analysis
