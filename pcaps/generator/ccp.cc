// SPDX-License-Identifier: GPL-2.0-or-later
//
// CCP: the Connection Configuration Protocol of RFC 5666, and MSGP-006, which goes by what it agreed on.
#include "pcaps/generator/cases.h"
#include "tests/support/nfs_messages.h"

namespace stag::evidence {

using namespace test;

namespace {

constexpr uint32_t kConf = 1;  // the xid of CONF_RDMA

// CONF_RDMA with RPCSEC_GSS: version 1, DATA, sequence 1, service none, no handle.
Buffer Protected(uint32_t xid, const Buffer& arguments) {
  const Buffer plain = MakeCall(xid, rpcrdma::kCcpProgramDraft, 1, rpcrdma::kCcpConfRdma);
  return Join({Buffer(plain.begin(), plain.begin() + 24), Words({rpc::kRpcsecGss}), Opaque(Words({1, 0, 1, 1, 0})),
               Words({0, 0}), arguments});
}
void Configure(WireScript& s, const Buffer& arguments, const Buffer& results) {
  s.Send(kClient, Msg(kConf), Protected(kConf, arguments));
  s.Send(kServer, Msg(kConf), MakeReply(kConf, results));
}
// maxcall_sendsize, maxreply_sendsize, maxrdmaread; maxcall_sendsize, align, maxrdmaread.
Buffer Arguments(uint32_t call, uint32_t reply, uint32_t reads) { return Words({call, reply, reads}); }
Buffer Results(uint32_t call, uint32_t align, uint32_t reads) { return Words({call, align, reads}); }

void OpenAndConfigure(WireScript& s, const Buffer& arguments, const Buffer& results) {
  s.Open(std::nullopt, std::nullopt);
  Configure(s, arguments, results);
}

// WRITE of `count` bytes, inline.
Buffer InlineWrite(uint32_t xid, uint32_t count) { return Join({WriteCall(xid, count), Pattern(count)}); }

// WRITE of three segments of 1000 bytes.
rpcrdma::Header WriteHeader(uint32_t xid) {
  rpcrdma::Header header = Msg(xid);
  const auto position = static_cast<uint32_t>(WriteCall(xid, 0).size());
  AddRead(header, position, {0x71, 1000, 0x1000});
  AddRead(header, position, {0x72, 1000, 0x9000});
  AddRead(header, position, {0x73, 1000, 0xa000});
  return header;
}

constexpr Case kCcpCases[] = {
    {"CCP-001", kBreaks, "", "A Call of the Connection Configuration Protocol under RFC 8166, which has removed it.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kConf), Protected(kConf, Arguments(4096, 4096, 4)));
       s.Expect("CCP-001", Severity::kNote);
       s.Send(kServer, Msg(kConf), MakeReply(kConf, {}, rpc::kProgUnavail));
     }},
    {"CCP-001", kBreaks, "procedure", "Procedure 2, which draft-08 does not have.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       s.Send(kClient, Msg(kConf), MakeCall(kConf, rpcrdma::kCcpProgramDraft, 1, 2));
       s.Expect("CCP-001", Severity::kNote);
       s.Send(kServer, Msg(kConf), MakeReply(kConf, {}, rpc::kProcUnavail));
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CCP-001", kNearMiss, "", "CONF_RDMA between legacy peers.",
     [](WireScript& s) { OpenAndConfigure(s, Arguments(4096, 4096, 4), Results(4096, 0, 4)); }, Fabric::kRoce,
     Profile::kRfc5666},

    {"CCP-002", kBreaks, "", "CONF_RDMA with two words of arguments.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       s.Send(kClient, Msg(kConf), Protected(kConf, Words({4096, 4096})));
       s.Expect("CCP-002");
       s.Send(kServer, Msg(kConf), MakeReply(kConf, {}, rpc::kGarbageArgs));
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CCP-002", kNearMiss, "", "Three.",
     [](WireScript& s) { OpenAndConfigure(s, Arguments(4096, 4096, 4), Results(4096, 0, 4)); }, Fabric::kRoce,
     Profile::kRfc5666},

