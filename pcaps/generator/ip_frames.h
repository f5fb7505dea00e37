// SPDX-License-Identifier: GPL-2.0-or-later
//
// Ethernet frames with IPv4 between the two hosts of every capture: 192.0.2.1 (side 0, the client) and 192.0.2.2.
#pragma once

#include "protocol/link/encode.h"
#include "session/fabric/fabric_event.h"
#include "tests/support/messages.h"

namespace stag::evidence {

struct Ports {
  uint16_t source = 0, destination = 0;
};

struct TcpFields {
  uint32_t sequence = 0, acknowledgment = 0;
  uint8_t flags = 0;
};

test::Buffer TcpFrame(fabric::Side from, Ports ports, TcpFields fields, Bytes payload = {});
test::Buffer UdpFrame(fabric::Side from, Ports ports, Bytes payload);

}  // namespace stag::evidence
