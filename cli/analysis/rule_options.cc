// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/rule_options.h"

#include <fmt/format.h>

namespace stag::cli {
namespace {

// Ids, groups, levels and documents, in any case, must name at least one rule.
std::string CheckSelector(std::string& selector) {
  selector = UpperCase(selector);
  return conformance::IsSelector(selector) ? std::string{}
                                           : fmt::format("{} names no rule; stag rules lists them", selector);
}

}  // namespace

void AddRuleOptions(CLI::App& command, conformance::EngineOptions& options) {
  using conformance::Profile;
  AddChoice<Profile>(command, "--profile", options.profile,
                     {{"auto", Profile::kAuto},
                      {"rfc8166", Profile::kRfc8166},
                      {"rfc5666bis", Profile::kRfc5666bis},
                      {"rfc5666", Profile::kRfc5666}},
                     "Which document rules; auto (default): rfc8166, unless both peers prove to be legacy");
  const auto add_selectors = [&command](const std::string& name, std::vector<std::string>& to,
                                        const std::string& what) {
    command.add_option(name, to, what)
        ->delimiter(',')
        ->allow_extra_args(false)  // what follows is a FILE
        ->transform(CLI::Validator(CheckSelector, ""))
        ->type_name("ID[,ID]");
  };
  add_selectors(
      "--select", options.select,
      "Only these rules, separated by commas: ids, groups (WRLIST), levels (MUST), documents (RFC8797, RFC8166:4.3)");
  add_selectors("--ignore", options.ignore, "Not these rules");
}

void AddAcceptanceOptions(CLI::App& command, AcceptanceOptions& options) {
  Reads(command.add_option("--suppress", options.suppress,
                           "Accept findings that a hand-written file lists, with reasons (stag check --help)"))
      ->allow_extra_args(false)
      ->type_name("FILE");
  Reads(command.add_option("--baseline", options.baseline,
                           "Accept the findings of an earlier run: what --write-baseline, or json or jsonl output, "
                           "of stag check recorded"))
      ->allow_extra_args(false)
      ->type_name("FILE");
}

}  // namespace stag::cli
