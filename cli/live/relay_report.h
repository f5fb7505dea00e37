// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag relay: what came of it, for people and as JSON lines.
#pragma once

#include <span>
#include <string>

#include "cli/base/output.h"
#include "replay/relay/report.h"

namespace stag::cli {

// `faults`: the rules as they were given.
void PutRelayText(std::string& out, const relay::RelayReport& report, std::span<const std::string> faults,
                  const Style& style);
// A line for each side, direction that was used, fault and trouble; the last one has type "relayed".
void PutRelayJsonl(std::string& out, const relay::RelayReport& report, std::span<const std::string> faults);

}  // namespace stag::cli
