// SPDX-License-Identifier: GPL-2.0-or-later
//
// PVT: the private data of RFC 8797, and the thresholds that it sets. Remote invalidation is in invalidation.cc.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/traffic.h"
#include "protocol/ib/cm.h"

namespace stag::evidence {

using namespace test;
using rpcrdma::PrivateData;

namespace {

Buffer Data(std::initializer_list<uint8_t> bytes) {
  Buffer out;
  for (const uint8_t byte : bytes) out.push_back(std::byte{byte});
  return out;
}
size_t ReplyRoom() { return ib::PrivateDataRoom(ib::CmKind::kReply); }
Buffer GoodData() { return Data({0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3}); }
Buffer WithReserved() { return Data({0xf6, 0xab, 0x0e, 0x18, 1, 0x81, 3, 3}); }

// Private data of the client, of the server.
void FromClient(WireScript& s, const Buffer& data) {
  s.OpenWith(data, GoodData());
  Greet(s);
}
void FromServer(WireScript& s, const Buffer& data) {
  s.OpenWith(GoodData(), data);
  Greet(s);
}
// The frame of the CM REQ or the MPA Request; of the REP or the MPA Reply.
uint64_t RequestFrame(Fabric fabric) { return fabric == Fabric::kRoce ? 1 : 4; }
uint64_t ReplyFrame(Fabric fabric) { return fabric == Fabric::kRoce ? 2 : 5; }

// A WRITE whose data is inline, in a Send of `size` bytes.
void SendCall(WireScript& s, size_t size) {
  const auto data = static_cast<uint32_t>(size - rpcrdma::kMinimumHeader - WriteCall(kXid, 0).size());
  s.Send(kClient, Msg(kXid), Join({WriteCall(kXid, data), Pattern(data)}));
}
// A READLINK, and its Reply in a Send of `size` bytes.
void SendReply(WireScript& s, size_t size) {
  s.Send(kClient, Msg(kXid), ReadlinkCall(kXid));
  const size_t rest = rpcrdma::kMinimumHeader + ReadlinkReply(kXid, 0).size();
  s.Send(kServer, Msg(kXid), ReadlinkReply(kXid, static_cast<uint32_t>(size - rest)));
}

constexpr Case kPrivateDataCases[] = {
    {"PVT-001", kBreaks, "", "The client's identifier is byte-swapped: 18 0e ab f6.",
     [](WireScript& s) {
       FromClient(s, Data({0x18, 0x0e, 0xab, 0xf6, 1, 1, 3, 3}));
       s.ExpectAt(RequestFrame(Fabric::kRoce), "PVT-001");
     }},
    {"PVT-001", kBreaks, "server", "The server's is, in the MPA Reply.",
     [](WireScript& s) {
       FromServer(s, Data({0x18, 0x0e, 0xab, 0xf6, 1, 1, 3, 3}));
       s.ExpectAt(ReplyFrame(Fabric::kIwarp), "PVT-001");
     },
     Fabric::kIwarp},
    {"PVT-001", kNearMiss, "", "18 0e ab f6 stands in private data of another kind: no version follows it.",
     [](WireScript& s) {
       FromClient(s, Data({0x18, 0x0e, 0xab, 0xf6, 0x5a, 0x77, 0x21, 0x90, 0x33}));
     }},
    {"PVT-001", kNearMiss, "offset", "The identifier stands behind five bytes of something else, which it may.",
     [](WireScript& s) {
       FromServer(s, Join({Data({1, 2, 3, 4, 5}), GoodData()}));
     },
     Fabric::kIwarp},

    {"PVT-002", kBreaks, "", "The client's format version is 0.",
     [](WireScript& s) {
       FromClient(s, Data({0xf6, 0xab, 0x0e, 0x18, 0, 1, 3, 3}));
       s.ExpectAt(RequestFrame(Fabric::kRoce), "PVT-002", Severity::kWarning);
     }},
    {"PVT-002", kBreaks, "size", "Two bytes follow the eight of version 1 in the MPA Reply.",
     [](WireScript& s) {
       FromServer(s, Join({GoodData(), Data({3, 3})}));
       s.ExpectAt(ReplyFrame(Fabric::kIwarp), "PVT-002", Severity::kNote);
     },
     Fabric::kIwarp},
    {"PVT-002", kNearMiss, "", "On RoCE zeros follow the eight bytes: the field has a fixed size.",
     [](WireScript& s) { FromServer(s, GoodData()); }},
    {"PVT-002", kNearMiss, "two", "Data of version 2 comes first, then data of version 1, which counts.",
     [](WireScript& s) {
       FromClient(s, Join({Data({0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 3}), GoodData()}));
     }},

    {"PVT-003", kBreaks, "", "The server's flags are 0x81.",
     [](WireScript& s) {
       FromServer(s, WithReserved());
       s.ExpectAt(ReplyFrame(Fabric::kRoce), "PVT-003");
     }},
    {"PVT-003", kBreaks, "client", "The client's are, on iWARP.",
     [](WireScript& s) {
       FromClient(s, WithReserved());
       s.ExpectAt(RequestFrame(Fabric::kIwarp), "PVT-003");
     },
     Fabric::kIwarp},
    {"PVT-003", kNearMiss, "", "Flags of 0x81 in data of version 2, which may define the bit.",
     [](WireScript& s) {
       FromServer(s, Data({0xf6, 0xab, 0x0e, 0x18, 2, 0x81, 3, 3}));
       s.ExpectAt(ReplyFrame(Fabric::kRoce), "PVT-002", Severity::kWarning);
     }},

    {"PVT-004", kBreaks, "", "The server rejects a connection request whose private data has reserved bits set.",
     [](WireScript& s) {
       s.Reject(WithReserved(), GoodData());
       s.ExpectAt(RequestFrame(Fabric::kRoce), "PVT-003");
       s.Expect("PVT-004", Severity::kNote);
     }},
    {"PVT-004", kBreaks, "iwarp", "The same in MPA; a request without them is accepted.",
     [](WireScript& s) {
       s.Reject(WithReserved(), GoodData());
       s.ExpectAt(RequestFrame(Fabric::kIwarp), "PVT-003");
       s.Expect("PVT-004", Severity::kNote);
       WireScript& second = s.Another();
       second.Open();
       Greet(second);
     },
     Fabric::kIwarp},
    {"PVT-004", kNearMiss, "", "The rejected request has no reserved bits set.",
     [](WireScript& s) { s.Reject(GoodData(), GoodData()); }},
    {"PVT-004", kNearMiss, "stale",
     "The request has reserved bits set, but it was rejected as a stale connection, not by the server's program.",
     [](WireScript& s) {
       s.setup.reject_reason = 10;
       s.Reject(WithReserved(), {});
       s.ExpectAt(RequestFrame(Fabric::kRoce), "PVT-003");
     }},
    {"PVT-004", kNearMiss, "accepted", "The server takes the connection.",
     [](WireScript& s) {
       FromClient(s, WithReserved());
       s.ExpectAt(RequestFrame(Fabric::kIwarp), "PVT-003");
     },
     Fabric::kIwarp},

    {"PVT-010", kBreaks, "", "The client sends up to 4096 bytes and the server takes 1024; a Call has 2048.",
     [](WireScript& s) {
       s.Open(k4096, k1024);
       SendCall(s, 2048);
       s.Expect("THRESH-001", Severity::kError, {"PVT-010", "THRESH-006"});
     }},
    {"PVT-010", kBreaks, "reply", "The server sends up to 8192 bytes and the client takes 4096; a Reply has 5000.",
     [](WireScript& s) {
       s.Open(k4096, k8192);
       SendReply(s, 5000);
       s.Expect("THRESH-002", Severity::kError, {"PVT-010", "THRESH-006"});
     },
     Fabric::kIwarp},
    {"PVT-010", kNearMiss, "",
     "The server takes 1024 bytes and sends up to 4096: a Reply of 4096 bytes is not bound by what the server takes.",
     [](WireScript& s) {
       s.Open(k4096, PrivateData{1, 1, 3, 0});
       SendReply(s, 4096);
     }},

    {"PVT-011", kBreaks, "", "The CM REP has no private data; the client sends a Call of 4096 bytes.",
     [](WireScript& s) {
       s.Open(k4096, std::nullopt);
       SendCall(s, 4096);
       s.Expect("THRESH-001", Severity::kError, {"PVT-011", "THRESH-006"});
     }},
    {"PVT-011", kBreaks, "reply", "The MPA Request has private data of another kind; the server sends 2048 bytes.",
     [](WireScript& s) {
       s.OpenWith(Data({0x5a, 0x77, 0x21, 0x90}), Data({0xf6, 0xab, 0x0e, 0x18, 1, 1, 7, 7}));
       SendReply(s, 2048);
       s.Expect("THRESH-002", Severity::kError, {"PVT-011", "THRESH-006"});
     },
     Fabric::kIwarp},
    {"PVT-011", kNearMiss, "", "The CM REP has no private data, and the Call has 1024 bytes.",
     [](WireScript& s) {
       s.Open(k4096, std::nullopt);
       SendCall(s, 1024);
     }},
    {"PVT-011", kNearMiss, "reply-not-seen", "The capture misses the CM REP, which may have had private data.",
     [](WireScript& s) {
       s.Open();
       s.SwapLast();
       s.DropLast();
       SendCall(s, 4096);
     }},

    {"PVT-013", kBreaks, "", "The MPA Request's private data ends after six bytes: f6 ab 0e 18 01 00.",
     [](WireScript& s) {
       FromClient(s, Data({0xf6, 0xab, 0x0e, 0x18, 1, 0}));
       s.ExpectAt(RequestFrame(Fabric::kIwarp), "PVT-013", Severity::kWarning);
     },
     Fabric::kIwarp},
    {"PVT-013", kBreaks, "roce", "The identifier stands in the last seven bytes of the CM REP's private data.",
     [](WireScript& s) {
       FromServer(s, Join({Buffer(ReplyRoom() - 7), Data({0xf6, 0xab, 0x0e, 0x18, 1, 1, 3})}));
       s.ExpectAt(ReplyFrame(Fabric::kRoce), "PVT-013", Severity::kWarning);
     }},
    {"PVT-013", kNearMiss, "", "Six bytes of private data of another kind.",
     [](WireScript& s) {
       FromClient(s, Data({1, 2, 3, 4, 1, 0}));
     },
     Fabric::kIwarp},
    {"PVT-013", kNearMiss, "end", "The eight bytes stand at the very end of the CM REP's private data.",
     [](WireScript& s) {
       FromServer(s, Join({Buffer(ReplyRoom() - 8), GoodData()}));
     }},

    {"PVT-014", kBreaks, "",
     "The server took 4096 bytes on the first connection and takes 1024 on the second, where a Call has 4096.",
     [](WireScript& s) {
       s.Open();
       SendCall(s, 4096);
       s.Close();
       WireScript& second = s.Another();
       second.Open(k4096, k1024);
       SendCall(second, 4096);
       second.Expect("THRESH-001", Severity::kError, {"PVT-010", "PVT-014", "THRESH-006"});
     }},
    {"PVT-014", kBreaks, "reply", "The client does so, and the server's Reply has 2048 bytes.",
     [](WireScript& s) {
       s.Open();
       SendReply(s, 2048);
       s.Close();
       WireScript& second = s.Another();
       second.Open(k1024, k4096);
       SendReply(second, 2048);
       second.Expect("THRESH-002", Severity::kError, {"PVT-010", "PVT-014", "THRESH-006"});
     },
     Fabric::kIwarp},
    {"PVT-014", kNearMiss, "", "The second connection agrees on 4096 bytes again.",
     [](WireScript& s) {
       s.Open();
       SendCall(s, 4096);
       s.Close();
       WireScript& second = s.Another();
       second.Open();
       SendCall(second, 4096);
     }},
    {"PVT-014", kNearMiss, "never",
     "A Call on the second connection is over its threshold, and would have been over the first one's, too.",
     [](WireScript& s) {
       s.Open();
       SendCall(s, 4096);
       s.Close();
       WireScript& second = s.Another();
       second.Open(k8192, k1024);
       SendCall(second, 5000);
       second.Expect("THRESH-001", Severity::kError, {"PVT-010", "THRESH-006"});
     }},

    {"PVT-015", kBreaks, "", "The client's private data says that it sends up to 1024 bytes; a Call has 2048.",
     [](WireScript& s) {
       s.Open(PrivateData{1, 1, 0, 3}, k4096);
       SendCall(s, 2048);
       s.Expect("THRESH-001", Severity::kError, {"PVT-010", "THRESH-006"});
       s.Expect("PVT-015");
     }},
    {"PVT-015", kBreaks, "receive", "The server says that it takes 16384 bytes, and refuses a Call of 8192.",
     [](WireScript& s) {
       s.Open(PrivateData{1, 1, 15, 15}, PrivateData{1, 1, 15, 15});
       SendCall(s, 8192);
       s.Nak(kServer, fabric::NakKind::kInvalidRequest);
       s.Expect("PVT-015");
     }},
    {"PVT-015", kBreaks, "terminate", "The same on iWARP: a Terminate (untagged buffer: message too long).",
     [](WireScript& s) {
       s.Open(PrivateData{1, 1, 15, 15}, PrivateData{1, 1, 15, 15});
       SendCall(s, 8192);
       s.Nak(kServer, fabric::NakKind::kInvalidRequest);
       s.Expect("PVT-015");
     },
     Fabric::kIwarp},
    {"PVT-015", kNearMiss, "", "The refused Call has 8192 bytes; the server says that it takes 4096.",
     [](WireScript& s) {
       s.Open(k8192, k4096);
       SendCall(s, 8192);
       s.Expect("THRESH-001", Severity::kError, {"PVT-010", "THRESH-006"});
       s.Nak(kServer, fabric::NakKind::kInvalidRequest);
     }},
    {"PVT-015", kNearMiss, "rnr", "The server only had no receive at the moment: RNR NAK, and the Call comes again.",
     [](WireScript& s) {
       s.Open();
       const uint64_t before = s.frame();
       SendCall(s, 4096);
       const uint64_t after = s.frame();
       s.Nak(kServer, fabric::NakKind::kRnr);
       s.Repeat(before + 1, after);
     }},

};

}  // namespace

std::span<const Case> PrivateDataCases() { return kPrivateDataCases; }

}  // namespace stag::evidence
