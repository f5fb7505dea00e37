// SPDX-License-Identifier: GPL-2.0-or-later
//
// The plugin's records, without Wireshark: what is allocated for them, and the limit of what is copied.
#include "plugin/record_store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plugin/record_store_builder.h"
#include "session/fabric/decoder.h"
#include "tests/session/fabric/allocation_count.h"
#include "tests/support/run_capture.h"

namespace stag::plugin {
namespace {

using stag::test::LoadFrames;
using stag::test::OwnedFrame;

TEST(Arena, AlignedAndInitialised) {
  Arena arena;
  for (int i = 0; i < 10000; ++i) {
    arena.Allocate(1, 1);
    const auto numbers = arena.NewArray<uint64_t>(3);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers.data()) % alignof(uint64_t), 0u);
    for (uint64_t& number : numbers) EXPECT_EQ(number, 0u);
    for (uint64_t& number : numbers) number = ~uint64_t{0};
  }
  const size_t blocks = arena.blocks();
  EXPECT_LE(blocks, 10000u * 32 / (60 << 10) + 1);
  const std::vector<uint32_t> values(100000, 7);
  const auto copy = arena.Copy(values);
  EXPECT_EQ(arena.blocks(), blocks + 1);
  EXPECT_TRUE(std::equal(copy.begin(), copy.end(), values.begin(), values.end()));
}

TEST(RecordStore, KeepsNoMoreThanItsLimit) {
  RecordStore store(100);
  const std::vector<std::byte> bytes(60, std::byte{7});
  const std::byte* kept = store.Keep(bytes);
  ASSERT_TRUE(kept);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), kept));
  EXPECT_FALSE(store.Keep(bytes));
  EXPECT_TRUE(store.Keep(Bytes(bytes).first(40)));
  EXPECT_TRUE(store.Keep({}));
}

TEST(RecordStore, SharesTexts) {
  RecordStore store(0);
  const std::string* text = store.Share("SEQUENCE PUTFH READ");
  EXPECT_EQ(*text, "SEQUENCE PUTFH READ");
  EXPECT_EQ(store.Share(std::string("SEQUENCE PUTFH READ")), text);
  EXPECT_NE(store.Share("SEQUENCE PUTFH"), text);
}

// The capture once more: later, and between other hosts (Ethernet and IPv4).
void Again(std::vector<OwnedFrame>& frames) {
  const int64_t duration = frames.back().ref.time_ns - frames.front().ref.time_ns + 1000000000;
  constexpr size_t kSource = 14 + 12, kDestination = kSource + 4;
  for (OwnedFrame& frame : frames) {
    frame.ref.number += frames.size();
    frame.ref.time_ns += duration;
    if (frame.bytes.size() < kDestination + 4 || frame.bytes[12] != std::byte{8}) continue;
    for (const size_t address : {kSource, kDestination}) {
      frame.bytes[address + 2] = static_cast<std::byte>(std::to_integer<unsigned>(frame.bytes[address + 2]) + 1);
    }
  }
}

// How often the heap was asked while the capture was played for the last of four times, without the arena's blocks.
size_t AllocationsOfLastTime(std::vector<OwnedFrame> frames, bool with_records, size_t* messages) {
  RecordStore store(uint64_t{1} << 30);
  RecordStoreBuilder builder(store, true);
  std::vector<session::Observer*> observers;
  if (with_records) observers.push_back(&builder);
  session::Session session({}, observers);
  fabric::Decoder decoder({}, session);
  size_t before = 0, blocks = 0;
  for (int time = 0; time < 4; ++time) {
    if (time > 0) Again(frames);
    before = fabric::test::AllocationCount();
    blocks = store.arena().blocks();
    for (const OwnedFrame& frame : frames) {
      builder.set_frame(frame.ref.number, frame.bytes);
      decoder.OnFrame(frame.view());
    }
  }
  const size_t count = fabric::test::AllocationCount() - before - (store.arena().blocks() - blocks);
  *messages = 0;
  for (const OwnedFrame& frame : frames) {
    const FrameRecord* record = store.Find(static_cast<uint32_t>(frame.ref.number));
    if (record) *messages += record->messages().size();
  }
  decoder.Finish();
  session.Finish();
  return count;
}

class SteadyState : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Files, SteadyState,
                         testing::Values("rxe-nfs4.1.pcap.zst", "rxe-nfs3.pcap.zst", "siw-nfs4.1.pcap.zst"));

// Nothing is allocated for a record but the arena's blocks; now and then a table grows, which counts records by number.
TEST_P(SteadyState, AllocatesBlocksOnly) {
  const std::vector<OwnedFrame> frames = LoadFrames(std::string(STAG_SOURCE_DIR) + "/pcaps/real/" + GetParam());
  size_t messages = 0;
  const size_t without = AllocationsOfLastTime(frames, false, &messages);
  EXPECT_EQ(messages, 0u);
  const size_t with = AllocationsOfLastTime(frames, true, &messages);
  EXPECT_GT(messages, 50u);
  constexpr size_t kTables = 4;  // frames, connections, transactions, blocks
  EXPECT_LE(with, without + kTables);
}

}  // namespace
}  // namespace stag::plugin
