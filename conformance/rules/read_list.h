// SPDX-License-Identifier: GPL-2.0-or-later
//
// Where the Read chunks of a Call go: the arithmetic of RFC 8166 section 3.4.5 on the reduced stream, shared by the
// checks on Positions, lengths and eligibility.
#pragma once

#include <array>

#include "conformance/rules/common.h"
#include "protocol/nfs/walk.h"

namespace stag::conformance {

// One Read chunk with Position > 0 and its place in the reduced stream.
struct Placement {
  const session::ReadChunk* chunk = nullptr;
  int64_t insertion = 0;     // r: Position less what precedes it in other chunks; may be negative or past the stream
  bool count_known = false;  // the word before the insertion point was captured ...
  uint32_t count = 0;        // ... and is this
};

struct Placements {
  static constexpr size_t kMax = 16;
  std::array<Placement, kMax> at{};
  size_t size = 0;
  bool partial = false;  // a count that the others depend on was not captured, or there are more than kMax
  const Placement* begin() const { return at.data(); }
  const Placement* end() const { return at.data() + size; }
};

// Of a Call with RDMA_MSG, or RDMA_NOMSG once its Position-zero chunk was read. Stops after the first chunk that cannot
// be placed. Empty when the arguments are wrapped (RPCSEC_GSS) or the message is padded (RDMA_MSGP).
Placements Place(const Transaction& call);

enum class Eligible : uint8_t { kYes, kNo, kUnknown };

// Whether the data item that starts at insertion point `index` is DDP-eligible (RFC 8267).
Eligible EligibleAt(const Transaction& call, const Placements& placements, size_t index);

}  // namespace stag::conformance
