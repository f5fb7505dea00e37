// SPDX-License-Identifier: GPL-2.0-or-later
//
// The output of `stag replay`: a plan (--dry-run), and the results of playing it, as text and as JSON lines.
#pragma once

#include "cli/base/output.h"
#include "replay/replay/plan.h"
#include "replay/replay/report.h"

namespace stag::cli {

void PutPlanText(std::string& out, const recording::Recording& recording, const replay::Plan& plan, const Style& style);
// A line per forward Call that was selected, in order, and one in all.
void PutPlanJsonl(std::string& out, const recording::Recording& recording, const replay::Plan& plan);

// `ranks`: of the team, whose reports were merged.
void PutPlayText(std::string& out, const replay::Plan& plan, const replay::PlayReport& report, size_t ranks,
                 const Style& style);
// A line per procedure, difference and trouble, and one in all.
void PutPlayJsonl(std::string& out, const replay::Plan& plan, const replay::PlayReport& report, size_t ranks);

}  // namespace stag::cli
