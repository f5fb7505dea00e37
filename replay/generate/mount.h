// SPDX-License-Identifier: GPL-2.0-or-later
//
// The file handle that a load of NFSv3 begins with.
#pragma once

#include <atomic>
#include <vector>

#include "replay/endpoint/endpoint.h"
#include "replay/generate/options.h"

namespace stag::generate {

// The file handle of `options.path`, from MOUNT over TCP: at `options.mount_port`, or where the portmapper at
// `portmap_port` knows it. Where there is no port, MOUNT is called over RPC-over-RDMA at the address of NFS itself,
// where `stag serve` has it. The error says what can be done. `stop` ends waiting.
Result<std::vector<std::byte>> FindDirectory(endpoint::Transport& transport, const LoadOptions& options,
                                             const std::atomic<bool>& stop, uint16_t portmap_port = 111);

}  // namespace stag::generate
