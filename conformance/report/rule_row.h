// SPDX-License-Identifier: GPL-2.0-or-later
//
// RuleRow: a rule of the catalogue.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/engine/finding.h"
#include "results/record.h"

namespace stag::conformance {

struct RuleRow {
  RuleRow() = default;
  explicit RuleRow(const RuleInfo& info);

  const RuleInfo* rule = nullptr;
  std::string_view id, group, title, level, severity, observable;
  bool checked = false;
  std::optional<std::string_view> not_checked;
  std::vector<std::string> spec;
  std::string_view requirement, why_it_matters;
  std::optional<std::string_view> what_to_do, example, example_bytes;
};
std::vector<RuleRow> RowsOf(std::span<const RuleInfo> rules);

}  // namespace stag::conformance

namespace stag::results {

template <>
struct Record<conformance::RuleRow> : Of<conformance::RuleRow> {
  static constexpr std::string_view kType = "rule", kDoc = "A rule of the catalogue.";
  static constexpr std::array kMembers = {
      Member<&Row::id>("id", "Its name; it never changes its meaning.").Column("rule"),
      Member<&Row::group>("group", "Its group: the name without the number."),
      Member<&Row::title>("title", "The rule in some words.").Column("title"),
      Member<&Row::level>("level", "MUST, SHOULD, structural or MAY-context.").Column("level"),
      Member<&Row::severity>("severity", "Severity of its findings: error, warning or note.").Column("severity"),
      Member<&Row::observable>("observable", "How much of it a capture shows: full, partial or none.")
          .Column("observable"),
      Member<&Row::checked>("checked", "stag check checks it.").Column("checked"),
      Member<&Row::not_checked>("not_checked", "The reason that it is not checked; null: it is."),
      Member<&Row::spec>("spec", "The sections that it rests on."),
      Member<&Row::requirement>("requirement", "All that it asks for."),
      Member<&Row::why_it_matters>("why_it_matters", "The harm that breaking it does."),
      Member<&Row::what_to_do>("what_to_do", "The remedy; null: none is known."),
      Member<&Row::example>("example", "An example of breaking it; null: there is none."),
      Member<&Row::example_bytes>("example_bytes", "The words or messages of an example; null: there are none."),
  };
};

}  // namespace stag::results
