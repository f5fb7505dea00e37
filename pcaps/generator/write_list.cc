// SPDX-License-Identifier: GPL-2.0-or-later
//
// WRLIST: what Replies return of the Write chunks that were offered.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/read_exchange.h"

namespace stag::evidence {

using namespace test;

namespace {

constexpr Case kWriteListCases[] = {
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
};

}  // namespace

std::span<const Case> WriteListCases() { return kWriteListCases; }

}  // namespace stag::evidence
