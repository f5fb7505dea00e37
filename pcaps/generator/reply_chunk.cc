// SPDX-License-Identifier: GPL-2.0-or-later
//
// REPLY: the Reply chunk, most of them offered with a READLINK.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/traffic.h"

namespace stag::evidence {

using namespace test;

namespace {

const Segments kOffer{{0x88, 1024, 0x20000}};
const Segments kUnused{{0x88, 0, 0x20000}};
const Segments kTwoSegments{{0x88, 80, 0x20000}, {0x89, 80, 0x30000}};

// The results of READLINK here: a path of 100 bytes.
Buffer Link() { return ReadlinkReply(kXid, 100); }

void Call(WireScript& s, const Segments& offered) {
  s.Open();
  s.Send(kClient, offered.empty() ? Msg(kXid) : WithReplyChunk(Msg(kXid), offered), ReadlinkCall(kXid));
}
void ShortReply(WireScript& s, const Segments& returned, const Buffer& reply = Link()) {
  s.Send(kServer, returned.empty() ? Msg(kXid) : WithReplyChunk(Msg(kXid), returned), reply);
}
// Writes the Reply into `writes` and reports `returned`.
void LongReply(WireScript& s, const Segments& writes, const Segments& returned) {
  const Buffer reply = Link();
  size_t at = 0;
  for (const rpcrdma::Segment& to : writes) {
    s.Write(kServer, to.handle, to.offset,
            {reply.begin() + static_cast<ptrdiff_t>(at), reply.begin() + static_cast<ptrdiff_t>(at + to.length)});
    at += to.length;
  }
  s.Send(kServer, WithReplyChunk(Nomsg(kXid), returned));
}

void Readdir(WireScript& s, uint32_t count, const Segments& offered) {
  s.Open();
  s.Send(kClient, offered.empty() ? Msg(kXid) : WithReplyChunk(Msg(kXid), offered), ReaddirCall(kXid, count));
}

// READ of 256 bytes with a Write chunk and a Reply chunk; the RPC Reply goes into the Reply chunk.
void ReadWithBoth(WireScript& s, bool reduced) {
  s.Open();
  s.Send(kClient, WithReplyChunk(WithChunks(Msg(kXid), {{{0x99, 256, 0x40000}}}), kOffer), ReadCall(kXid, 256));
  if (reduced) s.Write(kServer, 0x99, 0x40000, Pattern(256));
  const Buffer reply = ReadReply(kXid, 256, reduced);
  s.Write(kServer, 0x88, 0x20000, reply);
  s.Send(kServer, WithReplyChunk(WithChunks(Nomsg(kXid), {{{0x99, reduced ? 256u : 0u, 0x40000}}}),
                                 {{0x88, SizeOf(reply), 0x20000}}));
}

constexpr Case kReplyChunkCases[] = {
    {"REPLY-001", kBreaks, "", "READDIR for up to 32768 bytes without a Reply chunk: the inline threshold is 4096.",
     [](WireScript& s) {
       Readdir(s, 32768, {});
       s.Expect("REPLY-001", Severity::kWarning);
     }},
    {"REPLY-001", kNearMiss, "", "READDIR for up to 2048 bytes: the Call itself keeps the Reply small.",
     [](WireScript& s) { Readdir(s, 2048, {}); }},

    {"REPLY-002", kBreaks, "", "READDIR for up to 32768 bytes with a Reply chunk of 4096.",
     [](WireScript& s) {
       Readdir(s, 32768, {{0x88, 4096, 0x20000}});
       s.Expect("REPLY-002", Severity::kWarning);
     }},
    {"REPLY-002", kNearMiss, "", "The same in two segments that together have room for all.",
     [](WireScript& s) {
       Readdir(s, 32768, {{0x88, 4096, 0x20000}, {0x89, 32768, 0x30000}});
     }},

    {"REPLY-003", kBreaks, "", "GETATTR with a Reply chunk: its result is small, whatever the file.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReplyChunk(Msg(kXid), kOffer), GetattrCall(kXid));
       s.Expect("REPLY-003", Severity::kNote);
     }},
    {"REPLY-003", kNearMiss, "", "READLINK with a Reply chunk: a path may be long.",
     [](WireScript& s) { Call(s, kOffer); }},

