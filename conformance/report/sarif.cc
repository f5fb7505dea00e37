// SPDX-License-Identifier: GPL-2.0-or-later
//
// SARIF 2.1.0 (OASIS standard): one run. Results are written as they come; the rules that they refer to, the artifacts
// and the invocation follow them. SARIF knows no frames: the place in a capture is a logical location "frame 12" of
// kind "frame", beside the connection's.
#include <map>

#include "conformance/engine/text.h"
#include "conformance/report/documents.h"
#include "conformance/report/fingerprint.h"
#include "conformance/report/json_parts.h"
#include "conformance/report/uri.h"

namespace stag::conformance {

namespace {

// A message string, in which SARIF's section 3.11.5 doubles braces.
void AppendMessage(std::string& out, std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped.append(c == '{' || c == '}' ? 2 : 1, c);
  out.append("{\"text\":");
  AppendJson(out, escaped);
  out.push_back('}');
}

// "Read segment is 1,P,H,L,OO" -> "ReadSegmentIs1PHLOO": section 3.49.7 wants an identifier.
std::string Identifier(std::string_view title) {
  std::string out;
  bool start = true;
  for (const char c : title) {
    const bool lower = c >= 'a' && c <= 'z';
    const bool letter = lower || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) out.push_back(start && lower ? static_cast<char>(c - 'a' + 'A') : c);
    start = !letter;
  }
  return out;
}

void AppendRule(std::string& out, const RuleInfo& rule) {
  out.append("\n{\"id\":");
  AppendJson(out, rule.id);
  out.append(",\"name\":");
  AppendJson(out, Identifier(rule.title));
  out.append(",\"shortDescription\":");
  AppendMessage(out, Text(rule.title, "."));
  out.append(",\"fullDescription\":");
  AppendMessage(out, rule.requirement);
  out.append(",\"help\":");
  AppendMessage(out, Explanation(rule, false));
  for (const Source& source : rule.sources) {
    const std::string uri = SpecificationUri(source);
    if (uri.empty()) continue;
    out.append(",\"helpUri\":");
    AppendJson(out, uri);
    break;
  }
  out.append(",\"defaultConfiguration\":{\"level\":");
  AppendJson(out, SeverityName(rule.severity));
  out.append("},\"properties\":{\"requirementLevel\":");
  AppendJson(out, rule.level);
  out.append(",\"specification\":");
  AppendList(out, rule.sources, [&](const Source& source) { AppendJson(out, SourceText(source)); });
  out.append("}}");
}

class SarifReporter final : public Reporter {
 public:
  SarifReporter(Write write, std::string_view version) : Reporter(std::move(write)), version_(version) {
    Put("{\"$schema\":\"https://json.schemastore.org/"
        "sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{\"results\":[");
  }

  void BeginFile(std::string_view name) override {
    Reporter::BeginFile(name);
    std::string uri = FileUri(name);
    location_ = "{\"uri\":";
    AppendJson(location_, uri);
    location_.append(Text(",\"index\":", files_++, "}"));
    artifacts_.append(artifacts_.empty() ? "\n" : ",\n").append("{\"location\":").append(location_);
    artifacts_.append(",\"roles\":[\"analysisTarget\"]}");
  }

  void EndFile(const Summary& summary, std::string_view trouble) override {
    Reporter::EndFile(summary, trouble);
    if (trouble.empty()) return;
    troubles_.append(troubles_.empty() ? "\n" : ",\n").append("{\"level\":\"error\",\"message\":");
    AppendMessage(troubles_, trouble);
    troubles_.append(",\"locations\":[{\"physicalLocation\":{\"artifactLocation\":").append(location_).append("}}]}");
  }

