// SPDX-License-Identifier: GPL-2.0-or-later
//
// SARIF 2.1.0 (OASIS standard): one run. Results are written as they come; the rules that they refer to, the artifacts
// and the invocation follow them. SARIF knows no frames: the place in a capture is a logical location "frame 12" of
// kind "frame", beside the connection's.
#include <functional>
#include <map>

#include "conformance/engine/text.h"
#include "conformance/report/documents.h"
#include "conformance/report/finding_row.h"
#include "conformance/report/fingerprint.h"
#include "conformance/report/uri.h"
#include "results/json.h"

namespace stag::conformance {

namespace {

// An array: text_of of each element.
template <typename List, typename Fn = std::identity>
void PutList(JsonWriter& json, std::string_view key, const List& list, Fn text_of = {}) {
  json.Key(key).BeginArray();
  for (const auto& element : list) json.Value(text_of(element));
  json.EndArray();
}

// A message object, in whose text SARIF's section 3.11.5 doubles braces.
void PutMessage(JsonWriter& json, std::string_view key, std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped.append(c == '{' || c == '}' ? 2 : 1, c);
  json.Key(key).BeginObject().Member("text", escaped).EndObject();
}

// "Words that are 0 or 1" -> "WordsThatAre0Or1": section 3.49.7 wants an identifier.
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

void PutRule(JsonWriter& json, const RuleInfo& rule) {
  json.NewLine().BeginObject().Member("id", rule.id).Member("name", Identifier(rule.title));
  PutMessage(json, "shortDescription", Text(rule.title, "."));
  PutMessage(json, "fullDescription", rule.requirement);
  PutMessage(json, "help", Explanation(rule, false));
  for (const Source& source : rule.sources) {
    const std::string uri = SpecificationUri(source);
    if (uri.empty()) continue;
    json.Member("helpUri", uri);
    break;
  }
  json.Key("defaultConfiguration").BeginObject().Member("level", SeverityName(rule.severity)).EndObject();
  json.Key("properties").BeginObject().Member("requirementLevel", rule.level);
  PutList(json, "specification", rule.sources, SourceText);
  json.EndObject().EndObject();
}

class SarifReporter final : public Reporter {
 public:
  SarifReporter(Write write, std::string_view version) : Reporter(std::move(write)), version_(version) {
    json_.BeginObject().Member("$schema", "https://json.schemastore.org/sarif-2.1.0.json").Member("version", "2.1.0");
    json_.Key("runs").BeginArray().BeginObject().Key("results").BeginArray();
    WriteOut();
    artifacts_json_.BeginArray();
    troubles_json_.BeginArray();
  }

  void BeginFile(std::string_view name) override {
    Reporter::BeginFile(name);
    location_.clear();
    JsonWriter(location_).BeginObject().Member("uri", FileUri(name)).Member("index", files_++).EndObject();
    artifacts_json_.NewLine().BeginObject().Key("location").Raw(location_);
    artifacts_json_.Key("roles").BeginArray().Value("analysisTarget").EndArray().EndObject();
  }

  void EndFile(const Summary& summary, std::string_view trouble) override {
    Reporter::EndFile(summary, trouble);
    if (trouble.empty()) return;
    fine_ = false;
    troubles_json_.NewLine().BeginObject().Member("level", "error");
    PutMessage(troubles_json_, "message", trouble);
    troubles_json_.Key("locations").BeginArray().BeginObject();
    troubles_json_.Key("physicalLocation").BeginObject().Key("artifactLocation").Raw(location_).EndObject();
    troubles_json_.EndObject().EndArray().EndObject();
  }

  void Finish(const Suppressed& suppressed) override {
    json_.NewLine().EndArray().Key("tool").BeginObject().Key("driver").BeginObject().Member("name", "stag");
    json_.Member("version", version_).Key("rules").BeginArray();
    // After the rules with results, those that were applied and found nothing.
    for (const RuleTally& tally : total().rules)
      if (tally.exercised() > 0) IndexOf(*tally.rule);
    for (const RuleInfo* const rule : rules_) PutRule(json_, *rule);
    artifacts_json_.NewLine().EndArray();
    troubles_json_.EndArray();
    json_.NewLine().EndArray().EndObject().EndObject().Key("artifacts").Raw(artifacts_);
    json_.Key("invocations").BeginArray().BeginObject().Member("executionSuccessful", fine_);
    json_.Key("toolExecutionNotifications").Raw(troubles_).EndObject().EndArray().Key("properties").BeginObject();
    const SummaryRow summary(total(), counts(), suppressed);
    results::PutMembers(json_, &summary, results::InfoOf<SummaryRow>());
    json_.EndObject().EndObject().EndArray().EndObject().EndLine();
    WriteOut();
  }

