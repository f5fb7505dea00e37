// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/latency/latency_course.h"

#include <gtest/gtest.h>

#include <random>

namespace stag::cli {
namespace {

TEST(LatencyCourseTest, WithLittleMemoryBinsAreFewer) {
  LatencyCourse ample(UINT64_MAX), scarce(40'000);
  std::mt19937_64 chance(1);
  for (int64_t i = 0; i < 100'000; ++i) {
    const uint64_t rtt_ns = chance() >> (chance() % 64);
    ample.Add(i * 10'000, rtt_ns);
    scarce.Add(i * 10'000, rtt_ns);
  }
  EXPECT_GT(ample.bins().size(), LatencyCourse::kMaxBins / 2);
  EXPECT_LT(scarce.bins().size(), 20u);
  uint64_t bytes = 0, count = 0;
  for (const analysis::TimeHistogram& bin : scarce.bins()) {
    bytes += sizeof(bin) + bin.bytes();
    count += bin.count();
  }
  EXPECT_LE(bytes, 40'000u);
  EXPECT_EQ(count, 100'000u);
}

}  // namespace
}  // namespace stag::cli
