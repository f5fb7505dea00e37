// SPDX-License-Identifier: GPL-2.0-or-later
//
// MSGP and DONE: what only RFC 5666 speaks.
#include "pcaps/generator/cases.h"
#include "tests/support/nfs_messages.h"

namespace stag::evidence {

using namespace test;

namespace {

// GETATTR and its Reply, which grants so many credits.
void Call(WireScript& s, uint32_t xid) { s.Send(kClient, Msg(xid), GetattrCall(xid)); }
void Reply(WireScript& s, uint32_t xid, uint32_t granted = 32) {
  s.Send(kServer, MakeHeader(rpcrdma::kMsg, xid, granted), GetattrReply(xid));
}
void Exchanges(WireScript& s, uint32_t first, uint32_t last) {
  for (uint32_t xid = first; xid <= last; ++xid) Call(s, xid), Reply(s, xid);
}
void ErrChunk(WireScript& s, Side from, uint32_t xid) {
  rpcrdma::Header header = MakeHeader(rpcrdma::kError, xid);
  header.err = rpcrdma::kErrChunk;
  s.Send(from, header);
}

// RDMA_MSGP without anything to pad.
void Msgp(WireScript& s, Side from, uint32_t xid, const Buffer& message) {
  s.Send(from, MakeHeader(rpcrdma::kMsgp, xid), message);
}

// WRITE of 512 bytes under rdma_align 128 and rdma_thresh 256, with so much padding before the data. The data would
// begin at byte 96 of the RPC message: 32 bytes bring it to 128.
void PaddedWrite(WireScript& s, size_t padding, uint32_t align = 128) {
  constexpr uint32_t kXid = 5, kCount = 512;
  rpcrdma::Header header = MakeHeader(rpcrdma::kMsgp, kXid);
  header.align = align;
  header.thresh = 256;
  s.Send(kClient, header, Join({WriteCall(kXid, kCount), Buffer(padding), Pattern(kCount)}));
}

// READ whose data the client is to pull from memory of the server (draft-08 section 3.5).
void ReadByReadList(WireScript& s, uint32_t xid, uint32_t granted = 32) {
  s.Send(kClient, Msg(xid), ReadCall(xid, 100));
  rpcrdma::Header header = MakeHeader(rpcrdma::kMsg, xid, granted);
  AddRead(header, static_cast<uint32_t>(ReadReply(xid, 0, true).size()), {xid, 100, 0x1000});
  s.Send(kServer, header, ReadReply(xid, 100, true));
}
void Pull(WireScript& s, uint32_t handle) { s.Read(kClient, handle, 0x1000, Pattern(100)); }
void Done(WireScript& s, uint32_t xid) { s.Send(kClient, MakeHeader(rpcrdma::kDone, xid)); }

constexpr Case kLegacyCases[] = {
    {"MSGP-001", kBreaks, "", "A Call is sent as RDMA_MSGP; the server refuses it, as it should.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       Msgp(s, kClient, 5, GetattrCall(5));
       s.Expect("MSGP-001");
       ErrChunk(s, kServer, 5);
     }},
    {"MSGP-001", kNearMiss, "", "The same between peers that both speak RFC 5666: the server answers with a Reply.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       Exchanges(s, 1, 1);
       Msgp(s, kClient, 5, GetattrCall(5));
       Reply(s, 5);
     }},

