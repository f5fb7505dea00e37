// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/reporting.h"

namespace stag::cli {

conformance::Write WriteTo(Output& output) {
  return [&output](std::string_view text) {
    Put(output.buffer(), text);
    output.Commit();
  };
}

std::unique_ptr<conformance::Reporter> MakeLineReporter(const CommonOptions& options, Output& output,
                                                        conformance::Write write) {
  if (!write) write = WriteTo(output);
  if (!ForPeople(options.format)) return conformance::MakeJsonlReporter(std::move(write));
  return conformance::MakeTextReporter(std::move(write), !output.style().reset.empty(), options.quiet);
}

conformance::Summary Summarize(const FileOutcome& outcome, std::vector<conformance::RuleTally> tallies) {
  conformance::Summary summary;
  summary.files = outcome.opened ? 1 : 0;
  summary.not_judged = outcome.opened && outcome.session.messages == 0 ? 1 : 0;
  summary.frames = outcome.frames;
  summary.connections = outcome.session.connections;
  summary.transactions = outcome.session.transactions;
  summary.gaps = outcome.decoder.gaps;
  summary.truncated_frames = outcome.decoder.truncated_frames;
  summary.judged = outcome.session.judged;
  summary.first_time_ns = outcome.first_time_ns;
  summary.rules = std::move(tallies);
  return summary;
}

}  // namespace stag::cli
