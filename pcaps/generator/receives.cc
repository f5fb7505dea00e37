// SPDX-License-Identifier: GPL-2.0-or-later
//
// CRED: what peers can take at once: receives for Sends, and RDMA Reads.
#include "pcaps/generator/backchannel.h"
#include "pcaps/generator/cases.h"
#include "pcaps/generator/credit_calls.h"

namespace stag::evidence {

using namespace test;

namespace {

// A WRITE of so many segments of 100 bytes, all of which the server reads at once.
void ReadAll(WireScript& s, uint32_t count, uint32_t first_answered = 0) {
  const Buffer call = WriteCall(kXid, 100 * count);
  rpcrdma::Header header = Msg(kXid);
  for (uint32_t i = 0; i < count; ++i) AddRead(header, SizeOf(call), {0x100 + i, 100, 0});
  s.Send(kClient, header, call);
  for (uint32_t i = 0; i < count; ++i) s.ReadRequest(kServer, 0x100 + i, 0, 100);
  s.ReadResponse(kClient, 0x100 + first_answered, 0, Pattern(100));
}

constexpr Case kReceivesCases[] = {
    {"CRED-007", kBreaks, "",
     "A Reply raises the grant to 4, and the second outstanding Call finds no receive: RNR NAK.",
     [](WireScript& s) {
       BeginWith(s, 4);
       Calls(s, kXid, 2);
       s.Nak(kServer, fabric::NakKind::kRnr);
       s.Expect("CRED-007");
     }},
    {"CRED-007", kBreaks, "terminate", "The same on iWARP: a Terminate (untagged buffer: no buffer available).",
     [](WireScript& s) {
       BeginWith(s, 4);
       Calls(s, kXid, 2);
       s.Nak(kServer, fabric::NakKind::kRnr);
       s.Expect("CRED-007");
     },
     Fabric::kIwarp},
    {"CRED-007", kNearMiss, "", "The Call that finds no receive is over the grant.",
     [](WireScript& s) {
       BeginWith(s, 1);
       Calls(s, kXid, 2);
       s.Nak(kServer, fabric::NakKind::kRnr);
       Grant(s, kXid, 1);
       s.ExpectOf(10, "CRED-003");
     }},
    {"CRED-007", kNearMiss, "backward", "The client's Replies to Calls of the server take receives, too.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       s.Send(kServer, Msg(kBackwardXid), CallbackNull());
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
       CallFor(s, kXid);
       s.Nak(kServer, fabric::NakKind::kRnr);
     }},
    {"CRED-007", kNearMiss, "rdma", "An RNR NAK refuses an RDMA Write, which takes no receive.",
     [](WireScript& s) {
       BeginWith(s, 4);
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 100, 0x20000}}}), ReadCall(kXid, 100));
       s.Write(kServer, 0x88, 0x20000, Pattern(100));
       s.Nak(kClient, fabric::NakKind::kRnr);
     }},

    {"CRED-008", kBreaks, "", "The client has no receive for the Reply to its only Call: RNR NAK.",
     [](WireScript& s) {
       s.Open();
       CallFor(s, kXid);
       Grant(s, kXid, 32);
       s.Nak(kClient, fabric::NakKind::kRnr);
       s.Expect("CRED-008", Severity::kWarning);
     }},
    {"CRED-008", kBreaks, "terminate", "The same on iWARP: a Terminate (untagged buffer: no buffer available).",
     [](WireScript& s) {
       s.Open();
       CallFor(s, kXid);
       Grant(s, kXid, 32);
       s.Nak(kClient, fabric::NakKind::kRnr);
       s.Expect("CRED-008", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"CRED-008", kNearMiss, "", "A second Reply to an earlier Call (XID-004) had taken the receive.",
     [](WireScript& s) {
       BeginWith(s, 32);
       Grant(s, kEarlierXid, 32);
       CallFor(s, kXid);
       s.ExpectOf(8, "XID-004", Severity::kWarning, {"CRED-009"});
       Grant(s, kXid, 32);
       s.Nak(kClient, fabric::NakKind::kRnr);
     }},
    {"CRED-008", kNearMiss, "backward", "A Call of the server had taken it.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       s.Send(kServer, Msg(kBackwardXid), CallbackNull());
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
       CallFor(s, kXid);
       Grant(s, kXid, 32);
       s.Nak(kClient, fabric::NakKind::kRnr);
     }},

    {"CRED-012", kBreaks, "",
     "The client serves two RDMA Reads at once (CM REQ, Responder Resources), and the server has four in flight. Known "
     "when the first is answered.",
     [](WireScript& s) {
       s.setup.responder_resources[kClient] = 2;
       s.Open();
       ReadAll(s, 4);
       s.ExpectOf(9, "CRED-012", Severity::kWarning);
     }},
    {"CRED-012", kBreaks, "iwarp", "The MPA Request says an IRD of 4, and the server has six in flight.",
     [](WireScript& s) {
       s.Open();
       ReadAll(s, 6);
       s.ExpectOf(12, "CRED-012", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"CRED-012", kNearMiss, "", "The client serves four, and the server has four in flight.",
     [](WireScript& s) {
       s.setup.responder_resources[kClient] = 4;
       s.Open();
       ReadAll(s, 4);
     }},
    {"CRED-012", kNearMiss, "midstream", "How many the client serves was not captured.",
     [](WireScript& s) {
       s.OpenMidstream();
       Greet(s);
       ReadAll(s, 6);
     },
     Fabric::kRoce},
    {"CRED-012", kNearMiss, "lost",
     "The client serves one RDMA Read. The capture lost the Response to each of the first two of three.",
     [](WireScript& s) {
       s.setup.responder_resources[kClient] = 1;
       s.Open();
       const Buffer call = WriteCall(kXid, 300);
       s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(call), {0x77, 300, 0x10000}}}), call);
       for (uint32_t i = 0; i < 2; ++i) {
         s.ReadRequest(kServer, 0x77, 0x10000 + 100 * i, 100);
         s.Lost([&] { s.ReadResponse(kClient, 0x77, 0x10000 + 100 * i, Pattern(100)); });
       }
       s.Read(kServer, 0x77, 0x10000 + 200, Pattern(100));
     }},
};

}  // namespace

std::span<const Case> ReceiveCases() { return kReceivesCases; }

}  // namespace stag::evidence
