// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/packet_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace stag::capture {
namespace {

using std::chrono::milliseconds;

// A packet whose bytes follow from its number.
std::vector<std::byte> Content(uint64_t number, size_t size) {
  static const std::vector<std::byte> counted = [] {
    std::vector<std::byte> bytes(3 << 20);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
    return bytes;
  }();
  const auto begin = counted.begin() + static_cast<ptrdiff_t>(number * 31 % 256);
  return {begin, begin + static_cast<ptrdiff_t>(size)};
}

Packet PacketOf(uint64_t number, const std::vector<std::byte>& bytes) {
  return {static_cast<int64_t>(number), LinkType::kEthernet, bytes, static_cast<uint32_t>(bytes.size() + 10)};
}

TEST(PacketQueue, GivesWhatItTook) {
  PacketQueue queue(1 << 20);
  const auto bytes = Content(7, 100);
  queue.OnPacket({7, LinkType::kInfiniBand, bytes, 2000});
  const auto packet = queue.Front(milliseconds(0));
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->time_ns, 7);
  EXPECT_EQ(packet->link, LinkType::kInfiniBand);
  EXPECT_EQ(packet->wire_length, 2000u);
  EXPECT_EQ(std::vector(packet->bytes.begin(), packet->bytes.end()), bytes);
  queue.Pop();
  EXPECT_FALSE(queue.Front(milliseconds(0)));
}

TEST(PacketQueue, EmptyPacket) {
  PacketQueue queue(1 << 20);
  queue.OnPacket({1, LinkType::kEthernet, {}, 60});
  const auto packet = queue.Front(milliseconds(0));
  ASSERT_TRUE(packet);
  EXPECT_TRUE(packet->bytes.empty());
  EXPECT_EQ(packet->wire_length, 60u);
}

TEST(PacketQueue, WhatDoesNotFitIsCountedAndTheRestIsWhole) {
  PacketQueue queue(1 << 20);
  const size_t size = 100'000;
  uint64_t put = 0;
  for (; queue.dropped() == 0; ++put) queue.OnPacket(PacketOf(put, Content(put, size)));
  EXPECT_EQ(put, 11u);  // ten fit into 2^20 bytes
  EXPECT_EQ(queue.dropped_bytes(), size + 10);
  EXPECT_GT(queue.high_water(), 10 * size);
  // One goes, one comes: round and round.
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < 10; ++i) expected.push_back(i);
  for (uint64_t number = 100; number < 150; ++number) {
    const auto packet = queue.Front(milliseconds(0));
    ASSERT_TRUE(packet);
    EXPECT_EQ(static_cast<uint64_t>(packet->time_ns), expected.front());
    const auto bytes = Content(expected.front(), size);
    EXPECT_TRUE(std::ranges::equal(packet->bytes, bytes)) << number;
    expected.erase(expected.begin());
    queue.Pop();
    const uint64_t before = queue.dropped();
    queue.OnPacket(PacketOf(number, Content(number, size)));
    if (queue.dropped() == before) expected.push_back(number);
  }
  for (const uint64_t number : expected) {
    const auto packet = queue.Front(milliseconds(0));
    ASSERT_TRUE(packet);
    EXPECT_EQ(static_cast<uint64_t>(packet->time_ns), number);
    queue.Pop();
  }
}

TEST(PacketQueue, LargerThanTheRing) {
  PacketQueue queue(1 << 20);
  queue.OnPacket(PacketOf(1, Content(1, 2 << 20)));
  EXPECT_EQ(queue.dropped(), 1u);
  EXPECT_FALSE(queue.Front(milliseconds(0)));
}

TEST(PacketQueue, EndsOnceItIsEmpty) {
  PacketQueue queue(1 << 20);
  queue.OnPacket(PacketOf(1, Content(1, 10)));
  queue.Close();
  EXPECT_FALSE(queue.finished());
  ASSERT_TRUE(queue.Front(milliseconds(1000)));
  queue.Pop();
  EXPECT_FALSE(queue.Front(milliseconds(10'000)));  // at once
  EXPECT_TRUE(queue.finished());
}

TEST(PacketQueue, TwoThreads) {
  PacketQueue queue(1 << 20);
  constexpr uint64_t kPackets = 200'000;
  std::thread producer([&] {
    std::minstd_rand random(1);
    for (uint64_t i = 0; i < kPackets; ++i) queue.OnPacket(PacketOf(i, Content(i, random() % 3000)));
    queue.Close();
  });
  uint64_t got = 0, wrong = 0;
  int64_t last = -1;
  while (!queue.finished()) {
    const auto packet = queue.Front(milliseconds(100));
    if (!packet) continue;
    ++got;
    wrong += packet->time_ns <= last;
    last = packet->time_ns;
    const auto expected = Content(static_cast<uint64_t>(packet->time_ns), packet->bytes.size());
    wrong += !expected.empty() && std::memcmp(packet->bytes.data(), expected.data(), expected.size()) != 0;
    queue.Pop();
  }
  producer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(got + queue.dropped(), kPackets);
}

}  // namespace
}  // namespace stag::capture
