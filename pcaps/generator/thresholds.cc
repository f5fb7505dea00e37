// SPDX-License-Identifier: GPL-2.0-or-later
//
// THRESH: how large a Send may be. One Send that is too large breaks several rules; THRESH-001 (Calls) and THRESH-002
// (Replies) stand for them, and name the others.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/roce_script.h"
#include "pcaps/generator/traffic.h"
#include "protocol/ib/opcode.h"

namespace stag::evidence {

using namespace test;
using rpcrdma::PrivateData;

namespace {

// RFC 8797 sizes in units of 1024 bytes, less one.
// A WRITE whose data is inline, and the Reply to a READLINK, in a Send of `size` bytes.
Buffer CallOf(size_t size) {
  const auto data = static_cast<uint32_t>(size - rpcrdma::kMinimumHeader - WriteCall(kXid, 0).size());
  return Join({WriteCall(kXid, data), Pattern(data)});
}
Buffer ReplyOf(size_t size, size_t header = rpcrdma::kMinimumHeader) {
  return ReadlinkReply(kXid, static_cast<uint32_t>(size - header - ReadlinkReply(kXid, 0).size()));
}

void CallOnly(WireScript& s, std::optional<PrivateData> client, std::optional<PrivateData> server, size_t size) {
  s.Open(client, server);
  s.Send(kClient, Msg(kXid), CallOf(size));
}

void CallAndReply(WireScript& s, std::optional<PrivateData> client, std::optional<PrivateData> server, size_t size) {
  s.Open(client, server);
  s.Send(kClient, Msg(kXid), ReadlinkCall(kXid));
  s.Send(kServer, Msg(kXid), ReplyOf(size));
}

// A READLINK with a Reply chunk that its Short Reply leaves empty; the Reply invalidates the chunk's handle.
void InvalidatingReply(WireScript& s, size_t size) {
  s.Open(k1024, k8192);
  s.Send(kClient, WithReplyChunk(Msg(kXid), {{0x88, 2048, 0x20000}}), ReadlinkCall(kXid));
  const rpcrdma::Header header = WithReplyChunk(Msg(kXid), {{0x88, 0, 0x20000}});
  s.Send(kServer, header, ReplyOf(size, MessageBytes(header, {}).size()), 0x88);
}

void RefusedCall(WireScript& s, size_t size, fabric::NakKind kind) {
  CallOnly(s, std::nullopt, std::nullopt, size);
  s.Nak(kServer, kind);
}

constexpr Case kThresholdsCases[] = {
    {"THRESH-001", kBreaks, "", "The server takes 4096 bytes; the client, which may send 8192, sends a Call of 4124.",
     [](WireScript& s) {
       CallOnly(s, k8192, k4096, 4124);
       s.Expect("THRESH-001", Severity::kError, {"THRESH-006", "PVT-010"});
     }},
    {"THRESH-001", kBreaks, "long-call",
     "RDMA_NOMSG, whose header alone, with 48 Read segments of a Position-zero chunk, is over the threshold of 1024.",
     [](WireScript& s) {
       s.Open(k4096, k1024);
       rpcrdma::Header header = Nomsg(kXid);
       for (uint32_t i = 0; i < 48; ++i) AddRead(header, 0, {0x100 + i, 64, 0x10000 + 64 * i});
       s.Send(kClient, header);
       s.Expect("THRESH-001", Severity::kError, {"PVT-010"});
     }},
    {"THRESH-001", kBreaks, "no-private-data",
     "Neither side sent private data, and a Call has 2048 bytes. A warning: the peers may know of larger buffers by "
     "other means.",
     [](WireScript& s) {
       CallOnly(s, std::nullopt, std::nullopt, 2048);
       s.Expect("THRESH-001", Severity::kWarning, {"THRESH-003", "THRESH-006", "PVT-011"});
       s.Send(kServer, Msg(kXid), WriteReply(kXid, 1924));
     },
     Fabric::kIwarp},
    {"THRESH-001", kBreaks, "cut",
     "The Call of 4124 bytes again, of which the capture kept the first 64 bytes of each packet: its length is known.",
     [](WireScript& s) {
       s.Open(k8192, k4096);
       s.Snap(64 + 54);
       s.Send(kClient, Msg(kXid), CallOf(4124));
       s.Expect("THRESH-001", Severity::kError, {"THRESH-006", "PVT-010"});
     }},
    {"THRESH-001", kNearMiss, "",
     "A Call of exactly 4096 bytes in five packets, which have more bytes with their headers and ICRCs.",
     [](WireScript& s) { CallOnly(s, k8192, k4096, 4096); }},
    {"THRESH-001", kNearMiss, "iwarp", "The same in three DDP segments.",
     [](WireScript& s) { CallOnly(s, k8192, k4096, 4096); }, Fabric::kIwarp},
    {"THRESH-001", kNearMiss, "midstream", "A Call of 8192 bytes on a connection whose set-up was not captured.",
     [](WireScript& s) {
       s.OpenMidstream();
       s.Send(kClient, Msg(kXid), CallOf(8192));
     }},

    {"THRESH-002", kBreaks, "", "The client takes 1024 bytes; a Reply has 2000.",
     [](WireScript& s) {
       CallAndReply(s, k1024, k8192, 2000);
       s.Expect("THRESH-002", Severity::kError, {"THRESH-006", "PVT-010"});
     }},
    {"THRESH-002", kBreaks, "no-private-data",
     "A Reply of 1500 bytes between peers without private data: a warning, as for Calls.",
     [](WireScript& s) {
       CallAndReply(s, std::nullopt, std::nullopt, 1500);
       s.Expect("THRESH-002", Severity::kWarning, {"THRESH-003", "THRESH-006", "PVT-011"});
     },
     Fabric::kIwarp},
    {"THRESH-002", kBreaks, "invalidate", "A Reply of 1028 bytes, which is a Send with Invalidate.",
     [](WireScript& s) {
       InvalidatingReply(s, 1028);
       s.Expect("REPLY-007", Severity::kError, {"THRESH-002", "THRESH-006", "PVT-010"});
     }},
    {"THRESH-002", kNearMiss, "", "The Reply has 1024 bytes.",
     [](WireScript& s) { CallAndReply(s, k1024, k8192, 1024); }},
    {"THRESH-002", kNearMiss, "invalidate",
     "The Reply has 1024 bytes and is a Send with Invalidate: the four bytes that name the handle do not count.",
     [](WireScript& s) { InvalidatingReply(s, 1024); }},

    {"THRESH-003", kBreaks, "", "The MPA Reply has no private data, nor has the Request; a Call has 2048 bytes.",
     [](WireScript& s) {
       CallOnly(s, std::nullopt, std::nullopt, 2048);
       s.Expect("THRESH-001", Severity::kWarning, {"THRESH-003", "THRESH-006", "PVT-011"});
     },
     Fabric::kIwarp},
    {"THRESH-003", kBreaks, "rfc5666bis", "The same under rfc5666bis, on RoCE.",
     [](WireScript& s) {
       CallOnly(s, std::nullopt, std::nullopt, 2048);
       s.Expect("THRESH-001", Severity::kWarning, {"THRESH-003", "THRESH-006"});
     },
     Fabric::kRoce, Profile::kRfc5666bis},
    {"THRESH-003", kBreaks, "reply", "A Reply of 1500 bytes.",
     [](WireScript& s) {
       CallAndReply(s, std::nullopt, std::nullopt, 1500);
       s.Expect("THRESH-002", Severity::kWarning, {"THRESH-003", "THRESH-006", "PVT-011"});
     }},
    {"THRESH-003", kNearMiss, "", "Neither side has private data, and the Call has 1024 bytes.",
     [](WireScript& s) { CallOnly(s, std::nullopt, std::nullopt, 1024); }, Fabric::kIwarp},
    {"THRESH-003", kNearMiss, "reply-not-seen",
     "The capture misses the CM REP, which may have had private data; then a Call of 2048 bytes.",
     [](WireScript& s) {
       s.Open(k4096, std::nullopt);
       s.SwapLast();
       s.DropLast();
       s.Send(kClient, Msg(kXid), CallOf(2048));
     }},
    {"THRESH-003", kNearMiss, "ccp", "RFC 5666's CONF_RDMA has set 4096 bytes (without security: CCP-009).",
     [](WireScript& s) {
       s.Open(std::nullopt, std::nullopt);
       s.Send(kClient, Msg(kEarlierXid),
              MakeCall(kEarlierXid, rpcrdma::kCcpProgramDraft, 1, rpcrdma::kCcpConfRdma, Words({4096, 4096, 0})));
       s.Expect("CCP-009", Severity::kWarning);
       s.Send(kServer, Msg(kEarlierXid), MakeReply(kEarlierXid, Words({4096, 0, 0})));
       s.Send(kClient, Msg(kXid), CallOf(2048));
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"THRESH-004", kBreaks, "", "A Call of 900 bytes is refused: NAK, Invalid Request.",
     [](WireScript& s) {
       RefusedCall(s, 900, fabric::NakKind::kInvalidRequest);
       s.Expect("THRESH-004");
     }},
    {"THRESH-004", kBreaks, "terminate", "A Terminate (untagged buffer: message too long) refuses a Call of 900 bytes.",
     [](WireScript& s) {
       RefusedCall(s, 900, fabric::NakKind::kInvalidRequest);
       s.Expect("THRESH-004");
     },
     Fabric::kIwarp},
    {"THRESH-004", kBreaks, "reply", "The client refuses a Reply of 600 bytes.",
     [](WireScript& s) {
       CallAndReply(s, std::nullopt, std::nullopt, 600);
       s.Nak(kClient, fabric::NakKind::kInvalidRequest);
       s.Expect("THRESH-004");
     }},
    {"THRESH-004", kNearMiss, "", "An RNR NAK: there is no receive now. The Call comes again, and is answered.",
     [](WireScript& s) {
       CallOnly(s, std::nullopt, std::nullopt, 900);
       const uint64_t call = s.frame();
       s.Nak(kServer, fabric::NakKind::kRnr);
       s.Repeat(call, call);
       s.Send(kServer, Msg(kXid), WriteReply(kXid, 776));
     }},
    {"THRESH-004", kNearMiss, "opcode",
     "The NAK refuses a packet with an opcode out of sequence (SEND Middle without First), not the Call before it.",
     [](WireScript& s) {
       CallOnly(s, std::nullopt, std::nullopt, 900);
       static_cast<RoceScript&>(s).Packet(kClient, ib::kSendMiddle, Pattern(1024));
       s.Nak(kServer, fabric::NakKind::kInvalidRequest);
     }},
    {"THRESH-004", kNearMiss, "larger",
     "A Call of 2000 bytes is refused by a peer that says it takes 4096: that is PVT-015, not THRESH-004.",
     [](WireScript& s) {
       CallOnly(s, k4096, k4096, 2000);
       s.Nak(kServer, fabric::NakKind::kInvalidRequest);
       s.Expect("PVT-015");
     }},

    {"THRESH-006", kBreaks, "", "A WRITE of 5 KB in RDMA_MSG; the threshold is 4096.",
     [](WireScript& s) {
       CallOnly(s, k8192, k4096, 5 * 1024);
       s.Expect("THRESH-001", Severity::kError, {"THRESH-006", "PVT-010"});
     }},
    {"THRESH-006", kBreaks, "reply",
     "A Reply of 5 KB in RDMA_MSG, although its Call offered a Reply chunk: it is REPLY-007 first.",
     [](WireScript& s) {
       s.Open(k4096, k8192);
       s.Send(kClient, WithReplyChunk(Msg(kXid), {{0x88, 8192, 0x20000}}), ReadlinkCall(kXid));
       const rpcrdma::Header header = WithReplyChunk(Msg(kXid), {{0x88, 0, 0x20000}});
       s.Send(kServer, header, ReplyOf(5 * 1024, MessageBytes(header, {}).size()));
       s.Expect("REPLY-007", Severity::kError, {"THRESH-002", "THRESH-006", "PVT-010"});
     },
     Fabric::kIwarp},
    {"THRESH-006", kNearMiss, "", "The same WRITE as a Long Call.",
     [](WireScript& s) {
       s.Open(k8192, k4096);
       LongCall(s, CallOf(5 * 1024));
     }},
    {"THRESH-006", kNearMiss, "small", "A Long Call for a payload that would have fitted: the client may choose.",
     [](WireScript& s) {
       s.Open(k8192, k4096);
       LongCall(s, GetattrCall(kXid));
     },
     Fabric::kIwarp},
};

}  // namespace

std::span<const Case> ThresholdCases() { return kThresholdsCases; }

}  // namespace stag::evidence
