// SPDX-License-Identifier: GPL-2.0-or-later
//
// The data of a READ, wherever they came (RFC 8267): inline behind their count, or in the Call's one Write chunk.
#pragma once

#include <span>

#include "replay/rpcrdma/xdr.h"

namespace stag::nfs_client {

// Fails `in` when the count and the chunk contradict each other.
inline Bytes TakeReadData(Cursor& in, std::span<const Bytes> chunks) {
  if (chunks.empty() || chunks[0].empty()) return rpcrdma::GetOpaque(in);
  const uint32_t count = in.U32();
  // Padding in the chunk is not forbidden.
  if (count != chunks[0].size() && RoundUp4(count) != chunks[0].size()) in.Fail(ParseStatus::kMalformed);
  return in.ok() ? chunks[0].first(count) : Bytes{};
}

}  // namespace stag::nfs_client
