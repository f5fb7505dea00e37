// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag check of one file: an engine for all connections, or, with --jobs, one for the connections of each shard.
#pragma once

#include <string>
#include <vector>

#include "cli/analysis/analysis.h"
#include "conformance/engine/engine.h"

namespace stag::cli {

// `observers` see everything before the engine does: with any of them there is one shard, whatever options.jobs is.
// `sink` gets the findings in this thread. `tallies` are what one engine counts, however many there are.
FileOutcome CheckCapture(const std::string& file, const CommonOptions& options,
                         const conformance::EngineOptions& engine, std::vector<session::Observer*> observers,
                         conformance::FindingSink& sink, Output& output, std::vector<conformance::RuleTally>& tallies);

}  // namespace stag::cli
