// SPDX-License-Identifier: GPL-2.0-or-later
//
// ERR: what faulty Calls are answered with.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/faulty_calls.h"

namespace stag::evidence {

using namespace test;

namespace {

constexpr uint32_t kSilence = 4;  // later Calls that are answered meanwhile

Buffer BareNomsg(uint32_t xid) { return Words({xid, 1, 32, rpcrdma::kNomsg, 0, 0, 0}); }

// A WRITE of 512 bytes; its Read chunk has fewer.
void WriteWith(WireScript& s, uint32_t length) {
  s.Open();
  Greet(s);
  const Buffer call = WriteCall(kXid, 512);
  s.Send(kClient, WithReads(Msg(kXid), {{SizeOf(call), {0x77, length, 0x10000}}}), call);
  s.Expect("PAD-004", Severity::kError, {"RDLIST-005"});
  s.Read(kServer, 0x77, 0x10000, Pattern(length));
}

constexpr Case kAnswersCases[] = {
    {"ERR-007", kBreaks, "", "A Call of version 2 is answered with ERR_CHUNK.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.SendBytes(kServer, Error(kXid, {rpcrdma::kErrChunk}, 2));
       s.Expect("ERR-007");
     }},
    {"ERR-007", kBreaks, "reply", "A Call of version 2 gets a Reply of version 1.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
       s.Expect("ERR-007");
     },
     Fabric::kIwarp},
    {"ERR-007", kBreaks, "silence", "A Call of version 2 is not answered, and four later Calls are.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.SendBytes(kClient, Version2Call(kXid));
       s.Expect("HDR-003", Severity::kWarning);
       GoOn(s, kSilence);
       s.ExpectOf(8, "ERR-007");
     }},
    {"ERR-007", kNearMiss, "", "A Call of version 2 is answered with ERR_VERS.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.SendBytes(kServer, ErrVers(kXid, 1, 1, 2));
       s.ExpectOf(4, "HDR-003", Severity::kWarning);
     }},
    {"ERR-007", kNearMiss, "closed", "The server closes the connection instead of an answer.",
     [](WireScript& s) {
       OpenAndCall(s, Version2Call(kXid));
       s.Close();
     }},
    {"ERR-007", kNearMiss, "reply", "It is a Reply that has version 2: its receiver says nothing.",
     [](WireScript& s) {
       OpenAndCall(s);
       s.SendBytes(kServer, Join({Words({kXid, 2, 32, 0, 0, 0, 0}), GetattrReply(kXid)}));
       GoOn(s, 1);
     },
     Fabric::kIwarp},

    {"ERR-008", kBreaks, "", "An RDMA_NOMSG without chunks is not answered, and four later Calls are.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.SendBytes(kClient, BareNomsg(kXid));
       s.Expect("LONG-001", Severity::kError, {"LONG-002"});
       GoOn(s, kSilence);
       s.ExpectOf(8, "ERR-008", Severity::kWarning);
     }},
    {"ERR-008", kBreaks, "reply", "A Call with 2 for a boolean is answered with an RPC Reply: a note.",
     [](WireScript& s) {
       OpenAndCall(s, BadBooleanCall(kXid));
       s.Expect("HDR-007");
       s.Send(kServer, Msg(kXid), MakeReply(kXid, {}, rpc::kGarbageArgs));
       s.Expect("ERR-008", Severity::kNote);
     },
     Fabric::kIwarp},
    {"ERR-008", kBreaks, "closed",
     "A Call with 2 for a boolean is not answered, the next Call is; then the client disconnects.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.SendBytes(kClient, BadBooleanCall(kXid));
       const uint64_t call = s.frame();
       s.Expect("HDR-007");
       GoOn(s, 1);
       s.Close();
       s.ExpectOf(call, "ERR-008", Severity::kWarning);
     }},
    {"ERR-008", kNearMiss, "", "The RDMA_NOMSG without chunks is answered with ERR_CHUNK.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.SendBytes(kClient, BareNomsg(kXid));
       s.Expect("LONG-001", Severity::kError, {"LONG-002"});
       s.Send(kServer, ErrChunk(kXid));
     }},
    {"ERR-008", kNearMiss, "xid", "The RPC message has another xid than the header, and its responder does not look.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid + 1));
       s.Expect("XID-001");
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
     }},
    {"ERR-008", kNearMiss, "short", "The Call has 24 bytes: its receiver discards it, and says nothing.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.SendBytes(kClient, Words({kXid, 1, 32, 0, 0, 0}));
       s.Expect("HDR-005");
       GoOn(s, kSilence);
     }},
    {"ERR-008", kNearMiss, "late", "The next Call is answered first; ERR_CHUNK comes before the client disconnects.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       s.SendBytes(kClient, BadBooleanCall(kXid));
       s.Expect("HDR-007");
       GoOn(s, 1);
       s.Send(kServer, ErrChunk(kXid));
       s.Close();
     }},
    {"ERR-008", kNearMiss, "closed", "The connection ends before an answer, of this Call or of a later one.",
     [](WireScript& s) {
       OpenAndCall(s, BadBooleanCall(kXid));
       s.Expect("HDR-007");
       s.Close();
     },
     Fabric::kIwarp},

    {"ERR-013", kBreaks, "", "The data of a WRITE of 512 bytes has a Read chunk of 256, which gets ERR_CHUNK.",
     [](WireScript& s) {
       WriteWith(s, 256);
       s.Send(kServer, ErrChunk(kXid));
       s.Expect("ERR-013", Severity::kNote);
     }},
    {"ERR-013", kBreaks, "long-reply", "GARBAGE_ARGS comes as a Long Reply.",
     [](WireScript& s) {
       s.Open();
       Greet(s);
       const Buffer reply = MakeReply(kXid, {}, rpc::kGarbageArgs);
       const Buffer call = MakeCall(kXid, kNfs, 3, kReadlink, Words({0xffffffff}));
       s.Send(kClient, WithReplyChunk(Msg(kXid), {{0x88, 1024, 0x20000}}), call);
       s.Write(kServer, 0x88, 0x20000, reply);
       s.Send(kServer, WithReplyChunk(Nomsg(kXid), {{0x88, SizeOf(reply), 0x20000}}));
       s.Expect("ERR-013", Severity::kNote);
     },
     Fabric::kIwarp},
    {"ERR-013", kNearMiss, "", "The WRITE gets GARBAGE_ARGS in an RDMA_MSG.",
     [](WireScript& s) {
       WriteWith(s, 256);
       s.Send(kServer, Msg(kXid), MakeReply(kXid, {}, rpc::kGarbageArgs));
     }},

    {"ERR-014", kBreaks, "", "A Call with 2 for a boolean is answered with NFS3_OK.",
     [](WireScript& s) {
       OpenAndCall(s, BadBooleanCall(kXid));
       s.Expect("HDR-007");
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
       s.Expect("ERR-014", Severity::kWarning, {"ERR-008"});
     }},
    {"ERR-014", kNearMiss, "", "Only the xid of the RPC message is wrong, which its receiver may ignore.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), GetattrCall(kXid + 1));
       s.Expect("XID-001");
       s.Send(kServer, Msg(kXid), GetattrReply(kXid));
     },
     Fabric::kIwarp},
};

}  // namespace

std::span<const Case> AnswerCases() { return kAnswersCases; }

}  // namespace stag::evidence
