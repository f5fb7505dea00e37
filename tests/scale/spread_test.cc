// SPDX-License-Identifier: GPL-2.0-or-later
#include "scale/spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "tests/support/fake_team.h"

namespace stag::scale {
namespace {

// A piece says its number so often, which is more than one message for some.
std::string Made(size_t piece) {
  std::string text;
  const size_t times = piece % 3 == 0 ? 0 : piece % 3 == 1 ? 10 : 400'000;
  for (size_t i = 0; i < times; ++i) text.append(std::to_string(piece)).append(" ");
  return text;
}

// Work spread over `ranks`; what rank 0 collected, up to piece `wanted`.
std::vector<std::string> Spread(size_t ranks, const std::vector<size_t>& order, size_t wanted) {
  std::vector<std::string> collected;
  std::vector<std::atomic<int>> done(order.size());
  test::OnEveryRank(ranks, [&](Team& team) {
    const auto work = [&] {
      WorkFor(team, [&](size_t piece, Spool& made) {
        ++done[piece];
        const std::string text = Made(piece);
        made.Append(text.substr(0, text.size() / 2));
        made.Append(text.substr(text.size() / 2));
      });
    };
    if (!team.leads()) return work();
    std::thread own(work);
    Leader leader(team, order);
    for (size_t piece = 0; piece < wanted; ++piece) {
      collected.emplace_back();
      leader.Collect(piece, [&](std::string_view bytes) { collected.back().append(bytes); });
    }
    leader.End();
    own.join();
  });
  for (size_t piece = 0; piece < done.size(); ++piece) EXPECT_LE(done[piece], 1);
  return collected;
}

TEST(Spread, CollectsEveryPieceInOrderHoweverItIsHandedOut) {
  for (const size_t ranks : {1u, 2u, 5u}) {
    for (const size_t pieces : {0u, 1u, 3u, 20u}) {
      std::vector<size_t> order(pieces);
      std::iota(order.begin(), order.end(), size_t{0});
      for (int direction = 0; direction < 2; ++direction, std::ranges::reverse(order)) {
        const std::vector<std::string> collected = Spread(ranks, order, pieces);
        ASSERT_EQ(collected.size(), pieces);
        for (size_t piece = 0; piece < pieces; ++piece) EXPECT_TRUE(collected[piece] == Made(piece)) << piece;
      }
    }
  }
}

TEST(Spread, EndsEarlyWhenNoMoreIsWanted) {
  std::vector<size_t> order(50);
  std::iota(order.rbegin(), order.rend(), size_t{0});
  EXPECT_EQ(Spread(3, order, 2).size(), 2u);
}

}  // namespace
}  // namespace stag::scale
