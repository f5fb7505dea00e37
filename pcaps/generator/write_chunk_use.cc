// SPDX-License-Identifier: GPL-2.0-or-later
//
// WRLIST: which chunks are offered, which results go where, and when they are written.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/read_exchange.h"

namespace stag::evidence {

using namespace test;

namespace {

constexpr Case kWriteChunkUseCases[] = {
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
       s.Send(kClient, Msg(kXid + 1), GetattrCall(kXid + 1));
       s.Send(kServer, Msg(kXid + 1), GetattrReply(kXid + 1));
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

std::span<const Case> WriteChunkUseCases() { return kWriteChunkUseCases; }

}  // namespace stag::evidence
