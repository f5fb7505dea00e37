// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rpcrdma/connection.h"

#include <algorithm>

namespace stag::session {

Bytes SetupData::meaningful() const {
  size_t n = bytes.size();
  if (!fixed_size) return bytes;
  const size_t least = has_data() ? std::min(n, search.offset + 8) : 0;
  while (n > least && bytes[n - 1] == std::byte{0}) --n;
  return Bytes(bytes).first(n);
}

std::string_view SetupData::kind() const {
  using Found = rpcrdma::PrivateDataSearch::Found;
  switch (search.found) {
    case Found::kNothing: return meaningful().empty() ? "none" : "other";
    case Found::kData: return "rfc8797";
    case Found::kOtherVersion: return "rfc8797 other version";
    case Found::kByteSwapped: return "rfc8797 byte-swapped";
    case Found::kTruncated: return "rfc8797 cut short";
  }
  return "other";
}

std::optional<bool> Connection::remote_invalidation() const {
  // One side that is known not to support it settles the matter.
  for (const SetupData& side : setup)
    if (side.known() && !side.remote_invalidation()) return false;
  if (!setup[0].known() || !setup[1].known()) return std::nullopt;
  return true;
}

}  // namespace stag::session
