// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/times/ordered_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/capture/file/file_bytes.h"

namespace stag::capture {
namespace {

constexpr int64_t kMs = 1'000'000, kBegin = int64_t{1'700'000'000} * 1'000'000'000;

// A TCP segment without payload, from one of two hosts, of one of several connections.
std::vector<std::byte> Segment(unsigned from, unsigned connection) {
  std::vector<std::byte> bytes(54);
  const auto put = [&bytes](size_t at, std::initializer_list<unsigned> values) {
    for (const unsigned value : values) bytes[at++] = static_cast<std::byte>(value);
  };
  put(11, {from + 1, 8, 0});
  put(14, {0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, from + 1, 10, 0, 0, 2 - from});
  put(34, {0x10, connection, 0x10, connection});
  put(46, {0x50, 0x10});
  return bytes;
}

// Gives frames, a few in one memory.
class Frames final : public Reader {
 public:
  struct One {
    int64_t ms = 0;
    unsigned from = 0, connection = 0;
    bool timed = true;
    LinkType link = LinkType::kEthernet;
  };
  explicit Frames(std::vector<One> frames) : frames_(std::move(frames)) {}

  Next ReadFrame(Frame& frame) override {
    if (next_ == frames_.size()) return cut_off ? Next::kDamaged : Next::kEnd;
    const One& one = frames_[next_];
    if (next_ % 4 == 0) {
      const size_t size = 4096;
      memory_ = {std::shared_ptr<const std::byte[]>(new std::byte[size]), size};
      used_ = 0;
    }
    const auto bytes = Segment(one.from, one.connection);
    auto* const at = const_cast<std::byte*>(memory_.owner.get()) + used_;
    std::ranges::copy(bytes, at);
    used_ += bytes.size();
    frame = {};
    frame.ref = {++next_, kBegin + one.ms * kMs, one.timed};
    frame.link = one.link;
    frame.bytes = Bytes(at, bytes.size());
    frame.wire_length = static_cast<uint32_t>(bytes.size());
    most_ahead = std::max(most_ahead, next_ - given);
    return Next::kFrame;
  }
  const FrameMemory& memory() const override { return memory_; }
  const std::string& error() const override { return error_; }
  uint64_t position() const override { return 0; }
  uint64_t size() const override { return 0; }
  bool Waits(std::chrono::milliseconds patience) override {
    const bool waits = waits_before != 0 && next_ + 1 == waits_before;
    if (waits) waited += patience;
    return waits;
  }

  bool cut_off = false;
  uint64_t waits_before = 0;  // a frame
  std::chrono::milliseconds waited{};
  uint64_t given = 0;       // to who reads
  uint64_t most_ahead = 0;  // so many were read that were not given

 private:
  std::vector<One> frames_;
  size_t next_ = 0, used_ = 0;
  FrameMemory memory_;
  const std::string error_ = "cut off";
};

struct Given {
  std::vector<uint64_t> numbers;
  std::vector<unsigned> clocks;
  std::vector<int64_t> times;  // ms
  Disorder disorder;
  Reader::Next end = Reader::Next::kFrame;
  uint64_t most_ahead = 0;
};

Given InOrder(Frames& frames, Order order = Order::kAuto, OrderedReader::Start start = OrderedReader::Start::kUnknown,
              uint64_t memory = 64 << 20) {
  OrderedReader reader(frames, order, memory, start);
  Given read;
  Frame frame;
  while ((read.end = reader.ReadFrame(frame)) == Reader::Next::kFrame) {
    ++frames.given;
    read.numbers.push_back(frame.ref.number);
    read.clocks.push_back(frame.ref.clock);
    read.times.push_back((frame.ref.time_ns - kBegin) / kMs);
    EXPECT_EQ(frame.ref.order(), read.numbers.size());
    EXPECT_EQ(frame.bytes.size(), 54u);
    EXPECT_EQ(frame.bytes[12], std::byte{8});  // the memory is still there
  }
  EXPECT_EQ(reader.ReadFrame(frame), read.end);
  read.disorder = reader.disorder();
  read.most_ahead = frames.most_ahead;
  return read;
}

Given InOrder(std::vector<Frames::One> ones, Order order = Order::kAuto,
              OrderedReader::Start start = OrderedReader::Start::kUnknown, uint64_t memory = 64 << 20) {
  Frames frames(std::move(ones));
  return InOrder(frames, order, start, memory);
}

// So many frames a millisecond apart, by turns of two sides.
std::vector<Frames::One> InTurns(int64_t n) {
  std::vector<Frames::One> frames;
  for (int64_t i = 0; i < n; ++i) frames.push_back({i, static_cast<unsigned>(i % 2)});
  return frames;
}

// Numbers of `frames` in order of their times, equal ones as they stand.
std::vector<uint64_t> ByTime(const std::vector<Frames::One>& frames) {
  std::vector<uint64_t> numbers(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) numbers[i] = i + 1;
  std::ranges::stable_sort(numbers, {}, [&](uint64_t n) { return frames[n - 1].ms; });
  return numbers;
}

std::vector<uint64_t> AsTheyStand(size_t n) { return ByTime(std::vector<Frames::One>(n)); }

std::vector<Frames::One> Queues(std::vector<Frames::One> frames, int64_t batch_ms) {
  std::ranges::stable_sort(frames, {}, [&](const Frames::One& f) { return std::pair(f.ms / batch_ms, f.from); });
  return frames;
}

TEST(OrderedReader, WhatIsInOrderStays) {
  for (const auto start : {OrderedReader::Start::kUnknown, OrderedReader::Start::kInOrder}) {
    const Given read = InOrder(InTurns(5000), Order::kAuto, start);
    EXPECT_EQ(read.numbers, AsTheyStand(5000));
    EXPECT_EQ(read.disorder.moved + read.disorder.late + read.disorder.clocks_set, 0u);
    EXPECT_EQ(read.end, Reader::Next::kEnd);
  }
}

TEST(OrderedReader, NothingWaitsWhereOrderIsKnown) {
  Frames frames(InTurns(5000));
  EXPECT_EQ(InOrder(frames, Order::kAuto, OrderedReader::Start::kInOrder).most_ahead, 1u);
}

TEST(OrderedReader, QueueAfterQueue) {
  for (const int64_t batch : {10, 100, 900}) {
    const auto frames = Queues(InTurns(5000), batch);
    for (const auto start : {OrderedReader::Start::kUnknown, OrderedReader::Start::kGoesBack}) {
      const Given read = InOrder(frames, Order::kAuto, start);
      EXPECT_EQ(read.numbers, ByTime(frames)) << batch;
      EXPECT_GE(read.disorder.moved, 4000u);
      EXPECT_EQ(read.disorder.late, 0u);
      EXPECT_EQ(read.disorder.clocks_set, 0u);
    }
  }
}

TEST(OrderedReader, TwoQueuesOnce) {
  const auto frames = Queues(InTurns(80), 100);
  EXPECT_EQ(InOrder(frames).numbers, ByTime(frames));
}

TEST(OrderedReader, NeighboursThatChangedPlaces) {
  for (const unsigned share : {2u, 10u, 100u}) {
    std::mt19937 draw(share);
    auto frames = InTurns(5000);
    for (size_t i = 0; i + 1 < frames.size(); ++i)
      if (draw() % share == 0) std::swap(frames[i], frames[i + 1]);
    const Given read = InOrder(frames);
    EXPECT_EQ(read.numbers, ByTime(frames));
    EXPECT_EQ(read.disorder.late + read.disorder.clocks_set, 0u);
  }
}

TEST(OrderedReader, OneFrameThatIsLateOrEarly) {
  for (const int n : {1, 20}) {
    auto late = InTurns(100), early = InTurns(100);
    std::rotate(late.begin() + 50, late.begin() + 51, late.begin() + 51 + n);
    std::rotate(early.begin() + 50, early.begin() + 50 + n, early.begin() + 51 + n);
    EXPECT_EQ(InOrder(late).numbers, ByTime(late));
    EXPECT_EQ(InOrder(early).numbers, ByTime(early));
  }
}

TEST(OrderedReader, AClockThatWasSet) {
  for (const int64_t back : {40, 900, 5000, 3'000'000, 4'000'000}) {
    auto frames = InTurns(2000);
    for (size_t i = 1000; i < frames.size(); ++i) frames[i].ms -= back;
    const Given read = InOrder(frames);
    EXPECT_EQ(read.numbers, AsTheyStand(2000)) << back;
    EXPECT_EQ(read.disorder.late, 0u);
    if (back > 3'600'000) continue;  // ClockFinder's
    EXPECT_EQ(read.disorder.clocks_set, 1u) << back;
    EXPECT_EQ(std::ranges::count(read.clocks, 0u), 1000);
    EXPECT_EQ(std::ranges::count(read.clocks, 1u), 1000);
  }
}

// Nothing of it was held when the clock was set.
TEST(OrderedReader, AClockThatWasSetWhereOrderWasKnown) {
  auto frames = InTurns(2000);
  for (size_t i = 1000; i < frames.size(); ++i) frames[i].ms -= 300;
  const Given read = InOrder(frames, Order::kAuto, OrderedReader::Start::kInOrder);
  EXPECT_EQ(read.numbers, AsTheyStand(2000));
  EXPECT_EQ(read.disorder.clocks_set, 1u);
}

TEST(OrderedReader, AClockThatWasSetAmongNeighboursThatChangedPlaces) {
  std::mt19937 draw(1);
  auto frames = InTurns(2000);
  for (size_t i = 1000; i < frames.size(); ++i) frames[i].ms -= 500;
  for (size_t i = 0; i + 1 < frames.size(); ++i)
    if (i != 999 && draw() % 20 == 0) std::swap(frames[i], frames[i + 1]);
  auto numbers = ByTime({frames.begin(), frames.begin() + 1000});
  for (const uint64_t n : ByTime({frames.begin() + 1000, frames.end()})) numbers.push_back(n + 1000);
  const Given read = InOrder(frames);
  EXPECT_EQ(read.numbers, numbers);
  EXPECT_EQ(read.disorder.clocks_set, 1u);
}

TEST(OrderedReader, TwoClocksAreLeftToOthers) {
  auto frames = InTurns(500);
  for (auto& frame : frames)
    if (frame.from == 1) frame.ms -= int64_t{86'400'000} * 365;
  const Given read = InOrder(frames);
  EXPECT_EQ(read.numbers, AsTheyStand(500));
  EXPECT_EQ(read.disorder.late + read.disorder.clocks_set, 0u);
}

TEST(OrderedReader, FurtherThanTheWindow) {
  const auto frames = Queues(InTurns(20000), 5000);
  const Given read = InOrder(frames);
  EXPECT_EQ(read.numbers, AsTheyStand(20000));  // each keeps its place
  EXPECT_EQ(read.disorder.clocks_set, 0u);
  EXPECT_EQ(read.disorder.late, 4u * 2499);  // all but the last of each second batch
  EXPECT_EQ(read.disorder.late_by_ns, 4997 * kMs);
  const Given by_time = InOrder(frames, Order::kTime);
  EXPECT_EQ(by_time.numbers, ByTime(frames));
  EXPECT_EQ(by_time.disorder.late, 0u);
}

TEST(OrderedReader, AsTheFileHasThem) {
  const auto frames = Queues(InTurns(500), 100);
  const Given read = InOrder(frames, Order::kFile);
  EXPECT_EQ(read.numbers, AsTheyStand(500));
  EXPECT_EQ(read.disorder.late, 0u);
}

TEST(OrderedReader, LongBehindTheBeginning) {
  auto frames = InTurns(3000);
  const auto later = Queues({frames.begin() + 2000, frames.end()}, 100);
  std::ranges::copy(later, frames.begin() + 2000);
  const Given read = InOrder(frames, Order::kAuto, OrderedReader::Start::kInOrder);
  // The first queue had been given before the second came.
  EXPECT_EQ(read.disorder.late, 49u);
  EXPECT_TRUE(std::ranges::is_sorted(read.times.begin() + 2100, read.times.end()));
}

TEST(OrderedReader, AsMuchAsMemoryHolds) {
  const auto frames = Queues(InTurns(4000), 900);
  Frames few(frames);
  const Given read = InOrder(few, Order::kAuto, OrderedReader::Start::kGoesBack, 64 << 10);
  EXPECT_GT(read.disorder.late, 0u);
  EXPECT_TRUE(read.disorder.short_of_memory);
  EXPECT_LT(read.most_ahead, 450u);
  EXPECT_FALSE(InOrder(frames).disorder.short_of_memory);
}

TEST(OrderedReader, AtMostSoManyFrames) {
  std::vector<Frames::One> frames(3 * OrderedReader::kFrames);
  frames[1].ms = -1;
  Frames many(frames);
  const Given read = InOrder(many, Order::kAuto, OrderedReader::Start::kUnknown, 1 << 30);
  EXPECT_EQ(read.most_ahead, OrderedReader::kFrames);
  EXPECT_EQ(read.disorder.moved, 2u);
}

TEST(OrderedReader, FramesWithoutATime) {
  auto frames = Queues(InTurns(400), 100);
  for (size_t i = 10; i < frames.size(); i += 10) {
    frames[i].ms = frames[i - 1].ms;
    frames[i].timed = false;
  }
  const Given read = InOrder(frames);
  EXPECT_EQ(read.numbers, ByTime(frames));
  EXPECT_EQ(read.disorder.late, 0u);
}

// All that was read comes before the damage.
TEST(OrderedReader, AFileThatIsCutOff) {
  const auto ones = Queues(InTurns(400), 100);
  Frames frames(ones);
  frames.cut_off = true;
  const Given read = InOrder(frames);
  EXPECT_EQ(read.end, Reader::Next::kDamaged);
  EXPECT_EQ(read.numbers, ByTime(ones));
}

// Who writes is silent: what waits comes at once.
TEST(OrderedReader, AWriterThatIsSilent) {
  Frames frames(InTurns(100));
  frames.waits_before = 50;
  OrderedReader reader(frames, Order::kAuto, 64 << 20);
  Frame frame;
  for (uint64_t n = 1; n < 50; ++n) {
    ASSERT_EQ(reader.ReadFrame(frame), Reader::Next::kFrame);
    EXPECT_EQ(frame.ref.number, n);
    ++frames.given;
  }
  EXPECT_EQ(frames.most_ahead, 49u);
  EXPECT_LE(frames.waited.count(), 1000);  // once, not for each frame
}

// Wherever the step is, in a file that takes several reads.
TEST(OrderedReader, ALookAtTheFramesOfAFile) {
  const auto number = [](ByteVector& file, uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) file.push_back(static_cast<std::byte>(value >> shift));
  };
  for (const uint32_t step : {0u, 1u, 2u, 500u, 998u, 999u}) {
    ByteVector file;
    for (const uint32_t value : {0xa1b23c4du, 0x00040002u, 0u, 0u, 262144u, 1u}) number(file, value);
    for (uint32_t i = 0; i < 1000; ++i) {
      number(file, 1000 + i - (step != 0 && i == step ? 2 : 0));
      number(file, 0);
      for (int n = 0; n < 2; ++n) number(file, 1500);
      file.resize(file.size() + 1500);
    }
    const auto reader = Reader::Open(MemorySource(file), "file");
    ASSERT_TRUE(reader.has_value());
    EXPECT_EQ((*reader)->GoesBack(1000, UINT64_MAX), step != 0) << step;
    const auto few = Reader::Open(MemorySource(file), "file");
    EXPECT_EQ((*few)->GoesBack(500, UINT64_MAX), step != 0 && step < 500) << step;
  }
}

TEST(OrderedReader, ALookAtTheFirstFrames) {
  Frames in_order(InTurns(500)), queues(Queues(InTurns(500), 100));
  EXPECT_EQ(OrderedReader::Look(in_order), OrderedReader::Start::kInOrder);
  EXPECT_EQ(OrderedReader::Look(queues), OrderedReader::Start::kGoesBack);
}

}  // namespace
}  // namespace stag::capture
