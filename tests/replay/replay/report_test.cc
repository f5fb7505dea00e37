// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/report.h"

#include <gtest/gtest.h>

#include "replay/replay/report_carry.h"

namespace stag::replay {
namespace {

PlayReport OneClient(uint32_t client) {
  PlayReport report;
  report.procedures.resize(2);
  report.procedures[0].sent = report.procedures[0].answered = 3;
  report.procedures[0].compared = 3;
  report.procedures[0].matched = 2;
  report.procedures[1].sent = report.procedures[1].lost = 1;
  report.procedures[0].latency.Record(uint64_t{1000} * client);
  report.differences = {{5, 0, client, {AnswerStatus::Kind::kStatus, 70}}};
  report.troubles = {{"connection lost", client}};
  report.connections = 2;
  report.sent_bytes = 100;
  report.max_outstanding = client;
  report.elapsed = std::chrono::milliseconds(client);
  return report;
}

TEST(PlayReport, GoesToAnotherProcessWhole) {
  const PlayReport report = OneClient(7);
  const std::string bytes = Pack(report);
  PlayReport copy;
  ASSERT_TRUE(Unpack(bytes, copy));
  EXPECT_EQ(Pack(copy), bytes);
  ASSERT_EQ(copy.differences.size(), 1u);
  EXPECT_EQ(copy.differences[0].call, 5u);
  EXPECT_EQ(copy.differences[0].client, 7u);
  EXPECT_EQ(copy.differences[0].live, (AnswerStatus{AnswerStatus::Kind::kStatus, 70}));
  EXPECT_EQ(copy.elapsed, std::chrono::milliseconds(7));
}

TEST(PlayReport, MergesWhatWasPlayedAtOnce) {
  PlayReport report = OneClient(1);
  report.Merge(OneClient(2));
  EXPECT_EQ(report.procedures[0].sent, 6u);
  EXPECT_EQ(report.procedures[0].latency.count(), 2u);
  EXPECT_EQ(report.Total().lost, 2u);
  EXPECT_EQ(report.Total().sent, 8u);
  EXPECT_NEAR(report.MatchPercent(), 400.0 / 6, 1e-9);
  EXPECT_EQ(report.connections, 4u);
  EXPECT_EQ(report.sent_bytes, 200u);
  EXPECT_EQ(report.max_outstanding, 2u);
  EXPECT_EQ(report.troubles.at("connection lost"), 3u);
  EXPECT_EQ(report.elapsed, std::chrono::milliseconds(2));  // not one after the other
  ASSERT_EQ(report.differences.size(), 2u);
  EXPECT_EQ(report.differences[1].client, 2u);
}

TEST(PlayReport, CountsTheDifferencesThatItHasNoRoomFor) {
  PlayReport report = OneClient(1), other = OneClient(2);
  report.differences.resize(kDifferences - 1);
  other.differences.resize(10);
  other.more_differences = 5;
  report.Merge(other);
  EXPECT_EQ(report.differences.size(), kDifferences);
  EXPECT_EQ(report.more_differences, 14u);
}

}  // namespace
}  // namespace stag::replay
