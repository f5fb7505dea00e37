// SPDX-License-Identifier: GPL-2.0-or-later
//
// DDP: what may be reduced, and how. ULB: the bindings of NFS (RFC 8267).
#include "pcaps/generator/cases.h"
#include "pcaps/generator/read_exchange.h"

namespace stag::evidence {

using namespace test;

namespace {

Buffer WithoutEnd(Buffer bytes, size_t n) {
  bytes.resize(bytes.size() - n);
  return bytes;
}

// A Call with one Read chunk of `length` bytes behind its inline payload.
void SendReduced(WireScript& s, const Buffer& call, uint32_t length) {
  s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(call), {0x71, length, 0x10000}}}), call);
}
void Pull(WireScript& s, uint32_t length) { s.Read(kServer, 0x71, 0x10000, Pattern(length)); }

// A Call with a Write chunk of `offered` bytes, RDMA Writes of what comes back, and the Reply.
void ByWriteChunk(WireScript& s, const Buffer& call, uint32_t offered, uint32_t returned, const Buffer& reply) {
  s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, offered, 0x20000}}}), call);
  if (returned > 0) s.Write(kServer, 0x88, 0x20000, Pattern(returned));
  s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, returned, 0x20000}}}), reply);
}

// GETATTR whose file handle was taken out: the count stays.
Buffer ReducedGetattr() { return MakeCall(kXid, kNfs, 3, kGetattr, Words({32})); }

// COMPOUND of a WRITE and READ_PLUS with its result: one segment of data at offset 0, end of file.
Buffer ReadPlusCall() { return CompoundCall(kXid, {PutRootFh(), Words({68, 0, 0, 0, 0, 0, 0, 1000})}); }
Buffer ReadPlusReply(const Buffer& data) {
  return CompoundReply(kXid, {PutRootFhResult(), Join({Words({68, 0, 1, 1, 0, 0, 0}), data})});
}

constexpr uint32_t kMount = 100005;

