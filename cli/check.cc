// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag check: conformance. The engine observes the session and gives its findings to a reporter; the exit status says whether
// any was at or above --fail-on.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "cli/analysis.h"
#include "conformance/engine/engine.h"
#include "conformance/report/reporter.h"

namespace stag::cli {
namespace {

using conformance::Severity;

struct Options : CommonOptions {
  conformance::EngineOptions engine;
  std::optional<Severity> fail_on = Severity::kError;  // nullopt: never
  std::string fail_on_text = "error", profile_text = "auto";
};

// Ids and group prefixes, in any case, must name at least one rule.
std::string CheckSelector(std::string& selector) {
  std::ranges::transform(selector, selector.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return conformance::IsSelector(selector) ? std::string{}
                                           : fmt::format("{} names no rule; stag rules lists them", selector);
}

conformance::Summary Summarize(const Outcome& outcome, const conformance::Engine& engine) {
  conformance::Summary summary;
  summary.frames = outcome.frames;
  summary.connections = outcome.session.connections;
  summary.transactions = outcome.session.transactions;
  summary.gaps = outcome.decoder.gaps;
  summary.truncated_frames = outcome.decoder.truncated_frames;
  summary.checked = engine.Exercised();
  summary.not_exercised = engine.NotExercised();
  return summary;
}

int RunCheck(const Options& options) {
  Output output(options);
  const conformance::Write write = [&output](std::string_view text) {
    Put(output.buffer(), text);
    output.Commit();
  };
  const std::unique_ptr<conformance::Reporter> reporter =
      options.format == Format::kJsonl
          ? conformance::MakeJsonlReporter(write)
          : conformance::MakeTextReporter(write, !output.style().reset.empty(), options.quiet);
  const int status = ForEachFile(options, output, [&](const std::string& file) {
    reporter->BeginFile(DisplayName(file));
    conformance::Engine engine(options.engine, *reporter);
    Clock clock;
    const Outcome outcome = Analyze(file, options, false, clock, output, {&engine});
    reporter->EndFile(Summarize(outcome, engine));
    return outcome;
  }, Headings::kNo);
  reporter->Finish();
  output.Flush();
  if (output.failed()) return kExitTrouble;
  if (status != kExitFine || !options.fail_on) return status;
  uint64_t findings = 0;
  for (const Severity severity : {Severity::kNote, Severity::kWarning, Severity::kError}) {
    if (severity >= *options.fail_on) findings += reporter->count(severity);
  }
  return findings > 0 ? kExitFindings : kExitFine;
}

}  // namespace

void AddCheck(CLI::App& app, Run& run) {
  static const std::map<std::string, conformance::Profile> kProfiles = {{"auto", conformance::Profile::kAuto},
                                                                        {"rfc8166", conformance::Profile::kRfc8166},
                                                                        {"rfc5666bis", conformance::Profile::kRfc5666bis},
                                                                        {"rfc5666", conformance::Profile::kRfc5666}};
  static const std::map<std::string, std::optional<Severity>> kLevels = {{"error", Severity::kError},
                                                                         {"warning", Severity::kWarning},
                                                                         {"note", Severity::kNote},
                                                                         {"never", std::nullopt}};
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "Conformance: which side broke which sentence of the specification");
  AddCaptureOptions(*command, *options);
  const auto known = [](const auto& names) {
    return CLI::Validator(
        [&names](std::string& text) {
          return names.contains(text) ? std::string{} : fmt::format("{} is not one of the choices", text);
        },
        "");
  };
  command
      ->add_option("--profile", options->profile_text,
                   "Which document rules; auto (default): rfc8166, unless both peers prove to be legacy")
      ->check(known(kProfiles))
      ->type_name("auto|rfc8166|rfc5666bis|rfc5666");
  command->add_option("--select", options->engine.select, "Only these rules: ids or group prefixes, separated by commas")
      ->delimiter(',')
      ->transform(CLI::Validator(CheckSelector, ""))
      ->type_name("ID,...");
  command->add_option("--ignore", options->engine.ignore, "Not these rules")
      ->delimiter(',')
      ->transform(CLI::Validator(CheckSelector, ""))
      ->type_name("ID,...");
  command->add_option("--fail-on", options->fail_on_text, "Findings from this severity on make the exit status 1 (default: error)")
      ->check(known(kLevels))
      ->type_name("error|warning|note|never");
  command->footer(
      "\nWhat the capture does not show is not judged: lost and cut packets never make a finding.\n"
      "\nExamples:\n"
      "  stag check mount.pcapng\n"
      "  stag check --select RDLIST,WRLIST --fail-on warning mount.pcapng\n"
      "  stag check --format jsonl --fail-on never *.pcap | jq -r 'select(.type==\"finding\").rule' | sort | uniq -c");
  command->callback([options, &run] {
    options->engine.profile = kProfiles.at(options->profile_text);
    options->fail_on = kLevels.at(options->fail_on_text);
    run = [options] { return RunCheck(*options); };
  });
}

}  // namespace stag::cli
