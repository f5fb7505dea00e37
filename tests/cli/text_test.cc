// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/text.h"

#include <gtest/gtest.h>

namespace stag::cli {
namespace {

template <typename Fn>
std::string Text(Fn&& fn) {
  Buffer out;
  fn(out);
  return std::string(out.data(), out.size());
}

std::string Json(std::string_view text) {
  return Text([&](Buffer& out) { PutJson(out, text); });
}
std::string Duration(int64_t ns) {
  return Text([&](Buffer& out) { PutDuration(out, ns); });
}
std::string Size(uint64_t bytes) {
  return Text([&](Buffer& out) { PutSize(out, bytes); });
}
std::string Time(int64_t ns) {
  return Text([&](Buffer& out) { PutTime(out, ns); });
}

TEST(Text, JsonEscapesWhatRfc8259Demands) {
  EXPECT_EQ(Json("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(Json(std::string_view("\0\n\x1f", 3)), R"("\u0000\u000a\u001f")");
  EXPECT_EQ(Json("\x7f"), R"("\u007f")");
}

TEST(Text, JsonKeepsUtf8AndReplacesOtherBytes) {
  EXPECT_EQ(Json("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"), "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"");
  EXPECT_EQ(Json("\xff"), R"("\ufffd")");
  EXPECT_EQ(Json("\xc3"), R"("\ufffd")");                                // cut short
  EXPECT_EQ(Json("\xc0\xaf"), R"("\ufffd\ufffd")");                      // overlong
  EXPECT_EQ(Json("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");            // surrogate
  EXPECT_EQ(Json("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");  // above U+10FFFF
}

TEST(Text, DurationHasThreeDigits) {
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

TEST(Text, Sizes) {
  EXPECT_EQ(Size(0), "0 B");
  EXPECT_EQ(Size(1023), "1023 B");
  EXPECT_EQ(Size(1024), "1.0 KiB");
  EXPECT_EQ(Size(uint64_t{1} << 30), "1.0 GiB");
  EXPECT_EQ(Size((uint64_t{1} << 20) - 1), "1.0 MiB");
}

TEST(Text, TimesAreIso8601) {
  EXPECT_EQ(Time(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(Time(1700000000123456789), "2023-11-14T22:13:20.123456789Z");
  EXPECT_EQ(Time(-1), "1969-12-31T23:59:59.999999999Z");
}

TEST(Text, Endpoints) {
  Endpoint v4{{Address::Kind::kIpv4, {std::byte{10}, std::byte{0}, std::byte{0}, std::byte{1}}}, 20049};
  EXPECT_EQ(EndpointText(v4, fabric::FabricKind::kIwarp), "10.0.0.1:20049");
  v4.number = 0x11;
  EXPECT_EQ(EndpointText(v4, fabric::FabricKind::kRoceV2), "10.0.0.1 QP 0x000011");
  Endpoint v6{{Address::Kind::kIpv6, {std::byte{0xfd}}}, 20049};
  v6.address.bytes[15] = std::byte{1};
  EXPECT_EQ(EndpointText(v6, fabric::FabricKind::kIwarp), "[fd00::1]:20049");
  const Endpoint lid{{Address::Kind::kLid, {std::byte{0}, std::byte{12}}}, 5};
  EXPECT_EQ(EndpointText(lid, fabric::FabricKind::kInfiniBand), "LID 12 QP 0x000005");
  EXPECT_EQ(EndpointText({lid.address, 0}, fabric::FabricKind::kInfiniBand), "LID 12");
}

}  // namespace
}  // namespace stag::cli
