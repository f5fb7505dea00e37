// SPDX-License-Identifier: GPL-2.0-or-later
//
// HDR: the layout of the transport header. Most captures are a set-up and one Send: nothing else is needed.
#include "pcaps/generator/backchannel.h"
#include "pcaps/generator/cases.h"
#include "pcaps/generator/traffic.h"

namespace stag::evidence {

using namespace test;

namespace {

// Where the data of a WriteCall belongs: behind its count, at the end.
uint32_t WritePosition() { return static_cast<uint32_t>(WriteCall(kXid, 0).size()); }

void OpenAndSend(WireScript& s, const Buffer& bytes) {
  s.Open();
  s.SendBytes(kClient, bytes);
}

constexpr Case kHdrCases[] = {
    {"HDR-001", kBreaks, "", "A Call whose transport header is little-endian: rdma_vers reads 0x01000000.",
     [](WireScript& s) {
       OpenAndSend(s, Join({Words({0x4d3c2b1a, 0x01000000, 0x20000000, 0, 0, 0, 0}), GetattrCall(kXid)}));
       s.Expect("HDR-001");
     }},
    {"HDR-001", kBreaks, "proc", "Only rdma_proc is little-endian: RDMA_NOMSG written as 0x01000000.",
     [](WireScript& s) {
       OpenAndSend(s, Words({kXid, 1, 32, 0x01000000, 0, 0, 0}));
       s.Expect("HDR-001");
     }},
    {"HDR-001", kNearMiss, "",
     "xid and credit request are 0x01000000, which is legal: only rdma_vers and rdma_proc tell the byte order.",
     [](WireScript& s) {
       OpenAndSend(s, Join({Words({0x01000000, 1, 0x01000000, 0, 0, 0, 0}), GetattrCall(0x01000000)}));
     }},

    {"HDR-002", kBreaks, "", "A Send of 12 bytes: rdma_proc is missing.",
     [](WireScript& s) {
       OpenAndSend(s, Words({kXid, 1, 32}));
       s.Expect("HDR-002");
     },
     Fabric::kRoce, Profile::kRfc5666bis},
    {"HDR-002", kBreaks, "rfc8166",
     "The same under RFC 8166, whose section 4.5 (nothing under 28 bytes) is broken by the same Send.",
     [](WireScript& s) {
       OpenAndSend(s, Words({kXid, 1, 32}));
       s.Expect("HDR-005", Severity::kError, {"HDR-002"});
     }},
    {"HDR-002", kNearMiss, "",
     "The same Send on a connection that nothing shows to be RPC-over-RDMA: another port, no private data.",
     [](WireScript& s) {
       s.setup.port = 7000;
       s.Open(std::nullopt, std::nullopt);
       s.SendBytes(kClient, Words({kXid, 1, 32}));
     },
     Fabric::kRoce, Profile::kRfc5666bis},
    {"HDR-002", kNearMiss, "cut", "A whole Call of which the capture kept only the first 12 bytes (snap length 66).",
     [](WireScript& s) {
       s.Open();
       s.Snap(66);
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
     },
     Fabric::kRoce, Profile::kRfc5666bis},

    {"HDR-003", kBreaks, "", "The client's second Call says version 2; its first said version 1.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
       s.SendBytes(kClient, Join({Words({kXid + 1, 2, 32, 0, 0, 0, 0}), GetattrCall(kXid + 1)}));
       s.Expect("HDR-003", Severity::kWarning);
     }},
    {"HDR-003", kBreaks, "err-vers",
     "A Call says version 2, and its receiver answers that it knows version 1 only: the answer proves the violation.",
     [](WireScript& s) {
       OpenAndSend(s, Join({Words({kXid, 2, 32, 0, 0, 0, 0}), GetattrCall(kXid)}));
       s.SendBytes(kServer, Words({kXid, 2, 32, rpcrdma::kError, rpcrdma::kErrVers, 1, 1}));
       s.ExpectOf(4, "HDR-003", Severity::kWarning);
     }},
    {"HDR-003", kNearMiss, "", "Both peers speak version 2 from the start: they break nothing of version 1.",
     [](WireScript& s) {
       OpenAndSend(s, Join({Words({kXid, 2, 32, 0, 0, 0, 0}), GetattrCall(kXid)}));
       s.SendBytes(kServer, Join({Words({kXid, 2, 32, 0, 0, 0, 0}), GetattrReply(kXid)}));
     }},

