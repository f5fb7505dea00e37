// SPDX-License-Identifier: GPL-2.0-or-later
//
// ERR: RDMA_ERROR itself. What faulty Calls are answered with is in answers.cc.
#include "pcaps/generator/backchannel.h"
#include "pcaps/generator/cases.h"
#include "pcaps/generator/faulty_calls.h"

namespace stag::evidence {

using namespace test;

namespace {

// A Call and its Reply, to which the client sends RDMA_ERROR.
void ErrorAfterReply(WireScript& s) {
  OpenAndCall(s);
  s.Send(kServer, Msg(kXid), GetattrReply(kXid));
  s.Send(kClient, ErrChunk(kXid));
}

constexpr Case kErrorsCases[] = {
    {"ERR-001", kBreaks, "",
     "The client answers a Reply with RDMA_ERROR. Known when the server is heard again, and no Call of it was lost.",
     [](WireScript& s) {
       ErrorAfterReply(s);
       CallGetattr(s, kXid + 1);
       s.Send(kServer, Msg(kXid + 1), GetattrReply(kXid + 1));
       s.ExpectOf(8, "ERR-001", Severity::kError, {"XID-002", "ERR-003"});
     }},
    {"ERR-001", kBreaks, "unasked", "The client sends RDMA_ERROR with an xid that nobody has used.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Send(kClient, ErrChunk(kXid + 7));
       CallGetattr(s);
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
       s.ExpectAt(8, "ERR-001", Severity::kError, {"XID-002", "ERR-003"});
     },
     Fabric::kIwarp},
    {"ERR-001", kNearMiss, "", "The client answers a Call of the server with RDMA_ERROR: there it is the responder.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       s.Send(kServer, Msg(kBackwardXid), CallbackNull());
       s.Send(kClient, ErrChunk(kBackwardXid));
     }},
    {"ERR-001", kNearMiss, "midstream", "The capture begins with the client's RDMA_ERROR: the server may have called.",
     [](WireScript& s) {
       s.OpenMidstream();
       s.Send(kClient, ErrChunk(kXid - 1));
       Greet(s, kXid);
       Greet(s, kXid + 1);
     }},
    {"ERR-001", kNearMiss, "rfc5666bis", "Under rfc5666bis the client reports a malformed Reply, as it must.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, BadBooleanReply(kXid));
       s.Expect("HDR-007");
       s.Send(kClient, ErrChunk(kXid));
       CallGetattr(s, kXid + 1);
       s.Send(kServer, Msg(kXid + 1), GetattrReply(kXid + 1));
     },
     Fabric::kRoce, Profile::kRfc5666bis},

    {"ERR-002", kBreaks, "", "The client sends RDMA_ERROR after a Reply; the server answers that with RDMA_ERROR.",
     [](WireScript& s) {
       ErrorAfterReply(s);
       s.Send(kServer, ErrChunk(kXid));
       s.ExpectOf(8, "ERR-001", Severity::kError, {"XID-002", "ERR-003"});
       CallGetattr(s, kXid + 1);
       s.ExpectOf(10, "ERR-002", Severity::kError, {"XID-004"});
     }},
    {"ERR-002", kNearMiss, "", "The client sends RDMA_ERROR and then a Call with the same xid, which is answered.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Send(kClient, ErrChunk(kXid));
       CallGetattr(s);
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
       s.ExpectOf(8, "ERR-001", Severity::kError, {"XID-002", "ERR-003"});
       CallGetattr(s, kXid + 1);
     }},

    {"ERR-003", kBreaks, "",
     "The xid of an RDMA_ERROR is 0. Known with the server's next message: it acknowledged the client's Call before, "
     "and nothing between.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       CallGetattr(s);
       s.Send(kServer, ErrChunk(0));
       GoOn(s, 1);
       s.ExpectOf(10, "XID-002", Severity::kWarning, {"ERR-003"});
     }},
    {"ERR-003", kNearMiss, "", "The RDMA_ERROR has the xid of its Call.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.Send(kServer, ErrChunk(kXid));
     }},
    {"ERR-003", kNearMiss, "lost", "The capture lost the Call that the RDMA_ERROR answers.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Lost([&] { CallGetattr(s); });
       s.Send(kServer, ErrChunk(kXid));
       GoOn(s, 1);
     },
     Fabric::kIwarp},

    {"ERR-004", kBreaks, "", "A Call of version 2 gets ERR_VERS in an RDMA_ERROR of version 1.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.SendBytes(kServer, ErrVers(kXid, 1, 1, 1));
       s.Expect("ERR-004");
       s.ExpectOf(4, "HDR-003", Severity::kWarning);
     }},
    {"ERR-004", kBreaks, "errchunk", "A Call of version 1 gets ERR_CHUNK in an RDMA_ERROR of version 2.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, Error(kXid, {rpcrdma::kErrChunk}, 2));
       s.Expect("ERR-004");
     },
     Fabric::kIwarp},
    {"ERR-004", kNearMiss, "", "The RDMA_ERROR has version 2, as its Call.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.SendBytes(kServer, ErrVers(kXid, 1, 1, 2));
       s.ExpectOf(4, "HDR-003", Severity::kWarning);
     }},
    {"ERR-004", kNearMiss, "rfc5666", "Under RFC 5666 the RDMA_ERROR has a version that its sender supports.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.SendBytes(kServer, ErrVers(kXid, 1, 1, 1));
       s.ExpectOf(4, "HDR-003", Severity::kWarning);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"ERR-005", kBreaks, "", "rdma_err is 0.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, Error(kXid, {0}));
       s.Expect("ERR-005");
     }},
    {"ERR-005", kBreaks, "three", "rdma_err is 3.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, Error(kXid, {3}));
       s.Expect("ERR-005");
     },
     Fabric::kIwarp},
    {"ERR-005", kNearMiss, "", "rdma_err is 3 in an RDMA_ERROR of version 2, to a Call of version 2.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.SendBytes(kServer, Error(kXid, {3}, 2));
       s.Expect("ERR-007");
     }},
    {"ERR-005", kNearMiss, "rfc5666", "draft-08 has eight words behind codes that it does not define.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, Error(kXid, {3, 0, 0, 0, 0, 0, 0, 0, 0}));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"ERR-006", kBreaks, "", "ERR_VERS gives the range 2 to 1.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.SendBytes(kServer, ErrVers(kXid, 2, 1, 2));
       s.Expect("ERR-006");
       s.ExpectOf(4, "HDR-003", Severity::kWarning);
     }},
    {"ERR-006", kBreaks, "inside", "ERR_VERS rejects version 1 with the range 1 to 1.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, ErrVers(kXid, 1, 1, 1));
       s.Expect("ERR-006");
     },
     Fabric::kIwarp},
    {"ERR-006", kBreaks, "zero", "ERR_VERS gives 0 as the lowest version: a note.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.SendBytes(kServer, ErrVers(kXid, 0, 1, 2));
       s.Expect("ERR-006", Severity::kNote);
       s.ExpectOf(4, "HDR-003", Severity::kWarning);
     }},
    {"ERR-006", kNearMiss, "", "The range 1 to 1, for a Call of version 2.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.SendBytes(kServer, ErrVers(kXid, 1, 1, 2));
       s.ExpectOf(4, "HDR-003", Severity::kWarning);
     }},

    {"ERR-009", kBreaks, "", "The client answers a malformed Reply (2 for a boolean) with ERR_CHUNK.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, BadBooleanReply(kXid));
       s.Expect("HDR-007");
       s.Send(kClient, ErrChunk(kXid));
       GoOn(s, 1);
       s.ExpectOf(8, "ERR-009", Severity::kError, {"ERR-001", "XID-002", "ERR-003"});
     }},
    {"ERR-009", kBreaks, "read-list", "The client answers a Reply that has a Read list with ERR_CHUNK.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.Send(kServer, WithReads(Msg(kXid), {{24, {0x99, 88, 0x30000}}}), MakeReply(kXid));
       s.Expect("RDLIST-001");
       s.Send(kClient, ErrChunk(kXid));
       GoOn(s, 1);
       s.ExpectAt(8, "ERR-009", Severity::kError, {"ERR-001", "XID-002", "ERR-003"});
     },
     Fabric::kIwarp},
    {"ERR-009", kNearMiss, "", "The client drops the malformed Reply, and calls again on a new connection.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, BadBooleanReply(kXid));
       s.Expect("HDR-007");
       s.Close();
       WireScript& second = s.Another();
       OpenAndCall(second);
       second.Send(kServer, Msg(kXid), GetattrReply(kXid));
     }},

    {"ERR-010", kBreaks, "", "Three words follow ERR_CHUNK.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, Error(kXid, {rpcrdma::kErrChunk, 1, 2, 3}));
       s.Expect("ERR-010", Severity::kWarning);
     }},
    {"ERR-010", kBreaks, "zeros", "Three zero words, as of empty lists, follow ERR_CHUNK: a note.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, Error(kXid, {rpcrdma::kErrChunk, 0, 0, 0}));
       s.Expect("ERR-010", Severity::kNote);
     },
     Fabric::kIwarp},
    {"ERR-010", kBreaks, "short", "ERR_VERS with one version instead of two: it has 24 bytes.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.SendBytes(kServer, Error(kXid, {rpcrdma::kErrVers, 1}, 2));
       s.Expect("ERR-010", Severity::kWarning);
       s.ExpectOf(4, "HDR-003", Severity::kWarning);
     }},
    {"ERR-010", kBreaks, "no-code", "The RDMA_ERROR ends behind rdma_proc, before it says what is wrong: an error.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, Error(kXid, {}));
       s.Expect("ERR-010");
     },
     Fabric::kIwarp},
    {"ERR-010", kNearMiss, "", "ERR_CHUNK has 20 bytes, ERR_VERS 28.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.Send(kServer, ErrChunk(kXid));
       WireScript& second = s.Another();
       OpenAndCall(second, Version2Call(kXid));
       second.SendBytes(kServer, ErrVers(kXid, 1, 1, 2));
       second.ExpectOf(10, "HDR-003", Severity::kWarning);
     }},
    {"ERR-010", kNearMiss, "rfc5666", "The 52 bytes of draft-08's default arm, with a code that it does not define.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, Error(kXid, {7, 1, 2, 3, 4, 5, 6, 7, 8}));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"ERR-011", kBreaks, "",
     "A Reply follows the RDMA_ERROR that ended its Call. Known when the client is heard again.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.Send(kServer, ErrChunk(kXid));
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
       CallGetattr(s, kXid + 1);
       s.ExpectOf(8, "XID-004", Severity::kWarning, {"ERR-011", "CRED-009"});
     }},
    {"ERR-011", kBreaks, "again",
     "The client sends the same Call again on the same connection after RDMA_ERROR: a note.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       CallGetattr(s);
       s.Send(kServer, ErrChunk(kXid));
       CallGetattr(s);
       s.Expect("ERR-011", Severity::kNote);
     },
     Fabric::kIwarp},
    {"ERR-011", kNearMiss, "", "The client sends the same Call again on another connection.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.Send(kServer, ErrChunk(kXid));
       s.Close();
       WireScript& second = s.Another();
       OpenAndCall(second);
       second.Send(kServer, Msg(kXid), GetattrReply(kXid));
     }},

    {"ERR-012", kBreaks, "", "The server's RDMA_ERROR ends before rdma_err, and the client answers it with RDMA_ERROR.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       CallGetattr(s);
       s.SendBytes(kServer, Error(kXid, {}));
       s.Expect("ERR-010");
       s.Send(kClient, ErrChunk(kXid));
       GoOn(s, 1);
       s.ExpectOf(12, "ERR-012", Severity::kError, {"ERR-001", "XID-002", "ERR-003"});
     }},
    {"ERR-012", kNearMiss, "", "The client ignores it, and goes on.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       CallGetattr(s);
       s.SendBytes(kServer, Error(kXid, {}));
       s.Expect("ERR-010");
       GoOn(s, 1);
     }},

    {"ERR-017", kBreaks, "", "Two RDMA_ERRORs answer one Call. Known when the client is heard again.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.Send(kServer, ErrChunk(kXid));
       s.Send(kServer, ErrChunk(kXid));
       CallGetattr(s, kXid + 1);
       s.ExpectOf(8, "XID-004", Severity::kWarning, {"ERR-017"});
       s.ExpectPresumed(10, "CRED-005", Severity::kNote);
     }},
    {"ERR-017", kNearMiss, "", "Two RDMA_ERRORs answer two Calls.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       CallGetattr(s);
       CallGetattr(s, kXid + 1);
       s.Send(kServer, ErrChunk(kXid));
       s.Send(kServer, ErrChunk(kXid + 1));
     },
     Fabric::kIwarp},
};

}  // namespace

std::span<const Case> ErrorCases() { return kErrorsCases; }

}  // namespace stag::evidence
