// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag summary: a capture on one screen: what is wrong first, in sentences with frames to look at; then connections,
// latency, transport, limits, credits and findings.
#include <memory>

#include "cli/analysis/file_runner.h"
#include "cli/base/options.h"
#include "cli/summary/summary_row.h"
#include "cli/summary/summary_text.h"
#include "results/json.h"

namespace stag::cli {
namespace {

FileOutcome SummarizeFile(const std::string& file, const CommonOptions& options, Output& output) {
  const FileSummary summary(file, options, {}, output);
  if (!summary.outcome().opened) return summary.outcome();
  if (options.format == Format::kJsonl) {
    results::PutLine(output.buffer(), FileSummaryRow(summary), summary.name());
  } else {
    PutSummaryText(output.buffer(), summary, output.style());
  }
  output.Flush();
  return summary.outcome();
}

int RunSummary(const CommonOptions& options, scale::Team* team) {
  Output output = OutputOf(options, team);
  return ForEachFile(team, options, output, [&](const std::string& file, Output& of_file, ResultStream*) {
    return SummarizeFile(file, options, of_file);
  });
}

}  // namespace

void AddSummary(CLI::App& app, Run& run) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command =
      app.add_subcommand("summary",
                         "One screen: what is wrong first, then connections, latency, transport, limits, "
                         "credits, findings");
  AddCaptureOptions(*command, *options);
  AddFilters(*command, *options, "connections, latencies and findings of RPCs", "those");
  AddJobs(*command, *options);
  AddOutputFile(*command, *options);
  AddMpi(*command, *options, "the files are spread over the ranks; rank 0 writes the summaries, the same as without");
  command->footer(
      "What is wrong is sorted: errors of the specification, what went wrong on the connections, warnings, notes.\n"
      "stag FILE does the same.\n"
      "\nExamples:\n"
      "  stag summary mount.pcapng\n"
      "  stag summary --color always mount.pcapng | less -R\n"
      "  stag summary --format jsonl *.pcap | jq -r 'select(.wrong!=[]) | .file'");
  command->callback([options, &run] { run = [options] { return RunOverFiles(*options, RunSummary); }; });
}

}  // namespace stag::cli
