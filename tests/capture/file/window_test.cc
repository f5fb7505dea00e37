// SPDX-License-Identifier: GPL-2.0-or-later
//
// Window: what it gave a view of stays as it was while somebody owns its memory, and memory that nobody
// owns any more is used again.
#include "capture/file/window.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <vector>

namespace stag::capture {
namespace {

constexpr size_t kSize = 20u << 20, kRecord = 1000;

// Each byte tells which record it is of.
std::vector<std::byte> Records() {
  std::vector<std::byte> bytes(kSize);
  for (size_t at = 0; at < kSize; at += kRecord)
    std::memset(&bytes[at], static_cast<int>(at / kRecord % 251), std::min(kRecord, kSize - at));
  return bytes;
}

bool IsRecord(Bytes bytes, size_t record) {
  std::array<std::byte, kRecord> expected;
  std::memset(expected.data(), static_cast<int>(record % 251), kRecord);
  return bytes.size() == kRecord && std::memcmp(bytes.data(), expected.data(), kRecord) == 0;
}

// Goes through the records of `source` while it owns the memory of the last `kept`. Returns how many memories it saw.
size_t KeepRecords(std::unique_ptr<ByteSource> source, size_t kept) {
  Window window(std::move(source));
  struct Kept {
    size_t record = 0;
    Bytes bytes;
    FrameMemory memory;
  };
  std::deque<Kept> all;
  std::set<const std::byte*> owners;
  for (size_t record = 0; record < kSize / kRecord; ++record) {
    const Bytes view = window.Peek(kRecord);
    EXPECT_EQ(view.size(), kRecord);
    EXPECT_TRUE(IsRecord(view, record));
    const FrameMemory& memory = window.memory();
    EXPECT_GE(view.data(), memory.owner.get());
    EXPECT_LE(view.data() + view.size(), memory.owner.get() + memory.size);
    owners.insert(memory.owner.get());
    if (kept > 0) all.push_back({record, view, memory});
    if (all.size() > kept) {
      EXPECT_TRUE(IsRecord(all.front().bytes, all.front().record));
      all.pop_front();
    }
    window.Consume(kRecord);
  }
  for (const Kept& last : all) EXPECT_TRUE(IsRecord(last.bytes, last.record));
  EXPECT_EQ(window.Peek(kRecord).size(), kSize % kRecord);
  return owners.size();
}

TEST(Window, MemoryThatIsOwnedStays) {
  const std::vector<std::byte> bytes = Records();
  // 256 KiB are read at a time.
  for (const size_t kept : {0u, 1u, 3000u})
    EXPECT_LE(KeepRecords(MemorySource(bytes), kept), kept == 0 ? 1u : 3 + kept * kRecord / (256 << 10)) << kept;
}

// What a window gave a view of last has a place in the file, and what has a place can be read again, however far the
// window has gone on.
TEST(Window, AFileCanBeReadAgain) {
  const std::vector<std::byte> bytes = Records();
  char name[] = "/tmp/stag_window_XXXXXX";
  const int file = ::mkstemp(name);
  ASSERT_EQ(::write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  auto source = OpenByteSource(name);
  ASSERT_TRUE(source);
  Window window(std::move(*source));
  const Lasting* const lasting = window.lasting();
  ASSERT_TRUE(lasting);
  EXPECT_FALSE(lasting->PlaceOf(bytes));
  for (size_t record = 0; record < kSize / kRecord; ++record) {
    const Bytes view = window.Peek(kRecord);
    EXPECT_EQ(lasting->PlaceOf(view.subspan(7)), record * kRecord + 7);
    window.Consume(kRecord);
    if (record % 100 != 99) continue;
    for (const size_t before : {record, record - 1, record / 2, size_t{0}})
      EXPECT_TRUE(IsRecord(lasting->Again(before * kRecord, kRecord), before)) << record << " " << before;
  }
  ASSERT_EQ(::ftruncate(file, 1500), 0);
  EXPECT_EQ(lasting->Again(1000, 1000).size(), 500u);
  EXPECT_EQ(lasting->Again(3000, 1000).size(), 0u);
  ::close(file);
  ::unlink(name);
  EXPECT_EQ(Window(MemorySource(bytes)).lasting(), nullptr);
}

}  // namespace
}  // namespace stag::capture
