// SPDX-License-Identifier: GPL-2.0-or-later
//
// What many cases need: headers with chunk lists written in one expression, and exchanges that are only the scenery.
#pragma once

#include <initializer_list>
#include <vector>

#include "pcaps/generator/wire_script.h"
#include "tests/support/nfs_messages.h"

namespace stag::evidence {

// The xid of the RPC that a case is about, and of the one in front of it.
inline constexpr uint32_t kXid = 0x1a2b3c4d, kEarlierXid = 0x1a2b3c4c;

// RDMA-CM private data that offer inline thresholds of 1024, 4096 and 8192 bytes in both directions (RFC 8797 4.1).
inline constexpr rpcrdma::PrivateData k1024{1, 1, 0, 0}, k4096{1, 1, 3, 3}, k8192{1, 1, 7, 7};

using Segments = std::vector<rpcrdma::Segment>;  // handle, length, offset
using Chunks = std::vector<Segments>;

inline rpcrdma::Header WithReads(rpcrdma::Header header, const std::vector<rpcrdma::ReadSegment>& reads) {
  for (const rpcrdma::ReadSegment& read : reads) test::AddRead(header, read.position, read.target);
  return header;
}
inline rpcrdma::Header WithChunks(rpcrdma::Header header, const Chunks& chunks) {
  for (const Segments& chunk : chunks) test::AddWriteChunk(header, chunk);
  return header;
}
// After WithChunks, when there are both.
inline rpcrdma::Header WithReplyChunk(rpcrdma::Header header, const Segments& segments) {
  test::SetReplyChunk(header, segments);
  return header;
}

inline uint32_t SizeOf(const Buffer& bytes) { return static_cast<uint32_t>(bytes.size()); }

// The Position of the data of an NFSv3 WRITE: behind its count, at the end of the Call.
inline uint32_t DataAt() { return SizeOf(test::WriteCall(kXid, 0)); }

// RDMA_ERROR with ERR_CHUNK.
inline rpcrdma::Header ErrChunk(uint32_t xid) {
  rpcrdma::Header header = test::MakeHeader(rpcrdma::kError, xid);
  header.err = rpcrdma::kErrChunk;
  return header;
}

// NFSv3 NULL, called and answered: what follows is no first Call any more.
inline void Greet(WireScript& s, uint32_t xid = kEarlierXid) {
  s.Send(test::kClient, test::Msg(xid), test::MakeCall(xid, test::kNfs, 3, 0));
  s.Send(test::kServer, test::Msg(xid), test::MakeReply(xid));
}

// A connection, and NULL on it.
inline void OpenAndGreet(WireScript& s) {
  s.Open();
  Greet(s);
}

// A Long Call whose Position-zero chunk holds `content`, and the Read that fetches it.
inline void LongCall(WireScript& s, const Buffer& content) {
  s.Send(test::kClient, WithReads(test::Nomsg(kXid), {{0, {0x77, SizeOf(content), 0x10000}}}));
  s.Read(test::kServer, 0x77, 0x10000, content);
}

}  // namespace stag::evidence
