// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "conformance/catalogue/rule.h"
#include "conformance/engine/check.h"

namespace stag::conformance {
namespace {

TEST(Catalogue, HoldsEveryRuleOnce) {
  const auto rules = Catalogue();
  EXPECT_EQ(rules.size(), 240u);
  std::set<std::string_view> ids;
  for (const RuleInfo& rule : rules) EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
}

TEST(Catalogue, GroupsAreTogetherAndInOrder) {
  std::set<std::string_view> seen;
  std::string_view group, previous;
  for (const RuleInfo& rule : Catalogue()) {
    EXPECT_TRUE(rule.id.starts_with(rule.group)) << rule.id;
    if (rule.group != group) {
      EXPECT_TRUE(seen.insert(rule.group).second) << rule.group << " comes twice";
      group = rule.group;
    } else {
      EXPECT_LT(previous, rule.id);
    }
    previous = rule.id;
  }
}

TEST(Catalogue, EveryEntryIsFilled) {
  for (const RuleInfo& rule : Catalogue()) {
    EXPECT_FALSE(rule.title.empty()) << rule.id;
    EXPECT_FALSE(rule.requirement.empty()) << rule.id;
    EXPECT_FALSE(rule.check.empty()) << rule.id;
    EXPECT_FALSE(rule.sources.empty()) << rule.id;
    for (const Source& source : rule.sources)
      EXPECT_TRUE(InForce(source, Profile::kRfc8166) || InForce(source, Profile::kRfc5666bis) ||
                  InForce(source, Profile::kRfc5666))
          << rule.id << " " << source.document;
  }
}

TEST(Catalogue, EveryRuleSaysWhyItMatters) {
  for (const RuleInfo& rule : Catalogue()) EXPECT_FALSE(rule.matters.empty()) << rule.id;
}

TEST(Catalogue, EveryCheckedRuleSaysWhatToDoAndShowsBytes) {
  for (const RuleInfo& rule : Catalogue()) {
    if (!WhyNotChecked(rule).empty()) continue;
    EXPECT_FALSE(rule.remedy.empty()) << rule.id;
    EXPECT_FALSE(rule.bytes.empty()) << rule.id;
  }
}

TEST(Catalogue, BytesFitAScreen) {
  for (const RuleInfo& rule : Catalogue()) {
    std::istringstream lines{std::string(rule.bytes)};
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 100u) << rule.id << ": " << line;
      EXPECT_FALSE(line.empty() || line.ends_with(' ')) << rule.id << ": " << line;
      for (const char ch : line) EXPECT_TRUE(ch >= ' ' && ch <= '~') << rule.id << ": " << line;
    }
  }
}

TEST(Catalogue, EveryCheckHasARule) {
  for (const CheckEntry& entry : Checks()) {
    const RuleInfo* rule = FindRule(entry.id);
    ASSERT_NE(rule, nullptr) << entry.id;
    EXPECT_EQ(WhyNotChecked(*rule), "");
    // Permissions exempt; these have a sentence that can be broken, if only as a note.
    if (rule->level == "MAY-context") {
      EXPECT_TRUE(entry.id == "REPLY-008" || entry.id == "CRED-006" || entry.id == "MSGP-006" || entry.id == "CCP-010")
          << entry.id;
    }
  }
  for (const NoCheckEntry& entry : ReasonsForNoCheck()) {
    const RuleInfo* rule = FindRule(entry.id);
    ASSERT_NE(rule, nullptr) << entry.id;
    EXPECT_EQ(WhyNotChecked(*rule), entry.reason) << entry.id;
  }
}

// The groups that are complete: what is full or partial observable and no permission has a check, or a reason.
TEST(Catalogue, ObservableRulesOfTheFinishedGroupsAreChecked) {
  for (const RuleInfo& rule : Catalogue()) {
    static constexpr std::string_view kGroups[] = {"HDR",  "FRAME", "XID", "RDLIST", "WRLIST", "REPLY",
                                                   "LONG", "CONN",  "PVT", "DDP",    "PAD",    "GSS",
                                                   "ULB",  "MEM",   "ERR", "EXT",    "THRESH"};
    if (std::ranges::find(kGroups, rule.group) == std::end(kGroups)) continue;
    EXPECT_NE(WhyNotChecked(rule), "no check yet") << rule.id;
  }
}

TEST(Catalogue, EventGroupsNameRules) {
  EXPECT_FALSE(EventGroups().empty());
  for (const auto group : EventGroups())
    for (const std::string_view id : group) EXPECT_NE(FindRule(id), nullptr) << id;
}

TEST(Catalogue, Find) {
  EXPECT_EQ(FindRule("RDLIST-003")->title, "Segments with one Position form one chunk, joined in list order");
  EXPECT_EQ(FindRule("RDLIST-003")->severity, Severity::kWarning);
  EXPECT_EQ(FindRule("RDLIST-999"), nullptr);
  EXPECT_EQ(FindRule("RDLIST"), nullptr);
}

TEST(Catalogue, FindGroup) {
  const auto group = FindGroup("FRAME");
  ASSERT_EQ(group.size(), 2u);
  EXPECT_EQ(group[0].id, "FRAME-001");
  EXPECT_EQ(group[1].id, "FRAME-002");
  EXPECT_EQ(FindGroup("HDR").size(), 16u);           // the first
  EXPECT_EQ(FindGroup("ULB").back().id, "ULB-006");  // the last
  EXPECT_TRUE(FindGroup("").empty());
  EXPECT_TRUE(FindGroup("RDLIST-003").empty());
}

TEST(Source, Text) {
  EXPECT_EQ(SourceText({"RFC8166", "3.4.5"}), "RFC 8166 3.4.5");
  EXPECT_EQ(SourceText({"RFC5666(draft-08)", "3.4"}), "RFC 5666 (draft-08) 3.4");
  EXPECT_EQ(SourceText({"RFC8167", "4.1"}), "RFC 8167 4.1");
}

}  // namespace
}  // namespace stag::conformance
