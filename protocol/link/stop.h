// SPDX-License-Identifier: GPL-2.0-or-later
//
// Stop: what kept Decode from looking further into a frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stag::link {

enum class StopReason : uint8_t {
  kNone,        // nothing: it was followed, or is of a protocol that wraps nothing
  kLinkType,    // of the capture: unknown
  kEthertype,   // unknown
  kGre,         // carries a protocol that is unknown
  kVxlanGpe,    // likewise
  kNsh,         // likewise
  kPpp,         // likewise
  kIpProtocol,  // unknown, or encrypted
  kMpls,        // carries neither IP nor Ethernet
  kNotIp,       // where IP should be
  kForm,        // a version or form of a tunnel that is unknown
  kEncryptedMacSec,
  kTooDeep,        // too many tunnels in each other
  kFragment,       // of an IP packet that was not put together
  kContradiction,  // headers contradict each other
  kCut,            // by the capture, within the headers
};
inline constexpr size_t kStopReasons = 16;

// The number of kFragment.
enum FragmentStop : uint16_t { kFragmentAlone, kFragmentWithoutFirst, kFragmentOverlaps, kFragmentNoRoom };

struct Stop {
  StopReason reason = StopReason::kNone;
  // The number that is unknown (ethertype, protocol); kForm: the Tunnel; kFragment: a FragmentStop.
  uint16_t detail = 0;

  friend bool operator==(const Stop&, const Stop&) = default;
};

// How the number is written behind the words.
enum class StopNumber : uint8_t { kNone, kHex, kDecimal, kTunnel, kFragment };
struct StopNames {
  std::string_view key, words;
  StopNumber number;
};
inline constexpr std::array<StopNames, kStopReasons> kStopNames = {{
    {"none", "nothing", StopNumber::kNone},
    {"link_type", "a link type that is not known", StopNumber::kNone},
    {"ethertype", "EtherType", StopNumber::kHex},
    {"gre", "GRE with protocol", StopNumber::kHex},
    {"vxlan_gpe", "VXLAN-GPE with next protocol", StopNumber::kDecimal},
    {"nsh", "NSH with next protocol", StopNumber::kDecimal},
    {"ppp", "PPP with protocol", StopNumber::kHex},
    {"ip_protocol", "IP protocol", StopNumber::kDecimal},
    {"mpls", "MPLS with neither IP nor Ethernet", StopNumber::kNone},
    {"not_ip", "no IP where it should be", StopNumber::kNone},
    {"form", "another version or form of", StopNumber::kTunnel},
    {"macsec", "encrypted MACsec", StopNumber::kNone},
    {"depth", "more tunnels in each other than", StopNumber::kDecimal},
    {"fragment", "IP fragments", StopNumber::kFragment},
    {"contradiction", "headers that contradict each other", StopNumber::kNone},
    {"cut", "headers that the capture cut", StopNumber::kNone},
}};

}  // namespace stag::link
