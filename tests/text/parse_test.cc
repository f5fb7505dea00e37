// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/parse.h"

#include <gtest/gtest.h>

namespace stag {
namespace {

TEST(ParseDuration, Units) {
  EXPECT_EQ(ParseDuration("7ns"), 7);
  EXPECT_EQ(ParseDuration("7us"), 7'000);
  EXPECT_EQ(ParseDuration("7ms"), 7'000'000);
  EXPECT_EQ(ParseDuration("7"), 7'000'000'000);
  EXPECT_EQ(ParseDuration("7s"), 7'000'000'000);
  EXPECT_EQ(ParseDuration("2m"), 120'000'000'000);
  EXPECT_EQ(ParseDuration("1h"), 3'600'000'000'000);
  EXPECT_EQ(ParseDuration("1d"), 86'400'000'000'000);
  EXPECT_EQ(ParseDuration("0.5s"), 500'000'000);
  EXPECT_EQ(ParseDuration("0"), 0);
}

TEST(ParseDuration, WhatIsNone) {
  for (const char* text : {"", "s", "-1s", "1 s", "1sec", "x", "nan", "inf", "200000d", "1e300", "5S"})
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
}

TEST(ParseSize, Units) {
  EXPECT_EQ(ParseSize("12"), 12u);
  EXPECT_EQ(ParseSize("4K"), 4096u);
  EXPECT_EQ(ParseSize("4KiB"), 4096u);
  EXPECT_EQ(ParseSize("2m"), 2u << 20);
  EXPECT_EQ(ParseSize("1G"), 1u << 30);
  for (const char* text : {"", "K", "-1", "1.5M", "99999999T", "1KB2", "1 K"})
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
}

}  // namespace
}  // namespace stag
