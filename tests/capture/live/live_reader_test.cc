// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/live_reader.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <thread>
#include <vector>

namespace stag::capture {
namespace {

// Gives `packets` of them, then fails or is silent.
class FakeSource final : public PacketSource {
 public:
  uint64_t packets = 0;
  std::string trouble;
  size_t size = 100;
  std::vector<int64_t> times;  // of packets, in turns; empty: counted

  const std::string& name() const override { return name_; }
  LinkType link() const override { return LinkType::kEthernet; }
  uint32_t snaplen() const override { return 262144; }
  Result<size_t> Receive(PacketSink& sink, std::chrono::milliseconds) override {
    if (given_ == packets) {
      if (!trouble.empty()) return Fail(trouble);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return size_t{0};
    }
    const std::vector<std::byte> bytes(size, static_cast<std::byte>(given_));
    const int64_t time = times.empty() ? static_cast<int64_t>(given_ + 1) : times[given_ % times.size()];
    ++given_;
    sink.OnPacket({time, LinkType::kEthernet, bytes, static_cast<uint32_t>(size)});
    return size_t{1};
  }
  SourceStats stats() override { return {given_, 3, 4}; }

 private:
  std::string name_ = "fake0";
  uint64_t given_ = 0;
};

struct Ran {
  std::vector<uint64_t> read, after;
  uint64_t idle = 0;
  Reader::Next end = Reader::Next::kFrame;
  std::string error;
  LiveCounts counts;
};

Ran Capture(FakeSource& source, const LiveOptions& options,
            std::function<void(LiveReader&, uint64_t idle)> on_idle = {}) {
  Ran ran;
  LiveReader* reader_now = nullptr;
  LiveReader reader(
      source, options, [&](const Frame& frame) { ran.after.push_back(frame.ref.number); },
      [&] {
        ++ran.idle;
        if (on_idle) on_idle(*reader_now, ran.idle);
      });
  reader_now = &reader;
  Frame frame;
  while ((ran.end = reader.ReadFrame(frame)) == Reader::Next::kFrame) {
    ran.read.push_back(frame.ref.number);
    EXPECT_EQ(frame.bytes[0], static_cast<std::byte>(frame.ref.time_ns - 1));
  }
  ran.error = reader.error();
  ran.counts = reader.counts();
  return ran;
}

// Times as packets come, of a capture of packets with these times.
std::vector<int64_t> Times(std::vector<int64_t> times, Order order = Order::kAuto) {
  FakeSource source;
  source.packets = times.size();
  source.times = std::move(times);
  LiveReader* reader_now = nullptr;
  std::vector<int64_t> after;
  LiveOptions options;
  options.order = order;
  LiveReader reader(
      source, options, [&](const Frame& frame) { after.push_back(frame.ref.time_ns); }, [&] { reader_now->End(); });
  reader_now = &reader;
  std::vector<int64_t> read;
  Frame frame;
  while (reader.ReadFrame(frame) == Reader::Next::kFrame) {
    read.push_back(frame.ref.time_ns);
    EXPECT_EQ(frame.ref.number, read.size());
    EXPECT_EQ(frame.bytes.size(), 100u);
    EXPECT_EQ(std::ranges::count(frame.bytes, frame.bytes[0]), 100);
  }
  EXPECT_EQ(read, after);
  return read;
}

std::vector<uint64_t> UpTo(uint64_t n) {
  std::vector<uint64_t> numbers(n);
  for (uint64_t i = 0; i < n; ++i) numbers[i] = i + 1;
  return numbers;
}

constexpr int64_t kMs = 1'000'000;

TEST(LiveReader, PacketsWhoseTimesGoBack) {
  std::vector<int64_t> queues, sorted;
  for (int64_t batch = 0; batch < 20; ++batch)
    for (int64_t side = 0; side < 2; ++side)
      for (int64_t i = 0; i < 25; ++i) queues.push_back(batch * 50 * kMs + i * 2 * kMs + side * kMs);
  sorted = queues;
  std::ranges::sort(sorted);
  EXPECT_EQ(Times(queues, Order::kFile), queues);
  EXPECT_EQ(Times(queues, Order::kTime), sorted);
  // The first queue had been given when the second came.
  const std::vector<int64_t> by_itself = Times(queues);
  EXPECT_TRUE(std::ranges::equal(std::span(by_itself).first(25), std::span(queues).first(25)));
  EXPECT_TRUE(std::ranges::is_sorted(by_itself.begin() + 25, by_itself.end()));
}

TEST(LiveReader, AClockThatWasSet) {
  const std::vector<int64_t> times = {900 * kMs, 950 * kMs, 300 * kMs, 350 * kMs, 960 * kMs};
  EXPECT_EQ(Times(times), times);
}

TEST(LiveReader, UntilItIsTold) {
  FakeSource source;
  source.packets = 1000;
  const Ran ran = Capture(source, {}, [](LiveReader& reader, uint64_t) { reader.End(); });
  EXPECT_EQ(ran.read, UpTo(1000));
  EXPECT_EQ(ran.after, UpTo(1000));
  EXPECT_EQ(ran.end, Reader::Next::kEnd);
  EXPECT_EQ(ran.counts.frames, 1000u);
  EXPECT_EQ(ran.counts.bytes, 100'000u);
  EXPECT_EQ(ran.counts.source.received, 1000u);
  EXPECT_EQ(ran.counts.source.dropped, 3u);
  EXPECT_EQ(ran.counts.source.dropped_on_wire, 4u);
}

TEST(LiveReader, SoManyPackets) {
  FakeSource source;
  source.packets = 1000;
  LiveOptions options;
  options.packets = 10;
  const Ran ran = Capture(source, options);
  EXPECT_EQ(ran.read, UpTo(10));
  EXPECT_EQ(ran.after, UpTo(10));
  EXPECT_EQ(ran.end, Reader::Next::kEnd);
}

TEST(LiveReader, SomeTime) {
  FakeSource source;
  source.packets = 5;
  LiveOptions options;
  options.duration = std::chrono::milliseconds(1);
  EXPECT_EQ(Capture(source, options).read, UpTo(5));
}

TEST(LiveReader, ADescriptorEndsIt) {
  FakeSource source;
  source.packets = 5;
  LiveOptions options;
  options.stop = ::eventfd(1, EFD_CLOEXEC);
  const Ran ran = Capture(source, options);
  ::close(options.stop);
  EXPECT_EQ(ran.read, UpTo(5));
  EXPECT_EQ(ran.end, Reader::Next::kEnd);
}

TEST(LiveReader, ADeviceThatFails) {
  FakeSource source;
  source.packets = 5;
  source.trouble = "fake0: gone";
  const Ran ran = Capture(source, {});
  EXPECT_EQ(ran.read, UpTo(5));
  EXPECT_EQ(ran.end, Reader::Next::kDamaged);
  EXPECT_EQ(ran.error, "fake0: gone");
}

TEST(LiveReader, EveryPacketIsReadOrCounted) {
  FakeSource source;
  source.packets = 20'000;
  source.size = 9000;
  LiveOptions options;
  options.queue = 1 << 20;
  const Ran ran = Capture(source, options, [](LiveReader& reader, uint64_t idle) {
    if (idle > 2) reader.End();
  });
  EXPECT_EQ(ran.counts.frames + ran.counts.queue_dropped, 20'000u);
}

}  // namespace
}  // namespace stag::capture
