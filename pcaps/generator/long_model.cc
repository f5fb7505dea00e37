// SPDX-License-Identifier: GPL-2.0-or-later
//
// LONG and MODEL: messages that travel in chunks, and who may move data with RDMA.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/traffic.h"

namespace stag::evidence {

using namespace test;

namespace {

// An unknown program, so that only its length counts.
Buffer LargeCall() { return MakeCall(kXid, 0x20000000, 1, 1, Pattern(200)); }
Buffer Part(const Buffer& whole, size_t begin, size_t end) {
  return {whole.begin() + static_cast<ptrdiff_t>(begin), whole.begin() + static_cast<ptrdiff_t>(end)};
}
// A Long Call in two segments of 128 and the other bytes, the second at this Position.
void CallInTwoSegments(WireScript& s, uint32_t second_position) {
  s.Open();
  const Buffer call = LargeCall();
  const uint32_t rest = SizeOf(call) - 128;
  s.Send(kClient, WithReads(Nomsg(kXid), {{0, {0x77, 128, 0x10000}}, {second_position, {0x78, rest, 0x20000}}}));
  s.Read(kServer, 0x77, 0x10000, Part(call, 0, 128));
  s.Read(kServer, 0x78, 0x20000, Part(call, 128, call.size()));
}

// A WRITE in a Position-zero chunk, with its 256 bytes of data in another one.
void LongWrite(WireScript& s, uint32_t position) {
  s.Open();
  const Buffer call = WriteCall(kXid, 256);
  s.Send(kClient, WithReads(Nomsg(kXid), {{0, {0x77, SizeOf(call), 0x10000}}, {position, {0x78, 256, 0x20000}}}));
  s.Read(kServer, 0x77, 0x10000, call);
}

constexpr Case kLongModelCases[] = {
    {"LONG-001", kBreaks, "", "An RDMA_NOMSG with three empty lists: its RPC message is nowhere.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Nomsg(kXid));
       s.Expect("LONG-001", Severity::kError, {"LONG-002"});
     }},
    {"LONG-001", kNearMiss, "", "An RDMA_NOMSG with a Position-zero chunk.",
     [](WireScript& s) {
       s.Open();
       LongCall(s, GetattrCall(kXid));
     }},

    {"LONG-002", kBreaks, "", "A Long Call whose only Read chunk is at Position 120.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Nomsg(kXid), {{120, {0x77, 256, 0x10000}}}));
       s.Expect("LONG-002");
     }},
    {"LONG-002", kNearMiss, "",
     "An RDMA_NOMSG with nothing but a Reply chunk: a Reply, whose Call came before the capture.",
     [](WireScript& s) {
       s.OpenMidstream();
       Greet(s);
       s.Send(kServer, WithReplyChunk(Nomsg(kXid), {{0x88, 128, 0x20000}}));
     }},

