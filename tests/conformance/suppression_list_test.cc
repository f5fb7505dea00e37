// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/suppression_list.h"

#include <gtest/gtest.h>

#include "conformance/report/fingerprint.h"
#include "tests/conformance/checker.h"
#include "tests/conformance/findings.h"

namespace stag::conformance {
namespace {

using test::Findings;
using test::MakeFinding;

// Whether a list with one entry covers the finding.
bool Covers(const std::string& members, const Finding& finding) {
  SuppressionList list;
  Findings kept;
  FindingSink& sink = list.Before(kept);
  EXPECT_TRUE(list.Add("{" + members + ",\"reason\":\"known\"}"));
  sink.OnFinding(finding);
  EXPECT_EQ(list.suppressed() == 1, kept.all.empty());
  EXPECT_EQ(list.Unused({}).empty(), kept.all.empty());
  return kept.all.empty();
}

TEST(SuppressionList, CoversWhatHasAllItNames) {
  Finding finding = MakeFinding("PVT-006");
  finding.procedure = Procedure{100003, 3, 6};
  EXPECT_TRUE(Covers(R"("rule":"PVT-006")", finding));
  EXPECT_TRUE(Covers(R"("rule":"pvt")", finding));
  EXPECT_FALSE(Covers(R"("rule":"PVT-005")", finding));
  EXPECT_TRUE(Covers(R"("rule":"PVT-006","direction":"s2c")", finding));
  EXPECT_FALSE(Covers(R"("rule":"PVT-006","direction":"c2s")", finding));
  EXPECT_TRUE(Covers(R"("rule":"PVT-006","procedure":"NFSv3 READ")", finding));
  EXPECT_FALSE(Covers(R"("rule":"PVT-006","procedure":"NFSv3 WRITE")", finding));
  EXPECT_FALSE(Covers(R"("rule":"PVT-006","procedure":"NFSv3 READ")", MakeFinding("PVT-006")));
  const std::string fingerprint = Fingerprint(finding);
  EXPECT_TRUE(Covers("\"fingerprint\":\"" + fingerprint + "\"", finding));
  EXPECT_FALSE(Covers("\"fingerprint\":\"" + fingerprint + "\"", MakeFinding("PVT-006")));
  EXPECT_FALSE(Covers("\"fingerprint\":\"" + fingerprint + "\",\"direction\":\"c2s\"", finding));
}

TEST(SuppressionList, SaysWhatIsWrong) {
  const auto error = [](std::string_view text) {
    const auto added = SuppressionList().Add(text);
    return added ? "" : added.error().message;
  };
  EXPECT_EQ(error("# why\n\n{\"rule\":\"PVT-006\"}\n"), "3: an entry without a \"reason\"");
  EXPECT_EQ(error(R"({"rule":"PVT-006","reason":""})").substr(0, 3), "1: ");
  EXPECT_EQ(error(R"({"rule":"PVT-006","reason":5})").substr(0, 3), "1: ");
  EXPECT_EQ(error(R"({"reason":"all of it"})"), "1: an entry without a \"rule\" or \"fingerprint\"");
  EXPECT_EQ(error(R"({"rule":"NOPE-001","reason":"x"})"), "1: \"NOPE-001\" names no rule");
  EXPECT_EQ(error(R"({"rule":"PVT","because":"x"})"), "1: there is no member \"because\"");
  EXPECT_EQ(error(R"({"rule":"PVT","direction":"up","reason":"x"})").substr(0, 3), "1: ");
  EXPECT_EQ(error(R"({"fingerprint":"0123","reason":"x"})").substr(0, 3), "1: ");
  EXPECT_EQ(error("{\"rule\":\"PVT\",\"reason\":\"x\"}\nPVT-006"), "2: not a JSON object");
  EXPECT_EQ(error("{\"rule\":\"PVT\",\n\"reason\":\"x\"}"), "1: not a JSON object");
}

TEST(SuppressionList, TellsWhatWasOfNoUse) {
  SuppressionList list;
  Findings kept;
  ASSERT_TRUE(
      list.Add("{\"rule\":\"PVT-006\",\"reason\":\"a\"}\n"
               "{\"rule\":\"HDR-003\",\"reason\":\"b\"}\n"
               "{\"fingerprint\":\"0123456789abcdef\",\"reason\":\"c\"}\n"));
  list.Before(kept).OnFinding(MakeFinding("PVT-006"));
  EXPECT_EQ(list.Unused({}), (std::vector<std::string>{"HDR-003 (b)", "0123456789abcdef (c)"}));
  EXPECT_EQ(list.Unused({.profile = {}, .select = {"PVT"}, .ignore = {}}),
            std::vector<std::string>{"0123456789abcdef (c)"});
}

}  // namespace
}  // namespace stag::conformance
