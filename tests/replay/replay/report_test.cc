// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/report.h"

#include <gtest/gtest.h>

namespace stag::replay {
namespace {

constexpr PlannedProcedure kRead{100003, 3, 6, 0}, kWrite{100003, 3, 7, 0};

PlayReport OneClient(uint32_t client) {
  PlayReport report;
  ProcedureReport& first = report.Of(kRead);
  ProcedureReport& second = report.Of(kWrite);
  first.sent = first.answered = 3;
  first.compared = 3;
  first.matched = 2;
  second.sent = second.lost = 1;
  first.latency.Record(uint64_t{1000} * client);
  report.differences = {{5, 9, kRead, client, {}, {AnswerStatus::Kind::kStatus, 70}}};
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
  EXPECT_EQ(copy.differences[0].frame, 5u);
  EXPECT_EQ(copy.differences[0].client, 7u);
  EXPECT_EQ(copy.differences[0].live, (AnswerStatus{AnswerStatus::Kind::kStatus, 70}));
  EXPECT_EQ(copy.elapsed, std::chrono::milliseconds(7));
}

TEST(PlayReport, MergesWhatWasPlayedAtOnce) {
  PlayReport report = OneClient(1);
  report.Merge(OneClient(2));
  EXPECT_EQ(report.procedures.at(kRead).sent, 6u);
  EXPECT_EQ(report.procedures.at(kRead).latency.count(), 2u);
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

TEST(PlayReport, ProceduresHaveACap) {
  PlayReport report;
  for (uint32_t program = 1; program < kProcedures + 100; ++program) ++report.Of({program, 1, 1, 0}).sent;
  EXPECT_EQ(report.procedures.size(), kProcedures + 1);
  EXPECT_EQ(report.procedures.at({}).sent, 99u);
  EXPECT_EQ(report.Total().sent, kProcedures + 99);
  EXPECT_EQ(PlannedProcedure{}.Name(), "others");
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
