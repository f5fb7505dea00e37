// SPDX-License-Identifier: GPL-2.0-or-later
//
// Work requests as libibverbs posts them, and the one of each queue pair at which STAG_NULL_FAULT asks for a fault.
#pragma once

#include "tests/null_verbs/objects.h"

namespace stag::null_verbs {

// Of a new queue pair, from the environment.
void ReadDemand(NullPair& pair);

// An errno. `bad`: the first work request that was not posted.
int PostSend(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
int PostReceive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);

}  // namespace stag::null_verbs
