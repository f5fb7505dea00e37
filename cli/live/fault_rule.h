// SPDX-License-Identifier: GPL-2.0-or-later
//
// Rules for faults as the command line has them.
#pragma once

#include <string_view>

#include "protocol/base/result.h"
#include "replay/relay/faults.h"

namespace stag::cli {

// KIND[:VALUE]@PROCEDURE[/PERCENT], PROCEDURE being any, a name or PROGRAM:PROCEDURE: "delay:20ms@READ/5". The error
// says what is wrong.
Result<relay::FaultRule> ParseFaultRule(std::string_view text);

}  // namespace stag::cli
