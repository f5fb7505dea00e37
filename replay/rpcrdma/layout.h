// SPDX-License-Identifier: GPL-2.0-or-later
//
// CallLayout: where the bytes of an unreduced Call come from: the inline payload, or segments of the Read list (RFC
// 8166 sections 3.4.5 and 3.5.5). Pure arithmetic; the caller moves the bytes.
#pragma once

#include <string_view>
#include <vector>

#include "protocol/rpcrdma/header.h"

namespace stag::rpcrdma {

struct Extent {
  enum class From : uint8_t {
    kInline,   // the payload behind the transport header, at `offset`
    kSegment,  // Header::reads[segment], `offset` bytes behind its start
    kZero,     // XDR padding that was left out of a chunk
  };
  From from = From::kInline;
  uint32_t segment = 0;
  uint64_t offset = 0;
  uint64_t to = 0;  // in the unreduced Call
  uint64_t length = 0;
};

struct CallLayout {
  uint64_t length = 0;          // bytes of the unreduced Call
  std::vector<Extent> extents;  // in the order of `to`, without holes
  std::string_view defect;      // why it cannot be laid out; static
};

// `header`: whole lists, RDMA_MSG or RDMA_NOMSG. `payload`: bytes behind it. False with a `defect` when the lists
// contradict themselves or the payload (ERR_CHUNK, section 4.5), or the Call would have more than `limit` bytes. The
// storage of `out` is reused.
bool LayOut(const rpcrdma::Header& header, uint64_t payload, uint64_t limit, CallLayout& out);

}  // namespace stag::rpcrdma
