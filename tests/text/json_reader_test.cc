// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/json_reader.h"

#include <gtest/gtest.h>

namespace stag {
namespace {

std::string Nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonReader, MembersByTheirTypes) {
  const auto read =
      ReadJson(R"( {"a":"\u00fc\"","n":18446744073709551615,"m":-3,"d":0.25,"l":["x",1,"y"],"a":"z","o":{"b":null}} )");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->Text("a"), "z");  // the last of two
  EXPECT_EQ(read->Text("n"), "");
  EXPECT_EQ(read->Text("none"), "");
  EXPECT_EQ(read->Unsigned("n"), 18446744073709551615u);
  EXPECT_EQ(read->Unsigned("m"), std::nullopt);
  EXPECT_EQ(read->Number("m"), -3);
  EXPECT_EQ(read->Number("d"), 0.25);
  EXPECT_EQ(read->Number("a"), std::nullopt);
  EXPECT_EQ(read->Texts("l"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(read->Texts("a"), std::vector<std::string>{});
  ASSERT_TRUE(read->Find("o"));
  EXPECT_TRUE(read->Find("o")->Find("b"));
  EXPECT_FALSE(read->Find("o")->Find("c"));
  EXPECT_FALSE(ReadJson("[]")->Find("a"));
}

TEST(JsonReader, RefusesTextThatIsNoJson) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv,
                                      " "sv,
                                      "{"sv,
                                      "[1,]"sv,
                                      "{\"a\":1"sv,
                                      "{\"a\":1} x"sv,
                                      "{\"a\":1}\0x"sv,
                                      "{\"a\":1}\0"sv,
                                      "{a:1}"sv,
                                      "'a'"sv,
                                      "NaN"sv,
                                      "01"sv,
                                      "1e999"sv,
                                      "\"\xff\""sv,
                                      "\"\xed\xa0\x80\""sv,
                                      "\"a\nb\""sv,
                                      "\"\\ud800\""sv,
                                      "\"\\x\""sv,
                                      "\"a"sv,
                                      "// c\n1"sv,
                                      "truely"sv,
                                      "\xef{}"sv})
    EXPECT_FALSE(ReadJson(text)) << text;
  for (const std::string_view text : {"null"sv, "1"sv, "\"\\u0000\""sv, "\"\""sv, "[]"sv, "\xef\xbb\xbf{}"sv})
    EXPECT_TRUE(ReadJson(text)) << text;
}

TEST(JsonReader, BoundsNesting) {
  EXPECT_TRUE(ReadJson(Nested(64)));
  for (const size_t depth : {65u, 1000000u}) {
    EXPECT_FALSE(ReadJson(Nested(depth)));
    EXPECT_FALSE(ReadJson(std::string(depth, '[')));
  }
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(ReadJson(objects));
}

TEST(JsonReader, GivesElementsAway) {
  std::vector<std::string> taken;
  const auto read = ReadJson(R"({"a":[{"n":"1","l":[{"n":"2"}]},{"n":"3"}],"b":{"c":[{"n":"4"}]},"d":[{"n":"5"}]})",
                             [&](const JsonValue& element) { taken.emplace_back(element.Text("n")); });
  EXPECT_EQ(taken, (std::vector<std::string>{"1", "3", "5"}));
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::get<JsonValue::List>(read->Find("a")->value).empty());
  EXPECT_EQ(std::get<JsonValue::List>(read->Find("b")->Find("c")->value).size(), 1u);
}

TEST(JsonReader, Lines) {
  std::string names;
  const auto take = [&](const JsonValue& line) {
    names += line.Text("n");
    return std::string(line.Text("wrong"));
  };
  EXPECT_TRUE(ForEachJsonLine("{\"n\":\"a\"}\r\n\n  # {\n \t{\"n\":\"b\"}", take));
  EXPECT_EQ(names, "ab");
  EXPECT_EQ(ForEachJsonLine("{}\n[]\n", take).error().message, "2: not a JSON object");
  EXPECT_EQ(ForEachJsonLine("\n{\"wrong\":\"no\"}", take).error().message, "2: no");
}

}  // namespace
}  // namespace stag
