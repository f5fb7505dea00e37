// SPDX-License-Identifier: GPL-2.0-or-later
//
// SpinThenSleep: how long it polls after work, by a clock that the test moves.
#include "replay/endpoint/spin_then_sleep.h"

#include <gtest/gtest.h>

namespace stag::endpoint::test {
namespace {

using std::chrono::microseconds;

struct MovedClock {
  using duration = microseconds;
  using time_point = std::chrono::time_point<MovedClock, microseconds>;
  static time_point now() { return time_point(at); }
  static inline microseconds at{1'000'000};
};
using Spin = SpinThenSleepBy<MovedClock>;

// How long it polls after work, to 10 microseconds.
microseconds Polls(Spin& spin) {
  spin.Worked();
  microseconds polled{0};
  for (; spin.Stay(); polled += microseconds(10)) MovedClock::at += microseconds(10);
  return polled;
}
void Sleep(microseconds time) { MovedClock::at += time; }

TEST(SpinThenSleep, PollsForAWhileAfterWork) {
  Spin spin;
  EXPECT_FALSE(spin.Stay());  // there was none
  EXPECT_EQ(Polls(spin), microseconds(50));
  EXPECT_FALSE(spin.Stay());
  Sleep(microseconds(10'000));
  EXPECT_FALSE(spin.Stay());
  EXPECT_EQ(Polls(spin), microseconds(50));
  EXPECT_TRUE(spin.Again(true));
  EXPECT_TRUE(spin.Again(false));
}

TEST(SpinThenSleep, LongerWhereWorkComesSoonAfterIt) {
  Spin spin;
  for (const int64_t expected : {50, 100, 200, 400, 800, 1000, 1000}) {
    EXPECT_EQ(Polls(spin), microseconds(expected));
    Sleep(microseconds(490));
  }
  EXPECT_EQ(Polls(spin), microseconds(1000));
  Sleep(microseconds(1000));
  for (const int64_t expected : {500, 250, 125, 62, 50, 50}) {
    const microseconds polled = Polls(spin);
    EXPECT_GE(polled, microseconds(expected));
    EXPECT_LT(polled, microseconds(expected + 10));
    Sleep(microseconds(2'000));
  }
}

// Polling that was long enough changes nothing.
TEST(SpinThenSleep, AsBeforeWhereWorkComesMeanwhile) {
  Spin spin;
  for (int i = 0; i < 10; ++i) {
    spin.Worked();
    EXPECT_TRUE(spin.Stay());
    Sleep(microseconds(40));
    EXPECT_TRUE(spin.Stay());
  }
  EXPECT_EQ(Polls(spin), microseconds(50));
}

TEST(SpinThenSleep, NeverLongerThanItMay) {
  Spin spin(Spin::kLeast);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Polls(spin), microseconds(50));
    Sleep(microseconds(10));
  }
}

}  // namespace
}  // namespace stag::endpoint::test
