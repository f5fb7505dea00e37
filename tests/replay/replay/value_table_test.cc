// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/value_table.h"

#include <gtest/gtest.h>

namespace stag::replay {
namespace {

Bytes Of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string Text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

TEST(ValueTable, KeepsTheNewestOfEachKey) {
  ValueTable table(1 << 20);
  EXPECT_TRUE(table.Find("a").empty());
  table.Set("a", Of("one"));
  table.Set("b", Of("two"));
  table.Set("a", Of("three"));
  EXPECT_EQ(Text(table.Find("a")), "three");
  EXPECT_EQ(Text(table.Find("b")), "two");
  EXPECT_EQ(table.forgotten(), 0u);
}

TEST(ValueTable, ForgetsWhatWasNotUsedForTheLongestTime) {
  ValueTable table(16 << 10);
  table.Set("used", Of("value"));
  for (int i = 0; i < 1000; ++i) {
    table.Set("key " + std::to_string(i), Of("value"));
    EXPECT_EQ(Text(table.Find("used")), "value");
  }
  EXPECT_GT(table.forgotten(), 900u);
  EXPECT_TRUE(table.Find("key 0").empty());
  EXPECT_EQ(Text(table.Find("key 999")), "value");
}

TEST(ValueTable, OneValueIsKeptWhateverItTakes) {
  ValueTable table(1);
  table.Set("a", Of("one"));
  EXPECT_EQ(Text(table.Find("a")), "one");
  table.Set("b", Of("two"));
  EXPECT_TRUE(table.Find("a").empty());
  EXPECT_EQ(table.forgotten(), 1u);
}

}  // namespace
}  // namespace stag::replay
