// SPDX-License-Identifier: GPL-2.0-or-later
//
// `stag rules` and `stag explain`: the catalogue for people and programs.
#include <algorithm>

#include "conformance/engine/check.h"
#include "conformance/engine/text.h"
#include "conformance/report/reporter.h"
#include "conformance/report/severity_style.h"
#include "text/terminal.h"

namespace stag::conformance {

namespace {

constexpr size_t kColumns = 110;

void AppendColumn(std::string& out, std::string_view text, size_t width) {
  out.append(text);
  out.append(text.size() < width ? width - text.size() : 1, ' ');
}

void Section(std::string& out, std::string_view title, std::string_view text, bool color) {
  if (text.empty()) return;
  out.append("\n").append(Styled(title, TextStyle::kBold, color)).append("\n").append(Wrapped(text, 2, kColumns));
}

// The example in a sentence, and its bytes as they stand.
void Example(std::string& out, const RuleInfo& rule, bool color) {
  if (rule.example.empty() && rule.bytes.empty()) return;
  out.append("\n").append(Styled("Example", TextStyle::kBold, color)).append("\n");
  if (!rule.example.empty()) out.append(Wrapped(rule.example, 2, kColumns));
  if (!rule.example.empty() && !rule.bytes.empty()) out.append("\n");
  std::string_view rest = rule.bytes;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    out.append("    ").append(rest.substr(0, end)).append("\n");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

std::string HowItIsChecked(const RuleInfo& rule) {
  const std::string_view why_not = WhyNotChecked(rule);
  return why_not.empty() ? std::string(rule.check) : Text("Not checked: ", why_not, ".\n", rule.check);
}

std::string WhatIsSeen(const RuleInfo& rule) {
  const std::string_view degree = rule.degree == "full"   ? "Seen in full"
                                  : rule.degree == "none" ? "Not seen"
                                                          : "Seen in part";
  return Text(degree, rule.why.empty() ? "" : ": ", rule.why, ". Needs: ", rule.needs, ".");
}

std::string Lines(std::span<const std::string_view> lines) {
  std::string out;
  for (const std::string_view line : lines) out.append(out.empty() ? "" : "\n").append(line);
  return out;
}

// The rules that one event can break together with this one, a line for each.
std::string SeeAlso(const RuleInfo& rule) {
  std::vector<std::string_view> ids;
  for (const auto group : EventGroups())
    if (std::ranges::find(group, rule.id) != group.end()) ids.insert(ids.end(), group.begin(), group.end());
  std::string out;
  for (const RuleInfo& other : Catalogue())
    if (other.id != rule.id && std::ranges::find(ids, other.id) != ids.end())
      out.append(Text(out.empty() ? "" : "\n", other.id, "  ", other.title));
  return out;
}

std::string Sources(const RuleInfo& rule) {
  std::string out;
  for (const Source& source : rule.sources) out.append(out.empty() ? "" : ", ").append(SourceText(source));
  return out;
}

}  // namespace

RuleRow::RuleRow(const RuleInfo& info)
    : rule(&info),
      id(info.id),
      group(info.group),
      title(info.title),
      level(info.level),
      severity(SeverityName(info.severity)),
      observable(info.degree),
      not_checked(results::NotEmpty(WhyNotChecked(info))),
      requirement(info.requirement),
      why_it_matters(info.matters),
      what_to_do(results::NotEmpty(info.remedy)),
      example(results::NotEmpty(info.example)),
      example_bytes(results::NotEmpty(info.bytes)) {
  checked = !not_checked;
  for (const Source& source : info.sources) spec.push_back(SourceText(source));
}

std::vector<RuleRow> RowsOf(std::span<const RuleInfo> rules) {
  std::vector<RuleRow> rows;
  for (const RuleInfo& rule : rules) rows.emplace_back(rule);
  return rows;
}

std::string RulesTable(std::span<const RuleRow> rows, bool color) {
  std::string out;
  size_t checked = 0, title_width = 0;
  for (const RuleRow& row : rows) title_width = std::max(title_width, row.title.size() + 2);
  std::string head;
  AppendColumn(head, "RULE", 12);
  AppendColumn(head, "SEVERITY", 10);
  AppendColumn(head, "LEVEL", 13);
  AppendColumn(head, "TITLE", title_width);
  out.append(Styled(head + "STATUS", TextStyle::kBold, color)).append("\n");
  for (const RuleRow& row : rows) {
    const RuleInfo& rule = *row.rule;
    checked += row.checked;
    AppendColumn(out, rule.id, 12);
    std::string severity;
    AppendColumn(severity, SeverityName(rule.severity), 10);
    out.append(Styled(severity, SeverityStyle(rule.severity), color));
    AppendColumn(out, rule.level, 13);
    AppendColumn(out, rule.title, title_width);
    out.append(row.checked ? "checked" : Styled(std::string(*row.not_checked), TextStyle::kDim, color)).append("\n");
  }
  out.append(Text(Count(rows.size(), "rule"), ", ", checked, " checked; `stag explain RULE` tells more\n"));
  return out;
}

std::string Explanation(const RuleInfo& rule, bool color) {
  const std::string_view why_not = WhyNotChecked(rule);
  std::string out = Styled(Text(rule.id, "  ", rule.title), TextStyle::kBold, color);
  out.append(Text("\n  ", rule.level, ", ", Styled(SeverityName(rule.severity), SeverityStyle(rule.severity), color),
                  ", ", why_not.empty() ? "checked" : why_not, "\n"));
  Section(out, "What it asks", rule.requirement, color);
  Section(out, "Why it matters", rule.matters, color);
  Section(out, "Specification", Sources(rule), color);
  Example(out, rule, color);
  Section(out, "How it is checked", HowItIsChecked(rule), color);
  Section(out, "What can be seen of it", WhatIsSeen(rule), color);
  Section(out, "What is not flagged", rule.exceptions, color);
  Section(out, "Captures that need care", Lines(rule.traps), color);
  Section(out, "Differences between the documents", rule.differs, color);
  Section(out, "What to do", rule.remedy, color);
  Section(out, "See also", SeeAlso(rule), color);
  return out;
}

}  // namespace stag::conformance
