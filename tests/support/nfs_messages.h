// SPDX-License-Identifier: GPL-2.0-or-later
//
// Makers of NFSv3 (RFC 1813) and NFSv4.0 (RFC 7530) messages and of the headers they travel under, for tests and for
// generated captures.
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

// READLINK, and its result: attributes or not, then the path, whole or its length alone.
inline Buffer ReadlinkCall(uint32_t xid) { return MakeCall(xid, kNfs, 3, kReadlink, FileHandle()); }
inline Buffer ReadlinkReply(uint32_t xid, uint32_t length, bool reduced = false) {
  return MakeReply(xid, Join({Words({0, 0}), reduced ? Words({length}) : Opaque(Pattern(length))}));
}
inline Buffer ReaddirCall(uint32_t xid, uint32_t count) {
  return MakeCall(xid, kNfs, 3, kReaddir, Join({FileHandle(), Words({0, 0, 0, 0, count})}));
}
// nfsstat3 and no attributes: the failed forms of READ and READLINK. WRITE has wcc_data.
inline Buffer FailedReply(uint32_t xid, uint32_t status) { return MakeReply(xid, Words({status, 0})); }
inline Buffer FailedWriteReply(uint32_t xid, uint32_t status) { return MakeReply(xid, Words({status, 0, 0})); }

// COMPOUND without tag, of whole operations, and its result.
inline Buffer CompoundCall(uint32_t xid, std::initializer_list<Buffer> operations) {
  return MakeCall(xid, kNfs, 4, 1, Join({Words({0, 0, static_cast<uint32_t>(operations.size())}), Join(operations)}));
}
inline Buffer CompoundReply(uint32_t xid, std::initializer_list<Buffer> results, uint32_t status = 0) {
  return MakeReply(xid, Join({Words({status, 0, static_cast<uint32_t>(results.size())}), Join(results)}));
}
inline Buffer PutRootFh() { return Words({24}); }
inline Buffer PutRootFhResult() { return Words({24, 0}); }
// READ of `count` bytes at offset 0 with the anonymous stateid; its result, whole or its length alone.
inline Buffer Read4(uint32_t count) { return Words({25, 0, 0, 0, 0, 0, 0, count}); }
inline Buffer Read4Result(uint32_t count, bool reduced) {
  return Join({Words({25, 0, 1}), reduced ? Words({count}) : Opaque(Pattern(count))});
}
// WRITE whose data was moved: ends with the count.
inline Buffer Write4(uint32_t count) { return Words({38, 0, 0, 0, 0, 0, 0, 2, count}); }
inline Buffer Write4Result(uint32_t count) { return Words({38, 0, count, 2, 1, 2}); }

inline rpcrdma::Header Msg(uint32_t xid) { return MakeHeader(rpcrdma::kMsg, xid); }
inline rpcrdma::Header Nomsg(uint32_t xid) { return MakeHeader(rpcrdma::kNomsg, xid); }

}  // namespace stag::test
