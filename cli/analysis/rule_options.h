// SPDX-License-Identifier: GPL-2.0-or-later
//
// Options of the commands that judge a capture: under which document, by which rules, and which findings are accepted.
#pragma once

#include "cli/analysis/acceptance.h"
#include "cli/base/options.h"
#include "conformance/engine/engine.h"

namespace stag::cli {

// Adds --profile, --select and --ignore.
void AddRuleOptions(CLI::App& command, conformance::EngineOptions& options);
// Adds --suppress and --baseline.
void AddAcceptanceOptions(CLI::App& command, AcceptanceOptions& options);

}  // namespace stag::cli
