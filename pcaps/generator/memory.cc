// SPDX-License-Identifier: GPL-2.0-or-later
//
// MEM: the memory that Calls advertise, and who touches it when.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/traffic.h"

namespace stag::evidence {

using namespace test;

namespace {

// A WRITE whose data, of as many bytes as the segments have, is in a Read chunk.
void CallWrite(WireScript& s, uint32_t xid, const Segments& segments) {
  uint32_t size = 0;
  for (const rpcrdma::Segment& segment : segments) size += segment.length;
  const Buffer call = WriteCall(xid, size);
  rpcrdma::Header header = Msg(xid);
  for (const rpcrdma::Segment& segment : segments) AddRead(header, SizeOf(call), segment);
  s.Send(kClient, header, call);
}
void AnswerWrite(WireScript& s, uint32_t xid, uint32_t size) { s.Send(kServer, Msg(xid), WriteReply(xid, size)); }

// A READ into a Write chunk of these segments, and its Reply.
void CallRead(WireScript& s, uint32_t xid, const Segments& segments, uint32_t count = 100) {
  s.Send(kClient, WithChunks(Msg(xid), {segments}), ReadCall(xid, count));
}
void AnswerRead(WireScript& s, uint32_t xid, const Segments& segments, uint32_t count = 100) {
  s.Send(kServer, WithChunks(Msg(xid), {segments}), ReadReply(xid, count, true));
}

// READs that fail, each with its own offsets. `handle` gives the handle of the n-th.
void ManyReads(WireScript& s, uint32_t (*handle)(uint32_t)) {
  s.Open();
  s.Send(kClient, MakeHeader(rpcrdma::kMsg, kEarlierXid, 200), MakeCall(kEarlierXid, kNfs, 3, 0));
  s.Send(kServer, MakeHeader(rpcrdma::kMsg, kEarlierXid, 200), MakeReply(kEarlierXid));
  for (uint32_t i = 0; i < 120; ++i)
    s.Send(kClient, WithChunks(MakeHeader(rpcrdma::kMsg, kXid + i, 200), {{{handle(i), 100, 0x10000 + 256 * i}}}),
           ReadCall(kXid + i, 100));
}

constexpr Case kMemoryCases[] = {
    {"MEM-002", kBreaks, "", "The segment has 4096 bytes from 0x1000; the server reads 512 bytes from 0x1f00.",
     [](WireScript& s) {
       s.Open();
       CallWrite(s, kXid, {{0x77, 4096, 0x1000}});
       s.ReadRequest(kServer, 0x77, 0x1f00, 512);
       s.Expect("MEM-002");
     }},
    {"MEM-002", kBreaks, "whole", "The segment has 4096 bytes, and the RETH of the Read Request says 4104.",
     [](WireScript& s) {
       s.Open();
       CallWrite(s, kXid, {{0x77, 4096, 0x1000}});
       s.ReadRequest(kServer, 0x77, 0x1000, 4104);
       s.Expect("MEM-002");
     }},
    {"MEM-002", kBreaks, "two-segments", "One RDMA Read of two segments, which are neighbours under one handle.",
     [](WireScript& s) {
       s.Open();
       CallWrite(s, kXid, {{0x77, 256, 0x1000}, {0x77, 256, 0x1100}});
       s.ReadRequest(kServer, 0x77, 0x1000, 512);
       s.Expect("MEM-002");
     },
     Fabric::kIwarp},
    {"MEM-002", kBreaks, "unknown",
     "The server reads with a handle that no Call has. Known when the client is heard again, and no Call of it was "
     "lost.",
     [](WireScript& s) {
       s.Open();
       CallWrite(s, kXid, {{0x77, 512, 0x1000}});
       s.Read(kServer, 0x79, 0x1000, Pattern(512));
       s.Send(kServer, Msg(kXid), FailedWriteReply(kXid, 5));
       s.Send(kClient, Msg(kXid + 1), GetattrCall(kXid + 1));
       s.ExpectOf(6, "MEM-002");
     }},
    {"MEM-002", kNearMiss, "", "Two RDMA Reads fetch one segment in parts; its first byte has the address 0.",
     [](WireScript& s) {
       s.Open();
       CallWrite(s, kXid, {{0x77, 4096, 0}});
       s.Read(kServer, 0x77, 0, Pattern(3000));
       s.Read(kServer, 0x77, 3000, Pattern(1096));
       AnswerWrite(s, kXid, 4096);
     },
     Fabric::kIwarp},
    {"MEM-002", kNearMiss, "lost", "The capture lost the Call whose memory is read.",
     [](WireScript& s) {
       OpenAndGreet(s);
       s.Lost([&] { CallWrite(s, kXid, {{0x77, 512, 0x1000}}); });
       s.Read(kServer, 0x77, 0x1000, Pattern(512));
       AnswerWrite(s, kXid, 512);
       Greet(s, kXid + 1);
     }},

    {"MEM-003", kBreaks, "", "The segment has 100 bytes, and the server writes 104.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 100, 0x20000}});
       s.Write(kServer, 0x88, 0x20000, Pattern(104));
       s.Expect("MEM-003");
     }},
    {"MEM-003", kBreaks, "whole",
     "The segment has 4096 bytes; the RETH of the first of five packets says 4104. The first four fit.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 4096, 0x20000}}, 4096);
       s.Write(kServer, 0x88, 0x20000, Pattern(4104));
       s.ExpectAt(s.frame() - 4, "MEM-003");
     }},
    {"MEM-003", kBreaks, "boundary",
     "The segment has 2800 bytes, which two DDP segments fill; a third of the same RDMA Write has 4 bytes more.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 2800, 0x20000}}, 2800);
       s.Write(kServer, 0x88, 0x20000, Pattern(2804));
       s.Expect("MEM-003");
     },
     Fabric::kIwarp},
    {"MEM-003", kBreaks, "two-segments",
     "One RDMA Write of two segments, which are neighbours under one handle. Each packet is inside one of them.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 2048, 0x20000}, {0x88, 2048, 0x20800}}, 4096);
       s.Write(kServer, 0x88, 0x20000, Pattern(4096));
       s.ExpectAt(s.frame() - 3, "MEM-003");
     }},
    {"MEM-003", kBreaks, "iwarp",
     "The segment has 8192 bytes; the sixth DDP segment of the RDMA Write goes past its end.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 8192, 0x20000}}, 8192);
       s.Write(kServer, 0x88, 0x20000, Pattern(8196));
       s.Expect("MEM-003");
     },
     Fabric::kIwarp},
    {"MEM-003", kBreaks, "read-chunk",
     "The server writes to memory that its Call has for reading. Known when the client is heard again.",
     [](WireScript& s) {
       s.Open();
       CallWrite(s, kXid, {{0x77, 512, 0x1000}});
       s.Write(kServer, 0x77, 0x1000, Pattern(512));
       s.Send(kServer, Msg(kXid), FailedWriteReply(kXid, 5));
       s.Send(kClient, Msg(kXid + 1), GetattrCall(kXid + 1));
       s.ExpectOf(6, "MEM-003");
     }},
    {"MEM-003", kNearMiss, "", "The server writes to the Write chunk and to the Reply chunk.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReplyChunk(WithChunks(Msg(kXid), {{{0x88, 100, 0x20000}}}), {{0x99, 400, 0x30000}}),
              ReadCall(kXid, 100));
       s.Write(kServer, 0x88, 0x20000, Pattern(100));
       const Buffer reply = ReadReply(kXid, 100, true);
       s.Write(kServer, 0x99, 0x30000, reply);
       s.Send(kServer,
              WithReplyChunk(WithChunks(Nomsg(kXid), {{{0x88, 100, 0x20000}}}), {{0x99, SizeOf(reply), 0x30000}}));
     }},
    {"MEM-003", kNearMiss, "whole", "An RDMA Write of four packets fills its segment to the last byte.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 4096, 0x20000}}, 4096);
       s.Write(kServer, 0x88, 0x20000, Pattern(4096));
       AnswerRead(s, kXid, {{0x88, 4096, 0x20000}}, 4096);
     }},
    {"MEM-003", kNearMiss, "boundary",
     "Two segments are neighbours under one handle; each is filled by an RDMA Write of its own.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 2800, 0x20000}, {0x88, 200, 0x20000 + 2800}}, 3000);
       s.Write(kServer, 0x88, 0x20000, Pattern(2800));
       s.Write(kServer, 0x88, 0x20000 + 2800, Pattern(200));
       AnswerRead(s, kXid, {{0x88, 2800, 0x20000}, {0x88, 200, 0x20000 + 2800}}, 3000);
     },
     Fabric::kIwarp},
    {"MEM-003", kNearMiss, "unused",
     "The READ fails after the server wrote to its chunk, which comes back with length 0: it is unused, and may have "
     "been changed.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 100, 0x20000}});
       s.Write(kServer, 0x88, 0x20000, Pattern(60));
       s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, 0, 0x20000}}}), FailedReply(kXid, 5));
     },
     Fabric::kIwarp},
    {"MEM-003", kNearMiss, "midstream", "The Call came before the capture began.",
     [](WireScript& s) {
       s.OpenMidstream();
       s.Write(kServer, 0x88, 0x20000, Pattern(100));
       AnswerRead(s, kXid, {{0x88, 100, 0x20000}});
       Greet(s, kXid + 1);
     }},

    {"MEM-004", kBreaks, "", "The server reads the chunk of a WRITE that it has answered.",
     [](WireScript& s) {
       s.Open();
       CallWrite(s, kXid, {{0x77, 512, 0x1000}});
       s.Read(kServer, 0x77, 0x1000, Pattern(512));
       AnswerWrite(s, kXid, 512);
       s.ReadRequest(kServer, 0x77, 0x1000, 512);
       s.Expect("MEM-004");
     }},
    {"MEM-004", kBreaks, "write", "The server writes to the chunk of a READ that it has answered: WRLIST-017.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 100, 0x20000}});
       s.Write(kServer, 0x88, 0x20000, Pattern(100));
       AnswerRead(s, kXid, {{0x88, 100, 0x20000}});
       s.Write(kServer, 0x88, 0x20000, Pattern(100));
       s.Expect("WRLIST-017", Severity::kError, {"MEM-004"});
     },
     Fabric::kIwarp},
    {"MEM-004", kNearMiss, "", "A later Call advertises the same memory again.",
     [](WireScript& s) {
       OpenAndGreet(s);
       for (uint32_t xid = kXid; xid < kXid + 2; ++xid) {
         CallRead(s, xid, {{0x88, 100, 0x20000}});
         s.Write(kServer, 0x88, 0x20000, Pattern(100));
         AnswerRead(s, xid, {{0x88, 100, 0x20000}});
       }
     },
     Fabric::kIwarp},
    {"MEM-004", kNearMiss, "repeated", "The link repeats the RDMA Write, with its old PSN, behind the Reply.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 100, 0x20000}});
       s.Write(kServer, 0x88, 0x20000, Pattern(100));
       const uint64_t write = s.frame();
       AnswerRead(s, kXid, {{0x88, 100, 0x20000}});
       s.Repeat(write, write);
     }},
    {"MEM-004", kNearMiss, "swapped", "The capture shows the RDMA Write behind the Reply; by its PSN it came before.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 100, 0x20000}});
       s.Write(kServer, 0x88, 0x20000, Pattern(100));
       AnswerRead(s, kXid, {{0x88, 100, 0x20000}});
       s.SwapLast();
     }},

    {"MEM-005", kBreaks, "",
     "Two outstanding Calls have Write chunks that overlap: 4096 bytes from 0x1000 and from 0x1800. Known when the "
     "first is answered.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallRead(s, kXid, {{0x88, 4096, 0x1000}});
       CallRead(s, kXid + 1, {{0x88, 4096, 0x1800}});
       s.Write(kServer, 0x88, 0x1000, Pattern(100));
       AnswerRead(s, kXid, {{0x88, 100, 0x1000}});
       s.ExpectOf(10, "MEM-005", Severity::kWarning);
     }},
    {"MEM-005", kBreaks, "one-call", "The Write chunk and the Reply chunk of one Call overlap.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReplyChunk(WithChunks(Msg(kXid), {{{0x88, 4096, 0x1000}}}), {{0x88, 4096, 0x1800}}),
              ReadCall(kXid, 4096));
       s.Expect("MEM-005", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"MEM-005", kNearMiss, "", "Two outstanding WRITEs have Read chunks of the same memory: it is only read.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallWrite(s, kXid, {{0x77, 512, 0x1000}});
       CallWrite(s, kXid + 1, {{0x77, 512, 0x1000}});
       for (uint32_t xid = kXid; xid < kXid + 2; ++xid) {
         s.Read(kServer, 0x77, 0x1000, Pattern(512));
         AnswerWrite(s, xid, 512);
       }
     }},
    {"MEM-005", kNearMiss, "handles", "Two regions begin at 0, under two handles.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallRead(s, kXid, {{0x88, 100, 0}});
       CallRead(s, kXid + 1, {{0x89, 100, 0}});
       for (uint32_t i = 0; i < 2; ++i) {
         s.Write(kServer, 0x88 + i, 0, Pattern(100));
         AnswerRead(s, kXid + i, {{0x88 + i, 100, 0}});
       }
     },
     Fabric::kIwarp},
    {"MEM-005", kNearMiss, "again", "The second Call is the first one, sent again on a new connection.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 100, 0x20000}});
       s.Close();
       WireScript& second = s.Another();
       second.Open();
       CallRead(second, kXid, {{0x88, 100, 0x20000}});
       second.Write(kServer, 0x88, 0x20000, Pattern(100));
       AnswerRead(second, kXid, {{0x88, 100, 0x20000}});
     }},

    {"MEM-006", kBreaks, "", "A segment of 0x1000 bytes from 0xffffffffffffff00.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 0x1000, 0xffffffffffffff00}});
       s.Expect("MEM-006");
     }},
    {"MEM-006", kBreaks, "long", "A Write chunk of two segments of 3 GiB each: more than any XDR item. A warning.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 0xc0000000, 0}, {0x89, 0xc0000000, 0}});
       s.Expect("MEM-006", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"MEM-006", kNearMiss, "", "A segment of 0x100 bytes that ends with the last byte of the address space.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 0x100, 0xffffffffffffff00}});
     }},
    {"MEM-006", kNearMiss, "empty", "A segment of length 0 at the last address (a note, MEM-007) wraps nothing.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 100, 0x20000}, {0x89, 0, 0xffffffffffffffff}});
       s.Expect("MEM-007", Severity::kNote);
     },
     Fabric::kIwarp},

    {"MEM-007", kBreaks, "", "The second segment of a Read chunk has length 0.",
     [](WireScript& s) {
       s.Open();
       CallWrite(s, kXid, {{0x77, 512, 0x1000}, {0x78, 0, 0x2000}});
       s.Expect("MEM-007", Severity::kNote);
     }},
    {"MEM-007", kNearMiss, "", "A Reply returns the second segment of its Write chunk with length 0: it is unused.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, {{0x88, 100, 0x20000}, {0x89, 100, 0x30000}}, 200);
       s.Write(kServer, 0x88, 0x20000, Pattern(100));
       AnswerRead(s, kXid, {{0x88, 100, 0x20000}, {0x89, 0, 0x30000}}, 100);
     },
     Fabric::kIwarp},

    {"MEM-008", kBreaks, "", "Over a hundred Calls use one handle. Known with the hundredth.",
     [](WireScript& s) {
       ManyReads(s, [](uint32_t) { return 0x200u; });
       s.ExpectAt(s.frame() - 20, "MEM-008", Severity::kNote);
     },
     Fabric::kIwarp},
    {"MEM-008", kBreaks, "sequence",
     "Over a hundred Calls each handle is the one before plus one, over the eighth bit.",
     [](WireScript& s) {
       ManyReads(s, [](uint32_t i) { return 0x123400c0u + i; });
       s.ExpectAt(s.frame() - 19, "MEM-008", Severity::kNote);
     },
     Fabric::kIwarp},
    {"MEM-008", kNearMiss, "", "Only the low eight bits of the handles count up, as of one registration used again.",
     [](WireScript& s) { ManyReads(s, [](uint32_t i) { return 0x12340000u + i; }); }, Fabric::kIwarp},
};

}  // namespace

std::span<const Case> MemoryCases() { return kMemoryCases; }

}  // namespace stag::evidence