    {"HDR-004", kBreaks, "", "rdma_proc is 7.",
     [](WireScript& s) {
       OpenAndSend(s, Join({Words({kXid, 1, 32, 7, 0, 0, 0}), GetattrCall(kXid)}));
       s.Expect("HDR-004");
     }},
    {"HDR-004", kNearMiss, "", "rdma_proc is 7 in a message of version 2, which may have other procedures.",
     [](WireScript& s) {
       OpenAndSend(s, Words({kXid, 2, 32, 7, 0, 0, 0}));
     }},

    {"HDR-005", kBreaks, "", "An RDMA_MSG of 24 bytes: the word of the Reply chunk is missing.",
     [](WireScript& s) {
       OpenAndSend(s, Words({kXid, 1, 32, 0, 0, 0}));
       s.Expect("HDR-005");
     }},
    {"HDR-005", kBreaks, "answer", "The same, and its receiver answers a message that it had to drop.",
     [](WireScript& s) {
       OpenAndSend(s, Words({kXid, 1, 32, 0, 0, 0}));
       s.Expect("HDR-005");
       s.Send(kServer, ErrChunk(kXid));
       s.Expect("HDR-005");
     },
     Fabric::kIwarp},
    {"HDR-005", kNearMiss, "",
     "RDMA_ERROR with ERR_CHUNK has 20 bytes by its definition. It answers a READLINK whose Reply chunk is too small.",
     [](WireScript& s) {
       s.Open();
       rpcrdma::Header header = Msg(kXid);
       SetReplyChunk(header, {{0x88, 200, 0x20000}});
       s.Send(kClient, header, ReadlinkCall(kXid));
       s.Send(kServer, ErrChunk(kXid));
     }},

    {"HDR-006", kBreaks, "", "A Read list of one entry and an empty Write list, then the Send ends.",
     [](WireScript& s) {
       OpenAndSend(s, Words({kXid, 1, 32, 0, 1, 136, 0x77, 512, 0, 0x10000, 0, 0}));
       s.Expect("HDR-006");
     }},
    {"HDR-006", kNearMiss, "",
     "Whole lists, of which the capture kept the first 32 bytes of the Send (snap length 86).",
     [](WireScript& s) {
       s.Open();
       s.Snap(86);
       rpcrdma::Header header = Msg(kXid);
       AddRead(header, WritePosition(), {0x77, 512, 0x10000});
       s.Send(kClient, header, WriteCall(kXid, 512));
     }},
    {"HDR-006", kNearMiss, "lost",
     "A Send of two packets, of which the capture misses the second; the Reply shows that the server had it.",
     [](WireScript& s) {
       s.Open();
       rpcrdma::Header header = Msg(kXid);
       for (uint32_t i = 0; i < 48; ++i) AddRead(header, WritePosition(), {0x100 + i, 512, 0x10000 + 512 * i});
       s.Send(kClient, header, WriteCall(kXid, 48 * 512));
       s.DropLast();
       s.Send(kServer, Msg(kXid), WriteReply(kXid, 48 * 512));
     }},

    {"HDR-006", kNearMiss, "packets",
     "The lists run over two packets of one Send; between them comes a packet of the server, the Reply to an earlier "
     "Call.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       rpcrdma::Header header = Msg(kXid + 1);
       for (uint32_t i = 0; i < 48; ++i) AddRead(header, WritePosition(), {0x100 + i, 512, 0x10000 + 512 * i});
       s.Interleave([&] { s.Send(kClient, header, WriteCall(kXid + 1, 48 * 512)); },
                    [&] { s.Send(kServer, Msg(kXid), GetattrReply(kXid)); });
     }},

    {"HDR-007", kBreaks, "", "The word that says whether there is a Reply chunk is 2.",
     [](WireScript& s) {
       OpenAndSend(s, Join({Words({kXid, 1, 32, 0, 0, 0, 2}), GetattrCall(kXid)}));
       s.Expect("HDR-007");
     }},
    {"HDR-007", kNearMiss, "",
     "A Write chunk of two segments with the handles 2 and 3: counts and handles are no booleans.",
     [](WireScript& s) {
       s.Open();
       rpcrdma::Header header = Msg(kXid);
       AddWriteChunk(header, {{2, 1024, 0}, {3, 1024, 0}});
       s.Send(kClient, header, ReadCall(kXid, 2048));
     }},

