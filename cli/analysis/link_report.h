// SPDX-License-Identifier: GPL-2.0-or-later
//
// What had to be done with the frames of a capture before their packets could be followed: tunnels unwrapped, copies
// and damaged packets left out.
#pragma once

#include <string>

#include "session/fabric/decoder.h"
#include "text/json.h"

namespace stag::cli {

// Whether there is anything to say.
bool HasLinkReport(const fabric::DecoderStats& stats);
// A sentence without its end.
void PutLinkReport(std::string& out, const fabric::DecoderStats& stats);
// Members of an object: "tunnels" with a member for each kind that was met, "copies", and "bad_checksums": packets
// with a wrong ICRC, FPDUs with a wrong CRC.
void PutLinkMembers(JsonWriter& json, const fabric::DecoderStats& stats);

}  // namespace stag::cli
