// SPDX-License-Identifier: GPL-2.0-or-later
//
// RelayTerms: the private data (RFC 8797) that a relay sends to each side: that of the other side, or its own. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "protocol/base/bytes.h"
#include "protocol/base/result.h"

namespace stag::relay {

struct RelayTerms {
  enum class Kind : uint8_t { kPass, kNone, kOwn };
  Kind kind = Kind::kPass;
  uint32_t send_size = 0, receive_size = 0;  // kOwn: the largest Send of the relay and of the peer, bytes
  bool remote_invalidation = false;          // kOwn: the R flag
};

// "pass", "none", or "SEND/RECEIVE" in bytes, with "/R" behind it for the R flag: "4096/4096/R".
Result<RelayTerms> ParseRelayTerms(std::string_view text);

// The private data for one side. `theirs`: the other side's. At most `limit` bytes: of private data that is longer
// only RFC 8797's part is passed. `may_invalidate`: false clears the R flag.
std::vector<std::byte> RelayPrivateData(const RelayTerms& terms, Bytes theirs, size_t limit, bool may_invalidate);

// The largest Send, in bytes, of a peer that receives this private data.
uint32_t ToldReceiveSize(Bytes private_data);

}  // namespace stag::relay