    {"HDR-008", kBreaks, "", "A Read list entry of three words, then the Send ends.",
     [](WireScript& s) {
       OpenAndSend(s, Words({kXid, 1, 32, 0, 1, 136, 0x77}));
       s.Expect("HDR-008");
     }},
    {"HDR-008", kBreaks, "short-offset",
     "Two Read list entries with offsets of 32 bits: where a continuation word should be stands the second's Position.",
     [](WireScript& s) {
       const uint32_t position = WritePosition();
       OpenAndSend(
           s, Join({Words({kXid, 1, 32, 0, 1, position, 0x77, 256, 0x10000, 1, position, 0x78, 256, 0x20000, 0, 0, 0}),
                    WriteCall(kXid, 512)}));
       s.Expect("HDR-007", Severity::kError, {"HDR-008"});
     }},
    {"HDR-008", kNearMiss, "", "Two whole entries with the same Position: two segments of one chunk.",
     [](WireScript& s) {
       s.Open();
       rpcrdma::Header header = Msg(kXid);
       AddRead(header, WritePosition(), {0x77, 256, 0x10000});
       AddRead(header, WritePosition(), {0x78, 256, 0x20000});
       s.Send(kClient, header, WriteCall(kXid, 512));
     }},

    {"HDR-009", kBreaks, "", "A Write chunk says that it has 0x10000000 segments, in a Send of 128 bytes.",
     [](WireScript& s) {
       OpenAndSend(s,
                   Join({Words({kXid, 1, 32, 0, 0, 1, 0x10000000, 0x77, 512, 0, 0x10000, 0, 0}), ReadCall(kXid, 512)}));
       s.Expect("HDR-009");
     }},
    {"HDR-009", kBreaks, "empty-rfc5666bis", "A Write chunk without segments, which rfc5666bis does not know.",
     [](WireScript& s) {
       s.Open();
       rpcrdma::Header header = Msg(kXid);
       AddWriteChunk(header, {});
       s.Send(kClient, header, ReadCall(kXid, 512));
       s.Expect("HDR-009");
     },
     Fabric::kRoce, Profile::kRfc5666bis},
    {"HDR-009", kNearMiss, "", "The same empty Write chunk under RFC 8166, section 4.3.2 of which defines it.",
     [](WireScript& s) {
       s.Open();
       rpcrdma::Header header = Msg(kXid);
       AddWriteChunk(header, {});
       s.Send(kClient, header, ReadCall(kXid, 512));
     }},

    {"HDR-010", kBreaks, "", "A Reply chunk says that it has two segments; the Send ends after the first.",
     [](WireScript& s) {
       OpenAndSend(s, Words({kXid, 1, 32, 0, 0, 0, 1, 2, 0x88, 512, 0, 0x20000}));
       s.Expect("HDR-010");
     }},
    {"HDR-010", kBreaks, "empty", "A Call's Reply chunk without segments can be parsed, but is good for nothing.",
     [](WireScript& s) {
       s.Open();
       rpcrdma::Header header = Msg(kXid);
       SetReplyChunk(header, {});
       s.Send(kClient, header, ReadlinkCall(kXid));
       s.Expect("HDR-010", Severity::kNote);
       s.Expect("REPLY-002", Severity::kWarning);
     }},
    {"HDR-010", kNearMiss, "", "A Reply chunk of two whole segments.",
     [](WireScript& s) {
       s.Open();
       rpcrdma::Header header = Msg(kXid);
       SetReplyChunk(header, {{0x88, 1024, 0x20000}, {0x89, 1024, 0x30000}});
       s.Send(kClient, header, ReadlinkCall(kXid));
     }},

