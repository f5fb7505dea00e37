// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag rules and stag explain: the catalogue of conformance rules.
#include <memory>

#include "cli/base/options.h"
#include "cli/base/row_output.h"
#include "cli/base/suggestion.h"
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

int ComplainUnknown(const std::string& id) {
  std::vector<std::string> names;
  for (const conformance::RuleInfo& rule : conformance::Catalogue())
    names.insert(names.end(), {std::string(rule.id), std::string(rule.group)});
  const std::string close = ClosestWord(id, names);
  Complain("there is no rule {}; {}", id, close.empty() ? "stag rules lists them" : "did you mean " + close + "?");
  return kExitTrouble;
}

int RunExplain(const CatalogueArguments& options) {
  const std::string id = UpperCase(options.id.substr(0, 64));
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
