// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "conformance/catalogue/rule.h"
#include "conformance/report/documents.h"
#include "conformance/report/fingerprint.h"
#include "conformance/report/reporter.h"
#include "results/json.h"
#include "tests/conformance/findings.h"

namespace stag::conformance {
namespace {

using test::MakeFinding;

RuleTally Tally(std::string_view id, std::initializer_list<std::pair<Outcome, uint64_t>> counts) {
  RuleTally tally;
  tally.rule = FindRule(id);
  for (const auto& [outcome, count] : counts) tally[outcome] = count;
  return tally;
}

Summary MakeSummary() {
  Summary summary;
  summary.files = 1;
  summary.frames = 100;
  summary.connections = 2;
  summary.transactions = 30;
  summary.gaps = 1;
  summary.truncated_frames = 5;
  summary.judged = {.rpcs = 30, .cut = 3, .missing = 1};
  summary.rules = {Tally("HDR-001", {{Outcome::kPass, 30}}), Tally("LONG-001", {{Outcome::kNotApplicable, 30}}),
                   Tally("WRLIST-006", {{Outcome::kFail, 1}, {Outcome::kGap, 2}, {Outcome::kNotApplicable, 27}})};
  std::ranges::sort(summary.rules, {}, &RuleTally::rule);
  return summary;
}

TEST(Jsonl, FieldsInOrder) {
  std::string out;
  const auto reporter = MakeJsonlReporter([&](std::string_view text) { out.append(text); });
  reporter->BeginFile("a \"b\".pcap");
  Finding finding = MakeFinding("WRLIST-006", 12);
  finding.start_ns = finding.frame.time_ns - 2'000'000'001;
  finding.call_number = 7;
  reporter->OnFinding(finding);
  reporter->EndFile(MakeSummary(), "");
  reporter->Finish({});
  std::istringstream lines(out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(
      line,
      R"({"type":"finding","rule":"WRLIST-006","severity":"error","certainty":"proven","file":"a \"b\".pcap","frame":12,)"
      R"("proven_frame":12,)"
      R"("time":"2024-02-29T12:34:56.123456789Z","time_s":2.000000001,"connection":3,"direction":"s2c",)"
      R"("xid":"0x1a2b3c4d","transaction":"3.7","message":"A \"message\"","spec":["RFC 8166 3.4.6"],"related_frames":[4,9],"see_also":["WRLIST-012"],)"
      R"("fingerprint":")" +
          Fingerprint(MakeFinding("WRLIST-006", 12)) +
          R"(","profile":"rfc8166","expected":"this","actual":"that","rpc":null})");
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(
      line,
      R"({"type":"summary","frames":100,"connections":2,"transactions":30,"findings":{"error":1,"warning":0,"note":0},)"
      R"("rules_checked":["HDR-001","WRLIST-006"],"rules_not_exercised":["LONG-001"],)"
      R"("incomplete":{"gaps":1,"truncated_frames":5},)"
      R"("judged":{"rpcs":30,"judged":26,"cut":3,"missing":1,"one_direction":0,"sampled":0,"foreign":0,"dropped":0,)"
      R"("advice":"Capture whole frames (tcpdump -s 0). Capture from before the mount on, at the RDMA device rather than )"
      R"(the network interface, into memory or onto a fast disk."},)"
      R"("outcomes":{"HDR-001":{"pass":30},)"
      R"("WRLIST-006":{"not applicable":27,"fail":1,"gap":2}},)"
      R"("suppressed":{"by_baseline":0,"by_list":0,"unused":[]}})");
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(Jsonl, NoXid) {
  std::string out;
  const auto reporter = MakeJsonlReporter([&](std::string_view text) { out.append(text); });
  Finding finding = MakeFinding("PVT-003", 1);
  finding.xid.reset();
  finding.related_frames.clear();
  finding.see_also.clear();
  finding.client_to_server = true;
  reporter->BeginFile("\xff");
  reporter->OnFinding(finding);
  const auto json = nlohmann::json::parse(out);
  EXPECT_TRUE(json["xid"].is_null());
  EXPECT_EQ(json["direction"], "c2s");
  EXPECT_TRUE(json["related_frames"].empty() && json["related_frames"].is_array());
}

Finding Overrun() {
  Finding finding = MakeFinding("WRLIST-006", 6);
  finding.proven = {16, 1709210096123456790};
  return finding;
}

Finding Presumed() {
  Finding finding = Overrun();
  finding.certainty = Certainty::kPresumed;
  finding.severity = Severity::kWarning;
  finding.unseen = "the capture ends before the server is heard again";
  return finding;
}

