// SPDX-License-Identifier: GPL-2.0-or-later
#include "scale/collectives.h"

#include <gtest/gtest.h>

#include "tests/support/fake_team.h"

namespace stag::scale {
namespace {

TEST(Collectives, RankZeroGathersByRank) {
  test::OnEveryRank(4, [](Team& team) {
    const std::vector<std::string> all = Gather(team, "of " + std::to_string(team.rank()));
    if (team.leads()) {
      EXPECT_EQ(all, (std::vector<std::string>{"of 0", "of 1", "of 2", "of 3"}));
    } else {
      EXPECT_TRUE(all.empty());
    }
  });
}

TEST(Collectives, AllGetWhatRankZeroBroadcasts) {
  test::OnEveryRank(3, [](Team& team) { EXPECT_EQ(Broadcast(team, team.leads() ? "this" : "not this"), "this"); });
}

TEST(Collectives, AllAgreeOnOneMomentThatIsStillToCome) {
  std::vector<std::chrono::system_clock::time_point> moments(4);
  const auto before = std::chrono::system_clock::now();
  test::OnEveryRank(4, [&](Team& team) { moments[team.rank()] = SynchronizedStart(team); });
  for (const auto& moment : moments) {
    EXPECT_EQ(moment, moments[0]);
    EXPECT_GT(moment, before + std::chrono::milliseconds(100));
  }
}

}  // namespace
}  // namespace stag::scale
