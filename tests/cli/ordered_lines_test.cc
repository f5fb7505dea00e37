// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/ordered_lines.h"

#include <gtest/gtest.h>

namespace stag::cli {
namespace {

constexpr uint64_t kAll = ~uint64_t{0};

std::string Take(std::string& out) {
  std::string text(out.data(), out.size());
  out.clear();
  return text;
}

TEST(OrderedLines, WaitsForWhatComesBefore) {
  OrderedLines lines({});
  std::string out;
  lines.Open(1, 1);
  lines.Open(2, 2);
  lines.Open(3, 3);
  lines.Close(2, 2, "b");
  lines.Release(kAll, out);
  EXPECT_EQ(Take(out), "");
  lines.Close(1, 1, "a");
  lines.Release(kAll, out);
  EXPECT_EQ(Take(out), "ab");
  lines.Close(3, 3, "c");
  lines.Release(kAll, out);
  EXPECT_EQ(Take(out), "c");
}

TEST(OrderedLines, HoldsBackKeysAboveTheLimit) {
  OrderedLines lines({});
  std::string out;
  lines.Open(10, 1);
  lines.Close(10, 1, "x");
  lines.Release(9, out);
  EXPECT_EQ(Take(out), "");
  lines.Open(5, 2);  // opened late, belongs before
  lines.Close(5, 2, "w");
  lines.Release(10, out);
  EXPECT_EQ(Take(out), "wx");
}

TEST(OrderedLines, TellsEqualKeysApart) {
  OrderedLines lines({});
  std::string out;
  lines.Open(7, 1);
  lines.Open(7, 2);
  lines.Close(7, 2, "second");
  lines.Drop(7, 1);
  lines.Release(kAll, out);
  EXPECT_EQ(Take(out), "second");
}

TEST(OrderedLines, GivesUpTheOldestWhenTooMuchWaits) {
  OrderedLines lines({.places = 3});
  std::string out;
  for (uint64_t i = 1; i <= 4; ++i) lines.Open(i, i);
  lines.Close(2, 2, "b");
  lines.Release(kAll, out);  // 1 is given up, then nothing is over the limit
  EXPECT_EQ(lines.given_up(), 1u);
  lines.Release(kAll, out);
  EXPECT_EQ(Take(out), "b");
  lines.Close(1, 1, "a");  // late, out of order, not lost
  lines.Release(kAll, out);
  EXPECT_EQ(Take(out), "a");
}

TEST(OrderedLines, BoundsTheTextThatWaits) {
  OrderedLines lines({.places = 100, .bytes = 10});
  std::string out;
  lines.Open(1, 1);
  for (uint64_t i = 2; i < 6; ++i) {
    lines.Open(i, i);
    lines.Close(i, i, "1234");
    lines.Release(kAll, out);
  }
  EXPECT_EQ(lines.given_up(), 1u);
  lines.Finish(out);
  EXPECT_EQ(Take(out), "1234123412341234");
}

// Lines of places that were given up leave at once. Each takes as long, however many wait.
TEST(OrderedLines, ManyLinesOfPlacesThatWereGivenUp) {
  OrderedLines lines({.places = 100'000});
  std::string out;
  for (uint64_t i = 1; i <= 300'000; ++i) lines.Open(i, i);
  lines.Release(kAll, out);
  EXPECT_EQ(lines.given_up(), 200'000u);
  for (uint64_t i = 1; i <= 200'000; ++i) {
    lines.Close(i, i, "x");
    lines.Release(kAll, out);
    EXPECT_EQ(Take(out), "x");
  }
}

TEST(OrderedLines, FinishForgetsWhatNeverCame) {
  OrderedLines lines({});
  std::string out;
  lines.Open(1, 1);
  lines.Open(2, 2);
  lines.Close(2, 2, "b");
  lines.Finish(out);
  EXPECT_EQ(Take(out), "b");
}

TEST(OrderedLines, ManyLinesKeepTheirOrder) {
  OrderedLines lines({});
  std::string out;
  std::string want, got;
  for (uint64_t block = 0; block < 500; ++block) {
    for (uint64_t i = 0; i < 8; ++i) {
      lines.Open(block * 8 + i, i);
      want += std::to_string(block * 8 + i) + " ";
    }
    for (uint64_t i = 8; i-- > 0;) {
      const uint64_t key = block * 8 + (i * 5 + 3) % 8;
      lines.Close(key, key % 8, std::to_string(key) + " ");
      lines.Release(kAll, out);
    }
    got += Take(out);
  }
  EXPECT_EQ(got, want);
}

}  // namespace
}  // namespace stag::cli
