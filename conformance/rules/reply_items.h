// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which DDP-eligible result of a Reply is where: in which Write chunk, or inline. Follows RFC 8166 section 4.3.2 and
// tells each way of breaking it, so it is not the Session's rebuild, which stops at the first contradiction.
#pragma once

#include <array>
#include <span>

#include "conformance/engine/facts.h"
#include "session/rpcrdma/session.h"

namespace stag::conformance {

enum class ItemPlace : uint8_t {
  kInline,              // no chunk for it, or an empty one
  kNothing,             // an item of no bytes: its chunk stays unused
  kChunk,               // in `chunk`, which returned `returned` bytes
  kInlineDespiteChunk,  // `chunk` was there for it and came back unused
  kSkippedChunk,        // neither inline nor in `chunk`: in a later one
  kReadChunk,           // in the Reply's Read list (draft-08)
};

struct ReplyItem {
  uint64_t offset = 0;  // where its data stands, or would stand, in the reduced stream
  uint32_t length = 0;  // the count in the Reply
  ItemPlace place = ItemPlace::kInline;
  size_t chunk = 0;       // index in the Write list of the chunk that was there for it, used or not ...
  bool offered = false;   // ... and whether it had segments
  uint64_t returned = 0;  // of that chunk
  size_t later = 0;       // kSkippedChunk: the chunk that holds it
};

struct ReplyItems {
  static constexpr size_t kMax = kMaxReplyItems;
  bool known = false;             // the upper layer is known and not hidden; `items` are the first of the Reply's
  bool complete = false;          // the whole result was walked
  uint32_t eligible_results = 0;  // of the procedure
  nfs::Walk walk;                 // of the results, with the items where they were found
  std::array<ReplyItem, kMax> list{};
  size_t size = 0;
  std::span<const ReplyItem> items() const { return {list.data(), size}; }
  bool Uses(size_t chunk) const;
};

// Of a successful Reply to a Call with a Write list. Rebuilds nothing and allocates nothing.
ReplyItems PairItems(const session::Transaction& transaction);

}  // namespace stag::conformance
