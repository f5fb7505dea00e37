// SPDX-License-Identifier: GPL-2.0-or-later
//
// FRAME and XID: how the RPC message stands in its message, and how Calls and Replies find each other.
#include "pcaps/generator/backchannel.h"
#include "pcaps/generator/cases.h"
#include "pcaps/generator/iwarp_script.h"
#include "pcaps/generator/traffic.h"

namespace stag::evidence {

using namespace test;

namespace {

// A record mark of RPC over TCP (RFC 5531 section 11), last fragment, in front of `message`.
Buffer Marked(const Buffer& message) { return Join({Words({0x80000000u | SizeOf(message)}), message}); }

void Getattr(WireScript& s, uint32_t xid) {
  s.Send(kClient, Msg(xid), GetattrCall(xid));
  s.Send(kServer, Msg(xid), GetattrReply(xid));
}

constexpr Case kFrameXidCases[] = {
    {"FRAME-001", kBreaks, "", "On iWARP, a record mark of RPC over TCP stands between the header and the Call.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), Marked(GetattrCall(kXid)));
       s.Expect("FRAME-001");
     },
     Fabric::kIwarp},
    {"FRAME-001", kBreaks, "long-call", "A record mark at the start of a Position-zero chunk: known when it was read.",
     [](WireScript& s) {
       s.Open();
       LongCall(s, Marked(GetattrCall(kXid)));
       s.ExpectOf(4, "FRAME-001");
     }},
    {"FRAME-001", kNearMiss, "", "The RPC's xid happens to be what a record mark before its second word would be.",
     [](WireScript& s) {
       s.Open();
       const uint32_t xid = 0x80000000u | (SizeOf(GetattrCall(0)) - 4);
       s.Send(kClient, Msg(xid), GetattrCall(xid));
       s.Send(kServer, Msg(xid), GetattrReply(xid));
     },
     Fabric::kIwarp},

    {"FRAME-002", kBreaks, "", "A TCP stream of RPC in record marks turns to MPA within a record.",
     [](WireScript& s) {
       Buffer record = Marked(GetattrCall(kXid));
       record.resize(40);
       static_cast<IwarpScript&>(s).Before(kClient, record);
       s.Open();
       s.ExpectAt(s.frame() - 1, "FRAME-002", Severity::kWarning);
       s.Send(kClient, Msg(kXid + 1), GetattrCall(kXid + 1));
     },
     Fabric::kIwarp},
    {"FRAME-002", kBreaks, "outstanding", "It turns to MPA before the Call in the old framing is answered.",
     [](WireScript& s) {
       static_cast<IwarpScript&>(s).Before(kClient, Marked(GetattrCall(kXid)));
       s.Open();
       s.ExpectAt(s.frame() - 1, "FRAME-002", Severity::kWarning);
       s.Send(kClient, Msg(kXid + 1), GetattrCall(kXid + 1));
     },
     Fabric::kIwarp},
    {"FRAME-002", kNearMiss, "", "It turns to MPA behind a Call and its Reply.",
     [](WireScript& s) {
       auto& stream = static_cast<IwarpScript&>(s);
       stream.Before(kClient, Marked(GetattrCall(kXid)));
       stream.Before(kServer, Marked(GetattrReply(kXid)));
       s.Open();
       s.Send(kClient, Msg(kXid + 1), GetattrCall(kXid + 1));
     },
     Fabric::kIwarp},