 protected:
  void Show(const Finding& finding) override {
    const RuleInfo& rule = *finding.rule;
    json_.NewLine().BeginObject().Member("ruleId", rule.id).Member("ruleIndex", IndexOf(rule));
    json_.Member("level", SeverityName(finding.severity));
    std::string message = Text(MessageText(finding), ".");
    if (!finding.expected.empty()) message.append(Text(" Expected: ", finding.expected, "."));
    if (!finding.actual.empty()) message.append(Text(" Actual: ", finding.actual, "."));
    PutMessage(json_, "message", message);
    json_.Key("locations").BeginArray().BeginObject();
    PutPlace(finding, finding.frame.number);
    json_.EndObject().EndArray().Key("relatedLocations").BeginArray();
    uint64_t id = 0;
    const auto put_related = [&](uint64_t frame, std::string_view text) {
      json_.BeginObject().Member("id", id++);
      PutPlace(finding, frame);
      PutMessage(json_, "message", text);
      json_.EndObject();
    };
    for (const uint64_t frame : finding.related_frames) put_related(frame, Text("Frame ", frame));
    if (finding.certainty == Certainty::kProven && finding.proven.number != finding.frame.number)
      put_related(finding.proven.number, Text("Proven by frame ", finding.proven.number));
    json_.EndArray().Key("partialFingerprints").BeginObject();
    json_.Member("stagFinding/v1", Fingerprint(finding)).EndObject().Key("properties").BeginObject();
    json_.Member("frame", finding.frame.number).Member("provenFrame", finding.proven.number);
    json_.Member("certainty", CertaintyName(finding.certainty)).Key("time").Time(finding.frame.time_ns);
    json_.Member("connection", finding.connection).Member("direction", finding.client_to_server ? "c2s" : "s2c");
    json_.Key("xid").Xid(finding.xid).Member("profile", ProfileName(finding.profile));
    PutList(json_, "specification", Specifications(rule, finding.profile));
    PutList(json_, "seeAlso", finding.see_also);
    json_.EndObject().EndObject();
    WriteOut();
  }

 private:
  // The rule's place in tool.driver.rules.
  size_t IndexOf(const RuleInfo& rule) {
    const auto [it, fresh] = indices_.try_emplace(&rule, rules_.size());
    if (fresh) rules_.push_back(&rule);
    return it->second;
  }

  void PutPlace(const Finding& finding, uint64_t frame) {
    const std::string connection = Text("connection ", finding.connection), name = Text("frame ", frame);
    json_.Key("physicalLocation").BeginObject().Key("artifactLocation").Raw(location_).EndObject();
    json_.Key("logicalLocations").BeginArray().BeginObject().Member("name", name);
    json_.Member("fullyQualifiedName", Text(connection, "/", name)).Member("kind", "frame").EndObject();
    json_.BeginObject().Member("name", connection).Member("kind", "connection").EndObject().EndArray();
  }

  void WriteOut() {
    Put(text_);
    text_.clear();
  }

  const std::string version_;
  std::string location_;  // artifactLocation of the file
  bool fine_ = true;      // all files could be read
  uint64_t files_ = 0;
  std::string text_, artifacts_, troubles_;  // the document's next part; arrays that stand at its end
  JsonWriter json_{text_}, artifacts_json_{artifacts_}, troubles_json_{troubles_};
  std::map<const RuleInfo*, size_t> indices_;
  std::vector<const RuleInfo*> rules_;
};

}  // namespace

std::unique_ptr<Reporter> MakeSarifReporter(Write write, std::string_view version) {
  return std::make_unique<SarifReporter>(std::move(write), version);
}

}  // namespace stag::conformance
