// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/reply_bounds.h"

#include <algorithm>
#include <iterator>

#include "protocol/nfs/walk.h"

namespace stag::conformance {

namespace {

constexpr uint64_t kLargestVerifier = 400;

// NFSv3 procedures whose results have a small fixed size: upper bounds in bytes with both attribute sets, by procedure.
constexpr uint64_t kFixedResults[22] = {
    4,             // NULL
    96,            // GETATTR
    148,           // SETATTR
    0,             // LOOKUP
    100,           // ACCESS
    0,             // READLINK
    0,             // READ
    164,           // WRITE
    0,   0, 0, 0,  // CREATE, MKDIR, SYMLINK, MKNOD
    148,           // REMOVE
    148,           // RMDIR
    292,           // RENAME
    244,           // LINK
    0,   0,        // READDIR, READDIRPLUS
    148,           // FSSTAT
    148,           // FSINFO
    120,           // PATHCONF
    160,           // COMMIT
};

}  // namespace

ReplyBounds BoundsOf(const session::CallHalf& call) {
  ReplyBounds bounds;
  const rpc::CallHeader& rpc = call.rpc;
  bounds.verifier = rpc.credential.flavor == rpc::kRpcsecGss ? kLargestVerifier : 0;
  const uint64_t frame = rpcrdma::kMinimumHeader + kAcceptedReply + bounds.verifier;
  bounds.limit = call.asks.reply_limit;
  const uint64_t inline_data = call.header.write_chunks.empty() ? call.asks.read_bytes : 0;
  if (bounds.limit + inline_data > 0) bounds.largest = frame + bounds.limit + inline_data;
  bounds.chunk_at_least = std::max(kSmallestReply, bounds.limit > 0 ? bounds.limit + bounds.verifier : 0);
  const bool is_nfs3 = rpc.program == nfs::kNfsProgram && rpc.version == 3 && rpc.procedure < std::size(kFixedResults);
  if (is_nfs3 && kFixedResults[rpc.procedure] != 0) bounds.fixed = frame + kFixedResults[rpc.procedure];
  return bounds;
}

}  // namespace stag::conformance
