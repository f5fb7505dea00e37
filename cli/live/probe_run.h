// SPDX-License-Identifier: GPL-2.0-or-later
//
// Runs of stag probe, as their JSON lines have them, and what they have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/base/output.h"
#include "cli/live/probe_row.h"
#include "protocol/base/result.h"

namespace stag::cli {

// The output of stag probe --format jsonl. A run that was ended from outside has no summary, and is read, too. The
// error names `path`, and the line.
Result<ProbeRun> ReadProbeRun(const std::string& path);

// Probes that differ come first, those that failed somewhere before others; else the order is that of the runs, which
// must outlive them.
std::vector<ComparedProbe> Compare(const std::vector<ProbeRun>& runs);

std::string_view ColorOf(probe::Verdict verdict, const Style& style);

}  // namespace stag::cli
