// SPDX-License-Identifier: GPL-2.0-or-later
//
// What follows an IP header: the protocol numbers of IPv4, and of IPv6, where they are named next headers (IANA).
#pragma once

#include <cstdint>

namespace stag::link {

inline constexpr uint8_t kProtocolHopByHop = 0, kProtocolIcmp = 1, kProtocolIgmp = 2, kProtocolIpv4 = 4,
                         kProtocolTcp = 6, kProtocolUdp = 17, kProtocolIpv6 = 41, kProtocolRouting = 43,
                         kProtocolFragment = 44, kProtocolGre = 47, kProtocolAh = 51, kProtocolIcmpv6 = 58,
                         kProtocolDestination = 60, kProtocolEtherIp = 97, kProtocolMpls = 137, kProtocolEthernet = 143;

}  // namespace stag::link
