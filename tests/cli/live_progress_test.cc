// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live/live_progress.h"

#include <gtest/gtest.h>

namespace stag::cli {
namespace {

using std::chrono::milliseconds;

TEST(LiveLine, RatesAreThoseOfTheLastMoment) {
  const LiveCounts before{.answers = 1000, .bytes = 5'000'000, .outstanding = 1, .errors = 0};
  const LiveCounts now{.answers = 3000, .bytes = 6'500'000, .outstanding = 32, .errors = 4};
  EXPECT_EQ(LiveLine(before, now, milliseconds(500), milliseconds(3200)),
            "3.2 s  4000 calls/s  3.0 MB/s  outstanding 32  errors 4");
  EXPECT_EQ(LiveLine(now, now, milliseconds(0), milliseconds(0)),
            "0.0 s  0 calls/s  0.0 MB/s  outstanding 32  errors 4");
}

}  // namespace
}  // namespace stag::cli
