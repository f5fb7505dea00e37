// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/baseline.h"

#include "conformance/engine/selection.h"
#include "conformance/engine/text.h"
#include "conformance/report/fingerprint.h"
#include "conformance/report/json_lines.h"
#include "conformance/report/procedure.h"
#include "text/json.h"

namespace stag::conformance {

namespace {

constexpr size_t kMaxRecorded = 100000;

std::string RecordLine(const Finding& finding, std::string_view fingerprint) {
  std::string line;
  JsonWriter json(line);
  json.BeginObject().Member("fingerprint", fingerprint).Member("rule", finding.rule->id);
  json.Member("direction", finding.client_to_server ? "c2s" : "s2c");
  json.TextOrNull("procedure", finding.procedure ? ProcedureText(*finding.procedure) : "");
  json.Member("message", WithoutNumbers(finding.message)).EndObject().EndLine();
  return line;
}

}  // namespace

Result<void> Baseline::Add(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  const std::string_view first = text.substr(start, text.find('\n', start) - start);
  const auto value = nlohmann::json::parse(first, nullptr, false);
  if (first.front() != '#' && (value.is_discarded() || value.contains("findings"))) return AddDocument(text);
  return ForEachJsonLine(text, [&](const nlohmann::json& line) -> std::string {
    if (StringMember(line, "type") == "summary") return {};
    const std::string fingerprint = StringMember(line, "fingerprint");
    if (!IsFingerprint(fingerprint)) return "no \"fingerprint\" of 16 hexadecimal digits";
    known_[fingerprint] = {StringMember(line, "rule"), StringMember(line, "message"), false};
    return {};
  });
}

// Findings are taken as they are parsed, so that the document is never in memory as a whole.
Result<void> Baseline::AddDocument(std::string_view text) {
  using nlohmann::json;
  std::string schema, wrong;
  const auto take = [&](int depth, json::parse_event_t event, json& value) {
    if (depth != 2 || event != json::parse_event_t::object_end) return true;
    if (StringMember(value, "type") != "finding") return false;
    const std::string fingerprint = StringMember(value, "fingerprint");
    if (!IsFingerprint(fingerprint)) wrong = "a finding has no \"fingerprint\" of 16 hexadecimal digits";
    known_[fingerprint] = {StringMember(value, "rule"), StringMember(value, "message"), false};
    return false;
  };
  const json document = json::parse(text, take, false);
  if (document.is_discarded()) return Fail("neither JSON lines nor a JSON document");
  if (!document.is_object() || !document.contains("findings")) return Fail("the JSON document has no findings");
  if (!wrong.empty()) return Fail(wrong);
  return {};
}

void Baseline::OnFinding(const Finding& finding) {
  if (!record_ && known_.empty()) return next_->OnFinding(finding);
  const std::string fingerprint = Fingerprint(finding);
  if (record_) {
    overflowed_ = overflowed_ || recorded_.size() == kMaxRecorded;
    if (!overflowed_) {
      std::string& line = recorded_[{finding.rule, fingerprint}];
      if (line.empty()) line = RecordLine(finding, fingerprint);
    }
  }
  const auto it = known_.find(fingerprint);
  if (it == known_.end()) return next_->OnFinding(finding);
  it->second.used = true;
  ++suppressed_;
}

std::vector<std::string> Baseline::Unused(const EngineOptions& selection) const {
  std::vector<std::string> out;
  for (const auto& [fingerprint, known] : known_) {
    if (known.used) continue;
    const RuleInfo* rule = FindRule(known.rule);
    if (rule && !IsSelected(*rule, selection.select, selection.ignore)) continue;
    out.push_back(known.rule.empty() ? fingerprint : Text(fingerprint, " ", known.rule, ": ", known.message));
  }
  return out;
}

std::string Baseline::Recorded() const {
  std::string out;
  for (const auto& [key, line] : recorded_) out.append(line);
  return out;
}

}  // namespace stag::conformance
