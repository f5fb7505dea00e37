// SPDX-License-Identifier: GPL-2.0-or-later
//
// FABRIC: what packets do against the protocol of their own fabric.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/faulty_calls.h"
#include "pcaps/generator/iwarp_script.h"
#include "pcaps/generator/roce_script.h"
#include "pcaps/generator/traffic.h"

namespace stag::evidence {

using namespace test;

namespace {

RoceScript& Roce(WireScript& s) { return static_cast<RoceScript&>(s); }
IwarpScript& Iwarp(WireScript& s) { return static_cast<IwarpScript&>(s); }

void AnswerGetattr(WireScript& s, uint32_t xid = kXid) { s.Send(kServer, Msg(xid), GetattrReply(xid)); }

// A READ of so many bytes into one Write chunk.
void CallRead(WireScript& s, uint32_t size) {
  s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, size, 0x20000}}}), ReadCall(kXid, size));
}
void AnswerRead(WireScript& s, uint32_t size) {
  s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, size, 0x20000}}}), ReadReply(kXid, size, true));
}
// A WRITE of 512 bytes from a Read chunk.
void CallWrite(WireScript& s) {
  const Buffer call = WriteCall(kXid, 512);
  rpcrdma::Header header = Msg(kXid);
  AddRead(header, SizeOf(call), {0x77, 512, 0x1000});
  s.Send(kClient, header, call);
}

Buffer ChangedAt(Buffer bytes, size_t at) {
  bytes[at] ^= std::byte{1};
  return bytes;
}

