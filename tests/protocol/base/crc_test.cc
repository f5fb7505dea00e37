// SPDX-License-Identifier: GPL-2.0-or-later
//
// CRC-32 and CRC32C against their published check values.
#include "protocol/base/crc.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace stag {
namespace {

Bytes Text(std::string_view s) { return std::as_bytes(std::span(s.data(), s.size())); }

TEST(Crc, CheckValues) {
  EXPECT_EQ(Crc32(0, Text("123456789")), 0xcbf43926u);
  EXPECT_EQ(Crc32c(0, Text("123456789")), 0xe3069283u);
}

TEST(Crc, EmptyInputChangesNothing) {
  EXPECT_EQ(Crc32(0, {}), 0u);
  EXPECT_EQ(Crc32c(0, {}), 0u);
  EXPECT_EQ(Crc32c(0x12345678, {}), 0x12345678u);
}

// RFC 3720 appendix B.4: 32 bytes of zeros, of ones, ascending, descending. The RFC prints bytes in wire order.
TEST(Crc, Rfc3720Examples) {
  std::vector<std::byte> b(32, std::byte{0});
  EXPECT_EQ(Crc32c(0, b), 0x8a9136aau);
  b.assign(32, std::byte{0xff});
  EXPECT_EQ(Crc32c(0, b), 0x62a8ab43u);
  for (size_t i = 0; i < 32; ++i) b[i] = std::byte(i);
  EXPECT_EQ(Crc32c(0, b), 0x46dd794eu);
  for (size_t i = 0; i < 32; ++i) b[i] = std::byte(31 - i);
  EXPECT_EQ(Crc32c(0, b), 0x113fdb5cu);
}

TEST(Crc, PiecesGiveTheSameAsTheWhole) {
  Bytes all = Text("The quick brown fox jumps over the lazy dog");
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    EXPECT_EQ(Crc32(Crc32(0, all.first(cut)), all.subspan(cut)), Crc32(0, all));
    EXPECT_EQ(Crc32c(Crc32c(0, all.first(cut)), all.subspan(cut)), Crc32c(0, all));
  }
}

}  // namespace
}  // namespace stag
