// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag relay: what came of it, for people and as JSON lines.
#pragma once

#include "cli/output.h"
#include "replay/relay/report.h"

namespace stag::cli {

void PutRelayText(Buffer& out, const replay::RelayReport& report, const Style& style);
// A line for each side, direction that was used, trouble; the last one has type "relayed".
void PutRelayJsonl(Buffer& out, const replay::RelayReport& report);

}  // namespace stag::cli
