// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag check: conformance. The engine observes the session and gives its findings to a reporter; the exit status is 1
// when any is at or above --fail-on.
#include <memory>
#include <optional>
#include <stdexcept>

#include "cli/analysis/acceptance.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/checked_capture.h"
#include "cli/analysis/file_runner.h"
#include "cli/analysis/reporting.h"
#include "cli/analysis/rule_options.h"
#include "cli/base/options.h"
#include "conformance/engine/engine.h"
#include "conformance/report/documents.h"
#include "conformance/report/transcript.h"

namespace stag::cli {
namespace {

using conformance::Severity;

struct CheckArguments : CommonOptions {
  conformance::EngineOptions engine;
  std::optional<Severity> fail_on = Severity::kError;  // nullopt: never
  bool fail_on_nothing = false;                        // where nothing was judged
  bool statistics = false;                             // of rules, in text
  AcceptanceOptions accept;
};

std::unique_ptr<conformance::Reporter> MakeReporter(const CheckArguments& options, Output& output) {
  switch (options.format) {
    case Format::kText:
    case Format::kTable:
      return conformance::MakeTextReporter(WriteTo(output), !output.style().reset.empty(), options.quiet,
                                           options.statistics);
    case Format::kJsonl: break;
    case Format::kCsv: return conformance::MakeCsvReporter(WriteTo(output));
    case Format::kJson: return conformance::MakeJsonReporter(WriteTo(output), STAG_VERSION);
    case Format::kSarif: return conformance::MakeSarifReporter(WriteTo(output), STAG_VERSION);
    case Format::kJunit: return conformance::MakeJunitReporter(WriteTo(output), options.fail_on);
    case Format::kHtml:
      return conformance::MakeHtmlReporter(WriteTo(output), STAG_VERSION, nullptr,
                                           conformance::ConnectionHistoryOptions::Of(options.memory / 16));
  }
  return MakeLineReporter(options, output);
}

// Findings that are not accepted, at or above --fail-on; or nothing to judge.
bool Failed(const CheckArguments& options, const conformance::Reporter& reporter) {
  if (options.fail_on_nothing && reporter.files_not_judged() > 0) return true;
  if (!options.fail_on || !options.accept.write_baseline.empty()) return false;
  for (const Severity severity : {Severity::kNote, Severity::kWarning, Severity::kError})
    if (severity >= *options.fail_on && reporter.count(severity) > 0) return true;
  return false;
}

// Findings go to `sink`, from where they come to the reporter.
FileOutcome CheckFile(const std::string& file, const CheckArguments& options, Output& output,
                      conformance::Reporter& reporter, conformance::FindingSink& sink) {
  reporter.BeginFile(DisplayName(file));
  CheckedFile checked(options.engine, options, &reporter, sink);
  std::vector<std::unique_ptr<EngineShard>> shards;
  while (shards.size() < options.jobs) shards.push_back(std::make_unique<EngineShard>(checked));
  FileOutcome outcome = Analyze(file, options, false, output, shards);
  reporter.EndFile(Summarize(outcome, checked.Finish(shards)), outcome.trouble);
  if (!options.quiet && outcome.opened && outcome.session.messages == 0 && !output.closed()) {
    output.diagnostics().Complain(
        "{}: {} in {}: nothing was judged", DisplayName(file),
        outcome.session.connections > 0 ? "no message of the connections is" : "no RPC-over-RDMA",
        Count(outcome.frames, "frame"));
  }
  return outcome;
}

// After the last file. `status`: of reading them.
int Finish(int status, const CheckArguments& options, Output& output, conformance::Reporter& reporter,
           const Acceptance& acceptance) {
  const conformance::Suppressed suppressed = acceptance.Suppressed(status == kExitFine, options.engine);
  reporter.Finish(suppressed);
  output.Flush();
  if (output.failed()) return kExitTrouble;
  if (!options.quiet) ComplainOfUnused(suppressed);
  if (status != kExitFine) {
    if (!options.accept.write_baseline.empty())
      Complain("{} is not written: not all captures could be read", options.accept.write_baseline);
    return status;
  }
  if (!options.accept.write_baseline.empty()) {
    if (const auto written = acceptance.WriteBaseline(); !written) return Trouble(written.error());
  }
  return Failed(options, reporter) ? kExitFindings : kExitFine;
}

// In a team each rank writes a transcript of its files; rank 0 plays it to the reporter.
int RunCheck(const CheckArguments& options, scale::Team* team) {
  Acceptance acceptance(options.accept);
  const auto read = acceptance.Read();
  if (!AllFine(team, read ? "" : read.error().message)) return kExitTrouble;
  Acceptance of_rank = acceptance;
  const auto filter = [&of_rank](conformance::FindingSink& next) -> conformance::FindingSink& {
    return of_rank.Before(next);
  };
  Output output = OutputOf(options, team);
  const std::unique_ptr<conformance::Reporter> reporter = MakeReporter(options, output);
  conformance::FindingSink& sink = acceptance.Before(*reporter);
  conformance::Playback playback(*reporter, sink);
  const auto analyze = [&](const std::string& file, Output& of_file, ResultStream* stream) {
    if (!stream) return CheckFile(file, options, of_file, *reporter, sink);
    const auto write = [stream](std::string_view record) { stream->Record(record); };
    conformance::TranscriptWriter writer(write, reporter->wants(), filter);
    return CheckFile(file, options, of_file, writer, writer);
  };
  const auto take = [&](std::string_view record) {
    if (!playback.Take(record)) throw std::runtime_error("another rank sent what is no record of findings");
  };
  const int status = ForEachFile(team, options, output, analyze, take, Headings::kNo);
  return !team || team->leads() ? Finish(status, options, output, *reporter, acceptance) : kExitFine;
}

}  // namespace

void AddCheck(CLI::App& app, Run& run) {
  auto options = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand("check", "Conformance: which side broke which sentence of the specification");
  AddCaptureOptions(*command, *options, Formats::kReports);
  AddFilters(*command, *options, "findings about RPCs", "findings");
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes one report, the same as without");
  AddRuleOptions(*command, options->engine);
  AddParsed(
      *command, "--fail-on",
      [options](std::string& word) -> std::string {
        if (word == "nothing-judged") return options->fail_on_nothing = true, std::string{};
        if (word == "never") return options->fail_on.reset(), std::string{};
        for (const Severity severity : {Severity::kNote, Severity::kWarning, Severity::kError})
          if (word == conformance::SeverityName(severity)) return options->fail_on = severity, std::string{};
        return word + " is not one of error, warning, note, never, nothing-judged";
      },
      "error|warning|note|never|nothing-judged",
      "Findings from this severity on make the exit status 1 (default: error); with nothing-judged, so does a capture "
      "without RPC-over-RDMA")
      ->delimiter(',');
  command->add_flag("--statistics", options->statistics,
                    "With text, also which rules this traffic exercised, how often, and which it did not");
  AddAcceptanceOptions(*command, options->accept);
  Writes(command->add_option("--write-baseline", options->accept.write_baseline,
                             "Record all findings as accepted; the exit status is 0 then, if all files could be read"))
      ->type_name("FILE");
  command->footer(
      "What the capture does not show is not judged: lost and cut packets never make an error. A finding stands in "
      "the\n"
      "frame of what breaks the rule; often a later frame proves it. What is not proven when the connection or the "
      "capture\n"
      "ends is presumed: a warning at most, with what could not be seen.\n"
      "\nIn junit a file is a suite and a rule is a case: findings at or above --fail-on are failures, lower ones go "
      "to\n"
      "system-out, and a rule that this traffic did not exercise is skipped, with the reason.\n"
      "\nA --suppress file has a JSON object a line; # begins a comment. rule takes what --ignore takes, fingerprint\n"
      "stands in json and jsonl output; direction and procedure are optional, the reason is not:\n"
      "  {\"rule\":\"PVT-006\",\"direction\":\"s2c\",\"procedure\":\"NFSv3 READ\",\"reason\":\"Linux nfsd 6.1\"}\n"
      "  {\"fingerprint\":\"8786d84cf67f6788\",\"reason\":\"our test client sends version 2 on purpose\"}\n"
      "Accepted findings are counted, and entries that no finding matched are listed on stderr.\n"
      "\nExamples:\n"
      "  stag check mount.pcapng\n"
      "  stag check --connection 2 --time 10s..20s mount.pcapng\n"
      "  stag check --select RDLIST,WRLIST --fail-on warning mount.pcapng\n"
      "  stag check --fail-on error,nothing-judged ci.pcapng\n"
      "  stag check --jobs 0 --format jsonl cluster.pcapng.zst > findings.jsonl\n"
      "  stag check --write-baseline known.jsonl good.pcap; stag check --baseline known.jsonl new.pcap\n"
      "  mpirun -n 8 stag check --mpi /captures/*.pcap.zst\n"
      "  stag check --format jsonl --fail-on never *.pcap | jq -r 'select(.type==\"finding\").rule' | sort | uniq -c");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunCheck); }; });
}

}  // namespace stag::cli
