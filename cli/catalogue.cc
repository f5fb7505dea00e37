// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag rules and stag explain: the catalogue of conformance rules.
#include <algorithm>
#include <memory>
#include <numeric>

#include "cli/output.h"
#include "conformance/report/reporter.h"

namespace stag::cli {
namespace {

struct Options : CommonOptions {
  std::string id;
};

int Write(Output& output, const std::string& text) {
  Put(output.buffer(), std::string_view(text));
  output.Flush();
  return output.failed() ? kExitTrouble : kExitFine;
}

bool Colored(const Output& output) { return !output.style().reset.empty(); }

int RunRules(const Options& options) {
  Output output(options);
  const bool json = options.format == Format::kJsonl;
  return Write(output, json ? conformance::RulesJsonl() : conformance::RulesTable(Colored(output)));
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
  std::string group;
  for (const conformance::RuleInfo& rule : conformance::Catalogue()) {
    if (rule.group == id) group += fmt::format("{}{}", group.empty() ? "" : ", ", rule.id);
  }
  if (!group.empty()) {
    Complain("{} is a group of rules; name one of {}", id, group);
    return kExitTrouble;
  }
  const auto rules = conformance::Catalogue();
  const auto nearest = std::ranges::min_element(rules, {}, [&](const auto& rule) { return Distance(id, rule.id); });
  if (nearest != rules.end() && Distance(id, nearest->id) <= 3) {
    Complain("there is no rule {}; did you mean {}?", id, nearest->id);
  } else {
    Complain("there is no rule {}; stag rules lists them", id);
  }
  return kExitTrouble;
}

int RunExplain(const Options& options) {
  const std::string id = Upper(options.id.substr(0, 64));
  const conformance::RuleInfo* rule = conformance::FindRule(id);
  if (!rule) return ComplainUnknown(id);
  Output output(options);
  if (options.format == Format::kText) return Write(output, conformance::Explanation(*rule, Colored(output)));
  // The rule's line of `stag rules`.
  const std::string lines = conformance::RulesJsonl();
  size_t begin = 0;
  for (auto n = rule - conformance::Catalogue().data(); n > 0; --n) begin = lines.find('\n', begin) + 1;
  return Write(output, lines.substr(begin, lines.find('\n', begin) + 1 - begin));
}

}  // namespace

void AddRules(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("rules", "The catalogue of conformance rules");
  AddOutputOptions(*command, *options);
  command->footer(
      "A rule that no check looks at says so in the last column.\n"
      "\nExamples:\n"
      "  stag rules | grep WRLIST\n"
      "  stag rules --format jsonl | jq -r 'select(.checked|not).id'");
  command->callback([options, &run] { run = [options] { return RunRules(*options); }; });
}

void AddExplain(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("explain", "One rule: what it asks, where it stands, why, an example");
  command->add_option("ID", options->id, "The rule, e.g. RDLIST-003 (in any case)")->required()->type_name("");
  AddOutputOptions(*command, *options);
  command->footer(
      "Examples:\n"
      "  stag explain RDLIST-003\n"
      "  stag explain pvt-006");
  command->callback([options, &run] { run = [options] { return RunExplain(*options); }; });
}

}  // namespace stag::cli
