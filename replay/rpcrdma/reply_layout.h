// SPDX-License-Identifier: GPL-2.0-or-later
//
// ReplyLayout: where the bytes of an unreduced Reply go: into Write chunks, behind the transport header, or into the
// Reply chunk (RFC 8166 sections 3.5.3, 4.3.2 and 4.3.3). The caller moves the bytes.
#pragma once

#include <vector>

#include "protocol/rpcrdma/header.h"
#include "replay/rpcrdma/service.h"

namespace stag::rpcrdma {

// An RDMA Write.
struct ReplyWrite {
  Bytes from;
  uint32_t handle = 0;
  uint64_t offset = 0;
};

struct ReplyLimits {
  uint32_t credit = 0;     // granted by the Reply
  uint32_t send_size = 0;  // bytes of the largest Send
  size_t pieces = 0;       // of memory that a Send gathers, the header's among them
};

struct ReplyLayout {
  Header header;                   // RDMA_MSG or RDMA_NOMSG; its chunks report what `writes` bring
  std::vector<std::byte> encoded;  // the header, by EncodeHeader
  std::vector<ReplyWrite> writes;  // in order
  std::vector<Bytes> pieces;       // of the Send, behind the header
  std::vector<Bytes> item;         // scratch

  void EncodeHeader();
};

// `call`: whole lists. Writes and pieces are bytes of `reply`, whose message is moved together where more pieces are
// left than a Send gathers and it has no views. With views there may be more: then none of it can be sent as it is.
// False: the Reply does not fit what the Call offers (ERR_CHUNK, section 4.5). The storage of `out` is reused.
bool LayOut(const Header& call, ServiceReply& reply, const ReplyLimits& limits, ReplyLayout& out);

}  // namespace stag::rpcrdma