std::string Written(const std::function<std::unique_ptr<Reporter>(Write)>& make, const Finding& finding) {
  std::string out;
  const auto reporter = make([&](std::string_view text) { out.append(text); });
  reporter->BeginFile("a.pcap");
  reporter->OnFinding(finding);
  reporter->EndFile(MakeSummary(), "");
  reporter->Finish({});
  return out;
}

TEST(TextReport, StandsAtTheOffenderAndNamesTheProof) {
  const auto make = [](Write write) { return MakeTextReporter(std::move(write), false, true); };
  EXPECT_TRUE(
      Written(make, Overrun()).starts_with("a.pcap:6: error WRLIST-006: A \"message\"\n    proven by frame 16\n"));
  EXPECT_TRUE(Written(make, Presumed())
                  .starts_with("a.pcap:6: warning WRLIST-006: A \"message\"\n"
                               "    presumed       the capture ends before the server is heard again\n"));
}

TEST(Reports, SayWhatIsPresumed) {
  const std::string sentence = "A \"message\". Presumed: the capture ends before the server is heard again";
  const std::string lines = Written([](Write write) { return MakeJsonlReporter(std::move(write)); }, Presumed());
  const auto jsonl = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(jsonl["certainty"], "presumed");
  EXPECT_EQ(jsonl["frame"], 6);
  EXPECT_EQ(jsonl["proven_frame"], 16);
  EXPECT_EQ(jsonl["message"], sentence);
  EXPECT_EQ(jsonl["fingerprint"], Fingerprint(Overrun()));

  const auto sarif =
      nlohmann::json::parse(Written([](Write write) { return MakeSarifReporter(std::move(write), "1"); }, Presumed()));
  const auto& presumed = sarif["runs"][0]["results"][0];
  EXPECT_TRUE(presumed["message"]["text"].get<std::string>().starts_with(sentence));
  EXPECT_EQ(presumed["properties"]["certainty"], "presumed");
  EXPECT_EQ(presumed["relatedLocations"].size(), 2u);
  const auto proven =
      nlohmann::json::parse(Written([](Write write) { return MakeSarifReporter(std::move(write), "1"); }, Overrun()));
  const auto& result = proven["runs"][0]["results"][0];
  EXPECT_EQ(result["locations"][0]["logicalLocations"][0]["name"], "frame 6");
  EXPECT_EQ(result["relatedLocations"][2]["message"]["text"], "Proven by frame 16");

  const auto junit = [](Write write) { return MakeJunitReporter(std::move(write), Severity::kNote); };
  EXPECT_NE(Written(junit, Overrun()).find("error in frame 6, proven by frame 16, connection 3"), std::string::npos);
  EXPECT_NE(Written(junit, Presumed()).find("Presumed: the capture ends"), std::string::npos);
  const auto html = [](Write write) { return MakeHtmlReporter(std::move(write), "1"); };
  EXPECT_NE(Written(html, Overrun()).find("Frame 6 \u00b7 proven by frame 16"), std::string::npos);
  EXPECT_NE(Written(html, Presumed()).find("Frame 6 \u00b7 presumed"), std::string::npos);
}

TEST(TextReport, EndsWithWhatIsPresumed) {
  const auto end_of = [](const std::vector<Finding>& findings) {
    std::string out;
    const auto reporter = MakeTextReporter([&](std::string_view text) { out.append(text); }, false, false);
    reporter->BeginFile("a.pcap");
    for (const Finding& finding : findings) reporter->OnFinding(finding);
    reporter->EndFile(MakeSummary(), "");
    reporter->Finish({});
    return out;
  };
  const std::string why = " presumed: the capture ends before the server is heard again\n";
  EXPECT_NE(end_of({Presumed()}).find("\n1 finding is" + why), std::string::npos);
  EXPECT_NE(end_of({Presumed(), Overrun(), Presumed()}).find("\n2 findings are" + why), std::string::npos);
  EXPECT_EQ(end_of({Overrun()}).find("presumed"), std::string::npos);
}

