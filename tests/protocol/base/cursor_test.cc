// SPDX-License-Identifier: GPL-2.0-or-later
//
// Cursor and Writer: byte order, the two lengths, sticky failure.
#include "protocol/base/cursor.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "protocol/base/writer.h"

namespace stag {
namespace {

TEST(Cursor, ReadsWhatWriterWrote) {
  std::vector<std::byte> b;
  Writer w(b);
  w.U8(0x01), w.U16(0x0203), w.U24(0x040506), w.U32(0x0708090a), w.U64(0x0b0c0d0e0f101112);
  for (size_t i = 0; i < b.size(); ++i) EXPECT_EQ(std::to_integer<size_t>(b[i]), i + 1);
  Cursor c(b);
  EXPECT_EQ(c.U8(), 0x01);
  EXPECT_EQ(c.U16(), 0x0203);
  EXPECT_EQ(c.U24(), 0x040506u);
  EXPECT_EQ(c.U32(), 0x0708090au);
  EXPECT_EQ(c.U64(), 0x0b0c0d0e0f101112u);
  EXPECT_TRUE(c.ok());
  EXPECT_EQ(c.remaining(), 0u);
}

TEST(Cursor, TruncatedIsNotMalformed) {
  std::array<std::byte, 6> b{};
  Cursor truncated(b, 8);
  truncated.U32();
  EXPECT_EQ(truncated.wire_remaining(), 4u);
  EXPECT_EQ(truncated.U32(), 0u);
  EXPECT_EQ(truncated.status(), ParseStatus::kTruncatedByCapture);
  EXPECT_EQ(truncated.offset(), 4u);
  EXPECT_EQ(truncated.wire_remaining(), 0u);

  Cursor malformed(b, 8);
  malformed.U32();
  malformed.U64();
  EXPECT_EQ(malformed.status(), ParseStatus::kMalformed);
}

TEST(Cursor, FailureIsSticky) {
  std::array<std::byte, 2> b{std::byte{1}, std::byte{2}};
  Cursor c(b);
  c.U32();
  EXPECT_EQ(c.U8(), 0);
  EXPECT_TRUE(c.Rest().empty());
  c.Fail(ParseStatus::kUnsupported);
  EXPECT_EQ(c.status(), ParseStatus::kMalformed);
}

TEST(Cursor, HugeLengthsCannotWrap) {
  std::array<std::byte, 4> b{};
  Cursor c(b);
  c.U8();
  EXPECT_TRUE(c.Take(~uint64_t{0}).empty());
  EXPECT_EQ(c.status(), ParseStatus::kMalformed);
}

TEST(Writer, OpaqueIsPaddedWithZeros) {
  std::vector<std::byte> b;
  Writer w(b);
  std::array<std::byte, 5> five;
  five.fill(std::byte{0xee});
  w.Opaque(five);
  ASSERT_EQ(b.size(), 12u);
  EXPECT_EQ(LoadBe32(b.data()), 5u);
  EXPECT_EQ(b[8], std::byte{0xee});
  EXPECT_EQ(b[9], std::byte{0});
  EXPECT_EQ(b[11], std::byte{0});
}

}  // namespace
}  // namespace stag
