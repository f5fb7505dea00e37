// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/rdma_filter.h"

namespace stag::capture {

std::string RdmaFilter(std::span<const uint16_t> tcp_ports, bool tagged) {
  std::string what = "udp port 4791 or ether proto 0x8915 or port 111";
  for (const uint16_t port : tcp_ports) what += " or tcp port " + std::to_string(port);
  // "vlan" moves every offset behind it: it stands last.
  return tagged ? what + " or (vlan and (" + what + "))" : what;
}

}  // namespace stag::capture
