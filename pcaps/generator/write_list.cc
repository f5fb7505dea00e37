// SPDX-License-Identifier: GPL-2.0-or-later
//
// WRLIST: Write chunks, offered for the data of an NFS READ and returned in its Reply.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/traffic.h"

namespace stag::evidence {

using namespace test;

namespace {

const Chunks kOffer{{{0x88, 256, 0x20000}}};  // one segment of 256 bytes
const Chunks kUnused{{{0x88, 0, 0x20000}}};   // the same, returned unused
const Chunks kLarge{{{0x88, 512, 0x20000}}};  // with room to spare
const Chunks kTwoSegments{{{0x88, 200, 0x20000}, {0x89, 200, 0x30000}}};

// NFSv3 READ: what is asked for and offered, what RDMA Writes move, and what comes back.
struct Exchange {
  uint32_t asked = 256;
  Chunks offered = kOffer;
  Segments writes = {{0x88, 256, 0x20000}};
  uint32_t count = 256;
  Chunks returned = kOffer;
  bool reduced = true;  // the Reply holds the count only
};

void Call(WireScript& s, const Exchange& e) {
  s.Send(kClient, WithChunks(Msg(kXid), e.offered), ReadCall(kXid, e.asked));
}
void Writes(WireScript& s, const Exchange& e) {
  for (const rpcrdma::Segment& to : e.writes) s.Write(kServer, to.handle, to.offset, Pattern(to.length));
}
void Reply(WireScript& s, const Exchange& e) {
  s.Send(kServer, WithChunks(Msg(kXid), e.returned), ReadReply(kXid, e.count, e.reduced));
}
void Read(WireScript& s, const Exchange& e) {
  s.Open();
  Call(s, e);
  Writes(s, e);
  Reply(s, e);
}

// A COMPOUND of two READs with a chunk of 400 bytes for each. That is more chunks than every server takes: a note.
void CallTwoReads(WireScript& s) {
  s.Open();
  s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 400, 0x20000}}, {{0x89, 400, 0x30000}}}),
         CompoundCall(kXid, {PutRootFh(), Read4(400), Read4(400)}));
  s.Expect("ULB-006", Severity::kNote);
}
// Writes these many bytes into each chunk and reports them; the results say `first` and `second`.
void ReplyTwoReads(WireScript& s, uint32_t chunk1, uint32_t chunk2, uint32_t first, uint32_t second) {
  if (chunk1 > 0) s.Write(kServer, 0x88, 0x20000, Pattern(chunk1));
  if (chunk2 > 0) s.Write(kServer, 0x89, 0x30000, Pattern(chunk2));
  s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, chunk1, 0x20000}}, {{0x89, chunk2, 0x30000}}}),
         CompoundReply(kXid, {PutRootFhResult(), Read4Result(first, true), Read4Result(second, true)}));
}
// The second READ fails with NFS4ERR_IO: the COMPOUND has one result.
void ReplyOneRead(WireScript& s, uint32_t chunk1, uint32_t chunk2, uint32_t count) {
  if (chunk1 > 0) s.Write(kServer, 0x88, 0x20000, Pattern(chunk1));
  if (chunk2 > 0) s.Write(kServer, 0x89, 0x30000, Pattern(chunk2));
  s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, chunk1, 0x20000}}, {{0x89, chunk2, 0x30000}}}),
         CompoundReply(kXid, {PutRootFhResult(), Read4Result(count, true), Words({25, 5})}, 5));
}

