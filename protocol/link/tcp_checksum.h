// SPDX-License-Identifier: GPL-2.0-or-later
//
// The checksum of a TCP segment (RFC 9293 section 3.1) against what was captured of it.
#pragma once

#include "protocol/link/packet.h"

namespace stag::link {

// `packet` is a TCP segment that Decode read (carrier kTcp, status kOk). True: its checksum shows that it was damaged,
// and its receiver drops it. False: the checksum is right, or nothing can be said: bytes of the segment were not
// captured, or the checksum is one that an adapter has yet to complete (zero, or the sum of the pseudo header alone).
bool HasWrongTcpChecksum(const Packet& packet);

}  // namespace stag::link