    {"MSGP-002", kBreaks, "",
     "An RDMA_MSGP Call is answered with a Reply, by a server that has sent RFC 8797 private data.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       Msgp(s, kClient, 5, GetattrCall(5));
       s.Expect("MSGP-001");
       Reply(s, 5);
       s.Expect("MSGP-002", Severity::kNote);
     }},
    {"MSGP-002", kNearMiss, "", "It is answered ERR_CHUNK.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       Msgp(s, kClient, 5, GetattrCall(5));
       s.Expect("MSGP-001");
       ErrChunk(s, kServer, 5);
     }},

    {"MSGP-003", kBreaks, "",
     "A Reply comes as RDMA_MSGP, and the client answers it with RDMA_ERROR. That no Call of the server is meant is "
     "known when the server is heard again.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       Call(s, 5);
       Msgp(s, kServer, 5, GetattrReply(5));
       s.Expect("MSGP-001");
       ErrChunk(s, kClient, 5);
       Exchanges(s, 6, 6);
       s.ExpectOf(12, "MSGP-003");
     }},
    {"MSGP-003", kNearMiss, "", "The client drops it and goes on.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       Call(s, 5);
       Msgp(s, kServer, 5, GetattrReply(5));
       s.Expect("MSGP-001");
       Exchanges(s, 6, 6);
     }},

    {"MSGP-004", kBreaks, "", "An RDMA_MSGP that ends with rdma_align: rdma_thresh and the lists are missing.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       s.SendBytes(kClient, Words({5, 1, 32, rpcrdma::kMsgp, 128}));
       s.Expect("MSGP-004");
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"MSGP-004", kNearMiss, "", "The smallest header of RDMA_MSGP, 36 bytes, and its Call.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       Msgp(s, kClient, 5, GetattrCall(5));
       Reply(s, 5);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"MSGP-005", kBreaks, "",
     "16 bytes of padding before the data of a WRITE: neither 128 nor any other place to align to.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       PaddedWrite(s, 16);
       s.Expect("MSGP-005", Severity::kNote);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"MSGP-005", kNearMiss, "", "32 bytes: the data begins at byte 128 of the RPC message.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       PaddedWrite(s, 32);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"MSGP-005", kNearMiss, "send", "124 bytes: it begins at byte 256 of the Send, which may be meant as well.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       PaddedWrite(s, 124);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"DONE-001", kBreaks, "", "RDMA_DONE after an ordinary Reply.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       Done(s, 1);
       s.Expect("DONE-001");
     }},
    {"DONE-001", kNearMiss, "",
     "RDMA_DONE after the data of a Reply with a Read list was pulled, between legacy peers.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       ReadByReadList(s, 1);
       Pull(s, 1);
       Done(s, 1);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"DONE-002", kBreaks, "", "RDMA_DONE is answered with RDMA_ERROR.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       Done(s, 1);
       s.Expect("DONE-001");
       ErrChunk(s, kServer, 1);
       s.Expect("DONE-002");
     }},
    {"DONE-002", kNearMiss, "", "It is not answered.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       Done(s, 1);
       s.Expect("DONE-001");
       Exchanges(s, 2, 2);
     }},

    {"DONE-003", kBreaks, "",
     "The data of a Reply with a Read list was pulled; four later Calls are answered, no RDMA_DONE.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       ReadByReadList(s, 1);
       Pull(s, 1);
       Exchanges(s, 2, 5);
       s.ExpectOf(6, "DONE-003", Severity::kWarning);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"DONE-003", kNearMiss, "", "RDMA_DONE comes, but late.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       ReadByReadList(s, 1);
       Pull(s, 1);
       Exchanges(s, 2, 4);
       Done(s, 1);
       Exchanges(s, 5, 8);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"DONE-004", kBreaks, "", "An RDMA_DONE of 20 bytes.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       ReadByReadList(s, 1);
       Pull(s, 1);
       s.SendBytes(kClient, Words({1, 1, 32, rpcrdma::kDone, 0}));
       s.Expect("DONE-004", Severity::kWarning);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"DONE-004", kNearMiss, "", "Four words.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       ReadByReadList(s, 1);
       Pull(s, 1);
       s.SendBytes(kClient, Words({1, 1, 32, rpcrdma::kDone}));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"DONE-005", kBreaks, "",
     "Two credits, one of them taken by an RDMA_DONE, and two Calls. Proven when the server is heard again.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       ReadByReadList(s, 1, 2);
       Pull(s, 1);
       Done(s, 1);
       Call(s, 2);
       Call(s, 3);
       Reply(s, 2, 2);
       s.ExpectOf(14, "DONE-005", Severity::kWarning);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"DONE-005", kNearMiss, "", "The second Call waits for the first Reply, which frees what RDMA_DONE took.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       ReadByReadList(s, 1, 2);
       Pull(s, 1);
       Done(s, 1);
       Call(s, 2);
       Reply(s, 2, 2);
       Call(s, 3);
       Reply(s, 3, 2);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"DONE-006", kBreaks, "", "A Reply with a Read list grants one credit, which RDMA_DONE will take.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       ReadByReadList(s, 1, 1);
       s.Expect("DONE-006", Severity::kNote);
       Pull(s, 1);
       Done(s, 1);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"DONE-006", kNearMiss, "", "It grants two.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       ReadByReadList(s, 1, 2);
       Pull(s, 1);
       Done(s, 1);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"DONE-007", kBreaks, "", "The last Reply that the client waits for grants nothing, while an RDMA_DONE is due.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       ReadByReadList(s, 1, 4);
       Call(s, 2);
       Reply(s, 2, 0);
       s.Expect("CRED-011", Severity::kError, {"DONE-007"});
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"DONE-007", kNearMiss, "", "Nothing is granted while another Reply is to come, which grants again.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       ReadByReadList(s, 1, 4);
       Call(s, 2);
       Call(s, 3);
       Reply(s, 2, 0);
       Reply(s, 3, 4);
       Pull(s, 1);
       Done(s, 1);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"DONE-008", kBreaks, "", "RDMA_DONE is not answered, though four later Calls are.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       Done(s, 1);
       s.Expect("DONE-001");
       Exchanges(s, 2, 5);
       s.ExpectOf(8, "DONE-008", Severity::kNote);
     },
     Fabric::kRoce, Profile::kRfc5666bis},
    {"DONE-008", kNearMiss, "", "It is answered ERR_CHUNK, as the draft of 2016 asks.",
     [](WireScript& s) {
       s.Open();
       Exchanges(s, 1, 1);
       Done(s, 1);
       s.Expect("DONE-001");
       ErrChunk(s, kServer, 1);
       Exchanges(s, 2, 5);
     },
     Fabric::kRoce, Profile::kRfc5666bis},
};

}  // namespace

std::span<const Case> LegacyCases() { return kLegacyCases; }

}  // namespace stag::evidence
