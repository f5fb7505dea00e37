// SPDX-License-Identifier: GPL-2.0-or-later
//
// RDLIST: Read chunks, most of them the data of an NFS WRITE.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/traffic.h"

namespace stag::evidence {

using namespace test;

namespace {

// A COMPOUND of two WRITEs of 256 bytes, whose data is at `first` and `second` of the unreduced stream.
const Buffer& TwoWrites() {
  static const Buffer call = CompoundCall(kXid, {PutRootFh(), Write4(256), Write4(256)});
  return call;
}
uint32_t FirstAt() { return SizeOf(TwoWrites()) - SizeOf(Write4(0)); }
uint32_t SecondAt() { return SizeOf(TwoWrites()) + 256; }

void TwoWrites(WireScript& s, uint32_t second_position) {
  s.Send(kClient, WithReads(Msg(kXid), {{FirstAt(), {0x77, 256, 0x10000}}, {second_position, {0x78, 256, 0x20000}}}),
         TwoWrites());
}

// An unknown program, so that no upper layer tells what its arguments are; that it uses chunks is noted (DDP-010). A
// chunk of 256 bytes in these segments, `before_end` bytes before the end.
void CallUnknown(WireScript& s, const Buffer& arguments, uint32_t before_end,
                 const Segments& chunk = {{0x77, 256, 0x10000}}) {
  s.Open();
  const Buffer call = MakeCall(kXid, 0x20000000, 1, 1, arguments);
  rpcrdma::Header header = Msg(kXid);
  for (const rpcrdma::Segment& segment : chunk) AddRead(header, SizeOf(call) - before_end, segment);
  s.Send(kClient, header, call);
  s.Expect("DDP-010", Severity::kNote);
}

constexpr Case kReadListCases[] = {
    {"RDLIST-001", kBreaks, "", "A Reply brings a Read list, and with it memory of the server.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), ReadCall(kXid, 256));
       const Buffer reply = ReadReply(kXid, 256, true);
       s.Send(kServer, WithReads(Msg(kXid), {{SizeOf(reply), {0x99, 256, 0x30000}}}), reply);
       s.Expect("RDLIST-001");
     }},
    {"RDLIST-001", kNearMiss, "",
     "The same between peers that speak RFC 5666: the client reads the data and says RDMA_DONE.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       s.Send(kClient, Msg(kXid), ReadCall(kXid, 256));
       const Buffer reply = ReadReply(kXid, 256, true);
       s.Send(kServer, WithReads(Msg(kXid), {{SizeOf(reply), {0x99, 256, 0x30000}}}), reply);
       s.Read(kClient, 0x99, 0x30000, Pattern(256));
       s.Send(kClient, MakeHeader(rpcrdma::kDone, kXid));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"RDLIST-001", kNearMiss, "call",
     "An RDMA_NOMSG with a Read list from the server, joined mid-stream: a backward Call in a Position-zero chunk.",
     [](WireScript& s) {
       s.OpenMidstream();
       Greet(s);
       s.Send(kServer, WithReads(Nomsg(kXid), {{0, {0x99, 80, 0x30000}}}));
     }},

