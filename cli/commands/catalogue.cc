// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag rules and stag explain: the catalogue of conformance rules.
#include <algorithm>
#include <memory>
#include <numeric>

#include "cli/base/options.h"
#include "cli/base/row_output.h"
#include "conformance/report/reporter.h"

namespace stag::cli {
namespace {

struct CatalogueArguments : CommonOptions {
  std::string id;
};

bool Colored(const Style& style) { return !style.reset.empty(); }

int WriteRules(const CatalogueArguments& options, std::span<const conformance::RuleInfo> rules) {
  return WriteList(options, conformance::RowsOf(rules),
                   [](std::string& out, std::span<const conformance::RuleRow> rows, const Style& style) {
                     Put(out, std::string_view(conformance::RulesTable(rows, Colored(style))));
                   });
}

std::string Upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// Levenshtein's distance: how many letters must be added, removed or changed.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

int ComplainUnknown(const std::string& id) {
  // Half of it may be wrong, three letters at most.
  size_t limit = std::min(size_t{4}, (id.size() + 1) / 2);
  std::string_view nearest;
  for (const conformance::RuleInfo& rule : conformance::Catalogue()) {
    for (const std::string_view name : {rule.id, rule.group}) {
      const size_t distance = Distance(id, name);
      if (distance >= limit) continue;
      limit = distance;
      nearest = name;
    }
  }
  if (!nearest.empty()) {
    Complain("there is no rule {}; did you mean {}?", id, nearest);
  } else {
    Complain("there is no rule {}; stag rules lists them", id);
  }
  return kExitTrouble;
}

int RunExplain(const CatalogueArguments& options) {
  const std::string id = Upper(options.id.substr(0, 64));
  const conformance::RuleInfo* rule = conformance::FindRule(id);
  const std::span rules = rule ? std::span(rule, 1) : conformance::FindGroup(id);
  if (rules.empty()) return ComplainUnknown(id);
  if (!rule) return WriteRules(options, rules);
  return WriteList(options, conformance::RowsOf(rules),
                   [rule](std::string& out, std::span<const conformance::RuleRow>, const Style& style) {
                     Put(out, std::string_view(conformance::Explanation(*rule, Colored(style))));
                   });
}

void AddRuleOutput(CLI::App& command, CatalogueArguments& options) {
  AddOutputOptions(command, options, Formats::kRows);
  AddListOptions(command, options, results::InfoOf<conformance::RuleRow>());
}

}  // namespace

void AddRules(CLI::App& app, Run& run) {
  auto options = std::make_shared<CatalogueArguments>();
  CLI::App* command = app.add_subcommand("rules", "The catalogue of conformance rules");
  AddRuleOutput(*command, *options);
  command->footer(
      "The last column shows whether a rule is checked, and if not, why.\n"
      "\nExamples:\n"
      "  stag rules | grep WRLIST\n"
      "  stag rules --format table --sort severity\n"
      "  stag rules --format jsonl | jq -r 'select(.checked|not).id'");
  command->callback([options, &run] { run = [options] { return WriteRules(*options, conformance::Catalogue()); }; });
}

void AddExplain(CLI::App& app, Run& run) {
  auto options = std::make_shared<CatalogueArguments>();
  CLI::App* command = app.add_subcommand(
      "explain", "One rule: what it asks, why it matters, an example, what to do; or the rules of a group");
  command->add_option("ID", options->id, "The rule, e.g. RDLIST-003, or a group, e.g. RDLIST (in any case)")
      ->required()
      ->type_name("");
  AddRuleOutput(*command, *options);
  command->footer(
      "Examples:\n"
      "  stag explain RDLIST-003\n"
      "  stag explain pvt-006\n"
      "  stag explain WRLIST");
  command->callback([options, &run] { run = [options] { return RunExplain(*options); }; });
}

}  // namespace stag::cli