    {"XID-001", kBreaks, "", "The transport header and the Call that it carries have different xids.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid + 1));
       s.Expect("XID-001");
     }},
    {"XID-001", kBreaks, "long-reply",
     "The Reply in a Reply chunk has another xid than the RDMA_NOMSG that completes it.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithReplyChunk(Msg(kXid), {{0x88, 1024, 0x20000}}), ReadlinkCall(kXid));
       const Buffer reply = ReadlinkReply(kXid + 1, 8);
       s.Write(kServer, 0x88, 0x20000, reply);
       s.Send(kServer, WithReplyChunk(Nomsg(kXid), {{0x88, SizeOf(reply), 0x20000}}));
       s.Expect("XID-001");
     }},
    {"XID-001", kNearMiss, "", "An RDMA_MSGP under RFC 5666: its header is eight bytes longer, the xids agree.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       rpcrdma::Header header = MakeHeader(rpcrdma::kMsgp, kXid);
       header.align = 64;
       header.thresh = 1024;
       s.Send(kClient, header, GetattrCall(kXid));
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"XID-001", kNearMiss, "lost", "The xid of a Long Call is not known: the capture misses the Read Response with it.",
     [](WireScript& s) {
       s.Open();
       const Buffer call = GetattrCall(kXid);
       s.Send(kClient, WithReads(Nomsg(kXid), {{0, {0x77, SizeOf(call), 0x10000}}}));
       s.ReadRequest(kServer, 0x77, 0x10000, SizeOf(call));
       s.Lost([&] { s.ReadResponse(kClient, 0x77, 0x10000, call); });
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
     }},

    {"XID-002", kBreaks, "",
     "While one Call is outstanding a Reply comes for an xid that nobody used. It is known when the client, heard "
     "again without a gap, has not sent such a Call.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Send(kServer, Msg(0x99), GetattrReply(0x99));
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
       s.Send(kClient, Msg(kXid + 1), GetattrCall(kXid + 1));
       s.ExpectOf(10, "XID-002", Severity::kWarning);
     }},
    {"XID-002", kNearMiss, "", "The Call of that Reply was sent, but the capture misses it.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Lost([&] { s.Send(kClient, Msg(0x99), GetattrCall(0x99)); });
       s.Send(kServer, Msg(0x99), GetattrReply(0x99));
       for (uint32_t xid = kXid; xid < kXid + 4; ++xid) Getattr(s, xid);
     }},
    {"XID-002", kNearMiss, "midstream", "The capture began between the Call and its Reply.",
     [](WireScript& s) {
       s.OpenMidstream();
       s.Send(kServer, Msg(0x99), GetattrReply(0x99));
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
     }},

    {"XID-003", kBreaks, "",
     "Two different Calls with one xid outstanding. It is known when the server, heard again without a gap, had not "
     "answered the first.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Send(kClient, Msg(kXid), ReadlinkCall(kXid));
       s.Send(kServer, Msg(kXid), ReadlinkReply(kXid, 8));
       s.ExpectOf(10, "XID-003", Severity::kWarning);
     }},
    {"XID-003", kBreaks, "same", "The same Call again on a live connection: no harm comes of it, a note.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
       s.ExpectOf(10, "XID-003", Severity::kNote);
     }},
    {"XID-003", kNearMiss, "", "The packet of the Call comes twice: the fabric repeated it, not the client.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Repeat();
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
     }},
    {"XID-003", kNearMiss, "reconnect",
     "The connection ends before the Reply, and the Call is sent again on the next one.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Close();
       WireScript& next = s.Another();
       next.Open();
       Getattr(next, kXid);
     }},
    {"XID-003", kNearMiss, "backward",
     "While a Call is outstanding, the server sends a backward Call with the same xid: each direction has its own.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Send(kServer, Msg(kXid), CallbackNull(kXid));
       s.Send(kClient, Msg(kXid), MakeReply(kXid));
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
     }},

    {"XID-004", kBreaks, "",
     "A Call is answered twice. It is known when the client, heard again without a gap, had not sent it a second time.",
     [](WireScript& s) {
       s.Open();
       Getattr(s, kXid);
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
       s.Send(kClient, Msg(kXid + 1), GetattrCall(kXid + 1));
       s.ExpectOf(8, "XID-004", Severity::kWarning);
     }},
    {"XID-004", kBreaks, "error", "The same with an RDMA_ERROR behind the Reply.",
     [](WireScript& s) {
       s.Open();
       Getattr(s, kXid);
       s.Send(kServer, ErrChunk(kXid));
       s.Send(kClient, Msg(kXid + 1), GetattrCall(kXid + 1));
       s.ExpectOf(8, "XID-004", Severity::kWarning);
     }},
    {"XID-004", kNearMiss, "", "A later Call uses the xid again: two transactions, each with its Reply.",
     [](WireScript& s) {
       s.Open();
       Getattr(s, kXid);
       Getattr(s, kXid);
       Getattr(s, kXid + 1);
     }},
    {"XID-004", kNearMiss, "repeated", "The packet of the Reply comes twice: the fabric repeated it, not the server.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
       s.Repeat();
       s.Send(kClient, Msg(kXid + 1), GetattrCall(kXid + 1));
     }},
};

}  // namespace

std::span<const Case> FrameXidCases() { return kFrameXidCases; }

}  // namespace stag::evidence
