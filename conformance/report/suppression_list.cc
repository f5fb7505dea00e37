// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/suppression_list.h"

#include <algorithm>

#include "conformance/engine/selection.h"
#include "conformance/engine/text.h"
#include "conformance/report/fingerprint.h"
#include "conformance/report/procedure.h"
#include "protocol/base/words.h"
#include "text/json_reader.h"

namespace stag::conformance {

Result<void> SuppressionList::Add(std::string_view text) {
  return ForEachJsonLine(text, [&](const JsonValue& line) -> std::string {
    for (const auto& [name, value] : std::get<JsonValue::Object>(line.value)) {
      if (name != "rule" && name != "fingerprint" && name != "direction" && name != "procedure" && name != "reason")
        return Text("there is no member \"", name, "\"");
      const auto* const string = std::get_if<std::string>(&value.value);
      if (!string || string->empty()) return Text("\"", name, "\" is not a string with something in it");
    }
    const auto text_of = [&line](std::string_view name) { return std::string(line.Text(name)); };
    Entry entry{
        UpperCase(line.Text("rule")), text_of("fingerprint"), text_of("procedure"), text_of("reason"), {}, false};
    if (entry.reason.empty()) return "an entry without a \"reason\"";
    if (entry.rule.empty() && entry.fingerprint.empty()) return "an entry without a \"rule\" or \"fingerprint\"";
    if (!entry.rule.empty() && !IsSelector(entry.rule)) return Text("\"", entry.rule, "\" names no rule");
    if (!entry.fingerprint.empty() && !IsFingerprint(entry.fingerprint))
      return "the \"fingerprint\" is not 16 hexadecimal digits";
    if (const std::string_view direction = line.Text("direction"); !direction.empty()) {
      if (direction != "c2s" && direction != "s2c") return "the \"direction\" is neither c2s nor s2c";
      entry.client_to_server = direction == "c2s";
    }
    entries_.push_back(std::move(entry));
    return {};
  });
}

// `fingerprint`: of the finding; empty until it is needed.
bool SuppressionList::Covers(const Entry& entry, const Finding& finding, std::string& fingerprint) {
  if (!entry.rule.empty() && !Matches(entry.rule, *finding.rule)) return false;
  if (entry.client_to_server && *entry.client_to_server != finding.client_to_server) return false;
  if (!entry.procedure.empty() && (!finding.procedure || ProcedureText(*finding.procedure) != entry.procedure))
    return false;
  if (entry.fingerprint.empty()) return true;
  if (fingerprint.empty()) fingerprint = Fingerprint(finding);
  return fingerprint == entry.fingerprint;
}

void SuppressionList::OnFinding(const Finding& finding) {
  std::string fingerprint;
  for (Entry& entry : entries_) {
    if (!Covers(entry, finding, fingerprint)) continue;
    entry.used = true;
    ++suppressed_;
    return;
  }
  next_->OnFinding(finding);
}

std::vector<std::string> SuppressionList::Unused(const EngineOptions& selection) const {
  std::vector<std::string> out;
  for (const Entry& entry : entries_) {
    const bool in_scope = entry.rule.empty() || std::ranges::any_of(Catalogue(), [&](const RuleInfo& rule) {
                            return Matches(entry.rule, rule) && IsSelected(rule, selection.select, selection.ignore);
                          });
    if (entry.used || !in_scope) continue;
    out.push_back(Text(entry.rule, entry.rule.empty() || entry.fingerprint.empty() ? "" : " ", entry.fingerprint, " (",
                       entry.reason, ")"));
  }
  return out;
}

}  // namespace stag::conformance
