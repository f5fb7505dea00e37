// SPDX-License-Identifier: GPL-2.0-or-later
//
// One row with a member of each type, in every format. Expected texts are written by hand, from RFC 8259, RFC 4180 and
// JSON Schema.
#include <gtest/gtest.h>

#include "results/columns.h"
#include "results/json.h"
#include "results/schema.h"
#include "results/table.h"

namespace stag {

enum class Colour : uint8_t { kRed, kGreen };
template <>
struct EnumNames<Colour> {
  static constexpr std::array<std::string_view, 2> kNames{"red", "green"};
};

namespace results {

struct Ends {
  uint64_t first = 0;
  std::optional<uint64_t> last;
};
template <>
struct Record<Ends> {
  static constexpr std::string_view kType = "", kDoc = "Two ends.";
  static constexpr std::array kMembers = {
      Member<&Ends::first>("first", "The first.").Column("first"),
      Member<&Ends::last>("last", "The last."),
  };
};

struct Row {
  uint32_t number = 7;
  std::string name = "a \"b\", c";
  Duration took{-1'234'567};
  Elapsed since{1'000'000'001};
  Time time{1'706'702'400'123'456'789};
  std::optional<Xid> xid = Xid{0x1a2b3c4d};
  Decimal<2> part{12.345678};
  bool good = true;
  Colour colour = Colour::kGreen;
  Omittable<int64_t> offset;
  std::array<std::byte, 2> digest{std::byte{0xab}, std::byte{0x01}};
  std::vector<std::string> words{"x", "y"};
  std::vector<std::pair<std::string, uint64_t>> counts{{"a b", 1}, {"c", 2}};
  std::vector<Ends> parts{{1, 2}, {3, std::nullopt}};
  std::optional<Ends> ends;
  Ends inlined{8, 9};
};
template <>
struct Record<Row> {
  static constexpr std::string_view kType = "row", kDoc = "A row.";
  static constexpr std::array kMembers = {
      Member<&Row::number>("number", "Its number.").In("bytes").Column("no"),
      Member<&Row::name>("name", "Its name.").Column("name"),
      Member<&Row::took>("took_us", "How long it took.").Column("took"),
      Member<&Row::since>("since_s", ""),
      Member<&Row::time>("time", ""),
      Member<&Row::xid>("xid", ""),
      Member<&Row::part>("part", "").In("percent"),
      Member<&Row::good>("good", ""),
      Member<&Row::colour>("colour", "Its colour.").Use("paint"),
      Member<&Row::offset>("offset", ""),
      Member<&Row::digest>("digest", ""),
      Member<&Row::words>("words", ""),
      Member<&Row::counts>("counts", ""),
      Member<&Row::parts>("parts", ""),
      Member<&Row::ends>("ends", ""),
      Inline<&Row::inlined>(),
  };
};

namespace {

template <typename R>
std::string Json(const R& row, std::optional<std::string_view> file = std::nullopt) {
  std::string out;
  JsonWriter json(out);
  PutRow(json, row, file);
  return out;
}

TEST(Json, HasEveryMemberInTheOrderOfTheDescription) {
  EXPECT_EQ(Json(Row(), "a.pcap"),
            R"({"type":"row","file":"a.pcap","number":7,"name":"a \"b\", c","took_us":-1234.567,)"
            R"("since_s":1.000000001,"time":"2024-01-31T12:00:00.123456789Z","xid":"0x1a2b3c4d","part":12.35,)"
            R"("good":true,"colour":"green","digest":"ab01","words":["x","y"],"counts":{"a b":1,"c":2},)"
            R"("parts":[{"first":1,"last":2},{"first":3,"last":null}],"ends":null,"first":8,"last":9})");
}

TEST(Json, UnknownIsNullAndOmittableIsLeftOut) {
  Row row;
  row.xid.reset();
  row.offset = -5;
  row.ends = Ends{1, 2};
  const std::string json = Json(row);
  EXPECT_NE(json.find(R"("xid":null)"), std::string::npos);
  EXPECT_NE(json.find(R"("offset":-5)"), std::string::npos);
  EXPECT_NE(json.find(R"("ends":{"first":1,"last":2})"), std::string::npos);
  EXPECT_EQ(json.find("file"), std::string::npos);
}

TEST(Csv, NamesMembersOfMembersWithDots) {
  std::string out;
  const std::vector<Column> columns = ColumnsOf(InfoOf<Row>());
  PutCsvHeading(out, columns, true);
  EXPECT_EQ(out,
            "file,number,name,took_us,since_s,time,xid,part,good,colour,offset,digest,words,counts,parts,ends.first,"
            "ends.last,"
            "first,last\r\n");
}

TEST(Csv, QuotesWhatHasToBe) {
  std::string out;
  Row row;
  row.parts.clear();
  PutCsvLine(out, ColumnsOf(InfoOf<Row>()), &row, "a,b");
  EXPECT_EQ(out,
            "\"a,b\",7,\"a \"\"b\"\", c\",-1234.567,1.000000001,2024-01-31T12:00:00.123456789Z,0x1a2b3c4d,12.35,true,"
            "green,,ab01,x;y,a b=1;c=2,,,,8,9\r\n");
}

TEST(Csv, WritesListsOfRecordsAsJson) {
  std::string out;
  const Row row;
  PutText(out, InfoOf<Row>().members[13].get(&row));
  EXPECT_EQ(out, R"({"first":1,"last":2};{"first":3,"last":null})");
}

TEST(Csv, WritesListsOfListsAsRanges) {
  std::string out;
  const std::vector<std::vector<uint64_t>> ranges{{0, 100}, {4096, 8192}};
  PutText(out, As<std::vector<std::vector<uint64_t>>>::Of(ranges));
  EXPECT_EQ(out, "0-100;4096-8192");
}

std::string TableOf(const std::vector<Row>& rows, bool all, size_t width) {
  std::string cells, out;
  const std::vector<Column> columns = TableColumns(InfoOf<Row>(), all);
  Table table(columns, width, "", "");
  for (const Row& row : rows) PutCells(cells, columns, &row);
  table.Add(out, cells);
  table.Finish(out);
  return out;
}

TEST(TableTest, AlignsNumbersRightWithUnitsInTheHeading) {
  Row one, two;
  one.name = "one";
  two.number = 12345;
  two.name = "longer\tx";
  two.took.ns = 1000;
  EXPECT_EQ(TableOf({one, two}, false, 0),
            " no B  name        took us  first\n"
            "    7  one       -1234.567      8\n"
            "12345  longer?x      1.000      8\n");
}

TEST(TableTest, LeavesOutTheColumnsThatTheTerminalHasNoRoomFor) {
  Row row;
  row.name = "one";
  EXPECT_EQ(TableOf({row}, false, 13), "no B  name\n   7  one\n");
  EXPECT_EQ(TableOf({row}, false, 1), "no B\n   7\n");
}

TEST(TableTest, HasTheHeadingWithoutRows) { EXPECT_EQ(TableOf({}, false, 0), "no B  name  took us  first\n"); }

TEST(TableTest, ShowsUnknownValuesAsDashes) {
  Row row;
  row.name = "one";
  const std::string out = TableOf({row}, true, 0);
  EXPECT_NE(out.find("ends.first"), std::string::npos);
  EXPECT_NE(out.find("  -  "), std::string::npos);
}

TEST(TableTest, KeepsColumnsWhereRowsComeLater) {
  std::vector<Row> rows(1200);
  for (Row& row : rows) row.name = "x";
  rows[1100].name = "yy";
  std::string out = TableOf(rows, false, 0);
  size_t lines = 0;
  for (const char c : out) lines += c == '\n' ? 1 : 0;
  EXPECT_EQ(lines, 1201u);
}

TEST(SortKeyTest, LargestFirstAndUnknownLast) {
  const auto key = [](auto value) { return SortKey(As<decltype(value)>::Of(value)); };
  EXPECT_TRUE(key(uint64_t{3}).ComesBefore(key(uint64_t{2}), false));
  EXPECT_FALSE(key(uint64_t{2}).ComesBefore(key(uint64_t{2}), false));
  EXPECT_TRUE(key(uint64_t{2}).ComesBefore(key(uint64_t{3}), true));
  EXPECT_TRUE(key(int64_t{-1}).ComesBefore(key(int64_t{-2}), false));
  EXPECT_TRUE(key(uint64_t{(1ULL << 63) + 1}).ComesBefore(key(uint64_t{1ULL << 63}), false));
  EXPECT_TRUE(key(Time{(int64_t{1} << 62) + 1}).ComesBefore(key(Time{int64_t{1} << 62}), false));
  EXPECT_TRUE(key(Decimal<1>{0.25}).ComesBefore(key(Decimal<1>{-3}), false));
  EXPECT_TRUE(key(std::string("a")).ComesBefore(key(std::string("b")), false));
  EXPECT_TRUE(key(std::string("b")).ComesBefore(key(std::string("a")), true));
  const SortKey unknown = key(std::optional<uint64_t>());
  for (const bool reversed : {false, true}) {
    EXPECT_TRUE(key(uint64_t{0}).ComesBefore(unknown, reversed));
    EXPECT_FALSE(unknown.ComesBefore(key(uint64_t{0}), reversed));
    EXPECT_FALSE(unknown.ComesBefore(unknown, reversed));
  }
}

constexpr CommandRecords::Written kWritten[] = {{InfoOf<Row>}};
constexpr CommandRecords kRows[] = {{"rows", kWritten}};

TEST(Schema, SaysTypesUnitsAndWhatMayBeMissing) {
  std::string out;
  PutSchema(out, kRows);
  for (
      const std::string_view part :
      {R"("$schema":"https://json-schema.org/draft/2020-12/schema")", R"({"$ref":"#/$defs/row"})",
       R"("type":{"const":"row"})",
       R"("took_us":{"type":"number","description":"How long it took.","x-unit":"microseconds"})",
       R"("number":{"type":"integer","minimum":0,"description":"Its number.","x-unit":"bytes"})",
       R"("colour":{"type":"string","enum":["red","green"],"description":"Its colour.","deprecated":true,"x-use":"paint"})",
       R"("words":{"type":"array","items":{"type":"string"}})",
       R"("counts":{"type":"object","additionalProperties":{"type":"integer","minimum":0}})",
       R"("ends":{"type":["object","null"],"properties":{"first":)",
       R"("required":["type","file","number","name","took_us","since_s","time","xid","part","good","colour","digest",)"
       R"("words","counts","parts","ends","first","last"],"additionalProperties":false)"}) {
    EXPECT_NE(out.find(part), std::string::npos) << part << "\n" << out;
  }
}

TEST(Schema, MarkdownHasALineForEachMember) {
  std::string out;
  PutMarkdown(out, kRows);
  for (const std::string_view line :
       {"| `took_us` | number | microseconds | How long it took. |\n",
        "| `colour` | string |  | Its colour. One of `red`, `green`. Stays until 1.0; use `paint`. |\n",
        "| `xid` | string or null |  |  |\n", "| `offset` | integer, or left out |  |  |\n",
        "| `parts` | array of object |  |  |\n", "| `parts[].last` | integer or null |  | The last. |\n",
        "| `ends.first` | integer |  | The first. |\n"}) {
    EXPECT_NE(out.find(line), std::string::npos) << line << "\n" << out;
  }
}

}  // namespace
// Members that are elsewhere, or that functions give.
struct Report {
  double seconds() const { return 1.5; }
  uint32_t xid = 0x1a2b3c4d;
  std::map<std::string, uint64_t> troubles{{"a", 1}, {"b c", 2}};
};
uint64_t Double(const Report& report) { return 2ull * report.xid; }
template <>
struct Record<Report> : Part<Report> {
  static constexpr std::array kMembers = {
      Member<&Row::seconds, Decimal<3>>("seconds", "From a member function."),
      Member<Double>("double", "From a function."),
      Member<&Row::xid, Xid>("xid", "As another type."),
      Member<&Row::troubles>("troubles", "A map."),
  };
};
struct Reported {
  const Report* report = nullptr;
};
template <>
struct Record<Reported> : Part<Reported> {
  static constexpr std::array kMembers = {Member<&Row::report>("report", "Elsewhere."), Inline<&Row::report>()};
};

TEST(Results, MembersElsewhereAndOfFunctions) {
  const Report report;
  std::string line;
  JsonWriter json(line);
  PutRow(json, Reported{&report});
  const std::string members = R"("seconds":1.500,"double":878082202,"xid":"0x1a2b3c4d","troubles":{"a":1,"b c":2})";
  EXPECT_EQ(line, R"({"report":{)" + members + "}," + members + "}");
}

}  // namespace results
}  // namespace stag
