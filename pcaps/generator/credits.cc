// SPDX-License-Identifier: GPL-2.0-or-later
//
// CRED: requests, grants and outstanding Calls. The receives behind them are in receives.cc.
#include "pcaps/generator/backchannel.h"
#include "pcaps/generator/cases.h"
#include "pcaps/generator/credit_calls.h"

namespace stag::evidence {

using namespace test;

namespace {

// Grants that change with each of so many exchanges.
void Grants(WireScript& s, uint32_t first, int change, uint32_t count) {
  s.Open();
  for (uint32_t i = 0; i < count; ++i) {
    CallFor(s, kXid + i);
    Grant(s, kXid + i, first + i * static_cast<uint32_t>(change));
  }
}

rpcrdma::Header ErrorGranting(uint32_t xid, uint32_t granted) {
  rpcrdma::Header header = ErrChunk(xid);
  header.credit = granted;
  return header;
}

// Under RFC 5666: a READ whose data the client pulls; then RDMA_DONE.
void PullAndDone(WireScript& s, uint32_t credit_of_done) {
  s.Open(std::nullopt, std::nullopt);
  s.Send(kClient, Msg(kXid), ReadCall(kXid, 100));
  const Buffer reply = ReadReply(kXid, 100, true);
  s.Send(kServer, WithReads(Msg(kXid), {{SizeOf(reply), {0x99, 100, 0x30000}}}), reply);
  s.Read(kClient, 0x99, 0x30000, Pattern(100));
  s.Send(kClient, MakeHeader(rpcrdma::kDone, kXid, credit_of_done));
}

constexpr Case kCreditsCases[] = {
    {"CRED-001", kBreaks, "", "A Call requests no credits.",
     [](WireScript& s) {
       BeginWith(s, 32);
       CallFor(s, kXid, 0);
       s.Expect("CRED-001", Severity::kNote);
     }},
    {"CRED-001", kBreaks, "backward", "So does a Call of the server, on iWARP.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       s.Send(kServer, MakeHeader(rpcrdma::kMsg, kBackwardXid, 0), CallbackNull());
       s.Expect("CRED-001", Severity::kNote);
     },
     Fabric::kIwarp},
    {"CRED-001", kNearMiss, "", "It is RDMA_DONE whose credit word is 0: it means nothing there.",
     [](WireScript& s) { PullAndDone(s, 0); }, Fabric::kRoce, Profile::kRfc5666},

