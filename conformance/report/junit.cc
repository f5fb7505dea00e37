// SPDX-License-Identifier: GPL-2.0-or-later
//
// JUnit's XML. What a file's cases are is known when it ends: until then the first findings of each rule are kept as
// text, and all are counted.
#include <fmt/format.h>

#include <map>

#include "conformance/engine/text.h"
#include "conformance/report/documents.h"
#include "text/markup.h"

namespace stag::conformance {

namespace {

constexpr uint64_t kMaxShown = 20;  // findings of a rule and file

struct Case {
  uint64_t failures = 0, others = 0;
  std::string first_failure;             // its message
  std::string failure_text, other_text;  // markup
  std::string_view reported_as;          // another rule, that the same events break
};

void AppendFinding(std::string& out, const Finding& finding) {
  const auto line = [&](std::string_view text) {
    PutMarkup(out, text);
    out.push_back('\n');
  };
  const bool elsewhere = finding.certainty == Certainty::kProven && finding.proven.number != finding.frame.number;
  line(Text(SeverityName(finding.severity), " in frame ", finding.frame.number,
            elsewhere ? Text(", proven by frame ", finding.proven.number) : "", ", connection ", finding.connection,
            finding.client_to_server ? ", client to server" : ", server to client",
            finding.xid ? Text(", xid ", Hex{*finding.xid}) : "", ": ", MessageText(finding)));
  if (!finding.expected.empty()) line(Text("    expected ", finding.expected));
  if (!finding.actual.empty()) line(Text("    actual ", finding.actual));
  line(fmt::format("    specification {}", fmt::join(Specifications(*finding.rule, finding.profile), ", ")));
}

std::string Attribute(std::string_view name, std::string_view value) {
  std::string out = Text(" ", name, "=\"");
  PutMarkup(out, value);
  return out.append("\"");
}

// Why a rule without a finding was neither kept nor broken.
std::string ReasonToSkip(const RuleTally& tally, const Case* of_rule) {
  const Outcome verdict = tally.verdict();
  if (verdict == Outcome::kNotApplicable) return "not applicable to this traffic";
  if (verdict != Outcome::kFail)
    return Text("not checked, for the capture does not show enough: ", OutcomeName(verdict));
  if (of_rule && !of_rule->reported_as.empty())
    return Text("broken by events that are reported as ", of_rule->reported_as);
  return "broken, but suppressed by the baseline or the list of suppressions";
}

class JunitReporter final : public Reporter {
 public:
  JunitReporter(Write write, std::optional<Severity> fail_on) : Reporter(std::move(write)), fail_on_(fail_on) {
    Put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"stag check\">\n");
  }

  void EndFile(const Summary& summary, std::string_view trouble) override {
    Reporter::EndFile(summary, trouble);
    std::string cases = "<testcase classname=\"capture\" name=\"is read to its end\"";
    cases.append(trouble.empty() ? "/>\n" : Text("><error", Attribute("message", trouble), "/></testcase>\n"));
    uint64_t failed = 0, skipped = 0;
    const std::vector<RuleTally> none;
    const std::vector<RuleTally>& rules = summary.files > 0 ? summary.rules : none;
    for (const RuleTally& tally : rules) {
      cases.append(Text("<testcase", Attribute("classname", tally.rule->group),
                        Attribute("name", Text(tally.rule->id, " ", tally.rule->title)), ">"));
      const auto it = cases_.find(tally.rule);
      const Case* found = it == cases_.end() ? nullptr : &it->second;
      if (found && found->failures + found->others > 0) {
        failed += found->failures > 0;
        AppendFindings(cases, *found);
      } else if (tally.verdict() != Outcome::kPass) {
        ++skipped;
        cases.append(Text("<skipped", Attribute("message", ReasonToSkip(tally, found)), "/>"));
      }
      cases.append("</testcase>\n");
    }
    cases_.clear();
    Put(Text("<testsuite", Attribute("name", file()), " tests=\"", rules.size() + 1, "\" failures=\"", failed,
             "\" errors=\"", trouble.empty() ? 0 : 1, "\" skipped=\"", skipped, "\">\n<properties>",
             Property("frames", summary.frames), Property("connections", summary.connections),
             Property("transactions", summary.transactions), Property("gaps", summary.gaps),
             Property("truncated frames", summary.truncated_frames), "</properties>\n", cases, "</testsuite>\n"));
  }

  void Finish(const Suppressed&) override { Put("</testsuites>\n"); }

 protected:
  void Show(const Finding& finding) override {
    Case& found = cases_[finding.rule];
    const bool fails = fail_on_ && finding.severity >= *fail_on_;
    if (fails && found.failures == 0) found.first_failure = MessageText(finding);
    uint64_t& count = fails ? found.failures : found.others;
    if (++count <= kMaxShown) AppendFinding(fails ? found.failure_text : found.other_text, finding);
    for (const std::string_view id : finding.see_also)
      if (const RuleInfo* other = FindRule(id)) cases_[other].reported_as = finding.rule->id;
  }

 private:
  static std::string Property(std::string_view name, uint64_t value) {
    return Text("<property", Attribute("name", name), " value=\"", value, "\"/>");
  }

  static std::string More(uint64_t count) {
    return count > kMaxShown ? Text("... and ", count - kMaxShown, " more\n") : "";
  }

  static void AppendFindings(std::string& out, const Case& found) {
    if (found.failures > 0)
      out.append(Text(
          "<failure",
          Attribute("message",
                    Text(found.first_failure, found.failures > 1 ? Text(" (and ", found.failures - 1, " more)") : "")),
          " type=\"finding\">", found.failure_text, More(found.failures), "</failure>"));
    if (found.others > 0) out.append(Text("<system-out>", found.other_text, More(found.others), "</system-out>"));
  }

  const std::optional<Severity> fail_on_;
  std::map<const RuleInfo*, Case> cases_;  // of the file
};

}  // namespace

std::unique_ptr<Reporter> MakeJunitReporter(Write write, std::optional<Severity> fail_on) {
  return std::make_unique<JunitReporter>(std::move(write), fail_on);
}

}  // namespace stag::conformance