constexpr Case kCases[] = {
    {"WRLIST-001", kBreaks, "", "The Call offers a Write chunk; the Reply has no Write list, and the data inline.",
     [](WireScript& s) {
       Read(s, {.writes = {}, .returned = {}, .reduced = false});
       s.Expect("WRLIST-001");
     }},
    {"WRLIST-001", kNearMiss, "", "RDMA_ERROR answers the Call: it has no lists at all.",
     [](WireScript& s) {
       s.Open();
       Call(s, {});
       s.Send(kServer, ErrChunk(kXid));
     }},

    {"WRLIST-002", kBreaks, "", "Two segments are offered, the chunk comes back with the one that was used.",
     [](WireScript& s) {
       Read(s, {.asked = 400,
                .offered = kTwoSegments,
                .writes = {{0x88, 200, 0x20000}},
                .count = 200,
                .returned = {{{0x88, 200, 0x20000}}}});
       s.Expect("WRLIST-002");
     }},
    {"WRLIST-002", kBreaks, "nfs4",
     "An NFSv4 READ fails, and its chunk comes back without segments: a warning, as the binding's wording lets it be.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), kOffer), CompoundCall(kXid, {PutRootFh(), Read4(256)}));
       s.Send(kServer, WithChunks(Msg(kXid), {{}}), CompoundReply(kXid, {PutRootFhResult(), Words({25, 5})}, 5));
       s.Expect("WRLIST-002", Severity::kWarning);
     }},
    {"WRLIST-002", kNearMiss, "", "Both segments come back, the second with length zero.",
     [](WireScript& s) {
       Read(s, {.asked = 400,
                .offered = kTwoSegments,
                .writes = {{0x88, 200, 0x20000}},
                .count = 200,
                .returned = {{{0x88, 200, 0x20000}, {0x89, 0, 0x30000}}}});
     }},

    {"WRLIST-003", kBreaks, "", "The offset comes back advanced by what was written.",
     [](WireScript& s) {
       Read(s, {.returned = {{{0x88, 256, 0x20100}}}});
       s.Expect("WRLIST-003");
     }},
    {"WRLIST-003", kBreaks, "zeroed", "An unused segment comes back with handle and offset zero: harmless, a warning.",
     [](WireScript& s) {
       s.Open();
       Call(s, {});
       s.Send(kServer, WithChunks(Msg(kXid), {{{0, 0, 0}}}), FailedReply(kXid, 5));
       s.Expect("WRLIST-003", Severity::kWarning);
     }},
    {"WRLIST-003", kNearMiss, "", "A short read: the length comes back smaller, handle and offset as they were.",
     [](WireScript& s) {
       Read(s, {.writes = {{0x88, 100, 0x20000}}, .count = 100, .returned = {{{0x88, 100, 0x20000}}}});
     }},

    {"WRLIST-004", kBreaks, "", "256 bytes are offered, 512 come back.",
     [](WireScript& s) {
       Read(s, {.count = 512, .returned = kLarge});
       s.Expect("WRLIST-004");
     }},
    {"WRLIST-004", kNearMiss, "", "Two segments come back full; only their sum is more than each offered.",
     [](WireScript& s) {
       Read(s, {.asked = 400,
                .offered = kTwoSegments,
                .writes = {{0x88, 200, 0x20000}, {0x89, 200, 0x30000}},
                .count = 400,
                .returned = kTwoSegments});
     }},

    {"WRLIST-005", kBreaks, "", "The second segment has data although the first is not full.",
     [](WireScript& s) {
       Read(s, {.asked = 400,
                .offered = kTwoSegments,
                .writes = {{0x88, 100, 0x20000}, {0x89, 156, 0x30000}},
                .returned = {{{0x88, 100, 0x20000}, {0x89, 156, 0x30000}}}});
       s.Expect("WRLIST-005");
     }},
    {"WRLIST-005", kNearMiss, "",
     "The first segment is full, the second has the rest; they are written in the other order.",
     [](WireScript& s) {
       Read(s, {.asked = 400,
                .offered = kTwoSegments,
                .writes = {{0x89, 56, 0x30000}, {0x88, 200, 0x20000}},
                .returned = {{{0x88, 200, 0x20000}, {0x89, 56, 0x30000}}}});
     }},

    {"WRLIST-006", kBreaks, "", "The count in the Reply says 256 bytes, the Write chunk 240.",
     [](WireScript& s) {
       Read(s, {.writes = {{0x88, 240, 0x20000}}, .returned = {{{0x88, 240, 0x20000}}}});
       s.Expect("WRLIST-006");
     }},
    {"WRLIST-006", kBreaks, "padding",
     "253 bytes are returned as 256, padding counted in, which was not written either.",
     [](WireScript& s) {
       Read(s, {.asked = 253, .offered = kLarge, .writes = {{0x88, 253, 0x20000}}, .count = 253});
       s.Expect("WRLIST-006");
       s.Expect("WRLIST-018");
     }},
    {"WRLIST-006", kNearMiss, "", "The same between peers under RFC 5666 (draft-08), section 3.7 of which counts so.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       const Exchange e{.asked = 253, .offered = kLarge, .writes = {{0x88, 253, 0x20000}}, .count = 253};
       Call(s, e);
       Writes(s, e);
       Reply(s, e);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"WRLIST-006", kBreaks, "unknown",
     "A program that nobody knows (DDP-010): the 256 bytes of its Write chunk are no count that its Reply holds, a "
     "note.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), kOffer), MakeCall(kXid, 0x20000000, 1, 1));
       s.Expect("DDP-010", Severity::kNote);
       Writes(s, {});
       s.Send(kServer, WithChunks(Msg(kXid), kOffer), MakeReply(kXid, Words({240})));
       s.Expect("WRLIST-006", Severity::kNote);
     }},

    {"WRLIST-007", kBreaks, "", "256 bytes are written for an item of 253.",
     [](WireScript& s) {
       Read(s, {.asked = 253, .offered = kLarge, .count = 253, .returned = {{{0x88, 253, 0x20000}}}});
       s.Expect("WRLIST-007");
     }},
    {"WRLIST-007", kNearMiss, "", "253 bytes, of which some are written twice: bytes count, not RDMA Writes.",
     [](WireScript& s) {
       Read(s, {.asked = 253,
                .offered = kLarge,
                .writes = {{0x88, 253, 0x20000}, {0x88, 128, 0x20000}},
                .count = 253,
                .returned = {{{0x88, 253, 0x20000}}}});
     }},

    {"WRLIST-008", kBreaks, "", "A READ fails with NFS3ERR_IO; its chunk comes back with 256 bytes.",
     [](WireScript& s) {
       s.Open();
       Call(s, {});
       Writes(s, {});
       s.Send(kServer, WithChunks(Msg(kXid), kOffer), FailedReply(kXid, 5));
       s.Expect("WRLIST-008");
     }},
    {"WRLIST-008", kBreaks, "rpc-error", "The same with an RPC error, GARBAGE_ARGS.",
     [](WireScript& s) {
       s.Open();
       Call(s, {});
       Writes(s, {});
       s.Send(kServer, WithChunks(Msg(kXid), kOffer), MakeReply(kXid, {}, rpc::kGarbageArgs));
       s.Expect("WRLIST-008");
     }},
    {"WRLIST-008", kNearMiss, "", "The chunk was written before the READ failed, and comes back with length zero.",
     [](WireScript& s) {
       s.Open();
       Call(s, {});
       Writes(s, {});
       s.Send(kServer, WithChunks(Msg(kXid), kUnused), FailedReply(kXid, 5));
     }},

    {"WRLIST-009", kBreaks, "", "256 bytes are reported, nothing was written.",
     [](WireScript& s) {
       Read(s, {.writes = {}});
       s.Expect("WRLIST-009");
     }},
    {"WRLIST-009", kNearMiss, "", "The capture misses the RDMA Write.",
     [](WireScript& s) {
       s.Open();
       Call(s, {});
       s.Lost([&] { Writes(s, {}); });
       Reply(s, {});
     }},
    {"WRLIST-009", kNearMiss, "iwarp", "The same on iWARP, where bytes of the TCP stream are missing.",
     [](WireScript& s) {
       s.Open();
       Call(s, {});
       s.Lost([&] { Writes(s, {}); });
       Reply(s, {});
     },
     Fabric::kIwarp},

    {"WRLIST-010", kBreaks, "", "The data comes inline although a Write chunk was there for it.",
     [](WireScript& s) {
       Read(s, {.writes = {}, .returned = kUnused, .reduced = false});
       s.Expect("WRLIST-010");
     }},
    {"WRLIST-010", kNearMiss, "", "A READ at the end of the file: an item of no bytes, whose chunk looks unused.",
     [](WireScript& s) { Read(s, {.writes = {}, .count = 0, .returned = kUnused, .reduced = false}); }},

    {"WRLIST-010", kNearMiss, "more",
     "A COMPOUND of two READs with one Write chunk: the second result is inline for want of a chunk.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 400, 0x20000}}}),
              CompoundCall(kXid, {PutRootFh(), Read4(400), Read4(400)}));
       s.Write(kServer, 0x88, 0x20000, Pattern(100));
       s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, 100, 0x20000}}}),
              CompoundReply(kXid, {PutRootFhResult(), Read4Result(100, true), Read4Result(200, false)}));
     }},

    {"WRLIST-011", kBreaks, "", "The Call's empty Write chunk asks for the data inline; it comes back with a segment.",
     [](WireScript& s) {
       Read(s, {.offered = {{}}, .writes = {}, .returned = kUnused, .reduced = false});
       s.Expect("WRLIST-011");
     }},
    {"WRLIST-011", kNearMiss, "", "It comes back empty, and the data is inline.",
     [](WireScript& s) { Read(s, {.offered = {{}}, .writes = {}, .returned = {{}}, .reduced = false}); }},

    {"WRLIST-012", kBreaks, "",
     "A COMPOUND of two READs, the second of which fails. The data of the first is in the second chunk.",
     [](WireScript& s) {
       CallTwoReads(s);
       ReplyOneRead(s, 0, 100, 100);
       s.Expect("WRLIST-012", Severity::kError, {"ULB-005"});
     }},
    {"WRLIST-012", kNearMiss, "", "The first READ has no bytes, being at the end of its file: it used the first chunk.",
     [](WireScript& s) {
       CallTwoReads(s);
       ReplyTwoReads(s, 0, 100, 0, 100);
     }},

    {"WRLIST-013", kBreaks, "", "A GETATTR with a Write chunk: no result of it may be there.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), kOffer), GetattrCall(kXid));
       s.Expect("WRLIST-013", Severity::kWarning);
     }},
    {"WRLIST-013", kNearMiss, "",
     "A Write chunk in a Call of a program that nobody knows: it cannot be told. That no binding is known is DDP-010.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), kOffer), MakeCall(kXid, 0x20000000, 1, 1));
       s.Expect("DDP-010", Severity::kNote);
     }},

    {"WRLIST-014", kBreaks, "", "An NFSv3 READ with two Write chunks.",
     [](WireScript& s) {
       s.Open();
       Call(s, {.offered = {{{0x88, 256, 0x20000}}, {{0x89, 256, 0x30000}}}});
       s.Expect("WRLIST-014", Severity::kWarning);
     }},
    {"WRLIST-014", kNearMiss, "",
     "A COMPOUND of two READs with two Write chunks (which ULB-006 notes: many servers take one).",
     [](WireScript& s) { CallTwoReads(s); }},

    {"WRLIST-015", kBreaks, "", "A READ of 512 bytes with a Write chunk of 256.",
     [](WireScript& s) {
       s.Open();
       Call(s, {.asked = 512});
       s.Expect("WRLIST-015");
     }},
    {"WRLIST-015", kBreaks, "compound",
     "A COMPOUND of READs of 256 and 512 bytes with two chunks of 400: a warning, the results may yet fit.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 400, 0x20000}}, {{0x89, 400, 0x30000}}}),
              CompoundCall(kXid, {PutRootFh(), Read4(256), Read4(512)}));
       s.Expect("ULB-006", Severity::kNote);
       s.Expect("WRLIST-015", Severity::kWarning);
     }},
    {"WRLIST-015", kNearMiss, "", "A READ of 400 bytes with a Write chunk of two segments of 200.",
     [](WireScript& s) {
       s.Open();
       Call(s, {.asked = 400, .offered = kTwoSegments});
     }},
    {"WRLIST-015", kNearMiss, "empty", "A READ of 512 bytes with an empty Write chunk, which asks for inline data.",
     [](WireScript& s) {
       s.Open();
       Call(s, {.asked = 512, .offered = {{}}});
     }},

    {"WRLIST-016", kBreaks, "", "A READ of 253 bytes with a Write chunk of 256: room for padding, which never comes.",
     [](WireScript& s) {
       s.Open();
       Call(s, {.asked = 253});
       s.Expect("WRLIST-016", Severity::kNote);
     }},
    {"WRLIST-016", kNearMiss, "", "A READ of 253 bytes with a Write chunk of 512: sized for another reason.",
     [](WireScript& s) {
       s.Open();
       Call(s, {.asked = 253, .offered = kLarge});
     }},

    {"WRLIST-017", kBreaks, "", "The last bytes are written behind the Reply, and written before, too.",
     [](WireScript& s) {
       Read(s, {});
       s.Write(kServer, 0x88, 0x20080, Pattern(128));
       s.Expect("WRLIST-017");
     }},
    {"WRLIST-017", kNearMiss, "", "The capture swapped the RDMA Write and the Reply: their PSNs tell the order.",
     [](WireScript& s) {
       Read(s, {});
       s.SwapLast();
     }},
    {"WRLIST-017", kNearMiss, "again", "Behind the Reply the packet of the RDMA Write comes again, with its old PSN.",
     [](WireScript& s) {
       s.Open();
       Call(s, {});
       Writes(s, {});
       const uint64_t write = s.frame();
       Reply(s, {});
       s.RepeatFrame(write);
     }},
    {"WRLIST-017", kNearMiss, "next", "The next READ advertises the same memory: the RDMA Write is its.",
     [](WireScript& s) {
       Read(s, {});
       s.Send(kClient, WithChunks(Msg(kXid + 1), kOffer), ReadCall(kXid + 1, 256));
       Writes(s, {});
     }},

    {"WRLIST-017", kNearMiss, "outstanding",
     "Two READs are outstanding. The RDMA Write behind the Reply to the second is the first's: its handle says so.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       Call(s, {});
       s.Send(kClient, WithChunks(Msg(kXid + 1), {{{0x99, 256, 0x40000}}}), ReadCall(kXid + 1, 256));
       s.Write(kServer, 0x99, 0x40000, Pattern(256));
       s.Send(kServer, WithChunks(Msg(kXid + 1), {{{0x99, 256, 0x40000}}}), ReadReply(kXid + 1, 256, true));
       Writes(s, {});
       Reply(s, {});
     }},

    {"WRLIST-018", kBreaks, "", "256 bytes are reported, 128 were written.",
     [](WireScript& s) {
       Read(s, {.writes = {{0x88, 128, 0x20000}}});
       s.Expect("WRLIST-018");
     }},
    {"WRLIST-018", kNearMiss, "", "All bytes were written, and the capture kept the first of them (snap length 128).",
     [](WireScript& s) {
       s.Open();
       Call(s, {});
       s.Snap(128);
       Writes(s, {});
       Reply(s, {});
     }},

    {"WRLIST-018", kNearMiss, "packets",
     "1500 bytes in two packets, and the second of them twice: what was written is counted once, and all of it is "
     "there.",
     [](WireScript& s) {
       s.Open();
       const Exchange e{.asked = 1500,
                        .offered = {{{0x88, 1500, 0x20000}}},
                        .writes = {{0x88, 1500, 0x20000}},
                        .count = 1500,
                        .returned = {{{0x88, 1500, 0x20000}}}};
       Call(s, e);
       Writes(s, e);
       s.RepeatFrame(s.frame());
       Reply(s, e);
     }},

    {"WRLIST-020", kBreaks, "", "The Call had no Write list, the Reply has one.",
     [](WireScript& s) {
       Read(s, {.offered = {}, .writes = {}, .returned = kUnused, .reduced = false});
       s.Expect("WRLIST-020");
     }},
    {"WRLIST-020", kNearMiss, "", "A Reply with a Write list, whose Call the capture misses.",
     [](WireScript& s) {
       s.Open();
       s.Lost([&] { Call(s, {}); });
       Writes(s, {});
       Reply(s, {});
     }},

    {"WRLIST-021", kBreaks, "", "Two READs return 100 and 200 bytes, all of them in the first chunk.",
     [](WireScript& s) {
       CallTwoReads(s);
       ReplyTwoReads(s, 300, 0, 100, 200);
       s.Expect("WRLIST-021");
     }},
    {"WRLIST-021", kNearMiss, "", "100 and 200 bytes, each in its chunk.",
     [](WireScript& s) {
       CallTwoReads(s);
       ReplyTwoReads(s, 100, 200, 100, 200);
     }},

    {"WRLIST-024", kBreaks, "",
     "A result of 300 bytes is split: 200 in the first chunk; the 100 in the second belong to no item of its own.",
     [](WireScript& s) {
       CallTwoReads(s);
       ReplyOneRead(s, 200, 100, 300);
       s.Expect("WRLIST-006", Severity::kError, {"WRLIST-024"});
       s.Expect("WRLIST-008");
     }},
    {"WRLIST-024", kNearMiss, "", "A result of 300 bytes over the two segments of one chunk.",
     [](WireScript& s) {
       Read(s, {.asked = 400,
                .offered = kTwoSegments,
                .writes = {{0x88, 200, 0x20000}, {0x89, 100, 0x30000}},
                .count = 300,
                .returned = {{{0x88, 200, 0x20000}, {0x89, 100, 0x30000}}}});
     }},
};

}  // namespace

std::span<const Case> WriteListCases() { return kCases; }

}  // namespace stag::evidence
