// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the commands that judge (check, capture --check, live peers with --check) have in common: a reporter that writes
// to stdout, and the sum of an analysed capture.
#pragma once

#include <memory>

#include "cli/analysis/analysis.h"
#include "conformance/report/reporter.h"

namespace stag::cli {

// Writes what a reporter gives. `output` must outlive it.
conformance::Write WriteTo(Output& output);
// As text, or as JSON lines where `options.format` is not for people. `output` must outlive it; `write`: where it goes
// instead.
std::unique_ptr<conformance::Reporter> MakeLineReporter(const CommonOptions& options, Output& output,
                                                        conformance::Write write = nullptr);

conformance::Summary Summarize(const FileOutcome& outcome, std::vector<conformance::RuleTally> tallies);

}  // namespace stag::cli
