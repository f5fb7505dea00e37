// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag probe --compare: results of several runs side by side, as text, rows or a page of HTML.
#pragma once

#include <string>
#include <vector>

#include "cli/base/output.h"
#include "cli/live/probe_run.h"

namespace stag::cli {

// Reads the files and writes the comparison; returns the exit status. `names`: of the runs; empty: those of the files.
int RunProbeComparison(const CommonOptions& options, const std::vector<std::string>& files,
                       const std::vector<std::string>& names);

// The page of one run, or of several side by side, with the probes that differ first. All runs are of servers, or all
// of clients. The page needs nothing else.
void PutProbePage(std::string& out, const std::vector<ProbeRun>& runs);

}  // namespace stag::cli
