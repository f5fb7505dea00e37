// SPDX-License-Identifier: GPL-2.0-or-later
//
// Rebuilds the unreduced RPC messages of a transaction from the inline streams and what RDMA moved: RFC 8166 sections
// 3.4.5 (Position), 3.4.6 (Write chunks in order of the results), 3.5.3 (special chunks), 4.3; RFC 5666 (draft-08) 3.5
// for Read-Read replies; RFC 8267 for which results pair with Write chunks. Never guesses a byte: what was not
// captured, or has no certain place, makes the payload incomplete and says why.
#pragma once

#include "session/rpcrdma/transaction.h"

namespace stag::session {

// Groups `reads` (list order) by Position, ascending, into `chunks` (cleared first).
void GroupReadChunks(const std::vector<rpcrdma::ReadSegment>& reads, Reused<ReadChunk>& chunks);

// Follows the arguments of a Call whose stream is there, into call.walk, items (but for DataItem::complete of reduced
// ones), operations, asks and eligibility.
void FollowCall(Transaction& transaction);

// Fills call.stream for position-zero chunks, call_rpc, call.pieces, call.items, operations. For inline Calls the
// caller has put the payload into call.stream and call.stream_length.
void RebuildCall(Transaction& transaction);

// Likewise for the reply; needs the Call's walk only through call_rpc.
void RebuildReply(Transaction& transaction);

}  // namespace stag::session
