// SPDX-License-Identifier: GPL-2.0-or-later
//
// The ways to reach peers that this machine has: software iWARP always, and its RDMA devices; which of them can be
// used, and which one `--transport auto` is.
#pragma once

#include "replay/endpoint/endpoint.h"

namespace stag::endpoint {

struct TransportInfo {
  std::string name;    // "iwarp" (software), or of the device: "mlx5_0"
  std::string kind;    // "software iWARP", "InfiniBand", "RoCE", "iWARP"
  std::string state;   // of its best port: "active", "down", ...; of software iWARP: "ready"
  std::string netdev;  // of the port; empty: none, or any
  bool usable = false;
  std::string reason;  // why, or why not
};

struct TransportList {
  std::vector<TransportInfo> all;  // software iWARP first
  size_t automatic = 0;            // index of what auto takes
  std::string why;
};

// Where the kernel lists RDMA devices. As with libibverbs, the environment variable SYSFS_PATH stands for /sys.
std::string DevicesFolder();

TransportList ListTransports(const std::string& devices = DevicesFolder());

// The transport called `name`; "auto": what ListTransports says. The error says why there is none.
Result<std::unique_ptr<Transport>> OpenTransport(std::string_view name);

}  // namespace stag::endpoint
