// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/put.h"

#include <gtest/gtest.h>

#include <vector>

namespace stag {
namespace {

template <typename... Args>
std::string Text(void (*put)(std::string&, Args...), Args... args) {
  std::string out;
  put(out, args...);
  return out;
}

std::string Duration(int64_t ns) { return Text(PutDuration, ns); }
std::string Size(uint64_t bytes) { return Text(PutSize, bytes); }
std::string Number(uint64_t value, size_t width, char fill) {
  return Text<uint64_t, size_t, char>(PutNumber, value, width, fill);
}
std::string Time(int64_t ns) { return Text(PutTime, ns); }

TEST(Put, DurationHasThreeDigits) {
  EXPECT_EQ(Duration(0), "0ns");
  EXPECT_EQ(Duration(999), "999ns");
  EXPECT_EQ(Duration(1000), "1.00us");
  EXPECT_EQ(Duration(31234), "31.2us");
  EXPECT_EQ(Duration(999499), "999us");
  EXPECT_EQ(Duration(999500), "1.00ms");
  EXPECT_EQ(Duration(4510000), "4.51ms");
  EXPECT_EQ(Duration(1500000000), "1.50s");
  EXPECT_EQ(Duration(-2500), "-2.50us");
}

TEST(Put, Sizes) {
  EXPECT_EQ(Size(0), "0 B");
  EXPECT_EQ(Size(1023), "1023 B");
  EXPECT_EQ(Size(1024), "1.0 KiB");
  EXPECT_EQ(Size(uint64_t{1} << 30), "1.0 GiB");
  EXPECT_EQ(Size((uint64_t{1} << 20) - 1), "1.0 MiB");
}

TEST(Put, TimesAreIso8601) {
  EXPECT_EQ(Time(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(Time(1700000000123456789), "2023-11-14T22:13:20.123456789Z");
  EXPECT_EQ(Time(1709210096123456789), "2024-02-29T12:34:56.123456789Z");
  EXPECT_EQ(Time(-1), "1969-12-31T23:59:59.999999999Z");
}

TEST(Put, NumbersAndHex) {
  EXPECT_EQ(Number(42, 0, ' '), "42");
  EXPECT_EQ(Number(42, 5, ' '), "   42");
  EXPECT_EQ(Number(42, 3, '0'), "042");
  EXPECT_EQ(Number(1234, 3, '0'), "1234");
  const std::vector<std::byte> bytes = {std::byte{0x0a}, std::byte{0xff}};
  EXPECT_EQ(Text<Bytes>(PutHex, bytes), "0aff");
}

TEST(Put, Counts) {
  EXPECT_EQ(Count(1, "call"), "1 call");
  EXPECT_EQ(Count(0, "call"), "0 calls");
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(147456), "147,456");
  EXPECT_EQ(Grouped(~uint64_t{0}), "18,446,744,073,709,551,615");
  EXPECT_EQ(ByteCount(1), "1 byte");
  EXPECT_EQ(ByteCount(4096), "4,096 bytes");
}

}  // namespace
}  // namespace stag
