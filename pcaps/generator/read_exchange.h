// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFS READs with Write chunks: what the cases of WRLIST do right or wrong.
#pragma once

#include "pcaps/generator/traffic.h"

namespace stag::evidence {

inline const Chunks kOffer{{{0x88, 256, 0x20000}}};  // one segment of 256 bytes
inline const Chunks kUnused{{{0x88, 0, 0x20000}}};   // the same, returned unused
inline const Chunks kLarge{{{0x88, 512, 0x20000}}};  // with room to spare
inline const Chunks kTwoSegments{{{0x88, 200, 0x20000}, {0x89, 200, 0x30000}}};

// NFSv3 READ: what is asked for and offered, what RDMA Writes move, and what comes back.
struct Exchange {
  uint32_t asked = 256;
  Chunks offered = kOffer;
  Segments writes = {{0x88, 256, 0x20000}};
  uint32_t count = 256;
  Chunks returned = kOffer;
  bool reduced = true;  // the Reply holds the count only
};

inline void Call(WireScript& s, const Exchange& e) {
  s.Send(test::kClient, WithChunks(test::Msg(kXid), e.offered), test::ReadCall(kXid, e.asked));
}
inline void Writes(WireScript& s, const Exchange& e) {
  for (const rpcrdma::Segment& to : e.writes) s.Write(test::kServer, to.handle, to.offset, test::Pattern(to.length));
}
inline void Reply(WireScript& s, const Exchange& e) {
  s.Send(test::kServer, WithChunks(test::Msg(kXid), e.returned), test::ReadReply(kXid, e.count, e.reduced));
}
inline void Read(WireScript& s, const Exchange& e) {
  s.Open();
  Call(s, e);
  Writes(s, e);
  Reply(s, e);
}

// A COMPOUND of two READs with a chunk of 400 bytes for each. That is more chunks than every server takes: a note.
inline void CallTwoReads(WireScript& s) {
  s.Open();
  s.Send(test::kClient, WithChunks(test::Msg(kXid), {{{0x88, 400, 0x20000}}, {{0x89, 400, 0x30000}}}),
         test::CompoundCall(kXid, {test::PutRootFh(), test::Read4(400), test::Read4(400)}));
  s.Expect("ULB-006", Severity::kNote);
}
// Writes these many bytes into each chunk and reports them; the results say `first` and `second`.
inline void ReplyTwoReads(WireScript& s, uint32_t chunk1, uint32_t chunk2, uint32_t first, uint32_t second) {
  if (chunk1 > 0) s.Write(test::kServer, 0x88, 0x20000, test::Pattern(chunk1));
  if (chunk2 > 0) s.Write(test::kServer, 0x89, 0x30000, test::Pattern(chunk2));
  s.Send(test::kServer, WithChunks(test::Msg(kXid), {{{0x88, chunk1, 0x20000}}, {{0x89, chunk2, 0x30000}}}),
         test::CompoundReply(
             kXid, {test::PutRootFhResult(), test::Read4Result(first, true), test::Read4Result(second, true)}));
}
// The second READ fails with NFS4ERR_IO: the COMPOUND has one result.
inline void ReplyOneRead(WireScript& s, uint32_t chunk1, uint32_t chunk2, uint32_t count) {
  if (chunk1 > 0) s.Write(test::kServer, 0x88, 0x20000, test::Pattern(chunk1));
  if (chunk2 > 0) s.Write(test::kServer, 0x89, 0x30000, test::Pattern(chunk2));
  s.Send(test::kServer, WithChunks(test::Msg(kXid), {{{0x88, chunk1, 0x20000}}, {{0x89, chunk2, 0x30000}}}),
         test::CompoundReply(kXid, {test::PutRootFhResult(), test::Read4Result(count, true), test::Words({25, 5})}, 5));
}

}  // namespace stag::evidence
