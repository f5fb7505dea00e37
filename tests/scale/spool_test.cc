// SPDX-License-Identifier: GPL-2.0-or-later
#include "scale/spool.h"

#include <gtest/gtest.h>

namespace stag::scale {
namespace {

// What Read gives, and how many parts were the last.
std::pair<std::string, int> ReadAll(Spool& spool, uint64_t from, uint64_t to, size_t part) {
  std::pair<std::string, int> got;
  spool.Read(from, to, part, [&](std::string_view bytes, bool last) {
    EXPECT_LE(bytes.size(), part);
    EXPECT_EQ(got.second, 0);
    got.first.append(bytes);
    got.second += last;
  });
  return got;
}

// Each byte tells where it is.
std::string Text(size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) text.push_back(static_cast<char>('a' + i % 23));
  return text;
}

TEST(Spool, GivesEveryRangeBackWhateverIsInTheFile) {
  const std::string text = Text(100);
  for (const size_t in_memory : {0u, 1u, 7u, 50u, 1000u}) {
    Spool spool(in_memory);
    for (size_t at = 0; at < text.size(); at += 10) spool.Append(text.substr(at, 10));
    ASSERT_EQ(spool.size(), text.size());
    for (size_t from = 0; from <= text.size(); from += 3)
      for (size_t to = from; to <= text.size(); to += 7)
        for (const size_t part : {1u, 9u, 1000u})
          ASSERT_EQ(ReadAll(spool, from, to, part), std::pair(text.substr(from, to - from), 1)) << in_memory;
  }
}

TEST(Spool, IsWrittenOnAfterItWasRead) {
  Spool spool(4);
  spool.Append("0123456789");
  EXPECT_EQ(ReadAll(spool, 2, 5, 100).first, "234");
  spool.Append("abcdefghij");
  EXPECT_EQ(ReadAll(spool, 8, 12, 100).first, "89ab");
  spool.Clear();
  EXPECT_EQ(spool.size(), 0u);
  spool.Append("xyz");
  EXPECT_EQ(ReadAll(spool, 0, 3, 2).first, "xyz");
}

}  // namespace
}  // namespace stag::scale
