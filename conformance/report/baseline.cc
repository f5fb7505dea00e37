// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/baseline.h"

#include "conformance/engine/selection.h"
#include "conformance/engine/text.h"
#include "conformance/report/fingerprint.h"
#include "conformance/report/procedure.h"
#include "results/json.h"
#include "text/json_reader.h"

namespace stag::conformance {
namespace {

constexpr size_t kMaxRecorded = 100000;

// A line of a baseline.
struct KnownFinding {
  std::string_view fingerprint, rule, direction;
  std::string procedure, message;
};

}  // namespace
}  // namespace stag::conformance

template <>
struct stag::results::Record<stag::conformance::KnownFinding> : Part<stag::conformance::KnownFinding> {
  static constexpr std::array kMembers = {
      Member<&Row::fingerprint>("fingerprint", ""), Member<&Row::rule>("rule", ""),
      Member<&Row::direction>("direction", ""),     TextOrNull<&Row::procedure>("procedure", ""),
      Member<&Row::message>("message", ""),
  };
};

namespace stag::conformance {

Result<void> Baseline::Add(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  const std::string_view first = text.substr(start, text.find('\n', start) - start);
  const auto value = first.front() == '#' ? JsonValue{} : ReadJson(first);
  if (!value || value->Find("findings")) return AddDocument(text);
  return ForEachJsonLine(text, [&](const JsonValue& line) -> std::string {
    return line.Text("type") == "summary" || AddKnown(line) ? "" : "no \"fingerprint\" of 16 hexadecimal digits";
  });
}

bool Baseline::AddKnown(const JsonValue& finding) {
  const std::string fingerprint(finding.Text("fingerprint"));
  known_[fingerprint] = {std::string(finding.Text("rule")), std::string(finding.Text("message")), false};
  return IsFingerprint(fingerprint);
}

// Findings are taken as they are parsed, so that the document is never in memory as a whole.
Result<void> Baseline::AddDocument(std::string_view text) {
  bool fine = true;
  const auto document = ReadJson(text, [&](const JsonValue& element) {
    if (element.Text("type") == "finding") fine = AddKnown(element) && fine;
  });
  if (!document) return Fail("neither JSON lines nor a JSON document");
  if (!document->Find("findings")) return Fail("the JSON document has no findings");
  if (!fine) return Fail("a finding has no \"fingerprint\" of 16 hexadecimal digits");
  return {};
}

void Baseline::OnFinding(const Finding& finding) {
  if (!record_ && known_.empty()) return next_->OnFinding(finding);
  const std::string fingerprint = Fingerprint(finding);
  if (record_) {
    overflowed_ = overflowed_ || recorded_.size() == kMaxRecorded;
    if (!overflowed_) {
      std::string& line = recorded_[{finding.rule, fingerprint}];
      if (line.empty())
        results::PutLine(line, KnownFinding{fingerprint, finding.rule->id, finding.client_to_server ? "c2s" : "s2c",
                                            finding.procedure ? ProcedureText(*finding.procedure) : "",
                                            WithoutNumbers(finding.message)});
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
