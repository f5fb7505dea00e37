// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/limits/timeline.h"

#include <gtest/gtest.h>

#include <random>

namespace stag::session {
namespace {

using Parts = std::array<int64_t, kLimits>;

TEST(TimelineTest, WhatIsLearntLaterCounts) {
  Timeline timeline;
  timeline.Add(0, 10, {.open = 1});
  timeline.Add(10, 20, {.open = 2, .limit = 2});
  timeline.Add(20, 30, {.open = 0});
  timeline.Learn(5, 15, {.open = -1, .maybe = 1});  // one of them was not
  timeline.Learn(16, 18, {.moving = 1});
  Parts ns{};
  timeline.Decide(30, ns);
  EXPECT_EQ(ns, (Parts{10, 5, 0, 0, 5 + 5, 5}));
}

TEST(TimelineTest, DecidesUpToAMoment) {
  Timeline timeline;
  timeline.Add(0, 10, {.open = 1});
  Parts ns{};
  timeline.Decide(4, ns);
  EXPECT_EQ(timeline.decided(), 4);
  timeline.Learn(0, 10, {.moving = 1});
  timeline.Decide(10, ns);
  EXPECT_EQ(ns, (Parts{0, 0, 0, 6, 4, 0}));
}

TEST(TimelineTest, RecoveryGoesFirst) {
  Timeline timeline;
  timeline.Add(0, 10, {.recovery = true, .open = 1});
  timeline.Learn(0, 10, {.open = -1, .maybe = 1, .moving = 1});
  Parts ns{};
  timeline.Decide(10, ns);
  EXPECT_EQ(ns, (Parts{0, 0, 10, 0, 0, 0}));
}

// Of the recovery, the time in which all that waited did so for a timer, or nothing but an acknowledgment was missing.
TEST(TimelineTest, WhatATimerTakes) {
  Timeline timeline;
  timeline.Add(0, 20, {.open = 1});
  timeline.Add(20, 30, {.open = 0});
  timeline.Add(30, 40, {.recovery = true, .open = 1});
  timeline.Learn(0, 10, {.waiting = 1, .timed = 1});
  timeline.Learn(4, 6, {.waiting = 1});  // for a NAK
  timeline.Learn(22, 25, {.unacknowledged = 1});
  timeline.Learn(32, 35, {.waiting = 1, .timed = 1});
  Parts ns{};
  timeline.Decide(40, ns);
  EXPECT_EQ(ns, (Parts{7, 0, 10 + 3 + 10, 0, 10, 0}));
  EXPECT_EQ(timeline.timed_ns(), 4 + 4 + 3);
}

TEST(TimelineTest, APacketThatWaitsIsRecovery) {
  Timeline timeline;
  timeline.Add(0, 10, {.open = 1});
  timeline.Add(10, 20, {.open = 0});
  timeline.Learn(4, 8, {.waiting = 1});
  timeline.Learn(5, 9, {.open = -1, .waiting = 1});
  Parts ns{};
  timeline.Decide(20, ns);
  EXPECT_EQ(ns, (Parts{10, 0, 5, 0, 5, 0}));
}

TEST(TimelineTest, ASendThatIsNotAcknowledgedIsRecoveryWhereNoCallIsOutstanding) {
  Timeline timeline;
  timeline.Add(0, 10, {.open = 1});
  timeline.Add(10, 20, {.open = 0});
  timeline.Learn(2, 16, {.unacknowledged = 1});
  Parts ns{};
  timeline.Decide(20, ns);
  EXPECT_EQ(ns, (Parts{4, 0, 6, 0, 10, 0}));
}

// Against a table of single nanoseconds.
TEST(TimelineTest, IsWhatATableOfMomentsSays) {
  std::mt19937 random(7);
  const auto roll = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int round = 0; round < 200; ++round) {
    constexpr int kEnd = 60;
    struct Moment {
      Timeline::Moment what;
      int open = 0, maybe = 0, moving = 0;
    };
    std::array<Moment, kEnd> table;
    Timeline timeline;
    Parts ns{}, expected{};
    int now = 0, decided = 0;
    while (now < kEnd) {
      const int next = std::min(kEnd, now + 1 + roll(7));
      const Timeline::Moment what{roll(9) == 0, static_cast<uint32_t>(roll(4)), roll(2) ? 2u : Timeline::kNoLimit};
      timeline.Add(now, next, what);
      for (int i = now; i < next; ++i) table[static_cast<size_t>(i)].what = what;
      now = next;
      for (int i = roll(3); i > 0; --i) {
        const int begin = roll(now), end = begin + roll(now - begin + 1);
        const int open = -roll(2), maybe = roll(2), moving = roll(2);
        timeline.Learn(begin, end, {.open = open, .maybe = maybe, .moving = moving});
        for (int k = std::max(begin, decided); k < end; ++k) {
          table[static_cast<size_t>(k)].open += open;
          table[static_cast<size_t>(k)].maybe += maybe;
          table[static_cast<size_t>(k)].moving += moving;
        }
      }
      if (roll(4) == 0) {
        decided = std::max(decided, roll(now));
        timeline.Decide(decided, ns);
      }
    }
    timeline.Decide(kEnd, ns);
    for (const Moment& m : table) {
      const int64_t open = int64_t{m.what.open} + m.open;
      Limit what = Limit::kServer;
      if (m.what.recovery) {
        what = Limit::kRecovery;
      } else if (open <= 0) {
        what = m.maybe > 0 ? Limit::kUnknown : Limit::kIdle;
      } else if (open >= m.what.limit) {
        what = Limit::kCreditLimited;
      } else if (m.moving > 0) {
        what = Limit::kMovingData;
      }
      ++expected[static_cast<size_t>(what)];
    }
    EXPECT_EQ(ns, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace stag::session
