// SPDX-License-Identifier: GPL-2.0-or-later
//
// GSS: RPCSEC_GSS with integrity or privacy wraps the arguments, so nothing of them can be reduced.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/gss_calls.h"
#include "pcaps/generator/traffic.h"
#include "protocol/link/packet.h"

namespace stag::evidence {

using namespace test;

namespace {

constexpr Ports kToNfs{45000, 2049}, kFromNfs{2049, 45000};

Buffer ReadArguments(uint32_t count) { return Join({FileHandle(), Words({0, 0, count})}); }
Buffer WriteArguments(uint32_t count) { return Join({FileHandle(), Words({0, 0, count, 2, count})}); }
Buffer ReadResults(uint32_t count) { return Join({Words({0, 0, count, 1}), Opaque(Pattern(count))}); }

// A control message of a context: an RPC NULL with the procedure in its credential, and a token.
Buffer Control(uint32_t procedure) {
  return Join({Words({kXid, rpc::kCall, 2, kNfs, 3, 0}), GssCredential(GssService::kIntegrity, procedure),
               Words({0, 0}), Opaque(Pattern(64))});
}

// A GETATTR under RPCSEC_GSS, without wrapping.
void Getattr(WireScript& s) { s.Send(kClient, Msg(kXid), GssCall(kXid, 3, kGetattr, GssService::kNone, FileHandle())); }
void Refused(WireScript& s) {
  s.Tcp(kClient, kToNfs, {100, 0, link::kTcpSyn});
  s.Tcp(kServer, kFromNfs, {0, 101, link::kTcpRst | link::kTcpAck});
}

constexpr Case kGssCases[] = {
    {"GSS-001", kBreaks, "", "The data of a WRITE under integrity goes by a Read chunk.",
     [](WireScript& s) {
       s.Open();
       const Buffer call = GssCall(kXid, 3, kWrite, GssService::kIntegrity, WriteArguments(1000));
       s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(call), {0x71, 1000, 0x10000}}}), call);
       s.Expect("GSS-001");
     }},
    {"GSS-001", kBreaks, "write-list", "A READ under privacy offers a Write chunk, which can only come back unused.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 1000, 0x20000}}}),
              GssCall(kXid, 3, kRead, GssService::kPrivacy, ReadArguments(1000)));
       s.Expect("GSS-001", Severity::kWarning);
     }},
    {"GSS-001", kNearMiss, "", "The service is authentication only: the data may be reduced.",
     [](WireScript& s) {
       s.Open();
       const Buffer call = GssCall(kXid, 3, kWrite, GssService::kNone, WriteArguments(1000));
       s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(call), {0x71, 1000, 0x10000}}}), call);
     }},
    {"GSS-001", kNearMiss, "long", "The whole Call goes in a Position-zero chunk.",
     [](WireScript& s) {
       s.Open();
       LongCall(s, GssCall(kXid, 3, kWrite, GssService::kIntegrity, Join({WriteArguments(1000), Pattern(1000)})));
     }},

    {"GSS-002", kBreaks, "", "The Reply to a READ under integrity moves its data through a Write chunk.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 1000, 0x20000}}}),
              GssCall(kXid, 3, kRead, GssService::kIntegrity, ReadArguments(1000)));
       s.Expect("GSS-001", Severity::kWarning);
       s.Write(kServer, 0x88, 0x20000, Pattern(1000));
       s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, 1000, 0x20000}}}),
              GssReply(kXid, GssService::kIntegrity, Words({0, 0, 1000, 1, 1000})));
       s.Expect("GSS-002");
     }},
    {"GSS-002", kNearMiss, "", "It returns all of it inline, and the chunk unused.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 1000, 0x20000}}}),
              GssCall(kXid, 3, kRead, GssService::kIntegrity, ReadArguments(1000)));
       s.Expect("GSS-001", Severity::kWarning);
       s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, 0, 0x20000}}}),
              GssReply(kXid, GssService::kIntegrity, ReadResults(1000)));
     }},

    {"GSS-003", kBreaks, "", "The token that sets up a context goes by a Read chunk.",
     [](WireScript& s) {
       s.Open();
       Buffer call = Control(rpc::kGssInit);
       call.resize(call.size() - 64);
       s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(call), {0x71, 64, 0x10000}}}), call);
       s.Expect("GSS-003");
     }},
    {"GSS-003", kNearMiss, "", "It goes in a Position-zero chunk, with the rest of its Call.",
     [](WireScript& s) {
       s.Open();
       LongCall(s, Control(rpc::kGssInit));
     }},

    {"GSS-004", kBreaks, "", "A READ under privacy without a Reply chunk is answered ERR_CHUNK: the Reply did not fit.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GssCall(kXid, 3, kRead, GssService::kPrivacy, ReadArguments(8000)));
       s.Send(kServer, ErrChunk(kXid));
       s.ExpectOf(4, "GSS-004", Severity::kNote);
     }},
    {"GSS-004", kNearMiss, "", "It is small, and answered.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GssCall(kXid, 3, kRead, GssService::kPrivacy, ReadArguments(100)));
       s.Send(kServer, Msg(kXid), GssReply(kXid, GssService::kPrivacy, Pattern(128)));
     }},

    {"GSS-006", kBreaks, "", "A server that is called with RPCSEC_GSS over RDMA refuses TCP on port 2049.",
     [](WireScript& s) {
       s.Open();
       Getattr(s);
       Refused(s);
       s.Expect("GSS-006", Severity::kNote);
     }},
    {"GSS-006", kBreaks, "before", "The refusal comes first.",
     [](WireScript& s) {
       Refused(s);
       s.Open();
       Getattr(s);
       s.ExpectOf(2, "GSS-006", Severity::kNote);
     }},
    {"GSS-006", kNearMiss, "", "TCP is refused, but nobody uses RPCSEC_GSS.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       Refused(s);
     }},
};

}  // namespace

std::span<const Case> GssCases() { return kGssCases; }

}  // namespace stag::evidence
