// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/text.h"

#include <gtest/gtest.h>

#include "conformance/report/format.h"

namespace stag::conformance {
namespace {

TEST(Text, Pieces) {
  EXPECT_EQ(Text("a ", 5, std::string(" b "), Hex{0x1f}), "a 5 b 0x0000001f");
  EXPECT_EQ(Text(Hex{0x123456789abcdefu}), "0x0123456789abcdef");
  EXPECT_EQ(Count(1, "segment"), "1 segment");
  EXPECT_EQ(Count(0, "segment"), "0 segments");
}

std::string Json(std::string_view text) {
  std::string out;
  AppendJson(out, text);
  return out;
}

TEST(Format, Json) {
  EXPECT_EQ(Json("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(Json(std::string_view("\0\n\x1f\x7f", 4)), R"("\u0000\n\u001f\u007f")");
  EXPECT_EQ(Json("\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\x8c"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\x8c\"");
  // Stray bytes, overlong forms and surrogates are not UTF-8.
  EXPECT_EQ(Json("\xff"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(Json("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(Json("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(Json("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

std::string Time(int64_t ns) {
  std::string out;
  AppendTime(out, ns);
  return out;
}

TEST(Format, Time) {
  EXPECT_EQ(Time(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(Time(1709210096123456789), "2024-02-29T12:34:56.123456789Z");
  EXPECT_EQ(Time(-1), "1969-12-31T23:59:59.999999999Z");
}

TEST(Format, Wrapped) {
  EXPECT_EQ(Wrapped("one two three", 2, 9), "  one two\n  three\n");
  EXPECT_EQ(Wrapped("a\nb", 1, 20), " a\n b\n");
  EXPECT_EQ(Wrapped("averylongword x", 0, 4), "averylongword\nx\n");
}

TEST(Format, Printable) { EXPECT_EQ(Printable("a\x1b[31m\n"), "a?[31m?"); }

}  // namespace
}  // namespace stag::conformance
