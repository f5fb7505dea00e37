// SPDX-License-Identifier: GPL-2.0-or-later
//
// Jobs: as often, as large and where the options say; the same ones for the same seed; Schedule.
#include "replay/generate/job.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "replay/generate/schedule.h"

namespace stag::generate {
namespace {

using std::chrono::nanoseconds;

JobOptions Files() {
  JobOptions options;
  Weight(options.mix, Operation::kRead) = 70;
  Weight(options.mix, Operation::kWrite) = 20;
  Weight(options.mix, Operation::kGetattr) = 10;
  return options;
}

TEST(ShareOf, EveryByteOfEveryFileBelongsToOneAtMost) {
  for (uint32_t connections = 1; connections <= 9; ++connections) {
    for (uint32_t files = 1; files <= 9; ++files) {
      constexpr uint64_t kSize = 1'000'000;
      std::map<std::pair<uint32_t, uint64_t>, uint64_t> parts;
      std::map<uint32_t, int> makers;
      for (uint32_t c = 0; c < connections; ++c) {
        const auto share = ShareOf(c, connections, files, kSize);
        ASSERT_FALSE(share.empty());
        for (const Part& part : share) {
          EXPECT_LE(part.begin + part.length, kSize);
          EXPECT_GT(part.length, 0u);
          EXPECT_TRUE(parts.emplace(std::pair(part.file, part.begin), part.length).second);
          makers[part.file] += part.creates;
        }
      }
      std::pair<uint32_t, uint64_t> end{UINT32_MAX, 0};
      for (const auto& [at, length] : parts) {
        if (at.first == end.first) {
          EXPECT_GE(at.second, end.second);
        }
        end = {at.first, at.second + length};
      }
      EXPECT_EQ(makers.size(), files);
      for (const auto& [file, makes] : makers) EXPECT_EQ(makes, 1) << file;
    }
  }
  EXPECT_TRUE(ShareOf(0, 1, 0, 4096).empty());
}

TEST(JobSource, MixAndSizes) {
  JobOptions options = Files();
  options.sizes = {{4096, 4096, 3}, {1, 1000, 1}};
  options.position_zero_percent = 25;
  JobSource source(options, 0, ShareOf(0, 1, 4, 1 << 20));
  std::map<Operation, int> count;
  std::map<uint32_t, int> parts;
  int small = 0, large = 0, position_zero = 0;
  constexpr int kJobs = 40'000;
  for (int i = 0; i < kJobs; ++i) {
    const Job job = source.Next();
    ++count[job.operation];
    ++parts[job.part];
    position_zero += job.position_zero;
    if (job.operation == Operation::kGetattr) {
      EXPECT_EQ(job.size, 0u);
      continue;
    }
    ASSERT_TRUE(job.size == 4096 || (job.size >= 1 && job.size <= 1000));
    ++(job.size == 4096 ? large : small);
    EXPECT_EQ(job.offset % 4096, 0u);
    EXPECT_LE(job.offset + job.size, 1u << 20);
  }
  // Five standard deviations of a binomial distribution are less than these.
  EXPECT_EQ(count.size(), 3u);
  EXPECT_NEAR(count[Operation::kRead], 0.7 * kJobs, 500);
  EXPECT_NEAR(count[Operation::kWrite], 0.2 * kJobs, 500);
  EXPECT_NEAR(large, 3 * small, 1500);
  EXPECT_NEAR(position_zero, 0.25 * kJobs, 500);
  EXPECT_EQ(parts.size(), 4u);
}

TEST(JobSource, SameSeedSameJobs) {
  JobOptions options = Files();
  options.sizes = {{1, 65536, 1}};
  const auto list = [&](uint64_t seed, uint32_t connection) {
    options.seed = seed;
    JobSource source(options, connection, ShareOf(connection, 4, 4, 1 << 20));
    std::vector<std::tuple<Operation, uint32_t, uint64_t, uint32_t, uint32_t>> jobs;
    for (int i = 0; i < 100; ++i) {
      const Job job = source.Next();
      jobs.emplace_back(job.operation, job.part, job.offset, job.size, job.generation);
    }
    return jobs;
  };
  EXPECT_EQ(list(7, 0), list(7, 0));
  EXPECT_NE(list(7, 0), list(8, 0));
  EXPECT_NE(list(7, 0), list(7, 1));
}

TEST(JobSource, SequentialCoversThePart) {
  JobOptions options = Files();
  options.sizes = {{3000, 3000, 1}};
  options.sequential = true;
  JobSource source(options, 1, {{0, 8192, 10'000, true}});
  std::vector<uint64_t> offsets;
  while (offsets.size() < 5) {
    const Job job = source.Next();
    if (job.size > 0) offsets.push_back(job.offset);
  }
  EXPECT_EQ(offsets, (std::vector<uint64_t>{8192, 11192, 14192, 8192, 11192}));
}

TEST(JobSource, EveryWriteHasAGenerationOfItsOwn) {
  JobSource source(Files(), 0, ShareOf(0, 1, 1, 1 << 20));
  uint32_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const Job job = source.Next();
    if (job.operation != Operation::kWrite) continue;
    EXPECT_EQ(job.generation, ++last);
  }
}

TEST(JobSource, WholeFileAtATime) {
  JobOptions options = Files();
  options.sizes = {{5000, 5000, 1}};
  JobSource source(options, 0, {{0, 0, 5000, true}});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(source.Next().offset, 0u);
}

TEST(Schedule, ConstantRateWithoutDrift) {
  const Schedule::Clock::time_point start{std::chrono::seconds(100)};
  Schedule calls(start, 3.0, 0);
  for (int i = 0; i < 3000; ++i) {
    const double due = std::chrono::duration<double>(calls.Next(1) - start).count();
    ASSERT_NEAR(due, i / 3.0, 1e-6);
  }
}

TEST(Schedule, BytesPassBeforeTheNext) {
  const Schedule::Clock::time_point start{};
  Schedule bytes(start, 1e6, 0);
  EXPECT_EQ(bytes.Next(500'000), start);
  EXPECT_EQ(bytes.Next(0), start + std::chrono::milliseconds(500));
  EXPECT_EQ(bytes.Next(250'000), start + std::chrono::milliseconds(500));
  EXPECT_EQ(bytes.Next(1), start + std::chrono::milliseconds(750));
}

TEST(Schedule, ConnectionsTakeTurns) {
  const Schedule::Clock::time_point start{};
  Schedule second(start, 10, 0.5);
  EXPECT_EQ(second.Next(1), start + std::chrono::milliseconds(50));
  EXPECT_EQ(second.Next(1), start + std::chrono::milliseconds(150));
}

}  // namespace
}  // namespace stag::generate
