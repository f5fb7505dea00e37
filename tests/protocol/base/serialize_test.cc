// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/base/serialize.h"

#include <gtest/gtest.h>

namespace stag {
namespace {

enum class Color : uint8_t { kRed, kBlue = 200 };

struct Inner {
  int64_t number = 0;
  std::optional<std::string> text;
};
struct Outer {
  Color color = Color::kRed;
  bool flag = false;
  double ratio = 0;
  uint64_t large = 0;
  std::array<uint16_t, 2> pair{};
  std::vector<Inner> list;
  std::map<std::string, uint32_t> counts;
};

STAG_MEMBERS(Inner, number, text)
STAG_MEMBERS(Outer, color, flag, ratio, large, pair, list, counts)

Outer Example() {
  Outer v;
  v.color = Color::kBlue;
  v.flag = true;
  v.ratio = -0.1;
  v.large = UINT64_MAX;
  v.pair = {128, 65535};
  v.list = {{INT64_MIN, std::nullopt}, {-1, "text with \0 in it"}, {0, ""}};
  v.counts = {{"a", 1}, {"", 300}};
  return v;
}

TEST(Serialize, BringsEveryKindOfValueBack) {
  Outer v;
  std::string more;
  ASSERT_TRUE(Unpack(Pack(Example(), std::string("more")), v, more));
  EXPECT_EQ(v.color, Color::kBlue);
  EXPECT_TRUE(v.flag);
  EXPECT_EQ(v.ratio, -0.1);
  EXPECT_EQ(v.large, UINT64_MAX);
  EXPECT_EQ(v.pair, (std::array<uint16_t, 2>{128, 65535}));
  ASSERT_EQ(v.list.size(), 3u);
  EXPECT_EQ(v.list[0].number, INT64_MIN);
  EXPECT_FALSE(v.list[0].text);
  EXPECT_EQ(v.list[1].number, -1);
  EXPECT_EQ(v.list[1].text, "text with \0 in it");
  EXPECT_EQ(v.list[2].text, "");
  EXPECT_EQ(v.counts, (std::map<std::string, uint32_t>{{"a", 1}, {"", 300}}));
  EXPECT_EQ(more, "more");
}

TEST(Serialize, SmallNumbersAreSmall) {
  EXPECT_EQ(Pack(uint64_t{127}), "\x7f");
  EXPECT_EQ(Pack(uint32_t{300}), "\xac\x02");  // LEB128
}

TEST(Serialize, WhatIsCutOrTooLongIsRefused) {
  const std::string whole = Pack(Example());
  Outer v;
  for (size_t length = 0; length < whole.size(); ++length) EXPECT_FALSE(Unpack(whole.substr(0, length), v)) << length;
  EXPECT_FALSE(Unpack(whole + "x", v));
  uint64_t number = 0;
  EXPECT_FALSE(Unpack(std::string(11, '\xff'), number));
}

// A count of what cannot be there takes no memory.
TEST(Serialize, ACountIsHeldAgainstWhatFollows) {
  std::vector<Inner> list;
  EXPECT_FALSE(Unpack(Pack(uint64_t{1} << 60), list));
  EXPECT_TRUE(list.empty());
  std::string text;
  EXPECT_FALSE(Unpack(Pack(uint64_t{1} << 60) + "abc", text));
}

}  // namespace
}  // namespace stag
