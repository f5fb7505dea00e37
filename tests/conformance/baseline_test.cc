// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/baseline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/report/documents.h"
#include "conformance/report/fingerprint.h"
#include "tests/conformance/checker.h"
#include "tests/conformance/findings.h"

namespace stag::conformance {
namespace {

using test::Findings;
using test::MakeFinding;

Finding Numbered(uint64_t n) {
  Finding finding = MakeFinding("THRESH-001", n);
  finding.message = "A Send of " + std::to_string(n) + " bytes";
  finding.connection = static_cast<fabric::ConnectionId>(n);
  return finding;
}

// What a reporter writes about PVT-006 and THRESH-001.
template <typename Make>
std::string Report(Make make) {
  std::string out;
  const std::unique_ptr<Reporter> reporter = make([&out](std::string_view text) { out.append(text); });
  reporter->BeginFile("a.pcap");
  reporter->OnFinding(MakeFinding("PVT-006"));
  reporter->OnFinding(Numbered(5));
  Summary summary;
  summary.files = 1;
  reporter->EndFile(summary, "");
  reporter->Finish({});
  return out;
}

// Whether a baseline with `text` knows exactly PVT-006 and THRESH-001.
void ExpectKnown(const std::string& text) {
  Baseline baseline(false);
  Findings kept;
  FindingSink& sink = baseline.Before(kept);
  ASSERT_TRUE(baseline.Add(text)) << text;
  sink.OnFinding(MakeFinding("PVT-006", 99));
  sink.OnFinding(Numbered(1000));
  EXPECT_TRUE(kept.all.empty()) << text;
  EXPECT_EQ(baseline.suppressed(), 2u);
  EXPECT_TRUE(baseline.Unused({}).empty());
  sink.OnFinding(MakeFinding("PVT-005"));
  Finding other = Numbered(5);
  other.client_to_server = true;
  sink.OnFinding(other);
  EXPECT_EQ(kept.all.size(), 2u);
}

TEST(Baseline, RecordsAndReadsItself) {
  Baseline recorder(true);
  Findings kept;
  FindingSink& sink = recorder.Before(kept);
  for (uint64_t n = 1; n < 50; ++n) sink.OnFinding(Numbered(n));
  sink.OnFinding(MakeFinding("PVT-006"));
  EXPECT_EQ(kept.all.size(), 50u);
  EXPECT_EQ(std::ranges::count(recorder.Recorded(), '\n'), 2);
  EXPECT_FALSE(recorder.overflowed());
  ExpectKnown(recorder.Recorded());
}

TEST(Baseline, DoesNotDependOnTheOrderOfFindings) {
  Baseline one(true), two(true);
  Findings kept;
  for (const char* id : {"PVT-006", "THRESH-001", "HDR-003"}) one.Before(kept).OnFinding(MakeFinding(id));
  for (const char* id : {"HDR-003", "THRESH-001", "PVT-006"}) two.Before(kept).OnFinding(MakeFinding(id, 77));
  EXPECT_EQ(one.Recorded(), two.Recorded());
}

TEST(Baseline, ReadsReports) {
  const std::string lines = Report([](Write write) { return MakeJsonlReporter(std::move(write)); });
  const std::string document = Report([](Write write) { return MakeJsonReporter(std::move(write), "1"); });
  ExpectKnown(lines);
  ExpectKnown("# accepted on the first of May\n\n" + lines);
  ExpectKnown(document);
  std::string one_line = document;
  std::erase(one_line, '\n');
  ExpectKnown(one_line);
  std::string spread;
  for (const char c : document) spread.append(c == '{' ? "{\n" : std::string(1, c));
  ExpectKnown(spread);
}

TEST(Baseline, NothingIsFine) {
  for (const char* text : {"", "\n \n", "# nothing\n"}) EXPECT_TRUE(Baseline(false).Add(text)) << text;
}

TEST(Baseline, SaysWhatIsWrong) {
  const auto error = [](std::string_view text) {
    const auto added = Baseline(false).Add(text);
    return added ? "" : added.error().message;
  };
  EXPECT_EQ(error("{\"fingerprint\":\"0123456789abcdef\"}\n{\"fingerprint\":\"xyz\"}\n").substr(0, 3), "2: ");
  EXPECT_EQ(error("{\"fingerprint\":\"0123456789abcdef\"}\n[]\n"), "2: not a JSON object");
  EXPECT_EQ(error("{\"rule\":\"HDR-001\"}").substr(0, 3), "1: ");
  EXPECT_NE(error("{\"findings\":3"), "");
  EXPECT_NE(error("{\"findings\":[{\"type\":\"finding\"}]}"), "");
  EXPECT_NE(error("PVT-006"), "");
  EXPECT_NE(error("\x7f"
                  "ELF"),
            "");
  EXPECT_NE(error("{}"), "");
  EXPECT_NE(error("{\n}"), "");
  EXPECT_NE(error("[1,\n2]"), "");
  EXPECT_NE(error(std::string(100000, '[')), "");
}

TEST(Baseline, TellsWhatWasOfNoUse) {
  Baseline recorder(true);
  Findings kept;
  for (const char* id : {"PVT-006", "HDR-003"}) recorder.Before(kept).OnFinding(MakeFinding(id));
  Baseline baseline(false);
  ASSERT_TRUE(baseline.Add(recorder.Recorded()));
  baseline.Before(kept).OnFinding(MakeFinding("PVT-006"));
  const std::string want = Fingerprint(MakeFinding("HDR-003")) + " HDR-003: A \"message\"";
  EXPECT_EQ(baseline.Unused({}), std::vector<std::string>{want});
  EXPECT_EQ(baseline.Unused({.profile = {}, .select = {"HDR"}, .ignore = {}}), std::vector<std::string>{want});
  EXPECT_TRUE(baseline.Unused({.profile = {}, .select = {"PVT"}, .ignore = {}}).empty());
  EXPECT_TRUE(baseline.Unused({.profile = {}, .select = {}, .ignore = {"HDR-003"}}).empty());
}

}  // namespace
}  // namespace stag::conformance
