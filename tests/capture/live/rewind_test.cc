// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/rewind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace stag::capture {
namespace {

using std::chrono::seconds;

constexpr int64_t kApart = 1'000'000'000;  // ns between packets

std::vector<std::byte> Filled(uint64_t number, size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(number * 7 + i);
  return bytes;
}

void Put(Rewind& rewind, uint64_t number, int64_t time_ns, size_t size) {
  const auto bytes = Filled(number, size);
  rewind.Put({{number, time_ns}, LinkType::kEthernet, bytes, static_cast<uint32_t>(size)},
             number % 2 == 0 ? "even" : "");
}

// The numbers of what is kept; contents and comments are looked at on the way.
std::vector<uint64_t> Drain(Rewind& rewind) {
  std::vector<uint64_t> numbers;
  rewind.Drain([&](const Frame& frame, std::string_view comment) {
    numbers.push_back(frame.ref.number);
    EXPECT_EQ(comment, frame.ref.number % 2 == 0 ? "even" : "");
    EXPECT_TRUE(std::ranges::equal(frame.bytes, Filled(frame.ref.number, frame.bytes.size()))) << frame.ref.number;
  });
  return numbers;
}

TEST(Rewind, KeepsTheLastSeconds) {
  Rewind rewind(seconds(2), 1 << 20);
  for (uint64_t i = 1; i <= 10; ++i) Put(rewind, i, static_cast<int64_t>(i) * kApart, 100);
  EXPECT_FALSE(rewind.short_of_room());
  EXPECT_EQ(Drain(rewind), (std::vector<uint64_t>{8, 9, 10}));
  EXPECT_EQ(rewind.frames(), 0u);
}

TEST(Rewind, ShortOfRoomTheOldestGo) {
  Rewind rewind(seconds(1000), 1 << 20);
  for (uint64_t i = 1; i <= 100; ++i) Put(rewind, i, static_cast<int64_t>(i), 100'000 + i * 37);
  EXPECT_TRUE(rewind.short_of_room());
  const auto kept = Drain(rewind);
  ASSERT_GE(kept.size(), 8u);
  EXPECT_EQ(kept.back(), 100u);
  for (size_t i = 1; i < kept.size(); ++i) EXPECT_EQ(kept[i], kept[i - 1] + 1);
}

TEST(Rewind, AllSizes) {
  Rewind rewind(seconds(1000), 1 << 20);
  uint64_t number = 0;
  for (size_t round = 0; round < 40; ++round)
    for (const size_t size : {0u, 1u, 60u, 1500u, 9000u, 65536u, 262144u, 0u, 5u}) {
      ++number;
      Put(rewind, number, static_cast<int64_t>(number), size);
    }
  const auto kept = Drain(rewind);
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.back(), number);
  for (size_t i = 1; i < kept.size(); ++i) EXPECT_EQ(kept[i], kept[i - 1] + 1);
}

TEST(Rewind, LargerThanTheRing) {
  Rewind rewind(seconds(1), 1 << 20);
  Put(rewind, 1, 1, 100);
  Put(rewind, 3, 2, 2 << 20);
  EXPECT_TRUE(rewind.short_of_room());
  EXPECT_EQ(Drain(rewind), std::vector<uint64_t>{1});
}

}  // namespace
}  // namespace stag::capture
