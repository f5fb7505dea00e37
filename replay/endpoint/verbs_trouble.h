// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the verbs and the connection manager say went wrong, in the terms of Endpoint.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <optional>

#include "replay/endpoint/endpoint.h"

namespace stag::endpoint {

// A failed work request of this side. kNone: it was flushed, and something else says why.
Trouble TroubleOfWork(ibv_wc_status status, Work work, bool iwarp);
// A failed work for a memory window of this side; kNone: as above.
Trouble TroubleOfWindow(ibv_wc_status status);
// A work's failure as a refusal of the peer, where it is one that shows on the wire.
std::optional<fabric::NakKind> NakOf(ibv_wc_status status);
// A receive that failed: what the peer sent was refused.
Trouble TroubleOfReceive(ibv_wc_status status);
// An asynchronous event of the queue pair. kNone: it says nothing of trouble.
Trouble TroubleOfEvent(ibv_event_type event);

// An attempt to connect, or to be connected to, that ended in `event` with its `status`.
std::string WhyNotConnected(rdma_cm_event_type event, int status, Bytes private_data, bool iwarp);
// Why a call of the libraries failed, and what to do about it.
std::string WhyNoMemory(size_t bytes, int error);
std::string WhyNoChannel(int error);

}  // namespace stag::endpoint
