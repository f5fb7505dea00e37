// SPDX-License-Identifier: GPL-2.0-or-later
//
// `stag rules` and `stag explain`: the catalogue for people and programs.
#include <algorithm>

#include "conformance/engine/text.h"
#include "conformance/report/format.h"
#include "conformance/report/reporter.h"

namespace stag::conformance {

namespace {

constexpr size_t kWidth = 110;

std::string Status(const RuleInfo& rule) { return rule.implemented ? "checked" : std::string(rule.not_checked); }

Style StyleOf(Severity severity) {
  return severity == Severity::kError ? Style::kError : severity == Severity::kWarning ? Style::kWarning : Style::kNote;
}

void AppendColumn(std::string& out, std::string_view text, size_t width) {
  out.append(text);
  out.append(text.size() < width ? width - text.size() : 1, ' ');
}

void Section(std::string& out, std::string_view title, std::string_view text, bool color) {
  if (text.empty()) return;
  out.append("\n").append(Styled(title, Style::kBold, color)).append("\n").append(Wrapped(text, 2, kWidth));
}

// The text before and after a marker at the start of a line.
std::pair<std::string_view, std::string_view> Split(std::string_view text, std::string_view marker) {
  const size_t at = text.find(marker);
  if (at == std::string_view::npos) return {text, {}};
  std::string_view rest = text.substr(at + marker.size());
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return {text.substr(0, at), rest};
}

std::string Trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return std::string(text);
}

std::string Sources(const RuleInfo& rule) {
  std::string out;
  for (const Source& source : rule.sources) out.append(out.empty() ? "" : ", ").append(SourceText(source));
  return out;
}

}  // namespace

std::string RulesTable(bool color) {
  std::string out;
  size_t checked = 0, title_width = 0;
  for (const RuleInfo& rule : Catalogue()) title_width = std::max(title_width, rule.title.size() + 2);
  std::string head;
  AppendColumn(head, "RULE", 12);
  AppendColumn(head, "SEVERITY", 10);
  AppendColumn(head, "LEVEL", 13);
  AppendColumn(head, "TITLE", title_width);
  out.append(Styled(head + "STATUS", Style::kBold, color)).append("\n");
  for (const RuleInfo& rule : Catalogue()) {
    checked += rule.implemented;
    AppendColumn(out, rule.id, 12);
    std::string severity;
    AppendColumn(severity, SeverityName(rule.severity), 10);
    out.append(Styled(severity, StyleOf(rule.severity), color));
    AppendColumn(out, rule.level, 13);
    AppendColumn(out, rule.title, title_width);
    out.append(rule.implemented ? Status(rule) : Styled(Status(rule), Style::kDim, color)).append("\n");
  }
  out.append(Text(Catalogue().size(), " rules, ", checked, " checked; `stag explain RULE` tells more\n"));
  return out;
}

std::string RulesJsonl() {
  std::string out;
  for (const RuleInfo& rule : Catalogue()) {
    const auto field = [&](std::string_view name, std::string_view value) {
      out.append(",\"").append(name).append("\":");
      AppendJson(out, value);
    };
    out.append("{\"type\":\"rule\"");
    field("id", rule.id);
    field("group", rule.group);
    field("title", rule.title);
    field("level", rule.level);
    field("severity", SeverityName(rule.severity));
    field("observable", rule.degree);
    out.append(",\"checked\":").append(rule.implemented ? "true" : "false").append(",\"not_checked\":");
    if (rule.implemented) {
      out.append("null");
    } else {
      AppendJson(out, rule.not_checked);
    }
    out.append(",\"spec\":[");
    bool first = true;
    for (const Source& source : rule.sources) {
      if (!first) out.push_back(',');
      first = false;
      AppendJson(out, SourceText(source));
    }
    out.append("]");
    field("requirement", rule.requirement);
    out.append("}\n");
  }
  return out;
}

std::string Explanation(const RuleInfo& rule, bool color) {
  std::string out = Styled(Text(rule.id, "  ", rule.title), Style::kBold, color);
  out.append(Text("\n  ", rule.level, ", ", Styled(SeverityName(rule.severity), StyleOf(rule.severity), color), ", ",
                  Status(rule), "\n"));

  const auto [with_exceptions, traps] = Split(rule.check, "Common traps:");
  const auto [check, exceptions] = Split(with_exceptions, "Do NOT flag:");
  Section(out, "What it asks", rule.requirement, color);
  Section(out, "Specification", Sources(rule), color);
  Section(out, "Why, and what can be seen of it",
          Text("Observable: ", rule.degree, rule.why.empty() ? "" : "; ", rule.why), color);
  Section(out, "How it is checked", Trimmed(check), color);
  Section(out, "What is not flagged", Trimmed(exceptions), color);
  Section(out, "Captures that need care", Trimmed(traps), color);
  Section(out, "Example of a violation", rule.example, color);
  Section(out, "Differences between the documents", rule.differs, color);
  return out;
}

}  // namespace stag::conformance
