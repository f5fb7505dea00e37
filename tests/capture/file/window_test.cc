// SPDX-License-Identifier: GPL-2.0-or-later
//
// Window: what it gave a view of stays as it was while somebody owns its memory, and memory that nobody owns any more
// is used again.
#include "capture/file/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <vector>

namespace stag::capture {
namespace {

constexpr size_t kSize = 20u << 20, kRecord = 1000;

// Each byte tells which record it is of.
std::vector<std::byte> Records() {
  std::vector<std::byte> bytes(kSize);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i / kRecord % 251);
  return bytes;
}

bool IsRecord(Bytes bytes, size_t record) {
  return std::ranges::all_of(bytes, [&](std::byte b) { return b == static_cast<std::byte>(record % 251); });
}

TEST(Window, MemoryThatIsOwnedStays) {
  const std::vector<std::byte> bytes = Records();
  for (const size_t kept : {0u, 1u, 3000u}) {
    Window window(MemorySource(bytes));
    struct Kept {
      size_t record = 0;
      Bytes bytes;
      FrameMemory memory;
    };
    std::deque<Kept> all;
    std::set<const std::byte*> owners;
    for (size_t record = 0; record < kSize / kRecord; ++record) {
      const Bytes view = window.Peek(kRecord);
      ASSERT_EQ(view.size(), kRecord);
      ASSERT_TRUE(IsRecord(view, record));
      const FrameMemory& memory = window.memory();
      ASSERT_GE(view.data(), memory.owner.get());
      ASSERT_LE(view.data() + view.size(), memory.owner.get() + memory.size);
      owners.insert(memory.owner.get());
      if (kept > 0) all.push_back({record, view, memory});
      if (all.size() > kept) {
        ASSERT_TRUE(IsRecord(all.front().bytes, all.front().record));
        all.pop_front();
      }
      window.Consume(kRecord);
    }
    for (const Kept& last : all) EXPECT_TRUE(IsRecord(last.bytes, last.record));
    // 256 KiB are read at a time.
    EXPECT_LE(owners.size(), kept == 0 ? 1u : 3 + kept * kRecord / (256 << 10)) << kept;
  }
}

}  // namespace
}  // namespace stag::capture
