// SPDX-License-Identifier: GPL-2.0-or-later
//
// More operations of NFSv4 COMPOUNDs and their results (RFC 7530, RFC 7862), beside those of
// tests/support/nfs_messages.h.
#pragma once

#include "tests/support/nfs_messages.h"

namespace stag::test {

inline Buffer PutFh() { return Join({Words({22}), Opaque(Pattern(16))}); }
inline Buffer PutFhResult() { return Words({22, 0}); }
inline Buffer Getattr4() { return Words({9, 1, 0x18}); }
inline Buffer Getattr4Result() { return Join({Words({9, 0, 1, 0x18}), Opaque(Pattern(16))}); }
// WRITE up to its data's count, and whole.
inline Buffer Write4Head() { return Words({38, 0, 0, 0, 0, 0, 0, 2}); }
inline Buffer InlineWrite4(uint32_t count) { return Join({Write4Head(), Opaque(Pattern(count))}); }
inline Buffer ReadPlus(uint32_t count) { return Words({68, 0, 0, 0, 0, 0, 0, count}); }
// CREATE of a symbolic link: what follows the union that gives its text.
inline Buffer CreateTail() { return Join({Opaque(Pattern(4)), Words({0, 0})}); }

// Where what follows `head` stands in a COMPOUND with the operations `before` it.
inline uint32_t PositionAfter(std::initializer_list<Buffer> before, const Buffer& head) {
  return static_cast<uint32_t>(CompoundCall(0, before).size() + head.size());
}

}  // namespace stag::test
