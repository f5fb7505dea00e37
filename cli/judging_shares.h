// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag check --jobs: one file, judged by an engine for each share of its connections.
#pragma once

#include <string>
#include <vector>

#include "cli/analysis.h"
#include "conformance/engine/engine.h"

namespace stag::cli {

// `options.jobs` shares. `sink` gets, in this thread, what one engine would have given it, and `tallies` what that
// would have counted.
Outcome JudgeInShares(const std::string& file, const CommonOptions& options, const conformance::EngineOptions& engine,
                      conformance::FindingSink& sink, Output& output, std::vector<conformance::RuleTally>& tallies);

}  // namespace stag::cli
