// SPDX-License-Identifier: GPL-2.0-or-later
//
// What had to be done with the frames of a capture before their packets could be followed: tunnels unwrapped, copies
// and damaged packets left out; and what could not be looked into.
#pragma once

#include <string>

#include "session/fabric/decoder.h"

namespace stag::cli {

// Whether there is anything to say.
bool HasLinkReport(const fabric::DecoderStats& stats);
// A sentence without its end.
void PutLinkReport(std::string& out, const fabric::DecoderStats& stats);
// What of it is about frames that could not be looked into.
void PutStopped(std::string& out, const fabric::StopCounts& stopped);
}  // namespace stag::cli