    {"REPLY-004", kBreaks, "",
     "A Short Reply without the Reply chunk that the Call offered: a warning, some servers do this.",
     [](WireScript& s) {
       Call(s, kOffer);
       ShortReply(s, {});
       s.Expect("REPLY-004", Severity::kWarning);
     }},
    {"REPLY-004", kBreaks, "segment", "A Long Reply returns one of the two segments that were offered.",
     [](WireScript& s) {
       Call(s, {{0x88, 1024, 0x20000}, {0x89, 1024, 0x30000}});
       LongReply(s, {{0x88, SizeOf(Link()), 0x20000}}, {{0x88, SizeOf(Link()), 0x20000}});
       s.Expect("REPLY-004");
     }},
    {"REPLY-004", kNearMiss, "", "RDMA_ERROR answers the Call: it has no lists at all.",
     [](WireScript& s) {
       Call(s, kOffer);
       s.Send(kServer, ErrChunk(kXid));
     }},

    {"REPLY-005", kBreaks, "", "The second segment has data although the first is not full.",
     [](WireScript& s) {
       Call(s, kTwoSegments);
       const uint32_t rest = SizeOf(Link()) - 60;
       LongReply(s, {{0x88, 60, 0x20000}, {0x89, rest, 0x30000}}, {{0x88, 60, 0x20000}, {0x89, rest, 0x30000}});
       s.Expect("REPLY-005");
     }},
    {"REPLY-005", kNearMiss, "", "The first segment is full, the second has the rest.",
     [](WireScript& s) {
       Call(s, kTwoSegments);
       const uint32_t rest = SizeOf(Link()) - 80;
       LongReply(s, {{0x88, 80, 0x20000}, {0x89, rest, 0x30000}}, {{0x88, 80, 0x20000}, {0x89, rest, 0x30000}});
     }},

    {"REPLY-006", kBreaks, "", "The Call had no Reply chunk, the Reply has one.",
     [](WireScript& s) {
       Call(s, {});
       ShortReply(s, kUnused);
       s.Expect("REPLY-006");
     }},
    {"REPLY-006", kNearMiss, "", "A Reply with a Reply chunk, whose Call the capture misses.",
     [](WireScript& s) {
       s.Open();
       s.Lost([&] { s.Send(kClient, WithReplyChunk(Msg(kXid), kOffer), ReadlinkCall(kXid)); });
       ShortReply(s, kUnused);
       s.Send(kClient, Msg(kXid + 1), GetattrCall(kXid + 1));
       s.Send(kServer, Msg(kXid + 1), GetattrReply(kXid + 1));
     }},

    {"REPLY-007", kBreaks, "",
     "An inline Reply over the 1024 bytes that the client receives, with a Reply chunk at hand.",
     [](WireScript& s) {
       s.Open(rpcrdma::PrivateData{1, 1, 0, 0});
       s.Send(kClient, WithReplyChunk(Msg(kXid), {{0x88, 4096, 0x20000}}), ReadlinkCall(kXid));
       ShortReply(s, kUnused, ReadlinkReply(kXid, 1020));
       s.Expect("REPLY-007", Severity::kError, {"THRESH-002"});
     }},
    {"REPLY-007", kNearMiss, "",
     "The same Reply on a connection whose set-up was not captured: the threshold is not known.",
     [](WireScript& s) {
       s.OpenMidstream();
       Greet(s);
       s.Send(kClient, WithReplyChunk(Msg(kXid), {{0x88, 4096, 0x20000}}), ReadlinkCall(kXid));
       ShortReply(s, kUnused, ReadlinkReply(kXid, 1020));
     }},

