// SPDX-License-Identifier: GPL-2.0-or-later
//
// Verbs: endpoints on the reliable connected queue pairs of an RDMA device, by librdmacm and libibverbs. Any device
// will do: InfiniBand, RoCE and iWARP adapters, and the Linux drivers rxe and siw.
//
// What the device does by itself shows in no event: RDMA Reads and Writes of the peer, and acknowledgements. The
// ConnectionInfo says so (rdma_hidden), and a Session then takes nothing that it does not see for missing.
#pragma once

#include "replay/endpoint/endpoint.h"

namespace stag::replay {

// Whether this program was built with the verbs libraries.
bool VerbsBuilt();

// `device`: as `ibv_devices` lists it. Connections go out through it alone; a Listener takes what comes in through any
// device. The error says why the device cannot be used.
Result<std::unique_ptr<Transport>> MakeVerbs(const std::string& device);

}  // namespace stag::replay