constexpr Case kReductionCases[] = {
    {"DDP-001", kBreaks, "", "The file handle of a GETATTR goes by a Read chunk.",
     [](WireScript& s) {
       s.Open();
       SendReduced(s, ReducedGetattr(), 32);
       s.Expect("DDP-001", Severity::kError, {"RDLIST-006", "ULB-001"});
       s.Send(kServer, ErrChunk(kXid));
     }},
    {"DDP-001", kNearMiss, "", "The data of a WRITE does.",
     [](WireScript& s) {
       s.Open();
       SendReduced(s, WriteCall(kXid, 1000), 1000);
       Pull(s, 1000);
       s.Send(kServer, Msg(kXid), WriteReply(kXid, 1000));
     }},

    {"DDP-002", kBreaks, "", "The attributes of a GETATTR come by a Write chunk.",
     [](WireScript& s) {
       s.Open();
       ByWriteChunk(s, GetattrCall(kXid), 1000, 84, MakeReply(kXid, Words({0})));
       s.Expect("DDP-002");
       s.ExpectAt(4, "WRLIST-013", Severity::kWarning);
     }},
    {"DDP-002", kNearMiss, "", "The data of a READ does.",
     [](WireScript& s) {
       s.Open();
       ByWriteChunk(s, ReadCall(kXid, 1000), 1000, 1000, ReadReply(kXid, 1000, true));
     }},

    {"DDP-003", kBreaks, "", "The count of a WRITE's data went into the chunk with it.",
     [](WireScript& s) {
       s.Open();
       SendReduced(s, WithoutEnd(WriteCall(kXid, 1000), 4), 1004);
       s.Expect("DDP-003");
     }},
    {"DDP-003", kBreaks, "reply", "The count of a READ's data did.",
     [](WireScript& s) {
       s.Open();
       ByWriteChunk(s, ReadCall(kXid, 1000), 1004, 1004, WithoutEnd(ReadReply(kXid, 1000, true), 4));
       s.Expect("DDP-003");
     }},
    {"DDP-003", kNearMiss, "", "The count stays inline.",
     [](WireScript& s) {
       s.Open();
       SendReduced(s, WriteCall(kXid, 1000), 1000);
       Pull(s, 1000);
       s.Send(kServer, Msg(kXid), WriteReply(kXid, 1000));
     }},

    {"DDP-005", kBreaks, "", "The whole union of a CREATE (NFSv4) goes by a Read chunk, its discriminant included.",
     [](WireScript& s) {
       s.Open();
       const Buffer head = CompoundCall(kXid, {PutRootFh(), Words({6})});
       s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(head), {0x71, 12, 0x10000}}}),
              Join({head, Opaque(Pattern(4)), Words({0, 0})}));
       s.Expect("DDP-001", Severity::kError, {"DDP-005"});
     }},
    {"DDP-005", kNearMiss, "", "The text of its link arm does.",
     [](WireScript& s) {
       s.Open();
       const Buffer head = CompoundCall(kXid, {PutRootFh(), Words({6, 5, 4})});
       s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(head), {0x71, 4, 0x10000}}}),
              Join({head, Opaque(Pattern(4)), Words({0, 0})}));
     }},

    {"DDP-007", kBreaks, "", "The chunk of a WRITE in a COMPOUND holds the next operation, too.",
     [](WireScript& s) {
       s.Open();
       const Buffer getattr = Words({9, 1, 0x18});
       const Buffer whole = CompoundCall(kXid, {PutRootFh(), Write4(1000), getattr});
       SendReduced(s, WithoutEnd(whole, getattr.size()), 1000 + SizeOf(getattr));
       s.Expect("DDP-007", Severity::kError, {"PAD-003"});
     }},
    {"DDP-007", kNearMiss, "", "It holds the data alone.",
     [](WireScript& s) {
       s.Open();
       const Buffer getattr = Words({9, 1, 0x18});
       const Buffer head = CompoundCall(kXid, {PutRootFh(), Write4(1000), getattr});
       s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(head) - SizeOf(getattr), {0x71, 1000, 0x10000}}}), head);
     }},

    {"DDP-008", kBreaks, "", "A Call whose file handle was reduced is executed.",
     [](WireScript& s) {
       s.Open();
       SendReduced(s, ReducedGetattr(), 32);
       s.Expect("DDP-001", Severity::kError, {"RDLIST-006", "ULB-001"});
       Pull(s, 32);
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
       s.Expect("DDP-008", Severity::kWarning);
     }},
    {"DDP-008", kNearMiss, "", "It is refused with GARBAGE_ARGS.",
     [](WireScript& s) {
       s.Open();
       SendReduced(s, ReducedGetattr(), 32);
       s.Expect("DDP-001", Severity::kError, {"RDLIST-006", "ULB-001"});
       Pull(s, 32);
       s.Send(kServer, Msg(kXid), MakeReply(kXid, {}, rpc::kGarbageArgs));
     }},

    {"DDP-010", kBreaks, "", "A Call of an unknown program offers a Write chunk: no binding says what goes there.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 100, 0x20000}}}), MakeCall(kXid, 300000, 1, 1, Words({0})));
       s.Expect("DDP-010", Severity::kNote);
       s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, 0, 0x20000}}}), MakeReply(kXid, {}, rpc::kProgUnavail));
     }},
    {"DDP-010", kNearMiss, "", "It offers a Reply chunk only, which may hold anything.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReplyChunk(Msg(kXid), {{0x88, 4000, 0x20000}}), MakeCall(kXid, 300000, 1, 1, Words({0})));
       s.Send(kServer, WithReplyChunk(Msg(kXid), {{0x88, 0, 0x20000}}), MakeReply(kXid, {}, rpc::kProgUnavail));
     }},

    {"DDP-011", kBreaks, "", "With its chunk put back the COMPOUND ends in the middle of an operation.",
     [](WireScript& s) {
       s.Open();
       const Buffer whole = CompoundCall(kXid, {PutRootFh(), Write4(1000), Words({9, 1, 0x18})});
       const Buffer cut = WithoutEnd(whole, 4);
       s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(cut) - 8, {0x71, 1000, 0x10000}}}), cut);
       s.Expect("DDP-011", Severity::kWarning);
     }},
    {"DDP-011", kNearMiss, "", "An operation that nobody knows ends what can be told.",
     [](WireScript& s) {
       s.Open();
       const Buffer whole = CompoundCall(kXid, {PutRootFh(), Write4(1000), Words({1000, 1})});
       s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(whole) - 8, {0x71, 1000, 0x10000}}}), whole);
     }},

    {"DDP-012", kBreaks, "", "A Read chunk at Position 24: the credential of the RPC header.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Msg(kXid), {{24, {0x71, 8, 0x10000}}}), GetattrCall(kXid));
       s.Expect("DDP-012", Severity::kError, {"DDP-001"});
     }},
    {"DDP-012", kNearMiss, "", "The RPC header goes in a Position-zero chunk, with all the rest.",
     [](WireScript& s) {
       s.Open();
       LongCall(s, GetattrCall(kXid));
     }},

    {"DDP-014", kBreaks, "", "A chunk of 1008 bytes under a count of 1001, by the draft of 2016.",
     [](WireScript& s) {
       s.Open();
       SendReduced(s, WriteCall(kXid, 1001), 1008);
       s.Expect("DDP-014", Severity::kWarning);
     },
     Fabric::kRoce, Profile::kRfc5666bis},
    {"DDP-014", kNearMiss, "", "1004 bytes under RFC 5666, which counts the padding in.",
     [](WireScript& s) {
       s.Open();
       SendReduced(s, WriteCall(kXid, 1001), 1004);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"ULB-001", kBreaks, "", "NFSv3: the file handle of a GETATTR is reduced. DDP-001 is the same event.",
     [](WireScript& s) {
       s.Open();
       SendReduced(s, ReducedGetattr(), 32);
       s.Expect("DDP-001", Severity::kError, {"RDLIST-006", "ULB-001"});
       s.Send(kServer, ErrChunk(kXid));
     }},
    {"ULB-001", kNearMiss, "", "The text of a READLINK comes by a Write chunk.",
     [](WireScript& s) {
       s.Open();
       ByWriteChunk(s, ReadlinkCall(kXid), 1000, 100, ReadlinkReply(kXid, 100, true));
     }},

    {"ULB-002", kBreaks, "", "NFSv4: the tag of a COMPOUND is reduced. DDP-001 is the same event.",
     [](WireScript& s) {
       s.Open();
       const Buffer head = MakeCall(kXid, kNfs, 4, 1, Words({8}));
       s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(head), {0x71, 8, 0x10000}}}), Join({head, Words({0, 2, 24, 10})}));
       s.Expect("DDP-001", Severity::kError, {"ULB-002"});
       s.Send(kServer, ErrChunk(kXid));
     }},
    {"ULB-002", kNearMiss, "", "The data of a WRITE is.",
     [](WireScript& s) {
       s.Open();
       SendReduced(s, CompoundCall(kXid, {PutRootFh(), Write4(1000)}), 1000);
       Pull(s, 1000);
       s.Send(kServer, Msg(kXid), CompoundReply(kXid, {PutRootFhResult(), Write4Result(1000)}));
     }},

    {"ULB-003", kBreaks, "", "The data of a READ_PLUS comes by a Write chunk.",
     [](WireScript& s) {
       s.Open();
       ByWriteChunk(s, ReadPlusCall(), 1000, 1000, ReadPlusReply(Words({1000})));
       s.Expect("ULB-003", Severity::kWarning, {"DDP-002"});
       s.ExpectAt(4, "WRLIST-013", Severity::kWarning);
     }},
    {"ULB-003", kNearMiss, "", "It comes inline.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), ReadPlusCall());
       s.Send(kServer, Msg(kXid), ReadPlusReply(Opaque(Pattern(100))));
     }},

    {"ULB-004", kBreaks, "", "A MOUNT Call offers a Write chunk; MOUNT has nothing to put there.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 100, 0x20000}}}),
              MakeCall(kXid, kMount, 3, 1, Opaque(Pattern(8))));
       s.Expect("ULB-004", Severity::kError, {"WRLIST-013"});
       s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, 0, 0x20000}}}), MakeReply(kXid, Words({13})));
     }},
    {"ULB-004", kNearMiss, "", "It offers a Reply chunk.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReplyChunk(Msg(kXid), {{0x88, 4000, 0x20000}}),
              MakeCall(kXid, kMount, 3, 1, Opaque(Pattern(8))));
       s.Send(kServer, WithReplyChunk(Msg(kXid), {{0x88, 0, 0x20000}}), MakeReply(kXid, Words({13})));
     }},

    {"ULB-005", kBreaks, "",
     "Two READs, two chunks: the data of the first is reported with another length than its count.",
     [](WireScript& s) {
       CallTwoReads(s);
       ReplyTwoReads(s, 300, 200, 200, 300);
       s.Expect("WRLIST-006", Severity::kError, {"ULB-005"});
     }},
    {"ULB-005", kNearMiss, "", "Each chunk has its READ's data.",
     [](WireScript& s) {
       CallTwoReads(s);
       ReplyTwoReads(s, 300, 400, 300, 400);
     }},

    {"ULB-006", kBreaks, "", "A COMPOUND of two READs with two Write chunks: more than every server takes.",
     [](WireScript& s) { CallTwoReads(s); }},
    {"ULB-006", kNearMiss, "", "One READ with one chunk.",
     [](WireScript& s) {
       s.Open();
       ByWriteChunk(s, CompoundCall(kXid, {PutRootFh(), Read4(400)}), 400, 400,
                    CompoundReply(kXid, {PutRootFhResult(), Read4Result(400, true)}));
     }},
};

}  // namespace

std::span<const Case> ReductionCases() { return kReductionCases; }

}  // namespace stag::evidence