    {"LONG-003", kBreaks, "", "The segments of a Long Call carry their offsets, 0 and 128, as Positions.",
     [](WireScript& s) {
       CallInTwoSegments(s, 128);
       s.ExpectOf(4, "LONG-003", Severity::kError, {"RDLIST-005"});
     }},
    {"LONG-003", kBreaks, "short", "A Position-zero chunk of 36 bytes: no RPC Call is that short.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Nomsg(kXid), {{0, {0x77, 36, 0x10000}}}));
       s.Expect("LONG-003");
     }},
    {"LONG-003", kNearMiss, "", "Both segments at Position zero.", [](WireScript& s) { CallInTwoSegments(s, 0); }},
    {"LONG-003", kNearMiss, "reduced",
     "A WRITE in a Position-zero chunk. The chunk of its data starts where that ends, as the count there says.",
     [](WireScript& s) { LongWrite(s, SizeOf(WriteCall(kXid, 256))); }},

    {"LONG-004", kBreaks, "", "An RDMA_MSG with its Call inline, and a Position-zero chunk, too.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{0, {0x77, 76, 0x10000}}}), GetattrCall(kXid));
       s.Expect("LONG-004");
     }},
    {"LONG-004", kNearMiss, "", "The same chunk with RDMA_NOMSG, and no Call inline.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Nomsg(kXid), {{0, {0x77, 76, 0x10000}}}));
     }},

    {"LONG-005", kBreaks, "", "A Position-zero chunk with an RPC Reply in it: known when it was read.",
     [](WireScript& s) {
       s.Open();
       LongCall(s, GetattrReply(kXid));
       s.ExpectOf(4, "LONG-005");
     }},
    {"LONG-005", kNearMiss, "",
     "The capture kept only the first four bytes of the Position-zero chunk (snap length 62).",
     [](WireScript& s) {
       s.Open();
       const Buffer reply = GetattrReply(kXid);
       s.Send(kClient, WithReads(Nomsg(kXid), {{0, {0x77, SizeOf(reply), 0x10000}}}));
       s.ReadRequest(kServer, 0x77, 0x10000, SizeOf(reply));
       s.Snap(62);
       s.ReadResponse(kClient, 0x77, 0x10000, reply);
     }},

    {"LONG-006", kBreaks, "", "Under RFC 5666 (draft-08) the Position-zero chunk comes first; here it comes last.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       const uint32_t size = SizeOf(WriteCall(kXid, 256));
       s.Send(kClient, WithReads(Nomsg(kXid), {{size, {0x78, 256, 0x20000}}, {0, {0x77, size, 0x10000}}}));
       s.Expect("LONG-006", Severity::kNote);
       s.Expect("RDLIST-009", Severity::kNote);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"LONG-006", kNearMiss, "", "The same Call under RFC 8166, which does not order the list.",
     [](WireScript& s) {
       s.Open();
       const uint32_t size = SizeOf(WriteCall(kXid, 256));
       s.Send(kClient, WithReads(Nomsg(kXid), {{size, {0x78, 256, 0x20000}}, {0, {0x77, size, 0x10000}}}));
     }},

    {"LONG-007", kBreaks, "",
     "The Position of a WRITE's data in a Long Call is behind the end of the Position-zero content.",
     [](WireScript& s) {
       LongWrite(s, SizeOf(WriteCall(kXid, 256)) + 8);
       s.Read(kServer, 0x78, 0x20000, Pattern(256));
       s.ExpectOf(4, "RDLIST-004", Severity::kError, {"LONG-007"});
     }},
    {"LONG-007", kNearMiss, "", "The Position is the place of the data, counted from the start of the Call.",
     [](WireScript& s) {
       LongWrite(s, SizeOf(WriteCall(kXid, 256)));
       s.Read(kServer, 0x78, 0x20000, Pattern(256));
       s.Send(kServer, Msg(kXid), WriteReply(kXid, 256));
     }},

    {"LONG-008", kBreaks, "", "Eight bytes behind the lists of an RDMA_NOMSG.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Nomsg(kXid), {{0, {0x77, 76, 0x10000}}}), Words({0, 0}));
       s.Expect("LONG-008", Severity::kWarning, {"HDR-015"});
     }},
    {"LONG-008", kNearMiss, "", "An RDMA_NOMSG whose Send ends with its lists.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Nomsg(kXid), {{0, {0x77, 76, 0x10000}}}));
     }},

    {"MODEL-001", kBreaks, "", "The client reads memory of the server, which nothing advertised.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.ReadRequest(kClient, 0x99, 0x40000, 256);
       s.Expect("MODEL-001", Severity::kError, {"MEM-002"});
     }},
    {"MODEL-001", kNearMiss, "",
     "Between peers that speak RFC 5666, the client reads what a Reply's Read list advertises.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       s.Send(kClient, Msg(kXid), ReadCall(kXid, 256));
       const Buffer reply = ReadReply(kXid, 256, true);
       s.Send(kServer, WithReads(Msg(kXid), {{SizeOf(reply), {0x99, 256, 0x40000}}}), reply);
       s.Read(kClient, 0x99, 0x40000, Pattern(256));
       s.Send(kClient, MakeHeader(rpcrdma::kDone, kXid));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"MODEL-002", kBreaks, "", "The client pushes an argument with an RDMA Write.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Write(kClient, 0x99, 0x40000, Pattern(64));
       s.Expect("MODEL-002", Severity::kError, {"MEM-003"});
     }},
    {"MODEL-002", kNearMiss, "",
     "An RDMA Write of no bytes, with which some implementations test whether the peer is there.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Write(kClient, 0, 0, {});
     }},

    {"MODEL-003", kBreaks, "", "The Reply's Write chunk names memory that is not of the Call.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 256, 0x20000}}}), ReadCall(kXid, 256));
       s.Send(kServer, WithChunks(Msg(kXid), {{{0xabcd, 0, 0x40000}}}), FailedReply(kXid, 5));
       s.Expect("WRLIST-003", Severity::kError, {"MODEL-003"});
     }},
    {"MODEL-003", kNearMiss, "", "The Reply names the memory of its Call, and no other.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 256, 0x20000}}}), ReadCall(kXid, 256));
       s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, 0, 0x20000}}}), FailedReply(kXid, 5));
     }},
};

}  // namespace

std::span<const Case> LongModelCases() { return kLongModelCases; }

}  // namespace stag::evidence
