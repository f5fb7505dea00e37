// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/device_clock.h"

#include <gtest/gtest.h>

namespace stag::capture {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'700'000'000 * kSecond;

TEST(DeviceClock, FollowsTheNominalRateFromTheFirstReading) {
  DeviceClock clock(1e9 / 4, ~uint64_t{0});  // 250 MHz: 4 ns a tick
  clock.Reading(1000, kNow);
  EXPECT_EQ(clock.Time(1000), kNow);
  EXPECT_EQ(clock.Time(1250), kNow + 1000);
  EXPECT_EQ(clock.Time(750), kNow - 1000);
}

TEST(DeviceClock, MeasuresTheRealRate) {
  DeviceClock clock(1e9, ~uint64_t{0});
  clock.Reading(0, kNow);
  // 10 parts in a million too slow.
  clock.Reading(2 * kSecond - 20'000, kNow + 2 * kSecond);
  EXPECT_NEAR(static_cast<double>(clock.Time(static_cast<uint64_t>(4 * kSecond - 40'000)) - kNow), 4.0 * kSecond, 1000);
}

TEST(DeviceClock, Wraps) {
  constexpr uint64_t kMask = 0xffffffff;  // 32 bits
  DeviceClock clock(1e9, kMask);
  clock.Reading(kMask - 999, kNow);
  EXPECT_EQ(clock.Time(0), kNow + 1000);
  EXPECT_EQ(clock.Time(500), kNow + 1500);
  clock.Reading(1'000'000'000, kNow + 1'000'001'000);
  EXPECT_EQ(clock.Time(1'000'000'000), kNow + 1'000'001'000);
  EXPECT_NEAR(static_cast<double>(clock.Time(kMask - 999) - kNow), 0, 100);
}

}  // namespace
}  // namespace stag::capture