constexpr Case kFabricCases[] = {
    {"FABRIC-001", kBreaks, "", "The client sends a Call, then with the same PSN a Call with another xid.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallGetattr(s);
       s.Rewind(kClient);
       CallGetattr(s, kXid + 1);
       s.Expect("FABRIC-001");
     }},
    {"FABRIC-001", kBreaks, "write",
     "The server sends an RDMA Write of four packets again; in the third of them one byte has changed.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallRead(s, 4096);
       s.Write(kServer, 0x88, 0x20000, Pattern(4096));
       s.Rewind(kServer);
       s.Write(kServer, 0x88, 0x20000, ChangedAt(Pattern(4096), 2500));
       s.ExpectAt(s.frame() - 1, "FABRIC-001");
       AnswerRead(s, 4096);
     }},
    {"FABRIC-001", kBreaks, "iwarp", "A TCP segment comes again with a Call that has another xid.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallGetattr(s);
       s.Rewind(kClient);
       CallGetattr(s, kXid + 1);
       s.Expect("FABRIC-001");
     },
     Fabric::kIwarp},
    {"FABRIC-001", kNearMiss, "", "An RDMA Write of four packets is sent again as it was, and so is the Reply.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallRead(s, 4096);
       s.Write(kServer, 0x88, 0x20000, Pattern(4096));
       s.Repeat();
       AnswerRead(s, 4096);
       s.Repeat();
     }},
    {"FABRIC-001", kNearMiss, "iwarp", "TCP segments are sent again as they were.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallRead(s, 4096);
       s.Repeat();
       s.Write(kServer, 0x88, 0x20000, Pattern(4096));
       s.Repeat();
       AnswerRead(s, 4096);
     },
     Fabric::kIwarp},
    {"FABRIC-001", kNearMiss, "cut",
     "The RDMA Write comes again with another byte, behind the 128 bytes that were captured of each frame.",
     [](WireScript& s) {
       s.Snap(128);
       OpenAndGreet(s);
       CallRead(s, 400);
       s.Write(kServer, 0x88, 0x20000, Pattern(400));
       s.Rewind(kServer);
       s.Write(kServer, 0x88, 0x20000, ChangedAt(Pattern(400), 200));
       AnswerRead(s, 400);
     }},
    {"FABRIC-001", kNearMiss, "cut-call",
     "A Call comes again with another xid, in a capture of the first 96 bytes of each frame: without ICRCs a change "
     "cannot be told from damage on the way.",
     [](WireScript& s) {
       s.Snap(96);
       OpenAndGreet(s);
       CallGetattr(s);
       s.Rewind(kClient);
       CallGetattr(s, kXid + 1);
     }},

    {"FABRIC-002", kBreaks, "",
     "The server repeats its Read Request, and the memory of the client has changed: a note.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallWrite(s);
       s.Read(kServer, 0x77, 0x1000, Pattern(512));
       s.Rewind(kServer);
       s.ReadRequest(kServer, 0x77, 0x1000, 512);
       s.ReadResponse(kClient, 0x77, 0x1000, ChangedAt(Pattern(512), 300));
       s.Expect("FABRIC-002", Severity::kNote);
     }},
    {"FABRIC-002", kNearMiss, "", "The server repeats its Read Request, and gets the same bytes.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallWrite(s);
       s.Read(kServer, 0x77, 0x1000, Pattern(512));
       s.Rewind(kServer);
       s.Read(kServer, 0x77, 0x1000, Pattern(512));
     }},

    {"FABRIC-003", kBreaks, "", "The RETH of an RDMA Write states 104 bytes, and its packet has 100.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallRead(s, 104);
       Roce(s).WriteStating(kServer, 0x88, 0x20000, Pattern(100), 104);
       s.Expect("FABRIC-003");
     }},
    {"FABRIC-003", kBreaks, "more", "The RETH states 2048 bytes, which the first two of three packets have.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallRead(s, 4096);
       Roce(s).WriteStating(kServer, 0x88, 0x20000, Pattern(2560), 2048);
       s.Expect("FABRIC-003");
     }},
    {"FABRIC-003", kBreaks, "iwarp", "The server asks for 512 bytes; the DDP segment with 500 of them is the last.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallWrite(s);
       s.ReadRequest(kServer, 0x77, 0x1000, 512);
       s.ReadResponse(kClient, 0x77, 0x1000, Pattern(500));
       s.Expect("FABRIC-003");
     },
     Fabric::kIwarp},
    {"FABRIC-003", kNearMiss, "", "Three packets with the 2560 bytes that their RETH states.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallRead(s, 4096);
       Roce(s).WriteStating(kServer, 0x88, 0x20000, Pattern(2560), 2560);
     }},
    {"FABRIC-003", kNearMiss, "lost", "The capture lost the last of four packets.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallRead(s, 4096);
       s.Write(kServer, 0x88, 0x20000, Pattern(4096));
       s.DropLast();
       AnswerRead(s, 4096);
       Greet(s, kXid + 1);
     }},
    {"FABRIC-003", kNearMiss, "empty", "An RDMA Write of no bytes, as it keeps connections alive.",
     [](WireScript& s) {
       OpenAndGreet(s);
       Roce(s).WriteStating(kServer, 0, 0, {}, 0);
       Greet(s, kXid + 1);
     }},

    {"FABRIC-004", kBreaks, "",
     "The server acknowledges the client's next PSN, then completes the Call that has it. Known when it acknowledges "
     "that.",
     [](WireScript& s) {
       OpenAndGreet(s);
       Roce(s).AcknowledgeAhead(kServer, 1);
       const uint64_t early = s.frame();
       CallGetattr(s);
       s.ExpectProven(early, s.frame() + 1, "FABRIC-004");
       AnswerGetattr(s);
     }},
    {"FABRIC-004", kBreaks, "five", "The server acknowledges five PSNs ahead, then one by one what comes.",
     [](WireScript& s) {
       OpenAndGreet(s);
       Roce(s).AcknowledgeAhead(kServer, 5);
       const uint64_t early = s.frame();
       CallGetattr(s);
       s.ExpectProven(early, s.frame() + 1, "FABRIC-004");
       AnswerGetattr(s);
       CallGetattr(s, kXid + 1);
       AnswerGetattr(s, kXid + 1);
     }},
    {"FABRIC-004", kNearMiss, "", "The capture shows an acknowledgement before the Call that it acknowledges.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallGetattr(s);
       s.Settle();
       s.SwapLast();
       AnswerGetattr(s);
       CallGetattr(s, kXid + 1);
       AnswerGetattr(s, kXid + 1);
     }},
    {"FABRIC-004", kNearMiss, "lost",
     "The capture lost a Call, of which it has the acknowledgement; that got lost, and the client sends the Call "
     "again.",
     [](WireScript& s) {
       OpenAndGreet(s);
       s.Lost([&] { s.Send(kClient, Msg(kXid), GetattrCall(kXid)); });
       Roce(s).AcknowledgeAhead(kServer, 0);
       s.Rewind(kClient);
       CallGetattr(s);
       Roce(s).AcknowledgeAhead(kServer, 0);
       AnswerGetattr(s);
       CallGetattr(s, kXid + 1);
       AnswerGetattr(s, kXid + 1);
     }},

    {"FABRIC-005", kBreaks, "", "The ICRC of a Call is wrong; those before it are right.",
     [](WireScript& s) {
       OpenAndGreet(s);
       CallGetattr(s);
       Roce(s).BreakIcrc();
       s.Expect("FABRIC-005");
     }},
    {"FABRIC-005", kBreaks, "iwarp", "The CRC32C of the FPDU with a Call is wrong.",
     [](WireScript& s) {
       OpenAndGreet(s);
       Iwarp(s).SendDamaged(kClient, MessageBytes(Msg(kXid), GetattrCall(kXid)));
       s.Expect("FABRIC-005");
     },
     Fabric::kIwarp},
    {"FABRIC-005", kNearMiss, "", "The client's packets have no ICRC: its adapter computes them behind the capture.",
     [](WireScript& s) {
       s.Open();
       for (uint32_t xid = kXid; xid < kXid + 2; ++xid) {
         s.Send(kClient, Msg(xid), MakeCall(xid, kNfs, 3, 0));
         Roce(s).ClearIcrc();
         s.Send(kServer, Msg(xid), MakeReply(xid));
       }
     }},
    {"FABRIC-005", kNearMiss, "cut", "All ICRCs are cut away.",
     [](WireScript& s) {
       s.Snap(150);
       OpenAndGreet(s);
       CallRead(s, 400);
       s.Write(kServer, 0x88, 0x20000, Pattern(400));
       AnswerRead(s, 400);
     }},
};

}  // namespace

std::span<const Case> FabricCases() { return kFabricCases; }

}  // namespace stag::evidence
