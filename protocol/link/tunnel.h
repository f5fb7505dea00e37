// SPDX-License-Identifier: GPL-2.0-or-later
//
// The tunnels that Decode unwraps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stag::link {

enum class Tunnel : uint8_t {
  kVxlan,   // RFC 7348, and its generic protocol extension
  kGeneve,  // RFC 8926
  kGre,     // RFC 2784 and 2890, around IP, Ethernet (also as NVGRE, RFC 7637) or MPLS
  kErspan,  // types I, II and III, in GRE (draft-foschiano-erspan-03)
  kIpInIp,  // IPv4 or IPv6 in either (RFC 2003, 2473, 4213)
  kMpls,    // RFC 3032, around IP, or Ethernet with or without a control word (RFC 4448)
  kQinq,    // more than one VLAN tag (IEEE 802.1ad)
  kPppoe,   // sessions (RFC 2516)
};
inline constexpr size_t kTunnelKinds = 8;

// A word of a kind, for JSON, and its name.
struct TunnelNames {
  std::string_view key, name;
};
inline constexpr std::array<TunnelNames, kTunnelKinds> kTunnelNames = {{{"vxlan", "VXLAN"},
                                                                        {"geneve", "GENEVE"},
                                                                        {"gre", "GRE"},
                                                                        {"erspan", "ERSPAN"},
                                                                        {"ip_in_ip", "IP in IP"},
                                                                        {"mpls", "MPLS"},
                                                                        {"qinq", "QinQ"},
                                                                        {"pppoe", "PPPoE"}}};

// What is nested in more tunnels is not followed. A stack of MPLS labels is one; VLAN tags do not count.
inline constexpr unsigned kTunnelDepth = 8;

inline constexpr uint16_t kVxlanPort = 4789, kVxlanGpePort = 4790, kGenevePort = 6081;  // IANA

// UDP destination ports of tunnels; 0 is none. VXLAN-GPE is always at its own.
struct TunnelPorts {
  std::array<uint16_t, 4> vxlan = {kVxlanPort}, geneve = {kGenevePort};
};
inline constexpr TunnelPorts kTunnelPorts;

}  // namespace stag::link
