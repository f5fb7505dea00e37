// SPDX-License-Identifier: GPL-2.0-or-later
//
// Options of the commands that judge a capture: under which document, and by which rules.
#pragma once

#include "cli/base/options.h"
#include "conformance/engine/engine.h"

namespace stag::cli {

// Adds --profile, --select and --ignore.
void AddRuleOptions(CLI::App& command, conformance::EngineOptions& options);

}  // namespace stag::cli
