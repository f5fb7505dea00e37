// SPDX-License-Identifier: GPL-2.0-or-later
//
// Network devices, through libpcap (on Linux: TPACKET_V3). libpcap's own sniffer of RDMA devices is reached the same
// way, where it was built with one.
#pragma once

#include <vector>

#include "capture/live/source.h"

namespace stag::capture {

struct NetworkOptions {
  std::string device;           // "eth0", "any", "rdma:mlx5_0" is libpcap's "mlx5_0"
  std::string filter;           // in libpcap's language; empty: everything
  uint32_t snaplen = 262144;    // bytes
  uint32_t buffer = 64u << 20;  // bytes, in the kernel
  bool promiscuous = true;      // also what is for others
  bool hardware_time = false;   // the device's clock, synchronized to the system's; an error where it has none
};

// `warning`: what the user should know and that does not keep from capturing. The error says what to do: no such
// device, down, no permission, a filter that cannot be compiled, a link type that is not followed.
Result<std::unique_ptr<PacketSource>> OpenNetwork(const NetworkOptions& options, std::string& warning);

// The error is that of libpcap when it cannot compile `filter` for `link`; used before there is a device.
Result<void> CheckFilter(const std::string& filter, LinkType link);

struct NetworkDevice {
  std::string name, description;
  bool up = false, running = false, loopback = false;
};
Result<std::vector<NetworkDevice>> ListNetworkDevices();

}  // namespace stag::capture
