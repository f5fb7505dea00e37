// SPDX-License-Identifier: GPL-2.0-or-later
//
// CONN: who opens and calls first, over which service, and what follows a failure.
#include "pcaps/generator/backchannel.h"
#include "pcaps/generator/cases.h"
#include "pcaps/generator/roce_script.h"

namespace stag::evidence {

using namespace test;

namespace {

// A program of a site (RFC 5531 section 8.2), which may set up its backward Calls in ways of its own.
constexpr uint32_t kSiteProgram = 0x20000001;

// An RPC message behind a version 1 header, as one datagram.
constexpr uint8_t kUcSendOnly = 0x24;
void Datagram(WireScript& s, Side from, uint8_t opcode, uint32_t header_xid, const Buffer& rpc) {
  static_cast<RoceScript&>(s).Unreliable(from, opcode, MessageBytes(Msg(header_xid), rpc));
}

// A connection on which a WRITE is called.
void CallWrite(WireScript& s, uint32_t xid, uint32_t handle) {
  s.Open();
  const auto position = static_cast<uint32_t>(WriteCall(xid, 512).size());
  s.Send(kClient, WithReads(Msg(xid), {{position, {handle, 512, 0x10000}}}), WriteCall(xid, 512));
}

// The same, and the client refuses the RDMA Read of its data, which ends the connection.
void FailedWrite(WireScript& s, uint32_t xid) {
  CallWrite(s, xid, 0x77);
  s.ReadRequest(kServer, 0x77, 0x10000, 512);
  s.Nak(kClient, fabric::NakKind::kRemoteAccess);
  s.Expect("RDLIST-008", Severity::kWarning);
  s.Close();
}

void ThreeFailures(WireScript& first, const std::array<uint32_t, 3>& xids) {
  FailedWrite(first, xids[0]);
  WireScript& second = first.Another();
  FailedWrite(second, xids[1]);
  WireScript& third = second.Another();
  CallWrite(third, xids[2], 0x77);
  third.ReadRequest(kServer, 0x77, 0x10000, 512);
  const uint64_t read = third.frame();
  third.Nak(kClient, fabric::NakKind::kRemoteAccess);
  third.Expect("RDLIST-008", Severity::kWarning);
  if (xids[0] == xids[2]) third.ExpectOf(read, "CONN-005", Severity::kNote);
}

constexpr Case kConnectionCases[] = {
    {"CONN-001", kBreaks, "", "The passive peer calls before the active peer did. Known when the active peer is heard.",
     [](WireScript& s) {
       s.Open();
       s.Send(kServer, Msg(kBackwardXid), MakeCall(kBackwardXid, kSiteProgram, 1, 0));
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
       s.ExpectOf(4, "CONN-001", Severity::kWarning);
     }},
    {"CONN-001", kBreaks, "callback",
     "The same with a Call of the NFSv4 callback program, for which no session was created either (BC-005).",
     [](WireScript& s) {
       s.Open();
       s.Send(kServer, Msg(kBackwardXid), CallbackNull());
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.ExpectAt(6, "CONN-001", Severity::kWarning);
       s.ExpectAt(6, "BC-005", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"CONN-001", kNearMiss, "", "The passive peer calls after CREATE_SESSION made the connection a backchannel.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       s.Send(kServer, Msg(kBackwardXid), CallbackNull());
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
     }},
    {"CONN-001", kNearMiss, "lost",
     "The capture lost the first Call and its Reply: the first message in it is a Call of the passive peer.",
     [](WireScript& s) {
       s.Open();
       s.Lost([&] { Greet(s); });
       s.Send(kServer, Msg(kBackwardXid), MakeCall(kBackwardXid, kSiteProgram, 1, 0));
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
     }},
    {"CONN-001", kNearMiss, "midstream", "The capture begins after the set-up, with a Call of the server.",
     [](WireScript& s) {
       s.OpenMidstream();
       s.Send(kServer, Msg(kBackwardXid), MakeCall(kBackwardXid, kSiteProgram, 1, 0));
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
       Greet(s);
     }},

    {"CONN-002", kBreaks, "", "An RPC-over-RDMA Call in a datagram of service UD.",
     [](WireScript& s) {
       Datagram(s, kClient, ib::kUdSendOnly, kXid, GetattrCall(kXid));
       s.Expect("CONN-002", Severity::kNote);
     }},
    {"CONN-002", kBreaks, "reply", "A Reply on service UC.",
     [](WireScript& s) {
       Datagram(s, kServer, kUcSendOnly, kXid, GetattrReply(kXid));
       s.Expect("CONN-002", Severity::kNote);
     }},
    {"CONN-002", kNearMiss, "",
     "A datagram that could be read as a header of version 1, but the RPC message of its xid is not behind it. The "
     "MADs that set up the connection are of service UD, too.",
     [](WireScript& s) {
       s.Open();
       Datagram(s, kClient, ib::kUdSendOnly, kXid, GetattrCall(kXid + 1));
       Greet(s);
     }},

    {"CONN-005", kBreaks, "",
     "Three connections in a row end with the refusal of the RDMA Read for the same xid: the server never answers "
     "ERR_CHUNK.",
     [](WireScript& s) {
       ThreeFailures(s, {kXid, kXid, kXid});
     }},
    {"CONN-005", kBreaks, "terminate", "The same; the refusals are Terminates.",
     [](WireScript& s) {
       ThreeFailures(s, {kXid, kXid, kXid});
     },
     Fabric::kIwarp},
    {"CONN-005", kNearMiss, "", "The second time the server answers with ERR_CHUNK, as it should.",
     [](WireScript& s) {
       FailedWrite(s, kXid);
       WireScript& second = s.Another();
       CallWrite(second, kXid, 0x77);
       second.Send(kServer, ErrChunk(kXid));
     }},
    {"CONN-005", kNearMiss, "registered-again",
     "After two failures the client registers its memory again, and the third attempt succeeds.",
     [](WireScript& s) {
       FailedWrite(s, kXid);
       WireScript& second = s.Another();
       FailedWrite(second, kXid);
       WireScript& third = second.Another();
       CallWrite(third, kXid, 0x79);
       third.Read(kServer, 0x79, 0x10000, Pattern(512));
       third.Send(kServer, Msg(kXid), WriteReply(kXid, 512));
     }},
    {"CONN-005", kNearMiss, "others", "Three failures of three RPCs.",
     [](WireScript& s) {
       ThreeFailures(s, {kXid, kXid + 1, kXid + 2});
     },
     Fabric::kIwarp},
};

}  // namespace

std::span<const Case> ConnectionCases() { return kConnectionCases; }

}  // namespace stag::evidence
