// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFSv4 COMPOUNDs for tests (RFC 7530, RFC 7862): operations and their results, to be joined.
#pragma once

#include "tests/support/nfs_messages.h"

namespace stag::test {

// --- Operations of a Call
inline Buffer PutfhOp() { return Join({Words({22}), Opaque(Pattern(16))}); }
inline Buffer GetattrOp() { return Words({9, 1, 0x18}); }
inline Buffer ReadOp(uint32_t count) { return Join({Words({25}), Pattern(16), Words({0, 0, count})}); }
inline Buffer ReadPlusOp(uint32_t count) { return Join({Words({68}), Pattern(16), Words({0, 0, count})}); }
// WRITE up to its count: what follows is the data, or the next operation when the data is reduced.
inline Buffer WriteOpHead() { return Join({Words({38}), Pattern(16), Words({0, 0, 2})}); }
inline Buffer ReducedWriteOp(uint32_t count) { return Join({WriteOpHead(), Words({count})}); }
inline Buffer WriteOp(uint32_t count) { return Join({WriteOpHead(), Opaque(Pattern(count))}); }
// CREATE of a symbolic link up to the discriminant of its union, and from the name on.
inline Buffer CreateLinkHead() { return Words({6}); }
inline Buffer CreateLinkTail() { return Join({Opaque(Pattern(4)), Words({0, 0})}); }

inline Buffer CompoundCall(uint32_t xid, std::initializer_list<Buffer> operations) {
  Buffer body = Join({Opaque({}), Words({2, static_cast<uint32_t>(operations.size())})});
  for (const Buffer& operation : operations) body = Join({body, operation});
  return MakeCall(xid, kNfs, 4, 1, body);
}
// Where the data of an operation stands that `head` is the beginning of, as the `before`-th in such a Call.
inline uint32_t PositionAfter(std::initializer_list<Buffer> before, const Buffer& head) {
  return static_cast<uint32_t>(CompoundCall(0, before).size() + head.size());
}

// --- Results
inline Buffer PutfhResult() { return Words({22, 0}); }
inline Buffer GetattrResult() { return Join({Words({9, 0, 1, 0x18}), Opaque(Pattern(16))}); }
inline Buffer WriteResult(uint32_t count) { return Join({Words({38, 0, count, 2}), Pattern(8)}); }
inline Buffer ReducedReadResult(uint32_t count) { return Words({25, 0, 1, count}); }
inline Buffer ReadResult(uint32_t count) { return Join({Words({25, 0, 1}), Opaque(Pattern(count))}); }

inline Buffer CompoundReply(uint32_t xid, std::initializer_list<Buffer> results) {
  Buffer body = Join({Words({0}), Opaque({}), Words({static_cast<uint32_t>(results.size())})});
  for (const Buffer& result : results) body = Join({body, result});
  return MakeReply(xid, body);
}

}  // namespace stag::test
