// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/recording/payload_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/messages.h"

namespace stag::recording {
namespace {

using test::Pattern;

TEST(PayloadStore, WhatIsMoreThanTheCapGoesToAFileAndStaysReadable) {
  PayloadStore store(8192, 4096);
  std::vector<Bytes> kept;
  for (uint32_t i = 0; i < 200; ++i) kept.push_back(store.Keep(Pattern(1 + i * 37, i)));
  EXPECT_EQ(store.error(), "");
  EXPECT_LE(store.in_memory(), 8192u);
  EXPECT_GT(store.in_file(), 0u);
  for (uint32_t i = 0; i < 200; ++i) EXPECT_TRUE(std::ranges::equal(kept[i], Pattern(1 + i * 37, i))) << i;
}

TEST(PayloadStore, OneLargerThanABlockAndNothingAtAll) {
  PayloadStore store(1 << 20, 64);
  const Bytes before = store.Keep(Pattern(8, 1));
  const Bytes large = store.Keep(Pattern(100'000, 2));
  const Bytes after = store.Keep(Pattern(8, 3));
  EXPECT_TRUE(std::ranges::equal(large, Pattern(100'000, 2)));
  EXPECT_TRUE(std::ranges::equal(before, Pattern(8, 1)));
  EXPECT_EQ(after.data(), before.data() + 8) << "the rest of the first block is still used";
  EXPECT_TRUE(store.Keep(Bytes{}).empty());
  EXPECT_EQ(store.in_file(), 0u);
}

TEST(PayloadStore, ValuesAreAligned) {
  PayloadStore store(1 << 20);
  store.Keep(Pattern(3));
  const std::span<const uint64_t> values = store.Keep(std::vector<uint64_t>{1, 2, 3});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values.data()) % 8, 0u);
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[2], 3u);
}

TEST(PayloadStore, NoPlaceForAFileIsAnError) {
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before ? before : "";
  ::setenv("TMPDIR", "/proc", 1);  // a directory in which nothing can be made
  PayloadStore store(0);
  EXPECT_TRUE(store.Keep(Pattern(10)).empty());
  EXPECT_NE(store.error().find("/proc"), std::string::npos) << store.error();
  if (before) {
    ::setenv("TMPDIR", saved.c_str(), 1);
  } else {
    ::unsetenv("TMPDIR");
  }
  EXPECT_TRUE(store.Keep(Pattern(10)).empty()) << "what failed once stays failed: nothing is kept in part";
}

}  // namespace
}  // namespace stag::recording
