// SPDX-License-Identifier: GPL-2.0-or-later
//
// XID: pairing of Calls and Replies.
#include "tests/conformance/checker.h"

namespace stag::test {
namespace {

TEST(Xid, Xid001Inline) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(0x11), GetattrCall(0x12));
  ASSERT_EQ(c.Ids(), Id{"XID-001"});
  EXPECT_EQ(c.findings.all[0].expected, "0x00000011");
  EXPECT_EQ(c.findings.all[0].actual, "0x00000012");
}

TEST(Xid, Xid001InAReplyChunk) {
  for (const uint32_t xid : {0x11u, 0x12u}) {
    Checker c;
    c.script.Open();
    Greet(c);
    rpcrdma::Header header = Msg(0x11);
    SetReplyChunk(header, {{7, 4096, 0x1000}});
    c.script.Send(kClient, header, MakeCall(0x11, kNfs, 3, kReadlink, FileHandle()));
    const Buffer rpc = MakeReply(xid, Join({Words({0, 0}), Opaque(Pattern(8))}));
    c.script.Write(kServer, 7, 0x1000, rpc);
    rpcrdma::Header reply = Nomsg(0x11);
    SetReplyChunk(reply, {{7, static_cast<uint32_t>(rpc.size()), 0x1000}});
    c.script.Send(kServer, reply);
    EXPECT_EQ(c.Ids(), xid == 0x11 ? Id{} : Id{"XID-001"});
  }
}

TEST(Xid, Xid002OrphanReply) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.Send(kServer, Msg(0x99), GetattrReply(0x99));
  for (uint32_t xid = 2; xid < 20; ++xid) Greet(c, xid);
  EXPECT_EQ(c.Ids(), Id{"XID-002"});
}

TEST(Xid, Xid002NotWhenTheCallMayHaveBeenMissed) {
  Checker midstream;
  midstream.script.OpenMidstream();
  midstream.script.Send(kServer, Msg(0x99), GetattrReply(0x99));
  Checker lossy;
  lossy.script.Open();
  Greet(lossy);
  lossy.script.Gap(kClient);
  lossy.script.Send(kServer, Msg(0x99), GetattrReply(0x99));
  for (Checker* c : {&midstream, &lossy}) {
    for (uint32_t xid = 2; xid < 20; ++xid) Greet(*c, xid);
    EXPECT_EQ(c->Ids(), Id{});
  }
}

TEST(Xid, Xid003Collision) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  const uint64_t first = c.script.frame();
  c.script.Send(kClient, Msg(1), ReadCall(1, 100));
  const uint64_t second = c.script.frame();
  c.script.Send(kServer, Msg(1), MakeReply(1, Words({5, 0})));
  ASSERT_EQ(c.Ids(), Id{"XID-003"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
  EXPECT_EQ(c.findings.all[0].frame.number, second);
  EXPECT_EQ(c.findings.all[0].related_frames, std::vector<uint64_t>{first});
}

TEST(Xid, Xid003SameCallAgainIsANote) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.Send(kServer, Msg(1), GetattrReply(1));
  ASSERT_NE(c.Find("XID-003"), nullptr);
  EXPECT_EQ(c.Find("XID-003")->severity, Severity::kNote);
}

TEST(Xid, Xid003BackwardCallsHaveTheirOwn) {
  Checker c(Profile::kRfc8166, {"XID"});
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.Send(kServer, Msg(1), MakeCall(1, 0x40000000, 1, 0));
  c.script.Send(kClient, Msg(1), MakeReply(1));
  c.script.Send(kServer, Msg(1), GetattrReply(1));
  EXPECT_EQ(c.Ids(true), Id{});
}

TEST(Xid, Xid004SecondReply) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.Send(kServer, Msg(1), GetattrReply(1));
  c.script.Send(kServer, Msg(1), GetattrReply(1));
  Greet(c, 2);
  EXPECT_EQ(c.Ids(), Id{"XID-004"});
  // The xid used again is a new transaction.
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.Send(kServer, Msg(1), GetattrReply(1));
  EXPECT_EQ(c.Ids(), Id{"XID-004"});
}

TEST(Xid, Xid004AnRpcSentTwiceIsAnsweredTwice) {
  Checker c(Profile::kRfc8166, {"XID-004"});
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  c.script.Send(kServer, Msg(1), GetattrReply(1));
  c.script.Send(kServer, Msg(1), GetattrReply(1));
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Xid, Err011ReplyAfterError) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(1), GetattrCall(1));
  rpcrdma::Header error = MakeHeader(rpcrdma::kError, 1);
  error.err = rpcrdma::kErrChunk;
  c.script.Send(kServer, error);
  c.script.Send(kServer, Msg(1), GetattrReply(1));
  Greet(c, 2);
  ASSERT_EQ(c.Ids(), Id{"XID-004"});
  EXPECT_EQ(c.findings.all[0].see_also.front(), "ERR-011");
}

}  // namespace
}  // namespace stag::test