    {"CRED-002", kBreaks, "", "A Reply grants no credits.",
     [](WireScript& s) {
       BeginWith(s, 32);
       CallFor(s, kXid);
       Grant(s, kXid, 0);
       s.Expect("CRED-002");
     }},
    {"CRED-002", kBreaks, "rfc5666bis", "The same under rfc5666bis, while another Call is outstanding.",
     [](WireScript& s) {
       BeginWith(s, 32);
       Calls(s, kXid, 2);
       Grant(s, kXid, 0);
       s.Expect("CRED-002");
     },
     Fabric::kIwarp, Profile::kRfc5666bis},
    {"CRED-002", kNearMiss, "", "A Reply grants one.",
     [](WireScript& s) {
       BeginWith(s, 32);
       CallFor(s, kXid);
       Grant(s, kXid, 1);
     }},
    {"CRED-002", kNearMiss, "call", "The Call requests none: CRED-001.",
     [](WireScript& s) {
       BeginWith(s, 32);
       CallFor(s, kXid, 0);
       s.Expect("CRED-001", Severity::kNote);
       Grant(s, kXid, 1);
     },
     Fabric::kIwarp},
    {"CRED-002", kNearMiss, "rfc5666", "Under RFC 5666 a Reply may grant none while another Call is outstanding.",
     [](WireScript& s) {
       BeginWith(s, 32);
       Calls(s, kXid, 2);
       Grant(s, kXid, 0);
       Grant(s, kXid + 1, 32);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"CRED-003", kBreaks, "",
     "Three Calls are outstanding, and two are granted. Known when the server, heard again, had not answered one.",
     [](WireScript& s) {
       BeginWith(s, 2);
       Calls(s, kXid, 3);
       Grant(s, kXid, 2);
       s.ExpectOf(12, "CRED-003");
     }},
    {"CRED-003", kBreaks, "iwarp", "Two are outstanding, and one is granted.",
     [](WireScript& s) {
       BeginWith(s, 1);
       Calls(s, kXid, 2);
       Grant(s, kXid, 1);
       s.ExpectAt(9, "CRED-003");
     },
     Fabric::kIwarp},
    {"CRED-003", kNearMiss, "",
     "Three Calls are outstanding when a Reply lowers the grant to one: they were right when sent.",
     [](WireScript& s) {
       BeginWith(s, 4);
       Calls(s, kXid, 4);
       for (uint32_t i = 0; i < 4; ++i) Grant(s, kXid + i, 1);
     }},
    {"CRED-003", kBreaks, "acknowledged",
     "The grant falls from 4 to 1, and the client's adapter acknowledges that Reply. The second Call behind it makes "
     "three outstanding: a warning, for it may have been posted before the client looked at the Reply. Of the first "
     "the capture may have swapped the frame with the acknowledgment.",
     [](WireScript& s) {
       BeginWith(s, 4);
       Calls(s, kXid, 2);
       Grant(s, kXid, 1);
       Calls(s, kXid + 2, 2);
       const uint64_t call = s.frame();
       Grant(s, kXid + 1, 1);
       s.ExpectOf(call, "CRED-003", Severity::kWarning);
     }},
    {"CRED-003", kBreaks, "acknowledged-iwarp",
     "The same; the TCP segment with the Call acknowledges the Reply, and that nothing else came from the server.",
     [](WireScript& s) {
       BeginWith(s, 4);
       Calls(s, kXid, 2);
       Grant(s, kXid, 1);
       CallFor(s, kXid + 2);
       s.Expect("CRED-003", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"CRED-003", kNearMiss, "crossing",
     "The grant falls from 4 to 1, and a Call more comes before the Reply is acknowledged: it may have passed the "
     "Reply on the way.",
     [](WireScript& s) {
       BeginWith(s, 4);
       Calls(s, kXid, 2);
       Grant(s, kXid, 1);
       CallFor(s, kXid + 2);
       s.SwapLast();  // the acknowledgment and the Call
       Grant(s, kXid + 1, 1);
     }},
    {"CRED-003", kNearMiss, "repeated", "The packet of the second of two Calls comes again: the link repeated it.",
     [](WireScript& s) {
       BeginWith(s, 2);
       Calls(s, kXid, 2);
       s.Repeat();
       Grant(s, kXid, 2);
     }},
    {"CRED-003", kNearMiss, "midstream", "The capture begins with Calls outstanding, and their number is not known.",
     [](WireScript& s) {
       s.OpenMidstream();
       Grant(s, kEarlierXid, 1);
       Calls(s, kXid, 2);
       Grant(s, kXid, 1);
       CallFor(s, kXid + 2);
     }},

    {"CRED-004", kBreaks, "", "The client requests two credits, 32 are granted, and three Calls are outstanding.",
     [](WireScript& s) {
       BeginWith(s, 32, 2);
       for (uint32_t i = 0; i < 3; ++i) CallFor(s, kXid + i, 2);
       Grant(s, kXid, 32);
       s.ExpectOf(12, "CRED-004", Severity::kWarning);
     }},
    {"CRED-004", kBreaks, "iwarp", "It requests one, and two are outstanding.",
     [](WireScript& s) {
       BeginWith(s, 32, 1);
       for (uint32_t i = 0; i < 2; ++i) CallFor(s, kXid + i, 1);
       Grant(s, kXid, 32);
       s.ExpectAt(9, "CRED-004", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"CRED-004", kNearMiss, "", "The client lowers its request to two while three Calls are outstanding.",
     [](WireScript& s) {
       BeginWith(s, 32);
       Calls(s, kXid, 3);
       CallFor(s, kXid + 3, 2);
       Grant(s, kXid, 32);
     }},

    {"CRED-005", kBreaks, "", "Two Calls follow each other before the first Reply. Known when the server is heard.",
     [](WireScript& s) {
       s.Open();
       Calls(s, kXid, 2);
       Grant(s, kXid, 32);
       s.ExpectOf(6, "CRED-005");
     }},
    {"CRED-005", kBreaks, "error", "A Call follows an RDMA_ERROR, before any Reply told of credits: a note.",
     [](WireScript& s) {
       s.Open();
       CallFor(s, kXid);
       s.Send(kServer, ErrChunk(kXid));
       CallFor(s, kXid + 1);
       Grant(s, kXid + 1, 32);
       s.ExpectAt(8, "CRED-005", Severity::kNote);
     },
     Fabric::kIwarp},
    {"CRED-005", kBreaks, "backward", "Two Calls of the server follow each other before the client answered any.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       for (uint32_t i = 0; i < 2; ++i) s.Send(kServer, Msg(kBackwardXid + i), CallbackNull(kBackwardXid + i));
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
       s.ExpectOf(10, "CRED-005");
     }},
    {"CRED-005", kNearMiss, "", "The packet of the first Call comes twice: the link repeated it.",
     [](WireScript& s) {
       s.Open();
       CallFor(s, kXid);
       s.Repeat();
       Grant(s, kXid, 32);
     }},
    {"CRED-005", kNearMiss, "midstream", "The capture begins after the set-up, with two Calls.",
     [](WireScript& s) {
       s.OpenMidstream();
       Calls(s, kXid, 2);
       Grant(s, kXid, 32);
     }},
    {"CRED-005", kNearMiss, "backward",
     "The server's first Call crosses Calls of the client: each direction has its own count.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       CallFor(s, kXid);
       s.Send(kServer, Msg(kBackwardXid), CallbackNull());
       CallFor(s, kXid + 1);
       Grant(s, kXid, 32);
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
     },
     Fabric::kIwarp},

    {"CRED-006", kBreaks, "", "Nine Replies grant 32, 31, 30, and so on to 24, like a counter.",
     [](WireScript& s) {
       Grants(s, 32, -1, 9);
       s.Expect("CRED-006", Severity::kNote);
     }},
    {"CRED-006", kNearMiss, "", "The grant falls by one seven times, and then stays.",
     [](WireScript& s) {
       Grants(s, 32, -1, 8);
       CallFor(s, kXid + 8);
       Grant(s, kXid + 8, 25);
     }},
    {"CRED-006", kNearMiss, "rises", "The grant rises by one with each of nine Replies, which it may.",
     [](WireScript& s) { Grants(s, 8, 1, 9); }, Fabric::kIwarp},

    {"CRED-009", kBreaks, "",
     "A Reply comes a second time, when no Call is outstanding. Known when the client is heard.",
     [](WireScript& s) {
       BeginWith(s, 32);
       Grant(s, kEarlierXid, 32);
       CallFor(s, kXid);
       s.ExpectOf(8, "XID-004", Severity::kWarning, {"CRED-009"});
     }},
    {"CRED-009", kBreaks, "unknown", "A Reply comes to nobody's Call.",
     [](WireScript& s) {
       BeginWith(s, 32);
       Grant(s, kXid + 9, 32);
       CallFor(s, kXid);
       s.ExpectAt(8, "XID-002", Severity::kWarning, {"CRED-009"});
     },
     Fabric::kIwarp},
    {"CRED-009", kNearMiss, "", "The server's Send, when no Call of the client is outstanding, is a Call of its own.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       s.Send(kServer, Msg(kBackwardXid), CallbackNull());
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
     }},
    {"CRED-009", kNearMiss, "error",
     "An RDMA_ERROR of xid 0 (XID-002): its sender may not have been able to read the Call's.",
     [](WireScript& s) {
       BeginWith(s, 32);
       s.Send(kServer, ErrChunk(0));
       CallFor(s, kXid);
       s.ExpectAt(8, "XID-002", Severity::kWarning, {"ERR-003"});
     },
     Fabric::kIwarp},

    {"CRED-010", kBreaks, "", "An RDMA_ERROR states a grant of 0, after 32 were granted.",
     [](WireScript& s) {
       BeginWith(s, 32);
       CallFor(s, kXid);
       s.Send(kServer, ErrorGranting(kXid, 0));
       s.Expect("CRED-010", Severity::kNote, {"CRED-002"});
     }},
    {"CRED-010", kBreaks, "first", "It is the first message to the client.",
     [](WireScript& s) {
       s.Open();
       CallFor(s, kXid);
       s.Send(kServer, ErrorGranting(kXid, 0));
       s.Expect("CRED-010", Severity::kNote, {"CRED-002"});
     },
     Fabric::kIwarp},
    {"CRED-010", kNearMiss, "", "The RDMA_ERROR states the grant, and another one: 3, which three Calls use.",
     [](WireScript& s) {
       BeginWith(s, 1);
       CallFor(s, kXid);
       s.Send(kServer, ErrorGranting(kXid, 3));
       Calls(s, kXid + 1, 3);
       Grant(s, kXid + 1, 3);
     }},
    {"CRED-010", kNearMiss, "swapped",
     "The capture swapped two Replies. The one with the later PSN grants 3, and counts; three Calls use that.",
     [](WireScript& s) {
       BeginWith(s, 2);
       Calls(s, kXid, 2);
       Grant(s, kXid, 1);
       Grant(s, kXid + 1, 3);
       s.SwapLast();
       Calls(s, kXid + 2, 3);
       Grant(s, kXid + 2, 3);
     },
     Fabric::kIwarp},

    {"CRED-011", kBreaks, "", "Under RFC 5666 the Reply to the last outstanding Call grants no credits.",
     [](WireScript& s) {
       BeginWith(s, 32);
       CallFor(s, kXid);
       Grant(s, kXid, 0);
       s.Expect("CRED-011");
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CRED-011", kNearMiss, "", "A Reply grants none while another Call is outstanding; that one's Reply grants 32.",
     [](WireScript& s) {
       BeginWith(s, 32);
       Calls(s, kXid, 2);
       Grant(s, kXid, 0);
       Grant(s, kXid + 1, 32);
     },
     Fabric::kIwarp, Profile::kRfc5666},

};

}  // namespace

std::span<const Case> CreditCases() { return kCreditsCases; }

}  // namespace stag::evidence
