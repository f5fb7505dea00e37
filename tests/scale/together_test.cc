// SPDX-License-Identifier: GPL-2.0-or-later
#include "scale/together.h"

#include <gtest/gtest.h>

#include "tests/support/fake_team.h"

namespace stag::scale {
namespace {

TEST(Together, RankZeroGathersByRank) {
  test::OnEveryRank(4, [](Team& team) {
    const std::vector<std::string> all = Gather(team, "of " + std::to_string(team.rank()));
    if (team.leads()) {
      EXPECT_EQ(all, (std::vector<std::string>{"of 0", "of 1", "of 2", "of 3"}));
    } else {
      EXPECT_TRUE(all.empty());
    }
  });
}

TEST(Together, AllGetWhatRankZeroShares) {
  test::OnEveryRank(3, [](Team& team) { EXPECT_EQ(Share(team, team.leads() ? "this" : "not this"), "this"); });
}

TEST(Together, AllAgreeOnOneMomentThatIsStillToCome) {
  std::vector<std::chrono::system_clock::time_point> moments(4);
  const auto before = std::chrono::system_clock::now();
  test::OnEveryRank(4, [&](Team& team) { moments[team.rank()] = AgreeOnStart(team); });
  for (const auto& moment : moments) {
    EXPECT_EQ(moment, moments[0]);
    EXPECT_GT(moment, before + std::chrono::milliseconds(100));
  }
}

}  // namespace
}  // namespace stag::scale
