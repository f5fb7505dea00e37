// SPDX-License-Identifier: GPL-2.0-or-later
//
// PVT: remote invalidation (RFC 8797 section 4.1).
#include "pcaps/generator/backchannel.h"
#include "pcaps/generator/cases.h"

namespace stag::evidence {

using namespace test;
using rpcrdma::PrivateData;

namespace {

constexpr PrivateData kWithR{1, 1, 3, 3}, kWithoutR{1, 0, 3, 3};

// READs of 100 bytes into a Write chunk: the Call; and all of the RPC, its Reply a Send with Invalidate.
void CallRead(WireScript& s, uint32_t xid, uint32_t handle, uint64_t offset = 0x20000) {
  s.Send(kClient, WithChunks(Msg(xid), {{{handle, 100, offset}}}), ReadCall(xid, 100));
}
void AnswerRead(WireScript& s, uint32_t xid, uint32_t handle, std::optional<uint32_t> invalidated,
                uint64_t offset = 0x20000) {
  s.Write(kServer, handle, offset, Pattern(100));
  s.Send(kServer, WithChunks(Msg(xid), {{{handle, 100, offset}}}), ReadReply(xid, 100, true), invalidated);
}
void InvalidatingRead(WireScript& s, uint32_t handle, uint32_t invalidated) {
  CallRead(s, kXid, handle);
  AnswerRead(s, kXid, handle, invalidated);
}

void RefusedInvalidation(WireScript& s, fabric::NakKind kind) {
  s.Open();
  Greet(s);
  InvalidatingRead(s, 0x88, 0x88);
  s.Nak(kClient, kind);
}

constexpr Case kInvalidationCases[] = {
    {"PVT-006", kBreaks, "", "The client sets R, the server does not; it answers with Send with Invalidate.",
     [](WireScript& s) {
       s.Open(kWithR, kWithoutR);
       InvalidatingRead(s, 0x88, 0x88);
       s.Expect("PVT-006");
     }},
    {"PVT-006", kBreaks, "no-private-data", "The server sends no private data and uses Send with Invalidate.",
     [](WireScript& s) {
       s.Open(kWithR, std::nullopt);
       InvalidatingRead(s, 0x88, 0x88);
       s.Expect("PVT-006");
     },
     Fabric::kIwarp},
    {"PVT-006", kNearMiss, "", "Both set R.",
     [](WireScript& s) {
       s.Open();
       InvalidatingRead(s, 0x88, 0x88);
     }},
    {"PVT-006", kNearMiss, "midstream", "The set-up was not captured: whether they set R is not known.",
     [](WireScript& s) {
       s.OpenMidstream();
       Greet(s);
       InvalidatingRead(s, 0x88, 0x88);
     }},

    {"PVT-007", kBreaks, "", "A Reply invalidates the handle of another outstanding Call.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       CallRead(s, kXid, 0x88);
       CallRead(s, kXid + 1, 0x99);
       AnswerRead(s, kXid, 0x88, 0x99);
       s.Expect("PVT-007");
     }},
    {"PVT-007", kBreaks, "shared",
     "A Reply invalidates a handle of its own Call that another outstanding Call has, too, for other memory.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       CallRead(s, kXid, 0x88, 0x20000);
       CallRead(s, kXid + 1, 0x88, 0x30000);
       AnswerRead(s, kXid, 0x88, 0x88, 0x20000);
       s.Expect("PVT-007");
     },
     Fabric::kIwarp},
    {"PVT-007", kBreaks, "error", "An RDMA_ERROR invalidates a handle that its Call does not have: a note.",
     [](WireScript& s) {
       s.Open();
       CallRead(s, kXid, 0x88);
       s.Send(kServer, ErrChunk(kXid), {}, 0x99);
       s.Expect("PVT-007", Severity::kNote);
     }},
    {"PVT-007", kNearMiss, "", "The invalidated handle is that of two segments of the Reply's own Call.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 60, 0x20000}, {0x88, 40, 0x30000}}}), ReadCall(kXid, 100));
       s.Write(kServer, 0x88, 0x20000, Pattern(60));
       s.Write(kServer, 0x88, 0x30000, Pattern(40));
       s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, 60, 0x20000}, {0x88, 40, 0x30000}}}), ReadReply(kXid, 100, true),
              0x88);
     }},
    {"PVT-007", kNearMiss, "lost", "The capture lost the Call.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Lost([&] { CallRead(s, kXid, 0x88); });
       AnswerRead(s, kXid, 0x88, 0x88);
       Greet(s, kXid + 1);
     }},

    {"PVT-008", kBreaks, "", "The client set R, and refuses a Send with Invalidate of its own handle.",
     [](WireScript& s) {
       RefusedInvalidation(s, fabric::NakKind::kInvalidRequest);
       s.Expect("PVT-008", Severity::kWarning);
     }},
    {"PVT-008", kBreaks, "terminate", "It refuses it with a Terminate.",
     [](WireScript& s) {
       RefusedInvalidation(s, fabric::NakKind::kRemoteAccess);
       s.Expect("PVT-008", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"PVT-008", kNearMiss, "", "What it refuses is the invalidation of a handle that is not of its Call.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       InvalidatingRead(s, 0x88, 0x99);
       s.Expect("PVT-007");
       s.Nak(kClient, fabric::NakKind::kRemoteAccess);
     }},
    {"PVT-008", kNearMiss, "rnr",
     "An RNR NAK says that no receive was posted (CRED-008), and nothing of the handle; the Send comes again.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       InvalidatingRead(s, 0x88, 0x88);
       const uint64_t reply = s.frame();
       s.Nak(kClient, fabric::NakKind::kRnr);
       s.Expect("CRED-008", Severity::kWarning);
       s.Repeat(reply, reply);
     }},

    {"PVT-018", kBreaks, "", "A Call is a Send with Invalidate.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid), 0x88);
       s.Expect("PVT-018", Severity::kWarning);
     }},
    {"PVT-018", kBreaks, "iwarp", "The same on iWARP.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid), 0x88);
       s.Expect("PVT-018", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"PVT-018", kNearMiss, "",
     "The client's Send with Invalidate is the Reply to a backward Call. The handle is no such Call's: PVT-007.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       s.Send(kServer, Msg(kBackwardXid), CallbackNull());
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid), 0x88);
       s.Expect("PVT-007");
     }},
};

}  // namespace

std::span<const Case> InvalidationCases() { return kInvalidationCases; }

}  // namespace stag::evidence
