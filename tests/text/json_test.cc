// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace stag {
namespace {

std::string Json(std::string_view text) {
  std::string out;
  JsonWriter(out).Value(text);
  return out;
}

TEST(Json, EscapesWhatRfc8259Demands) {
  EXPECT_EQ(Json("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(Json(std::string_view("\0\n\t\x1f", 4)), R"("\u0000\n\t\u001f")");
  EXPECT_EQ(Json("\x7f"), R"("\u007f")");
  EXPECT_EQ(Json("ab\ncd\"ef"), R"("ab\ncd\"ef")");
}

TEST(Json, EscapesWhatDrivesATerminal) {
  EXPECT_EQ(Json("\xc2\x9b"
                 "31m"),
            R"("\u009b31m")");
  EXPECT_EQ(Json("a\u202eb\u2066c\u2029d\u061ce"), R"("a\u202eb\u2066c\u2029d\u061ce")");
  EXPECT_EQ(Json("\x9b"), "\"\ufffd\"");
}

TEST(Json, KeepsUtf8AndReplacesOtherBytes) {
  EXPECT_EQ(Json("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"), "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"");
  EXPECT_EQ(Json("\xff"), "\"\ufffd\"");
  EXPECT_EQ(Json("\xc3"), "\"\ufffd\"");                                // cut short
  EXPECT_EQ(Json("\xe2\x82"), "\"\ufffd\ufffd\"");                      // cut short
  EXPECT_EQ(Json("\xc0\xaf"), "\"\ufffd\ufffd\"");                      // overlong
  EXPECT_EQ(Json("a\xed\xa0\x80z"), "\"a\ufffd\ufffd\ufffdz\"");        // surrogate
  EXPECT_EQ(Json("\xf4\x90\x80\x80"), "\"\ufffd\ufffd\ufffd\ufffd\"");  // above U+10FFFF
}

TEST(Json, Documents) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Member("a", 1).Member("b", "x").Member("c", true).Member("d", nullptr);
  json.Key("list").BeginArray().Value(-1).Value(std::string("s")).BeginObject().EndObject().EndArray();
  json.TextOrNull("e", "").TextOrNull("f", "g").AnyKey("h\"").Value(std::optional<int>()).EndObject().EndLine();
  json.BeginArray().EndArray().EndLine();
  EXPECT_EQ(out,
            "{\"a\":1,\"b\":\"x\",\"c\":true,\"d\":null,\"list\":[-1,\"s\",{}],\"e\":null,\"f\":\"g\","
            "\"h\\\"\":null}\n[]\n");
}

TEST(Json, NewLinesStandBeforeElementsAndTheEnd) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Key("l").BeginArray().NewLine().Value(1).NewLine().BeginObject().EndObject().NewLine().EndArray();
  json.Key("e").BeginArray().NewLine().EndArray().Key("r").Raw("[7]").EndObject().EndLine();
  EXPECT_EQ(out, "{\"l\":[\n1,\n{}\n],\"e\":[\n],\"r\":[7]}\n");
}

TEST(Json, TheOwnerMayTakeWhatIsThere) {
  std::string out;
  JsonWriter json(out);
  json.BeginArray().Value(1);
  EXPECT_EQ(out, "[1");
  out.clear();
  json.Value(2).EndArray();
  EXPECT_EQ(out, ",2]");
}

TEST(Json, Numbers) {
  std::string out;
  JsonWriter json(out);
  json.BeginArray().Value(std::numeric_limits<uint64_t>::max()).Value(std::numeric_limits<int64_t>::min());
  json.Value(uint8_t{200}).Fixed(1.5, 0).Fixed(2.0 / 3, 6).Thousandths(1005).Thousandths(-1234567).Thousandths(0);
  json.Thousandths(std::numeric_limits<int64_t>::min()).EndArray();
  EXPECT_EQ(out,
            "[18446744073709551615,-9223372036854775808,200,2,0.666667,1.005,-1234.567,0.000,"
            "-9223372036854775.808]");
}

TEST(Json, StringsOfValues) {
  std::string out;
  JsonWriter json(out);
  const std::vector<std::byte> bytes = {std::byte{0x0a}, std::byte{0xff}};
  json.BeginArray().Hex(bytes).Hex({}).Xid(0x1f).Xid({}).Time(0).EndArray();
  EXPECT_EQ(out, R"(["0aff","","0x0000001f",null,"1970-01-01T00:00:00.000000000Z"])");
}

}  // namespace
}  // namespace stag
