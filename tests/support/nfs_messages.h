// SPDX-License-Identifier: GPL-2.0-or-later
//
// Makers of NFSv3 messages (RFC 1813) and of the headers they travel under, for tests and for generated captures.
#pragma once

#include "tests/support/messages.h"

namespace stag::test {

inline constexpr uint32_t kNfs = 100003, kGetattr = 1, kReadlink = 5, kRead = 6, kWrite = 7, kReaddir = 16;

inline Buffer FileHandle() { return Opaque(Pattern(32)); }
inline Buffer GetattrCall(uint32_t xid) { return MakeCall(xid, kNfs, 3, kGetattr, FileHandle()); }
// fattr3 of a regular file of 4096 bytes.
inline Buffer Attributes() {
  return Words({1, 0644, 1, 1000, 1000,          0, 4096,          0, 4096,          0, 0,
                0, 7,    0, 99,   1'700'000'000, 0, 1'700'000'000, 0, 1'700'000'000, 0});
}
inline Buffer GetattrReply(uint32_t xid) { return MakeReply(xid, Join({Words({0}), Attributes()})); }
inline Buffer ReadCall(uint32_t xid, uint32_t count) {
  return MakeCall(xid, kNfs, 3, kRead, Join({FileHandle(), Words({0, 0, count})}));
}
// `data` inline, or its count alone when reduced.
inline Buffer ReadReply(uint32_t xid, uint32_t count, bool reduced) {
  return MakeReply(xid, Join({Words({0, 0, count, 1}), reduced ? Words({count}) : Opaque(Pattern(count))}));
}
// A WRITE whose data was moved: ends with the count.
inline Buffer WriteCall(uint32_t xid, uint32_t count) {
  return MakeCall(xid, kNfs, 3, kWrite, Join({FileHandle(), Words({0, 0, count, 2, count})}));
}
inline Buffer WriteReply(uint32_t xid, uint32_t count) {
  return MakeReply(xid, Join({Words({0, 0, 0, count, 2}), Pattern(8)}));
}

inline rpcrdma::Header Msg(uint32_t xid) { return MakeHeader(rpcrdma::kMsg, xid); }
inline rpcrdma::Header Nomsg(uint32_t xid) { return MakeHeader(rpcrdma::kNomsg, xid); }

}  // namespace stag::test