    {"RDLIST-002", kBreaks, "",
     "A chunk of 256 bytes at a Position that is no multiple of four; the four bytes before it read 256.",
     [](WireScript& s) {
       CallUnknown(s, Words({1, 0}), 3);
       s.Expect("RDLIST-002");
     }},
    {"RDLIST-002", kNearMiss, "",
     "Segments of 101 and 155 bytes, joined within a word: only Positions are multiples of four.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{DataAt(), {0x77, 101, 0x10001}}, {DataAt(), {0x78, 155, 0x20003}}}),
              WriteCall(kXid, 256));
     }},

    {"RDLIST-003", kBreaks, "", "Two segments of Position zero, and between them one of another Position.",
     [](WireScript& s) {
       s.Open();
       const uint32_t at = DataAt();
       s.Send(kClient,
              WithReads(Nomsg(kXid),
                        {{0, {0x77, 40, 0x10000}}, {at, {0x78, 256, 0x20000}}, {0, {0x79, at - 40, 0x30000}}}));
       s.Expect("RDLIST-003", Severity::kWarning);
     }},
    {"RDLIST-003", kNearMiss, "", "The same three segments, those of one Position next to each other.",
     [](WireScript& s) {
       s.Open();
       const uint32_t at = DataAt();
       s.Send(kClient,
              WithReads(Nomsg(kXid),
                        {{0, {0x77, 40, 0x10000}}, {0, {0x79, at - 40, 0x30000}}, {at, {0x78, 256, 0x20000}}}));
     }},

    {"RDLIST-004", kBreaks, "", "The Position is far behind the end of the Call.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{4000, {0x77, 256, 0x10000}}}), WriteCall(kXid, 256));
       s.Expect("RDLIST-004");
     }},
    {"RDLIST-004", kBreaks, "reduced",
     "A COMPOUND of two WRITEs. The second Position does not count the 256 bytes that the first chunk took out.",
     [](WireScript& s) {
       s.Open();
       TwoWrites(s, SecondAt() - 256);
       s.Expect("RDLIST-004");
       s.Expect("RDLIST-010", Severity::kNote);
     }},
    {"RDLIST-004", kNearMiss, "",
     "The same with the Position in the unreduced stream, beyond the end of what is inline. Two Read chunks in one "
     "Call are what RDLIST-010 notes.",
     [](WireScript& s) {
       s.Open();
       TwoWrites(s, SecondAt());
       s.Expect("RDLIST-010", Severity::kNote);
     }},

    {"RDLIST-005", kBreaks, "",
     "A Call of a program that nobody knows (DDP-010): the word before the Position says 8192, the chunk has 256 "
     "bytes.",
     [](WireScript& s) {
       CallUnknown(s, Words({8192}), 0);
       s.Expect("RDLIST-005", Severity::kWarning);
     }},
    {"RDLIST-005", kNearMiss, "", "The word says 256, and so do the two segments of the chunk together.",
     [](WireScript& s) {
       CallUnknown(s, Words({256}), 0, {{0x77, 101, 0x10000}, {0x78, 155, 0x20000}});
     }},

    {"RDLIST-006", kBreaks, "",
     "A GETATTR has its file handle in a Read chunk: the procedure has no argument that may be there.",
     [](WireScript& s) {
       s.Open();
       const Buffer call = MakeCall(kXid, kNfs, 3, kGetattr, Words({32}));
       s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(call), {0x77, 32, 0x10000}}}), call);
       s.Expect("DDP-001", Severity::kError, {"RDLIST-006"});
     }},
    {"RDLIST-006", kNearMiss, "",
     "A GETATTR in a Position-zero chunk: a Long Call needs the Read list for every procedure.",
     [](WireScript& s) {
       s.Open();
       LongCall(s, GetattrCall(kXid));
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
     }},

    {"RDLIST-007", kBreaks, "", "A WRITE is answered with success, but nobody read its data.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{DataAt(), {0x77, 256, 0x10000}}}), WriteCall(kXid, 256));
       s.Send(kServer, Msg(kXid), WriteReply(kXid, 256));
       s.Expect("RDLIST-007", Severity::kWarning);
     }},
    {"RDLIST-007", kBreaks, "part", "The same on iWARP, with half of the data read.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{DataAt(), {0x77, 256, 0x10000}}}), WriteCall(kXid, 256));
       s.Read(kServer, 0x77, 0x10000, Pattern(128));
       s.Send(kServer, Msg(kXid), WriteReply(kXid, 256));
       s.Expect("RDLIST-007", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"RDLIST-007", kNearMiss, "", "The WRITE fails with NFS3ERR_STALE: there was no need to read.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{DataAt(), {0x77, 256, 0x10000}}}), WriteCall(kXid, 256));
       s.Send(kServer, Msg(kXid), FailedWriteReply(kXid, 70));
     }},
    {"RDLIST-007", kNearMiss, "padding",
     "A WRITE of 253 bytes in a chunk of 256: its padding is not read. That it is in the chunk is what PAD-002 notes.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{DataAt(), {0x77, 256, 0x10000}}}), WriteCall(kXid, 253));
       s.Expect("PAD-002", Severity::kNote);
       s.Read(kServer, 0x77, 0x10000, Pattern(253));
       s.Send(kServer, Msg(kXid), WriteReply(kXid, 253));
     }},
    {"RDLIST-007", kNearMiss, "lost", "The capture misses the RDMA Read.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{DataAt(), {0x77, 256, 0x10000}}}), WriteCall(kXid, 256));
       s.Lost([&] { s.Read(kServer, 0x77, 0x10000, Pattern(256)); });
       s.Send(kServer, Msg(kXid), WriteReply(kXid, 256));
     }},

    {"RDLIST-008", kBreaks, "", "The client refuses an RDMA Read of memory that its outstanding Call advertises.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{DataAt(), {0x77, 256, 0x10000}}}), WriteCall(kXid, 256));
       s.ReadRequest(kServer, 0x77, 0x10000, 256);
       s.Nak(kClient, fabric::NakKind::kRemoteAccess);
       s.Expect("RDLIST-008", Severity::kWarning);
     }},
    {"RDLIST-008", kBreaks, "iwarp", "The same on iWARP: a Terminate that names the STag.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{DataAt(), {0x77, 256, 0x10000}}}), WriteCall(kXid, 256));
       s.ReadRequest(kServer, 0x77, 0x10000, 256);
       s.Nak(kClient, fabric::NakKind::kRemoteAccess);
       s.Expect("RDLIST-008", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"RDLIST-008", kNearMiss, "",
     "The refused RDMA Read goes beyond the segment: refusing it is right. What breaks a rule is the Read (MEM-002).",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{DataAt(), {0x77, 256, 0x10000}}}), WriteCall(kXid, 256));
       s.ReadRequest(kServer, 0x77, 0x10000, 512);
       s.Expect("MEM-002");
       s.Nak(kClient, fabric::NakKind::kRemoteAccess);
     }},

    {"RDLIST-009", kBreaks, "",
     "Under RFC 5666 (draft-08) Positions ascend; this Call's Position-zero chunk comes last.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       const uint32_t at = DataAt();
       s.Send(kClient, WithReads(Nomsg(kXid), {{at, {0x78, 256, 0x20000}}, {0, {0x77, at, 0x10000}}}));
       s.Expect("RDLIST-009", Severity::kNote);
       s.Expect("LONG-006", Severity::kNote);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"RDLIST-009", kNearMiss, "", "The same Call under RFC 8166, which does not order chunks.",
     [](WireScript& s) {
       s.Open();
       const uint32_t at = DataAt();
       s.Send(kClient, WithReads(Nomsg(kXid), {{at, {0x78, 256, 0x20000}}, {0, {0x77, at, 0x10000}}}));
     }},

    {"RDLIST-010", kBreaks, "", "A COMPOUND with two Read chunks; the bindings count on one.",
     [](WireScript& s) {
       s.Open();
       TwoWrites(s, SecondAt());
       s.Expect("RDLIST-010", Severity::kNote);
     }},
    {"RDLIST-010", kNearMiss, "", "Two segments of one Read chunk.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{DataAt(), {0x77, 128, 0x10000}}, {DataAt(), {0x78, 128, 0x20000}}}),
              WriteCall(kXid, 256));
     }},
};

}  // namespace

std::span<const Case> ReadListCases() { return kReadListCases; }

}  // namespace stag::evidence