TEST(TextReport, FoldsRepeats) {
  std::string out;
  const auto reporter = MakeTextReporter([&](std::string_view text) { out.append(text); }, false, false, true);
  reporter->BeginFile("a.pcap");
  for (const uint64_t frame : {uint64_t{12}, uint64_t{20}, uint64_t{31}})
    reporter->OnFinding(MakeFinding("WRLIST-006", frame));
  reporter->OnFinding(MakeFinding("XID-002", 40));
  reporter->EndFile(MakeSummary(), "");
  reporter->Finish({});
  EXPECT_EQ(
      out,
      "a.pcap:12: error WRLIST-006: A \"message\"\n"
      "    expected       this\n"
      "    actual         that\n"
      "    specification  RFC 8166 3.4.6\n"
      "    where          connection 3, server to client, xid 0x1a2b3c4d\n"
      "    related frames 4, 9\n"
      "    see also       WRLIST-012\n"
      "    repeats        2 more on this connection, the last in frame 31\n"
      "a.pcap:40: warning XID-002: A \"message\"\n"
      "    expected       this\n"
      "    actual         that\n"
      "    specification  RFC 8166 2.2.2\n"
      "    where          connection 3, server to client, xid 0x1a2b3c4d\n"
      "    related frames 4, 9\n"
      "    see also       WRLIST-012\n"
      "incomplete: 1 gap, 5 truncated frames; rules that need what is missing were not applied\n"
      "4 of 30 RPCs could not be judged: 3 cut short, 1 with packets that were not captured. Capture whole frames "
      "(tcpdump -s 0). Capture from before the mount on, at the RDMA device rather than the network interface, into "
      "memory or onto a fast disk.\n"
      "2 rules exercised (rule:times):\n"
      "  HDR 001:30, WRLIST 006:1(1 broken)\n"
      "1 rule not checked at times, for the capture shows too little:\n"
      "  WRLIST 006:2(gap)\n"
      "1 rule not exercised by this traffic:\n"
      "  LONG 001\n"
      "3 errors, 1 warning, 0 notes in 100 frames, 2 connections, 30 transactions; 2 of 3 rules exercised\n");
  EXPECT_EQ(reporter->count(Severity::kError), 3u);
}

TEST(TextReport, TheWorstFirst) {
  std::string out;
  const auto reporter = MakeTextReporter([&](std::string_view text) { out.append(text); }, false, false);
  reporter->BeginFile("a.pcap");
  Finding known = MakeFinding("PVT-006", 1), data = MakeFinding("WRLIST-018", 4);
  known.known = true;
  for (const Finding& finding : {known, MakeFinding("XID-002", 2), MakeFinding("WRLIST-006", 3), data})
    reporter->OnFinding(finding);
  reporter->EndFile(MakeSummary(), "");
  reporter->Finish({});
  size_t at = 0;
  for (const char* const text :
       {"a.pcap:4: error WRLIST-018", "a.pcap:3: error WRLIST-006", "a.pcap:2: warning XID-002",
        "a.pcap:1: error PVT-006", "    harmless       The Linux server", "; 1 finding known to do no harm\n"}) {
    const size_t found = out.find(text, at);
    ASSERT_NE(found, std::string::npos) << text << " in\n" << out;
    at = found;
  }
  EXPECT_EQ(out.find("exercised (rule:times)"), std::string::npos);
}

TEST(TextReport, NoTerminalCodesFromNamesOrWithoutColour) {
  for (const bool color : {false, true}) {
    std::string out;
    const auto reporter = MakeTextReporter([&](std::string_view text) { out.append(text); }, color, true);
    reporter->BeginFile("\033]0;x\007.pcap");
    reporter->OnFinding(MakeFinding("WRLIST-006", 12));
    reporter->EndFile(MakeSummary(), "");
    EXPECT_EQ(out.find("\033]"), std::string::npos);
    EXPECT_EQ(out.find('\033') != std::string::npos, color);
  }
}

TEST(Summary, AddsFiles) {
  Summary total;
  total.Add(MakeSummary());
  Summary other;
  other.rules = {Tally("LONG-001", {{Outcome::kPass, 4}, {Outcome::kNotApplicable, 1}}), Tally("LONG-002", {})};
  other.frames = 1;
  total.Add(other);
  EXPECT_EQ(total.frames, 101u);
  ASSERT_EQ(total.rules.size(), 4u);
  EXPECT_TRUE(std::ranges::is_sorted(total.rules, {}, &RuleTally::rule));
  for (const RuleTally& tally : total.rules) {
    if (tally.rule->id == "LONG-001") {
      EXPECT_EQ(tally[Outcome::kPass], 4u);
      EXPECT_EQ(tally[Outcome::kNotApplicable], 31u);
    }
  }
}

TEST(RuleTally, Verdict) {
  EXPECT_EQ(Tally("HDR-001", {{Outcome::kFail, 1}, {Outcome::kPass, 9}}).verdict(), Outcome::kFail);
  EXPECT_EQ(Tally("HDR-001", {{Outcome::kGap, 5}, {Outcome::kPass, 1}}).verdict(), Outcome::kPass);
  EXPECT_EQ(Tally("HDR-001", {{Outcome::kGap, 5}, {Outcome::kNoSetup, 7}}).verdict(), Outcome::kNoSetup);
  EXPECT_EQ(Tally("HDR-001", {{Outcome::kNotApplicable, 5}}).verdict(), Outcome::kNotApplicable);
  EXPECT_EQ(Tally("HDR-001", {{Outcome::kGap, 5}, {Outcome::kPass, 1}}).exercised(), 1u);
  EXPECT_EQ(Tally("HDR-001", {{Outcome::kGap, 5}, {Outcome::kUpperLayer, 1}}).not_checked(), 6u);
}

