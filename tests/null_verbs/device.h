// SPDX-License-Identifier: GPL-2.0-or-later
//
// The device null0, as its programs and the connection manager see it.
#pragma once

#include "tests/null_verbs/pairs.h"

namespace stag::null_verbs {

// The context that the connection manager gives its ids.
ibv_context* ManagerContext();

// Connects a queue pair with the peer's; it takes and sends from now on.
void ConnectPair(ibv_qp* qp, uint32_t peer, uint32_t rnr_retries, uint32_t reads_served);
// It takes no work any more; what was posted comes back.
void StopPair(ibv_qp* qp);
// The device is gone: its queue pairs stop, and each context gets IBV_EVENT_DEVICE_FATAL.
void RemoveDevice();

// Of the connection manager, for faults: the connection of a queue pair ends as if the peer had ended it; each id gets
// RDMA_CM_EVENT_DEVICE_REMOVAL.
void CutConnection(const ibv_qp* qp);
void ReportRemoval();

}  // namespace stag::null_verbs
