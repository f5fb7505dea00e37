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
  kVxlan,       // RFC 7348, and its generic protocol extension
  kGeneve,      // RFC 8926
  kGre,         // RFC 2784 and 2890, around IP, Ethernet (also as NVGRE, RFC 7637), MPLS or PPP; also in UDP (RFC 8086)
  kErspan,      // types I, II and III, in GRE (draft-foschiano-erspan-03)
  kIpInIp,      // IPv4 or IPv6 in either (RFC 2003, 2473, 4213)
  kMpls,        // RFC 3032, around IP, or Ethernet with or without a control word (RFC 4448); in IP, UDP, GRE, PPP
  kQinq,        // more than one VLAN tag (IEEE 802.1ad)
  kPppoe,       // sessions (RFC 2516)
  kVnTag,       // of virtual interfaces (Cisco)
  kETag,        // of bridge port extensions (IEEE 802.1BR)
  kPbb,         // provider backbone bridges (IEEE 802.1ah)
  kFabricPath,  // Cisco
  kCiscoMetaData,   // security group tags
  kTrill,           // RFC 6325
  kNsh,             // RFC 8300
  kHsr,             // high-availability seamless redundancy (IEC 62439-3)
  kRTag,            // frame replication and elimination (IEEE 802.1CB)
  kMacSec,          // IEEE 802.1AE, where it does not encrypt
  kLisp,            // RFC 9300
  kTzsp,            // TaZmen Sniffer Protocol
  kGtp,             // the user plane (3GPP TS 29.281)
  kEtherIp,         // RFC 3378
  kEthernet,        // in IP, as of segment routing (RFC 8986), or in Ethernet
  kSFlow,           // version 5: the frame of the first sample that has one
  kL2tp,            // version 2 (RFC 2661)
  kTeredo,          // RFC 4380
  kJMirror,         // Juniper
  kMellanoxMirror,  // of Spectrum switches: GRE 0x8949
  kLlc,             // IEEE 802.2, with SNAP
  kBatmanAdvanced,  // unicast packets, version 15
  kAristaTime,      // time stamps
};
inline constexpr size_t kTunnelKinds = 31;

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
                                                                        {"pppoe", "PPPoE"},
                                                                        {"vntag", "VN-Tag"},
                                                                        {"etag", "E-Tag"},
                                                                        {"pbb", "802.1ah"},
                                                                        {"fabricpath", "FabricPath"},
                                                                        {"cisco_metadata", "Cisco metadata"},
                                                                        {"trill", "TRILL"},
                                                                        {"nsh", "NSH"},
                                                                        {"hsr", "HSR"},
                                                                        {"rtag", "R-Tag"},
                                                                        {"macsec", "MACsec"},
                                                                        {"lisp", "LISP"},
                                                                        {"tzsp", "TZSP"},
                                                                        {"gtp", "GTP-U"},
                                                                        {"etherip", "EtherIP"},
                                                                        {"ethernet", "Ethernet in IP or Ethernet"},
                                                                        {"sflow", "sFlow"},
                                                                        {"l2tp", "L2TP"},
                                                                        {"teredo", "Teredo"},
                                                                        {"jmirror", "JMirror"},
                                                                        {"mellanox_mirror", "Mellanox mirror"},
                                                                        {"llc", "LLC"},
                                                                        {"batman_adv", "BATMAN"},
                                                                        {"arista_time", "Arista time stamps"}}};

// What is nested in more tunnels is not followed. A stack of MPLS labels is one; VLAN tags do not count.
inline constexpr unsigned kTunnelDepth = 8;

inline constexpr uint16_t kVxlanPort = 4789, kVxlanGpePort = 4790, kGenevePort = 6081;  // IANA
inline constexpr uint16_t kLinuxVxlanPort = 8472;                                       // of Linux by default

// UDP destination ports of tunnels; 0 is none. VXLAN-GPE is always at its own.
struct TunnelPorts {
  std::array<uint16_t, 4> vxlan = {kVxlanPort, kLinuxVxlanPort}, geneve = {kGenevePort};
};
inline constexpr TunnelPorts kTunnelPorts;

}  // namespace stag::link