TEST(Rules, TableAndRows) {
  const std::string table = RulesTable(RowsOf(Catalogue()), false);
  EXPECT_NE(table.find("RDLIST-003  warning   structural"), std::string::npos);
  EXPECT_NE(table.find("exempts, never flags"), std::string::npos);
  EXPECT_NE(table.find("not observable"), std::string::npos);
  size_t count = 0;
  for (const RuleRow& row : RowsOf(Catalogue())) {
    std::string line;
    JsonWriter writer(line);
    results::PutRow(writer, row);
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["type"], "rule");
    EXPECT_NE(json["checked"].get<bool>(), json["not_checked"].is_string());
    const RuleInfo& rule = Catalogue()[count];
    EXPECT_EQ(json["id"], rule.id);
    EXPECT_EQ(json["why_it_matters"], rule.matters);
    const auto text_or_null = [&](const char* name, std::string_view text) {
      EXPECT_EQ(json.at(name).is_null(), text.empty()) << rule.id;
      EXPECT_EQ(json.at(name).is_null() ? "" : json.at(name).get<std::string>(), text);
    };
    text_or_null("what_to_do", rule.remedy);
    text_or_null("example", rule.example);
    text_or_null("example_bytes", rule.bytes);
    ++count;
  }
  EXPECT_EQ(count, Catalogue().size());
}

TEST(Rules, TableOfAGroup) {
  const std::string table = RulesTable(RowsOf(FindGroup("FRAME")), false);
  EXPECT_EQ(std::ranges::count(table, '\n'), 4) << table;
  EXPECT_NE(table.find("\nFRAME-001  "), std::string::npos) << table;
  EXPECT_NE(table.find("\n2 rules, "), std::string::npos) << table;
}

// The titles of the sections of an explanation.
std::vector<std::string> SectionsOf(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> titles;
  std::string line;
  for (bool after_blank = false; std::getline(lines, line); after_blank = line.empty())
    if (after_blank && !line.starts_with(' ')) titles.push_back(line);
  return titles;
}

TEST(Rules, ExplainHasItsSectionsInOrder) {
  for (const RuleInfo& rule : Catalogue()) {
    const std::string text = Explanation(rule, false);
    EXPECT_TRUE(text.starts_with(rule.id));
    const bool together = std::ranges::any_of(
        EventGroups(), [&](const auto group) { return std::ranges::find(group, rule.id) != group.end(); });
    std::vector<std::string> expected = {"What it asks", "Why it matters", "Specification"};
    const auto add_if = [&](bool present, const char* title) {
      if (present) expected.emplace_back(title);
    };
    add_if(!rule.example.empty() || !rule.bytes.empty(), "Example");
    add_if(true, "How it is checked");
    add_if(true, "What can be seen of it");
    add_if(true, "What is not flagged");
    add_if(true, "Captures that need care");
    add_if(!rule.differs.empty(), "Differences between the documents");
    add_if(!rule.remedy.empty(), "What to do");
    add_if(together, "See also");
    EXPECT_EQ(SectionsOf(text), expected) << rule.id;
  }
}

TEST(Rules, ExplainIsForPeople) {
  for (const RuleInfo& rule : Catalogue()) {
    const std::string text = Explanation(rule, false);
    EXPECT_EQ(text.find("TRAP-"), std::string::npos) << text;
    EXPECT_EQ(text.find("Do NOT flag"), std::string::npos) << text;
    EXPECT_EQ(text.find("listed under needs"), std::string::npos) << text;
    EXPECT_EQ(text.find('\033'), std::string::npos);
  }
  EXPECT_NE(Explanation(*FindRule("HDR-001"), true).find('\033'), std::string::npos);
}

TEST(Rules, ExplainKeepsTheBytesAsTheyStand) {
  const RuleInfo& rule = *FindRule("HDR-002");
  std::istringstream lines{std::string(rule.bytes)};
  std::string block;
  for (std::string line; std::getline(lines, line);) block += "    " + line + "\n";
  EXPECT_NE(Explanation(rule, false).find("\nExample\n  " + std::string(rule.example) + "\n\n" + block + "\n"),
            std::string::npos);
}

TEST(Rules, ExplainNamesWhatOneEventBreaksTogether) {
  // meta.one_event_one_finding: [WRLIST-009, WRLIST-018].
  EXPECT_TRUE(Explanation(*FindRule("WRLIST-009"), false)
                  .ends_with("\nSee also\n  WRLIST-018 Bytes written match bytes "
                             "reported\n"));
  const std::string text = Explanation(*FindRule("RDLIST-003"), false);
  EXPECT_NE(text.find("What is not flagged\n  Any segment boundaries are legal"), std::string::npos) << text;
}

}  // namespace
}  // namespace stag::conformance