    {"REPLY-008", kBreaks, "", "A Short Reply whose Reply chunk says that it has bytes, too.",
     [](WireScript& s) {
       Call(s, kOffer);
       ShortReply(s, {{0x88, 100, 0x20000}});
       s.Expect("REPLY-008");
     }},
    {"REPLY-008", kNearMiss, "", "A Short Reply beside a Reply chunk that comes back with length zero.",
     [](WireScript& s) {
       Call(s, kOffer);
       ShortReply(s, kUnused);
     }},

    {"REPLY-009", kBreaks, "",
     "The Reply chunk has the data of a READ, the Write chunk that was there for it is unused.",
     [](WireScript& s) {
       ReadWithBoth(s, false);
       s.Expect("WRLIST-010", Severity::kError, {"REPLY-009"});
     }},
    {"REPLY-009", kNearMiss, "", "The data is in the Write chunk, the rest of the Reply in the Reply chunk.",
     [](WireScript& s) { ReadWithBoth(s, true); }},

    {"REPLY-010", kBreaks, "", "A Position-zero chunk of 101 bytes: XDR has whole words.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Nomsg(kXid), {{0, {0x77, 101, 0x10000}}}));
       s.Expect("REPLY-010");
     }},
    {"REPLY-010", kNearMiss, "", "Segments of 33 and 67 bytes: only their sum is a multiple of four.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReads(Nomsg(kXid), {{0, {0x77, 33, 0x10000}}, {0, {0x78, 67, 0x10000}}}));
     }},

    {"REPLY-011", kBreaks, "", "An RDMA_NOMSG answers the READLINK, and its Reply chunk returns nothing.",
     [](WireScript& s) {
       Call(s, kOffer);
       LongReply(s, {}, kUnused);
       s.Expect("REPLY-011");
     }},
    {"REPLY-011", kNearMiss, "",
     "Between peers that speak RFC 5666, a Long Reply in a Position-zero Read chunk, fetched by the client.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       s.Send(kClient, Msg(kXid), ReadlinkCall(kXid));
       s.Send(kServer, WithReads(Nomsg(kXid), {{0, {0x99, SizeOf(Link()), 0x40000}}}));
       s.Read(kClient, 0x99, 0x40000, Link());
       s.Send(kClient, MakeHeader(rpcrdma::kDone, kXid));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"REPLY-014", kBreaks, "", "A Long Reply of 132 bytes, of which only the first 80 were written.",
     [](WireScript& s) {
       Call(s, kOffer);
       LongReply(s, {{0x88, 80, 0x20000}}, {{0x88, SizeOf(Link()), 0x20000}});
       s.Expect("REPLY-014");
     }},
    {"REPLY-014", kBreaks, "twice", "Two segments, the second of which says that it has the rest, and was not written.",
     [](WireScript& s) {
       Call(s, kTwoSegments);
       LongReply(s, {{0x88, 80, 0x20000}}, {{0x88, 80, 0x20000}, {0x89, SizeOf(Link()) - 80, 0x30000}});
       s.Expect("REPLY-014");
     }},
    {"REPLY-014", kNearMiss, "", "The RDMA Write of the rest is missing in the capture.",
     [](WireScript& s) {
       Call(s, kTwoSegments);
       const Buffer reply = Link();
       s.Write(kServer, 0x88, 0x20000, {reply.begin(), reply.begin() + 80});
       s.Lost([&] { s.Write(kServer, 0x89, 0x30000, {reply.begin() + 80, reply.end()}); });
       s.Send(kServer, WithReplyChunk(Nomsg(kXid), {{0x88, 80, 0x20000}, {0x89, SizeOf(reply) - 80, 0x30000}}));
     }},
};

}  // namespace

std::span<const Case> ReplyChunkCases() { return kReplyChunkCases; }

}  // namespace stag::evidence