    {"CCP-003", kBreaks, "", "CONF_RDMA returns two words.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 4096, 4), Words({4096, 0}));
       s.Expect("CCP-003");
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CCP-003", kNearMiss, "", "It fails, and returns nothing.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       s.Send(kClient, Msg(kConf), Protected(kConf, Arguments(4096, 4096, 4)));
       s.Send(kServer, Msg(kConf), MakeReply(kConf, {}, rpc::kProgUnavail));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"CCP-004", kBreaks, "",
     "CONF_RDMA follows another Call before the first Reply: CRED-005 is the same event. Proven with the Reply.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       s.Send(kClient, Msg(7), GetattrCall(7));
       s.Send(kClient, Msg(kConf), Protected(kConf, Arguments(4096, 4096, 4)));
       s.Send(kServer, Msg(7), GetattrReply(7));
       s.ExpectOf(6, "CRED-005", Severity::kError, {"CCP-004"});
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CCP-004", kNearMiss, "", "It comes again later, beside another Call: the credits are known by then.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 4096, 4), Results(4096, 0, 4));
       s.Send(kClient, Msg(7), GetattrCall(7));
       s.Send(kClient, Msg(8), Protected(8, Arguments(4096, 4096, 8)));
       s.Send(kServer, Msg(7), GetattrReply(7));
       s.Send(kServer, Msg(8), MakeReply(8, Results(4096, 0, 4)));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"CCP-005", kBreaks, "", "CONF_RDMA set Calls of 2048 bytes; an inline Call has 2096 without its transport header.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 4096, 4), Results(2048, 0, 4));
       s.Send(kClient, Msg(7), InlineWrite(7, 2000));
       s.Expect("CCP-005");
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CCP-005", kNearMiss, "", "2020 bytes, 2048 with the transport header.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 4096, 4), Results(2048, 0, 4));
       s.Send(kClient, Msg(7), InlineWrite(7, 1924));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"CCP-006", kBreaks, "",
     "The client takes Replies of 2048 bytes; an inline Reply has more without its transport header.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 2048, 4), Results(4096, 0, 4));
       s.Send(kClient, Msg(7), ReadCall(7, 2100));
       s.Expect("REPLY-001", Severity::kWarning);  // it should have offered a Reply chunk
       s.Send(kServer, Msg(7), ReadReply(7, 2100, false));
       s.Expect("CCP-006");
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CCP-006", kNearMiss, "", "A Reply of 1900 bytes of data.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 2048, 4), Results(4096, 0, 4));
       s.Send(kClient, Msg(7), ReadCall(7, 1900));
       s.Send(kServer, Msg(7), ReadReply(7, 1900, false));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"CCP-007", kBreaks, "", "The client serves one RDMA Read at a time; the server has three in flight.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 4096, 1), Results(4096, 0, 4));
       s.Send(kClient, WriteHeader(7), WriteCall(7, 3000));
       s.ReadRequest(kServer, 0x71, 0x1000, 1000);
       s.ReadRequest(kServer, 0x72, 0x9000, 1000);
       s.ReadRequest(kServer, 0x73, 0xa000, 1000);
       s.ReadResponse(kClient, 0x71, 0x1000, Pattern(1000));
       s.ExpectOf(12, "CCP-007", Severity::kWarning);
       s.ReadResponse(kClient, 0x72, 0x9000, Pattern(1000));
       s.ReadResponse(kClient, 0x73, 0xa000, Pattern(1000));
       s.Send(kServer, Msg(7), WriteReply(7, 3000));
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CCP-007", kNearMiss, "", "One after the other.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 4096, 1), Results(4096, 0, 4));
       s.Send(kClient, WriteHeader(7), WriteCall(7, 3000));
       s.Read(kServer, 0x71, 0x1000, Pattern(1000));
       s.Read(kServer, 0x72, 0x9000, Pattern(1000));
       s.Read(kServer, 0x73, 0xa000, Pattern(1000));
       s.Send(kServer, Msg(7), WriteReply(7, 3000));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"CCP-008", kBreaks, "", "The client says that it serves no RDMA Reads, and sends a Call with a Read list.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 4096, 0), Results(4096, 0, 4));
       s.Send(kClient, WriteHeader(7), WriteCall(7, 3000));
       s.Expect("CCP-008", Severity::kWarning);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CCP-008", kNearMiss, "", "The same data inline.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 4096, 0), Results(4096, 0, 4));
       s.Send(kClient, Msg(7), InlineWrite(7, 2000));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"CCP-009", kBreaks, "", "CONF_RDMA with AUTH_NONE.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       s.Send(kClient, Msg(kConf),
              MakeCall(kConf, rpcrdma::kCcpProgramDraft, 1, rpcrdma::kCcpConfRdma, Arguments(4096, 4096, 4)));
       s.Expect("CCP-009", Severity::kWarning);
       s.Send(kServer, Msg(kConf), MakeReply(kConf, Results(4096, 0, 4)));
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CCP-009", kNearMiss, "", "With RPCSEC_GSS.",
     [](WireScript& s) { OpenAndConfigure(s, Arguments(4096, 4096, 4), Results(4096, 0, 4)); }, Fabric::kRoce,
     Profile::kRfc5666},

    {"CCP-010", kBreaks, "", "The server recommends an alignment of 3000.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 4096, 4), Results(4096, 3000, 4));
       s.Expect("CCP-010", Severity::kNote);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CCP-010", kNearMiss, "", "None at all: 0.",
     [](WireScript& s) { OpenAndConfigure(s, Arguments(4096, 4096, 4), Results(4096, 0, 4)); }, Fabric::kRoce,
     Profile::kRfc5666},

    {"CCP-011", kBreaks, "", "The very first Call finds no receive (RNR NAK): one must be there before any grant.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       s.Send(kClient, Msg(7), GetattrCall(7));
       s.Nak(kServer, fabric::NakKind::kRnr);
       s.Expect("CCP-011", Severity::kWarning);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"CCP-011", kNearMiss, "", "An RNR NAK after the client has sent more Calls than it was granted.",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       s.Send(kClient, Msg(7), GetattrCall(7));
       s.Send(kServer, MakeHeader(rpcrdma::kMsg, 7, 1), GetattrReply(7));
       s.Send(kClient, Msg(8), GetattrCall(8));
       s.Send(kClient, Msg(9), GetattrCall(9));
       s.Nak(kServer, fabric::NakKind::kRnr);
       s.Send(kServer, MakeHeader(rpcrdma::kMsg, 8, 1), GetattrReply(8));
       s.ExpectOf(10, "CRED-003");
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"MSGP-006", kBreaks, "", "RDMA_MSGP pads to 128 bytes where the server recommended 4096.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 4096, 4), Results(4096, 4096, 4));
       rpcrdma::Header header = MakeHeader(rpcrdma::kMsgp, 7);
       header.align = 128;
       header.thresh = 1024;
       s.Send(kClient, header, GetattrCall(7));
       s.Expect("MSGP-006", Severity::kNote);
       s.Send(kServer, Msg(7), GetattrReply(7));
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"MSGP-006", kNearMiss, "", "It pads to 4096.",
     [](WireScript& s) {
       OpenAndConfigure(s, Arguments(4096, 4096, 4), Results(4096, 4096, 4));
       rpcrdma::Header header = MakeHeader(rpcrdma::kMsgp, 7);
       header.align = 4096;
       header.thresh = 1024;
       s.Send(kClient, header, GetattrCall(7));
       s.Send(kServer, Msg(7), GetattrReply(7));
     },
     Fabric::kRoce, Profile::kRfc5666},
};

}  // namespace

std::span<const Case> CcpCases() { return kCcpCases; }

}  // namespace stag::evidence
