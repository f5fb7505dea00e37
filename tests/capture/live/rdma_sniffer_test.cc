// SPDX-License-Identifier: GPL-2.0-or-later
//
// RdmaSniffer with a device in memory.
#include "capture/live/rdma_sniffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

namespace stag::capture {
namespace {

constexpr uint32_t kSlots = 8, kSlotSize = 256;
constexpr int64_t kEpoch = 1'700'000'000'000'000'000;

// Packets go to the posted buffers in order, as in a receive queue; what finds none is counted.
struct FakeState {
  std::vector<std::byte> memory = std::vector<std::byte>(kSlots * kSlotSize);
  std::deque<uint32_t> posted;
  std::deque<Arrival> completed;
  std::vector<size_t> posts;      // sizes of the lists
  uint64_t out_of_buffer = 1000;  // from before
  bool counts = true;
  SnifferDevice::Clock clock{};
  std::optional<ClockReading> reading;
  std::string trouble;

  void Come(uint8_t fill, uint32_t length, std::optional<uint64_t> timestamp = {}, bool failed = false) {
    if (posted.empty()) {
      ++out_of_buffer;
      return;
    }
    const uint32_t slot = posted.front();
    posted.pop_front();
    std::memset(&memory[slot * kSlotSize], fill, std::min(length, kSlotSize));
    completed.push_back({slot, length, timestamp, failed});
  }
};

class FakeDevice final : public SnifferDevice {
 public:
  explicit FakeDevice(FakeState& state) : s_(state) {}
  LinkType link() const override { return LinkType::kEthernet; }
  uint32_t slots() const override { return kSlots; }
  Bytes slot(uint32_t index) const override { return Bytes(s_.memory).subspan(index * kSlotSize, kSlotSize); }
  Result<void> Post(std::span<const uint32_t> slots) override {
    s_.posts.push_back(slots.size());
    s_.posted.insert(s_.posted.end(), slots.begin(), slots.end());
    return {};
  }
  Result<size_t> Poll(std::span<Arrival> out) override {
    if (!s_.trouble.empty()) return Fail(s_.trouble);
    size_t count = 0;
    while (count < out.size() && !s_.completed.empty()) {
      out[count++] = s_.completed.front();
      s_.completed.pop_front();
    }
    return count;
  }
  Result<void> Wait(std::chrono::milliseconds) override { return {}; }
  Clock clock() const override { return s_.clock; }
  std::optional<ClockReading> ReadClock() override { return s_.reading; }
  std::optional<uint64_t> OutOfBuffer() override { return s_.counts ? std::optional(s_.out_of_buffer) : std::nullopt; }

 private:
  FakeState& s_;
};

struct Collected final : PacketSink {
  struct One {
    int64_t time_ns;
    uint32_t wire_length;
    std::vector<std::byte> bytes;
  };
  std::vector<One> packets;
  void OnPacket(const Packet& packet) override {
    packets.push_back({packet.time_ns, packet.wire_length, {packet.bytes.begin(), packet.bytes.end()}});
  }
};

class RdmaSnifferTest : public testing::Test {
 protected:
  void Open(uint32_t snaplen = 262144) {
    SnifferOptions options;
    options.device = "fake0";
    options.snaplen = snaplen;
    auto opened = RdmaSniffer::Open(std::make_unique<FakeDevice>(state_), options);
    ASSERT_TRUE(opened);
    sniffer_ = std::move(*opened);
  }
  size_t Receive() {
    const auto got = sniffer_->Receive(sink_, std::chrono::milliseconds(1));
    EXPECT_TRUE(got);
    return got.value_or(0);
  }
  FakeState state_;
  std::unique_ptr<PacketSource> sniffer_;
  Collected sink_;
};

TEST_F(RdmaSnifferTest, PostsAllAndGivesBackInLists) {
  Open();
  EXPECT_EQ(state_.posts, std::vector<size_t>{kSlots});
  for (uint8_t round = 0; round < 5; ++round) {  // round and round through the buffers
    for (uint8_t i = 0; i < 6; ++i) state_.Come(static_cast<uint8_t>(round * 6 + i), 60u + i);
    EXPECT_EQ(Receive(), 6u);
    EXPECT_EQ(state_.posted.size(), kSlots);
  }
  ASSERT_EQ(sink_.packets.size(), 30u);
  for (size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(sink_.packets[i].wire_length, 60 + i % 6);
    EXPECT_EQ(sink_.packets[i].bytes, std::vector(60 + i % 6, static_cast<std::byte>(i)));
  }
  EXPECT_EQ(state_.posts.size(), 6u);
  EXPECT_EQ(sniffer_->stats().received, 30u);
  EXPECT_EQ(sniffer_->stats().dropped, 0u);
}

TEST_F(RdmaSnifferTest, CountsWhatFoundNoBuffer) {
  Open();
  for (int i = 0; i < 11; ++i) state_.Come(1, 100);
  EXPECT_EQ(Receive(), kSlots);
  EXPECT_EQ(sniffer_->stats().dropped, 3u);  // not the 1000 from before
}

TEST_F(RdmaSnifferTest, AReceiveThatFailedIsALoss) {
  Open();
  state_.Come(1, 100);
  state_.Come(2, 100, {}, true);
  state_.Come(3, 100);
  EXPECT_EQ(Receive(), 2u);
  EXPECT_EQ(sniffer_->stats().dropped, 1u);
  EXPECT_EQ(state_.posted.size(), kSlots);
}

TEST_F(RdmaSnifferTest, LossesUnknown) {
  state_.counts = false;
  Open();
  state_.Come(1, 100);
  Receive();
  EXPECT_EQ(sniffer_->stats().dropped, std::nullopt);
}

TEST_F(RdmaSnifferTest, Snaplen) {
  Open(64);
  state_.Come(9, 200);
  Receive();
  ASSERT_EQ(sink_.packets.size(), 1u);
  EXPECT_EQ(sink_.packets[0].wire_length, 200u);
  EXPECT_EQ(sink_.packets[0].bytes, std::vector(64, std::byte{9}));
}

TEST_F(RdmaSnifferTest, TimesOfTheDevice) {
  state_.clock = {1e9 / 8, ~uint64_t{0}, false};  // 8 ns a tick
  state_.reading = ClockReading{1'000'000, kEpoch};
  Open();
  state_.Come(1, 60, 1'000'000 + 125);
  state_.Come(2, 60, 1'000'000 - 125);
  Receive();
  ASSERT_EQ(sink_.packets.size(), 2u);
  EXPECT_EQ(sink_.packets[0].time_ns, kEpoch + 1000);
  EXPECT_EQ(sink_.packets[1].time_ns, kEpoch - 1000);
}

TEST_F(RdmaSnifferTest, WallClock) {
  state_.clock = {1e9, ~uint64_t{0}, true};
  Open();
  state_.Come(1, 60, kEpoch + 5);
  Receive();
  EXPECT_EQ(sink_.packets.at(0).time_ns, kEpoch + 5);
}

TEST_F(RdmaSnifferTest, ADeviceThatFails) {
  Open();
  state_.trouble = "fake0: gone";
  const auto got = sniffer_->Receive(sink_, std::chrono::milliseconds(1));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "fake0: gone");
}

}  // namespace
}  // namespace stag::capture
