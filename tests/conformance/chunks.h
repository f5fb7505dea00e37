// SPDX-License-Identifier: GPL-2.0-or-later
//
// Headers with chunk lists, for the tests of checks.
#pragma once

#include "tests/support/nfs_messages.h"

namespace stag::test {

using Chunks = std::vector<std::vector<rpcrdma::Segment>>;

inline rpcrdma::Header WithChunks(rpcrdma::Header header, const Chunks& chunks) {
  for (const auto& chunk : chunks) AddWriteChunk(header, chunk);
  return header;
}

struct ReadSeg {
  uint32_t position, handle, length;
};
inline rpcrdma::Header WithReads(rpcrdma::Header header, const std::vector<ReadSeg>& reads) {
  for (const ReadSeg& read : reads) AddRead(header, read.position, {read.handle, read.length, 0x1000});
  return header;
}

// Where the data of WriteCall stands.
inline uint32_t WriteDataAt() { return static_cast<uint32_t>(WriteCall(0, 0).size()); }

}  // namespace stag::test
