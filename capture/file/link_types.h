// SPDX-License-Identifier: GPL-2.0-or-later
//
// The LINKTYPE_ numbers that capture files use (https://www.tcpdump.org/linktypes.html) and what they are to us.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/base/frame.h"

namespace stag::capture {

// kUnsupported for every number that we do not follow. Bits above the low 16 (FCS length) are ignored.
LinkType LinkTypeFromFile(uint32_t linktype);

// The number for a file header; nothing for the link types that only exist inside Wireshark.
std::optional<uint16_t> LinkTypeToFile(LinkType link);

}  // namespace stag::capture
