// SPDX-License-Identifier: GPL-2.0-or-later
//
// Verbs: endpoints on the reliable connected queue pairs of an RDMA device, by librdmacm and libibverbs. Any device
// will do: InfiniBand, RoCE and iWARP adapters, and the Linux drivers rxe and siw.
//
// What the device does by itself shows in no event: RDMA Reads and Writes of the peer, and acknowledgements. The
// ConnectionInfo says so (rdma_hidden), and a Session then takes nothing that it does not see for missing.
//
// Nothing is registered, allocated or locked per message: work requests are linked as they are posted and handed over
// as one list, of which the last is signalled (and one in 16, or 4 of few); receives are posted as lists from one
// registered arena (huge pages if there are some); small messages go inline; completions are polled 32 at a time. RNR
// NAKs are final, as with the Linux client and server. Send with Invalidate goes out where the device has memory
// management extensions. Where it has memory windows of type 2, the peer reaches memory through them: another handle is
// a work request, not a registration, and the peer may invalidate it. Without, or with rxe, which does not report it,
// handles of this side cannot be invalidated (Transport::remote_invalidation; the Requester clears the R flag then): a
// program has no memory regions that can be.
#pragma once

#include "replay/endpoint/endpoint.h"

namespace stag::endpoint {

// Whether this program was built with the verbs libraries.
bool VerbsBuilt();

// `device`: as `ibv_devices` lists it. Connections go out through it alone; a Listener takes what comes in through any
// device. The error says why the device cannot be used.
Result<std::unique_ptr<Transport>> MakeVerbs(const std::string& device);

}  // namespace stag::endpoint
