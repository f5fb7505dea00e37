// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag summary: a capture on one screen: what is wrong first, in sentences with frames to look at; then connections,
// latency, transport, limits, credits and findings.
#include <memory>

#include "cli/analysis/file_runner.h"
#include "cli/analysis/rule_options.h"
#include "cli/base/options.h"
#include "cli/summary/summary_row.h"
#include "cli/summary/summary_text.h"
#include "results/json.h"

namespace stag::cli {
namespace {

struct SummaryArguments : CommonOptions {
  AcceptanceOptions accept;
};

FileOutcome SummarizeFile(const std::string& file, const SummaryArguments& options, Acceptance& acceptance,
                          Output& output) {
  SummaryOptions wanted;
  wanted.accept = &acceptance;
  const FileSummary summary(file, options, wanted, output);
  if (!summary.outcome().opened) return summary.outcome();
  if (options.format == Format::kJsonl) {
    results::PutLine(output.buffer(), FileSummaryRow(summary), summary.name());
  } else {
    PutSummaryText(output.buffer(), summary, output.style());
  }
  output.Flush();
  return summary.outcome();
}

int RunSummary(const SummaryArguments& options, scale::Team* team) {
  Acceptance acceptance(options.accept);
  const auto read = acceptance.Read();
  if (!AllFine(team, read ? "" : read.error().message)) return kExitTrouble;
  Output output = OutputOf(options, team);
  return ForEachFile(team, options, output, [&](const std::string& file, Output& of_file, ResultStream*) {
    return SummarizeFile(file, options, acceptance, of_file);
  });
}

}  // namespace

void AddSummary(CLI::App& app, Run& run) {
  auto options = std::make_shared<SummaryArguments>();
  CLI::App* command =
      app.add_subcommand("summary",
                         "One screen: what is wrong first, then connections, latency, transport, limits, "
                         "credits, findings");
  AddCaptureOptions(*command, *options);
  AddFilters(*command, *options, "connections, latencies and findings of RPCs", "those");
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the summaries, the same as without");
  AddAcceptanceOptions(*command, options->accept);
  command->footer(
      "What is wrong is sorted by the harm that it does: bytes that are wrong, connections that were lost, time that\n"
      "RPCs waited, RPCs that were refused, deviations from the specification by severity, what the capture lacks, "
      "notes,\n"
      "and deviations that are known to do no harm between these two implementations. Below each stands a command.\n"
      "stag FILE does the same.\n"
      "\nExamples:\n"
      "  stag summary mount.pcapng\n"
      "  stag summary --color always mount.pcapng | less -R\n"
      "  stag summary --format jsonl *.pcap | jq -r 'select(.wrong!=[]) | .file'");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunSummary); }; });
}

}  // namespace stag::cli
