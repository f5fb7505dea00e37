// SPDX-License-Identifier: GPL-2.0-or-later
//
// ReplyBounds: how large the Reply to a Call may be, as far as the Call itself says (RFC 8166 section 4.3.3; RFC 5531
// section 9; RFC 1813).
#pragma once

#include <cstdint>

#include "session/rpcrdma/transaction.h"

namespace stag::conformance {

// Smallest replies: a denied one has 20 bytes; an accepted one xid, type, status, empty verifier and accept_stat.
inline constexpr uint64_t kSmallestReply = 20, kAcceptedReply = 24;

struct ReplyBounds {
  uint64_t verifier = 0;                     // room for the largest verifier of RPCSEC_GSS, where there may be one
  uint64_t largest = 0;                      // bytes of the Send, when the Call limits its results; 0: it does not
  uint64_t fixed = 0;                        // the most bytes of the Send, for results of a small fixed size; 0: others
  uint64_t limit = 0;                        // bytes of results that do not go into Write chunks
  uint64_t chunk_at_least = kSmallestReply;  // bytes that a Reply chunk must hold
};

// Of a Call whose arguments can be read: RDMA_MSG, neither protected nor cut.
ReplyBounds BoundsOf(const session::CallHalf& call);

}  // namespace stag::conformance
