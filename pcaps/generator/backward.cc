// SPDX-License-Identifier: GPL-2.0-or-later
//
// BC: Calls of the server to the client (RFC 8167).
#include "pcaps/generator/backchannel.h"
#include "pcaps/generator/cases.h"
#include "pcaps/generator/gss_calls.h"

namespace stag::evidence {

using namespace test;

namespace {

// CB_COMPOUND of CB_RECALL (RFC 8881 section 20.2), ended by the file handle: where its data would stand if it were
// reduced; and whole.
Buffer RecallHead(uint32_t xid) {
  return MakeCall(xid, kCallbackProgram, 1, 1, Join({Words({0, 1, 0, 1, 4, 0, 0, 0, 0, 0}), Words({32})}));
}
Buffer Recall(uint32_t xid) { return Join({RecallHead(xid), Pattern(32)}); }
Buffer RecallReply(uint32_t xid) { return MakeReply(xid, Words({0, 0, 1, 4, 0})); }

// The client answers one backward Call and grants so many.
void Granted(WireScript& s, uint32_t grant) {
  s.Open();
  CreateSession(s);
  s.Send(kServer, Msg(kBackwardXid), CallbackNull());
  s.Send(kClient, MakeHeader(rpcrdma::kMsg, kBackwardXid, grant), MakeReply(kBackwardXid));
}
void CallBack(WireScript& s, uint32_t first_xid, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) s.Send(kServer, Msg(first_xid + i), CallbackNull(first_xid + i));
}

void CallBackAndAnswer(WireScript& s) {
  s.Send(kServer, Msg(kBackwardXid), CallbackNull());
  s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
}

// BIND_CONN_TO_SESSION (RFC 8881 section 18.34) asks for a direction, and gets it.
void BindConnection(WireScript& s, uint32_t asked, uint32_t given) {
  s.Send(kClient, Msg(kEarlierXid), MakeCall(kEarlierXid, kNfs, 4, 1, Words({0, 1, 1, 41, 1, 2, 3, 4, asked, 1})));
  s.Send(kServer, Msg(kEarlierXid), MakeReply(kEarlierXid, Words({0, 0, 1, 41, 0, 1, 2, 3, 4, given, 1})));
}
constexpr uint32_t kForeOrBoth = 3, kFore = 1, kBoth = 3;

constexpr Case kBackwardCases[] = {
    {"BC-002", kBreaks, "",
     "The client grants two backward Calls, and the server has three outstanding. Known when the client is heard.",
     [](WireScript& s) {
       Granted(s, 2);
       CallBack(s, kBackwardXid + 1, 3);
       s.Send(kClient, MakeHeader(rpcrdma::kMsg, kBackwardXid + 1, 2), MakeReply(kBackwardXid + 1));
       s.ExpectOf(16, "BC-002");
     }},
    {"BC-002", kBreaks, "iwarp", "One is granted, and two are outstanding.",
     [](WireScript& s) {
       Granted(s, 1);
       CallBack(s, kBackwardXid + 1, 2);
       s.Send(kClient, MakeHeader(rpcrdma::kMsg, kBackwardXid + 1, 1), MakeReply(kBackwardXid + 1));
       s.ExpectAt(11, "BC-002");
     },
     Fabric::kIwarp},
    {"BC-002", kNearMiss, "", "Two are granted, and two are outstanding; a third follows the first one's Reply.",
     [](WireScript& s) {
       Granted(s, 2);
       CallBack(s, kBackwardXid + 1, 2);
       s.Send(kClient, MakeHeader(rpcrdma::kMsg, kBackwardXid + 1, 2), MakeReply(kBackwardXid + 1));
       CallBack(s, kBackwardXid + 3, 1);
       s.Send(kClient, MakeHeader(rpcrdma::kMsg, kBackwardXid + 2, 2), MakeReply(kBackwardXid + 2));
     }},
    {"BC-002", kNearMiss, "forward", "The client grants one backward Call, and has three Calls of its own outstanding.",
     [](WireScript& s) {
       Granted(s, 1);
       for (uint32_t i = 0; i < 3; ++i) s.Send(kClient, Msg(kXid + i), GetattrCall(kXid + i));
       for (uint32_t i = 0; i < 3; ++i) s.Send(kServer, Msg(kXid + i), GetattrReply(kXid + i));
     },
     Fabric::kIwarp},

    {"BC-003", kBreaks, "", "CB_RECALL with a Write list, which no callback can use (ULB-004).",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       s.Send(kServer, WithChunks(Msg(kBackwardXid), {{{0x99, 4096, 0x30000}}}), Recall(kBackwardXid));
       s.Expect("BC-003", Severity::kNote);
       s.Expect("ULB-004", Severity::kError, {"WRLIST-013"});
     }},
    {"BC-003", kBreaks, "read-chunk", "CB_RECALL whose file handle is in a Read chunk, which it may not be (DDP-001).",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       const Buffer head = RecallHead(kBackwardXid);
       s.Send(kServer, WithReads(Msg(kBackwardXid), {{SizeOf(head), {0x99, 32, 0x30000}}}), head);
       s.Expect("BC-003", Severity::kNote);
       s.Expect("DDP-001", Severity::kError, {"RDLIST-006", "ULB-004"});
     },
     Fabric::kIwarp},
    {"BC-003", kNearMiss, "", "CB_RECALL without chunks, on a connection whose READs have them.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 100, 0x20000}}}), ReadCall(kXid, 100));
       s.Send(kServer, Msg(kBackwardXid), Recall(kBackwardXid));
       s.Send(kClient, Msg(kBackwardXid), RecallReply(kBackwardXid));
     }},
    {"BC-003", kNearMiss, "long",
     "A Long Call of the server: the session's backchannel takes requests of 65536 bytes, and the threshold is 4096.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s, kConnBackChan, 65536);
       const Buffer call = Recall(kBackwardXid);
       s.Send(kServer, WithReads(Nomsg(kBackwardXid), {{0, {0x99, SizeOf(call), 0x30000}}}));
       s.Read(kClient, 0x99, 0x30000, call);
       s.Send(kClient, Msg(kBackwardXid), RecallReply(kBackwardXid));
     }},

    {"BC-005", kBreaks, "", "CB_NULL on a connection with NFSv3 traffic only.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       CallBackAndAnswer(s);
       s.ExpectOf(8, "BC-005", Severity::kWarning);
     }},
    {"BC-005", kBreaks, "flag", "CREATE_SESSION did not make the connection a backchannel: CONN_BACK_CHAN is not set.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s, 0);
       CallBackAndAnswer(s);
       s.ExpectAt(8, "BC-005", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"BC-005", kBreaks, "bound", "BIND_CONN_TO_SESSION made it a channel of the fore direction only.",
     [](WireScript& s) {
       s.Open();
       BindConnection(s, kForeOrBoth, kFore);
       CallBackAndAnswer(s);
       s.ExpectOf(8, "BC-005", Severity::kWarning);
     }},
    {"BC-005", kNearMiss, "", "CB_NULL after CREATE_SESSION with CONN_BACK_CHAN.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       CallBackAndAnswer(s);
     }},
    {"BC-005", kNearMiss, "bound", "BIND_CONN_TO_SESSION made the connection a channel of both directions.",
     [](WireScript& s) {
       s.Open();
       BindConnection(s, kForeOrBoth, kBoth);
       CallBackAndAnswer(s);
     },
     Fabric::kIwarp},
    {"BC-005", kNearMiss, "midstream", "The session may have been created before the capture began.",
     [](WireScript& s) {
       s.OpenMidstream();
       Greet(s);
       CallBackAndAnswer(s);
       Greet(s, kXid);
     }},
    {"BC-005", kNearMiss, "program", "The backward Call is one of another program, which has ways of its own.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Send(kServer, Msg(kBackwardXid), MakeCall(kBackwardXid, 0x20000001, 1, 0));
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
     }},
    {"BC-005", kNearMiss, "privacy", "CREATE_SESSION may be in a COMPOUND that RPCSEC_GSS privacy hides.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kEarlierXid), GssCall(kEarlierXid, 4, 1, GssService::kPrivacy, Pattern(180)));
       s.Send(kServer, Msg(kEarlierXid), GssReply(kEarlierXid, GssService::kPrivacy, Pattern(140)));
       CallBackAndAnswer(s);
     }},
};

}  // namespace

std::span<const Case> BackwardCases() { return kBackwardCases; }

}  // namespace stag::evidence
