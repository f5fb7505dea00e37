// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file/link_types.h"

namespace stag::capture {

LinkType LinkTypeFromFile(uint32_t linktype) {
  switch (linktype & 0xffff) {
    case 0:    // LINKTYPE_NULL
    case 108:  // LINKTYPE_LOOP
      return LinkType::kNull;
    case 1: return LinkType::kEthernet;
    case 9:   // LINKTYPE_PPP
    case 50:  // LINKTYPE_PPP_HDLC
      return LinkType::kPpp;
    case 12:   // DLT_RAW as some systems write it
    case 14:   // the same on OpenBSD
    case 101:  // LINKTYPE_RAW
    case 228:  // LINKTYPE_IPV4
    case 229:  // LINKTYPE_IPV6
      return LinkType::kRawIp;
    case 104: return LinkType::kCiscoHdlc;
    case 113: return LinkType::kLinuxSll;
    case 197: return LinkType::kErf;
    case 247: return LinkType::kInfiniBand;
    case 276: return LinkType::kLinuxSll2;
    default: return LinkType::kUnsupported;
  }
}

std::optional<uint16_t> LinkTypeToFile(LinkType link) {
  switch (link) {
    case LinkType::kEthernet: return uint16_t{1};
    case LinkType::kLinuxSll: return uint16_t{113};
    case LinkType::kLinuxSll2: return uint16_t{276};
    case LinkType::kRawIp: return uint16_t{101};
    case LinkType::kErf: return uint16_t{197};
    case LinkType::kNull: return uint16_t{0};
    case LinkType::kPpp: return uint16_t{9};
    case LinkType::kCiscoHdlc: return uint16_t{104};
    case LinkType::kInfiniBand:
    case LinkType::kErfInfiniBand: return uint16_t{247};  // both begin with the LRH
    case LinkType::kErfEthernet:
    case LinkType::kUnsupported: break;
  }
  return std::nullopt;
}

}  // namespace stag::capture