  void Finish(const Suppressed& suppressed) override {
    text_ = "\n],\"tool\":{\"driver\":{\"name\":\"stag\",\"version\":";
    AppendJson(text_, version_);
    text_.append(",\"rules\":[");
    // After the rules with results, those that were applied and found nothing.
    for (const RuleTally& tally : total().rules)
      if (tally.exercised() > 0) IndexOf(*tally.rule);
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (i > 0) text_.push_back(',');
      AppendRule(text_, *rules_[i]);
    }
    text_.append(Text("\n]}},\"artifacts\":[", artifacts_,
                      "\n],\"invocations\":[{\"executionSuccessful\":", troubles_.empty() ? "true" : "false",
                      ",\"toolExecutionNotifications\":[", troubles_, "]}],\"properties\":{"));
    AppendSummaryMembers(text_, total(), counts(), suppressed);
    text_.append("}}]}\n");
    Put(text_);
  }

 protected:
  void Show(const Finding& finding) override {
    text_ = any_ ? ",\n" : "\n";
    any_ = true;
    const RuleInfo& rule = *finding.rule;
    text_.append(Text("{\"ruleId\":\"", rule.id, "\",\"ruleIndex\":", IndexOf(rule), ",\"level\":\"",
                      SeverityName(finding.severity), "\",\"message\":"));
    std::string message = Text(finding.message, ".");
    if (!finding.expected.empty()) message.append(Text(" Expected: ", finding.expected, "."));
    if (!finding.actual.empty()) message.append(Text(" Actual: ", finding.actual, "."));
    AppendMessage(text_, message);
    text_.append(",\"locations\":[{");
    AppendPlace(finding, finding.frame.number);
    text_.append("}],\"relatedLocations\":[");
    for (size_t i = 0; i < finding.related_frames.size(); ++i) {
      text_.append(Text(i > 0 ? "," : "", "{\"id\":", i, ","));
      AppendPlace(finding, finding.related_frames[i]);
      text_.append(Text(",\"message\":{\"text\":\"Frame ", finding.related_frames[i], "\"}}"));
    }
    text_.append(Text("],\"partialFingerprints\":{\"stagFinding/v1\":\"", Fingerprint(finding),
                      "\"},\"properties\":{\"frame\":", finding.frame.number, ",\"time\":\""));
    AppendTime(text_, finding.frame.time_ns);
    text_.append(Text("\",\"connection\":", finding.connection, ",\"direction\":\"",
                      finding.client_to_server ? "c2s" : "s2c", "\",\"xid\":"));
    AppendXid(text_, finding.xid);
    text_.append(Text(",\"profile\":\"", ProfileName(finding.profile), "\",\"specification\":"));
    AppendList(text_, Specifications(rule, finding.profile), [&](const std::string& s) { AppendJson(text_, s); });
    text_.append(",\"seeAlso\":");
    AppendList(text_, finding.see_also, [&](std::string_view id) { AppendJson(text_, id); });
    text_.append("}}");
    Put(text_);
  }

 private:
  // The rule's place in tool.driver.rules.
  size_t IndexOf(const RuleInfo& rule) {
    const auto [it, fresh] = indices_.try_emplace(&rule, rules_.size());
    if (fresh) rules_.push_back(&rule);
    return it->second;
  }

  void AppendPlace(const Finding& finding, uint64_t frame) {
    const std::string connection = Text("connection ", finding.connection);
    text_.append(Text("\"physicalLocation\":{\"artifactLocation\":", location_,
                      "},\"logicalLocations\":[{\"name\":\"frame ", frame, "\",\"fullyQualifiedName\":\"", connection,
                      "/frame ", frame, "\",\"kind\":\"frame\"},{\"name\":\"", connection,
                      "\",\"kind\":\"connection\"}]"));
  }

  const std::string version_;
  std::string text_;      // reused
  std::string location_;  // artifactLocation of the file
  bool any_ = false;
  uint64_t files_ = 0;
  std::string artifacts_, troubles_;
  std::map<const RuleInfo*, size_t> indices_;
  std::vector<const RuleInfo*> rules_;
};

}  // namespace

std::unique_ptr<Reporter> MakeSarifReporter(Write write, std::string_view version) {
  return std::make_unique<SarifReporter>(std::move(write), version);
}

}  // namespace stag::conformance