    {"HDR-011", kBreaks, "", "Two zero words, then the RPC message, where the third should be.",
     [](WireScript& s) {
       OpenAndSend(s, Join({Words({kXid, 1, 32, 0, 0, 0}), GetattrCall(kXid)}));
       s.Expect("HDR-007", Severity::kError, {"HDR-011"});
     }},
    {"HDR-011", kNearMiss, "", "RDMA_ERROR has no list words at all; with ERR_CHUNK it ends after 20 bytes.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), ReadlinkCall(kXid));
       s.Send(kServer, ErrChunk(kXid));
     }},

    {"HDR-012", kBreaks, "", "An RDMA_MSG that ends with its header.",
     [](WireScript& s) {
       OpenAndSend(s, Words({kXid, 1, 32, 0, 0, 0, 0}));
       s.Expect("HDR-012");
     }},
    {"HDR-012", kNearMiss, "", "An RDMA_NOMSG that ends with its header: its RPC message is in a Position-zero chunk.",
     [](WireScript& s) {
       s.Open();
       LongCall(s, GetattrCall(kXid));
     },
     Fabric::kIwarp},

    {"HDR-013", kBreaks, "", "Two RPC Calls behind one header. It is known when the first was decoded to its end.",
     [](WireScript& s) {
       OpenAndSend(s, Join({Words({kXid, 1, 32, 0, 0, 0, 0}), GetattrCall(kXid), GetattrCall(kXid + 1)}));
       s.Expect("HDR-013", Severity::kWarning);
     }},
    {"HDR-013", kBreaks, "reply", "Eight bytes follow the RPC Reply.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Send(kServer, Msg(kXid), Join({GetattrReply(kXid), Words({1, 2})}));
       s.Expect("HDR-013", Severity::kWarning);
     }},
    {"HDR-013", kNearMiss, "", "An NFSv4 COMPOUND of two operations is one RPC.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), CompoundCall(kXid, {PutRootFh(), Read4(100)}));
       s.Send(kServer, Msg(kXid), CompoundReply(kXid, {PutRootFhResult(), Read4Result(100, false)}));
     }},

    {"HDR-014", kBreaks, "", "The RPC message's type is 2.",
     [](WireScript& s) {
       OpenAndSend(s, Join({Words({kXid, 1, 32, 0, 0, 0, 0}), Words({kXid, 2, 2, kNfs, 3, kGetattr, 0, 0, 0, 0}),
                            FileHandle()}));
       s.Expect("HDR-014");
     }},
    {"HDR-014", kBreaks, "long-call", "The same in the Position-zero chunk of a Long Call.",
     [](WireScript& s) {
       s.Open();
       LongCall(s, Join({Words({kXid, 2, 2, kNfs, 3, kGetattr, 0, 0, 0, 0}), FileHandle()}));
       s.ExpectOf(6, "HDR-014");
     },
     Fabric::kIwarp},
    {"HDR-014", kNearMiss, "", "A Reply's type is 1, and the reply_stat behind it 1, too: the RPC was denied.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
       s.Send(kServer, Msg(kXid), Words({kXid, rpc::kReply, rpc::kDenied, 1, 1}));
     }},
    {"HDR-014", kNearMiss, "backward", "A message from the server with type 0: on a backchannel the server calls, too.",
     [](WireScript& s) {
       s.Open();
       CreateSession(s);
       s.Send(kServer, Msg(kBackwardXid), CallbackNull());
       s.Send(kClient, Msg(kBackwardXid), MakeReply(kBackwardXid));
     }},

    {"HDR-015", kBreaks, "",
     "An RDMA_NOMSG Call whose RPC message stands behind its header, and also in its Position-zero chunk.",
     [](WireScript& s) {
       s.Open();
       const Buffer call = GetattrCall(kXid);
       rpcrdma::Header header = Nomsg(kXid);
       AddRead(header, 0, {0x77, static_cast<uint32_t>(call.size()), 0x10000});
       s.Send(kClient, header, call);
       s.Expect("LONG-008", Severity::kWarning, {"HDR-015"});
     }},
    {"HDR-015", kNearMiss, "", "An RDMA_NOMSG Call with nothing behind its header.",
     [](WireScript& s) {
       s.Open();
       LongCall(s, GetattrCall(kXid));
     },
     Fabric::kIwarp},
};

}  // namespace

std::span<const Case> HdrCases() { return kHdrCases; }

}  // namespace stag::evidence
