// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "conformance/catalogue/catalogue_data.h"
#include "conformance/engine/check.h"

namespace stag::conformance {
namespace {

TEST(Catalogue, HoldsEveryRuleOnce) {
  const auto rules = Catalogue();
  EXPECT_EQ(rules.size(), 234u);
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
    EXPECT_NE(rule.implemented, !rule.not_checked.empty()) << rule.id;
    for (const Source& source : rule.sources)
      EXPECT_TRUE(InForce(source, Profile::kRfc8166) || InForce(source, Profile::kRfc5666bis) ||
                  InForce(source, Profile::kRfc5666))
          << rule.id << " " << source.document;
  }
}

TEST(Catalogue, EveryCheckHasARule) {
  for (const CheckEntry& entry : Checks()) {
    const RuleInfo* rule = FindRule(entry.id);
    ASSERT_NE(rule, nullptr) << entry.id;
    EXPECT_TRUE(rule->implemented);
    // Permissions exempt; REPLY-008 is one with a sentence that can be broken.
    if (rule->level == "MAY-context") {
      EXPECT_EQ(entry.id, "REPLY-008");
    }
  }
  for (const NoCheckEntry& entry : ReasonsForNoCheck()) {
    const RuleInfo* rule = FindRule(entry.id);
    ASSERT_NE(rule, nullptr) << entry.id;
    EXPECT_FALSE(rule->implemented) << entry.id;
  }
}

// The groups that are complete: what is full or partial observable and no permission has a check, or a reason.
TEST(Catalogue, ObservableRulesOfTheFinishedGroupsAreChecked) {
  for (const RuleInfo& rule : Catalogue()) {
    static constexpr std::string_view kGroups[] = {"HDR",   "FRAME", "XID",  "RDLIST", "WRLIST",
                                                   "REPLY", "LONG",  "CONN", "PVT"};
    if (std::ranges::find(kGroups, rule.group) == std::end(kGroups) || rule.implemented) continue;
    EXPECT_NE(rule.not_checked, "no check yet") << rule.id;
  }
}

TEST(Catalogue, EventGroupsNameRules) {
  EXPECT_FALSE(catalogue::EventGroups().empty());
  for (const auto group : catalogue::EventGroups())
    for (const std::string_view id : group) EXPECT_NE(FindRule(id), nullptr) << id;
}

TEST(Catalogue, Find) {
  EXPECT_EQ(FindRule("RDLIST-003")->title, "Segments with one Position form one chunk, joined in list order");
  EXPECT_EQ(FindRule("RDLIST-003")->severity, Severity::kWarning);
  EXPECT_EQ(FindRule("RDLIST-999"), nullptr);
}

TEST(Source, Text) {
  EXPECT_EQ(SourceText({"RFC8166", "3.4.5"}), "RFC 8166 3.4.5");
  EXPECT_EQ(SourceText({"RFC5666(draft-08)", "3.4"}), "RFC 5666 (draft-08) 3.4");
  EXPECT_EQ(SourceText({"RFC8167(own knowledge)", ""}), "RFC 8167");
}

}  // namespace
}  // namespace stag::conformance
