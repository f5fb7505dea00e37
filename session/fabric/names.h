// SPDX-License-Identifier: GPL-2.0-or-later
//
// Addresses, endpoints, fabrics and the ends of connections as text for people.
#pragma once

#include <string>
#include <string_view>

#include "session/fabric/fabric_event.h"

namespace stag::fabric {

// 10.0.0.1, fd00::1 (also GIDs), LID 12; "?" when unknown.
std::string AddressText(const Address& address);
// "10.0.0.1:20049" or "[fd00::1]:20049" (iWARP); "10.0.0.1 QP 0x000011", without the QP while it is unknown (0).
std::string EndpointText(const Endpoint& endpoint, FabricKind fabric);
std::string_view FabricName(FabricKind fabric);  // "RoCEv2", "iWARP", ...
std::string_view NakName(NakKind nak);           // "NAK: receiver not ready", ..., "Terminate"
std::string_view AnomalyName(AnomalyKind kind);  // "Sent again with other bytes", ...
// Why the CM refused a connection (IBA section 12.6.7.2): "Invalid service ID"; empty: the number has no name.
std::string_view RejectName(uint16_t reason);
std::string_view CloseName(CloseReason reason);  // "disconnect", "reset", "end of capture", ...

}  // namespace stag::fabric
