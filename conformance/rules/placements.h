// SPDX-License-Identifier: GPL-2.0-or-later
//
// Where the Read chunks of a Call go: the arithmetic of RFC 8166 section 3.4.5 on the reduced stream, shared by the
// checks on Positions, lengths, padding and eligibility.
#pragma once

#include <array>
#include <initializer_list>

#include "conformance/rules/common.h"
#include "protocol/nfs/walk.h"

namespace stag::conformance {

// One Read chunk with Position > 0 and its place in the reduced stream.
struct Placement {
  const session::ReadChunk* chunk;
  int64_t insertion;  // r: Position less what precedes it in other chunks; may be negative or past the stream
  bool count_known;   // the word before the insertion point was captured ...
  uint32_t count;     // ... and is this
  // A chunk of its own for the padding of the item (draft-08 section 3.7); null: none.
  const session::ReadChunk* padding;
};

struct Placements {
  static constexpr size_t kMax = 16;
  std::array<Placement, kMax> at;  // the first `size` are in use; the others are not even initialised
  size_t size = 0;
  bool partial = false;  // a count that the others depend on was not captured, or there are more than kMax
  const Placement* begin() const { return at.data(); }
  const Placement* end() const { return at.data() + size; }
};

// Of a Call with RDMA_MSG, or RDMA_NOMSG once its Position-zero chunk was read. Stops after the first chunk that cannot
// be placed. Empty when the arguments are wrapped (RPCSEC_GSS) or the message is padded (RDMA_MSGP).
Placements Place(const Transaction& call);

// A walk's visitor: says of each item whether one of the first `until` chunks holds it.
class PlacedItems : public nfs::Visitor {
 public:
  PlacedItems(const Placements& placements, size_t until) : placements_(placements), until_(until) {}
  explicit PlacedItems(const Placements& placements) : PlacedItems(placements, placements.size) {}
  bool IsReduced(const nfs::Item& item) override;

  uint64_t last = 0;  // where the last item's data stands
  nfs::ItemKind last_kind = nfs::ItemKind::kReadData;
  size_t found = 0;  // how many items chunks hold

 private:
  const Placements& placements_;
  const size_t until_;
};

enum class Eligible : uint8_t { kYes, kNo, kUnknown };

// Whether the data item that starts at insertion point `index` is DDP-eligible (RFC 8267).
Eligible EligibleAt(const Transaction& call, const Placements& placements, size_t index);

// Whether an item of `kind` would start there if `words` stood before its data: what was taken out with the data, or
// not put in.
bool ItemBehind(const Transaction& call, const Placements& placements, size_t index,
                std::initializer_list<uint32_t> words, std::optional<nfs::ItemKind> kind = std::nullopt);

// Walks the Call's arguments; chunks are the items that start at their places. `found`: how many chunks were.
struct PlacedWalk {
  nfs::Walk walk;
  size_t found = 0;
};
PlacedWalk WalkPlaced(const Transaction& call, const Placements& placements);
// The same walk of another stream, one that was changed.
PlacedWalk WalkPlaced(const Transaction& call, const Placements& placements, Bytes stream, uint64_t length);

// How many items of the Call and its results are eligible, reduced ones told by Place().
nfs::Eligibility EligibilityOf(const Transaction& call);

inline bool IsLongCall(const Transaction& t) {
  return HasLists(t.call.header) && t.call.header.proc == rpcrdma::kNomsg;
}
inline bool IsShortCall(const CallContext& c) {
  return HasLists(c.message.header) && c.message.header.proc == rpcrdma::kMsg;
}

}  // namespace stag::conformance
