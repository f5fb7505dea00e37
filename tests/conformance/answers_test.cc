// SPDX-License-Identifier: GPL-2.0-or-later
//
// ERR: what RDMA_ERROR may answer, and what faulty Calls are answered with; GSS-004.
#include "tests/conformance/checker.h"
#include "tests/conformance/chunks.h"
#include "tests/conformance/compounds.h"

namespace stag::test {
namespace {

rpcrdma::Header Error(uint32_t xid, uint32_t err = rpcrdma::kErrChunk) {
  rpcrdma::Header header = MakeHeader(rpcrdma::kError, xid);
  header.err = err;
  header.vers_low = header.vers_high = 1;
  return header;
}
// RDMA_ERROR that ends where its code should stand.
Buffer ShortError(uint32_t xid) { return Words({xid, 1, 32, rpcrdma::kError}); }

// Lets both sides be heard again, so that what rests on silence comes out.
Id Later(Checker& c, bool notes = false) {
  for (uint32_t xid = 0x200; xid < 0x206; ++xid) Greet(c, xid);
  return c.Ids(notes);
}

void OneCall(Checker& c, uint32_t xid) {
  c.script.Send(kClient, Msg(xid), GetattrCall(xid));
  c.script.Send(kServer, Msg(xid), GetattrReply(xid));
}

TEST(Err, Err001FromASideThatNobodyCalls) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Error(77));  // no Call at all
  ASSERT_EQ(Later(c), Id{"ERR-001"});
  EXPECT_TRUE(c.findings.all[0].client_to_server);
  // Of its own Call.
  Checker own;
  own.script.Open();
  Greet(own);
  own.script.Send(kClient, Msg(5), GetattrCall(5));
  own.script.Send(kClient, Error(5));
  own.script.Send(kServer, Msg(5), GetattrReply(5));
  EXPECT_EQ(Later(own), Id{"ERR-001"});
}

TEST(Err, Err001NotTheResponder) {
  // From the server: its Call may have been unreadable.
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kServer, Error(77));
  EXPECT_EQ(Later(c), Id{"XID-002"});
  // Joined mid-stream: the server may have called.
  Checker midstream;
  midstream.script.OpenMidstream();
  Greet(midstream);
  midstream.script.Send(kClient, Error(77));
  EXPECT_EQ(Later(midstream), Id{});
}

TEST(Err, Err002ErrorIsAnswered) {
  for (const bool with_error : {true, false}) {
    Checker c;
    c.script.Open();
    Greet(c);
    OneCall(c, 5);
    c.script.Send(kClient, Error(5));  // ERR-001
    if (with_error) {
      c.script.Send(kServer, Error(5));
    } else {
      c.script.Send(kServer, Msg(5), GetattrReply(5));
    }
    const uint64_t answer = c.script.frame();
    ASSERT_EQ(Later(c), (Id{"ERR-001", "ERR-002"})) << with_error;
    const Finding& finding = *c.Find("ERR-002");
    EXPECT_FALSE(finding.client_to_server);
    EXPECT_EQ(std::ranges::count(finding.related_frames, answer - 1), 1);
  }
}

TEST(Err, Err002UnknownXid) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Error(77));
  c.script.Send(kServer, Error(77));
  EXPECT_EQ(Later(c), (Id{"ERR-001", "ERR-002"}));
}

TEST(Err, Err002OutstandingCallsAreAnswered) {
  Checker c;
  c.script.Open();
  Greet(c);
  OneCall(c, 5);
  c.script.Send(kClient, Error(5));
  OneCall(c, 5);  // the xid is used again
  EXPECT_EQ(Later(c), Id{"ERR-001"});
  // Where the Call may have been lost, nothing is said.
  Checker lossy;
  lossy.script.Open();
  Greet(lossy);
  OneCall(lossy, 5);
  lossy.script.Send(kClient, Error(5));
  lossy.script.Gap(kClient);
  lossy.script.Send(kServer, Msg(5), GetattrReply(5));
  const Id ids = Later(lossy);
  EXPECT_EQ(std::ranges::count(ids, "ERR-002"), 0);
}

TEST(Err, Err012UndecodableErrorIsAnswered) {
  // To the responder ...
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.SendBytes(kClient, ShortError(77));
  c.script.Send(kServer, Error(77));
  const Id ids = Later(c);
  EXPECT_EQ(std::ranges::count(ids, "ERR-012"), 1);
  EXPECT_EQ(std::ranges::count(ids, "ERR-002"), 0);
  ASSERT_NE(c.Find("ERR-012"), nullptr);
  EXPECT_FALSE(c.Find("ERR-012")->client_to_server);
  // ... and to the requester, with a code that says nothing.
  for (const uint32_t code : {7u, uint32_t{rpcrdma::kErrChunk}}) {
    Checker requester;
    requester.script.Open();
    Greet(requester);
    requester.script.Send(kClient, Msg(5), GetattrCall(5));
    requester.script.Send(kServer, Error(5, code));
    requester.script.Send(kClient, Error(5));
    EXPECT_EQ(Later(requester), code == 7 ? (Id{"ERR-005", "ERR-012"}) : Id{"ERR-001"});
  }
}

TEST(Err, Err012DroppedInSilence) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(5), GetattrCall(5));
  c.script.SendBytes(kServer, ShortError(5));
  const Id ids = Later(c);
  EXPECT_EQ(std::ranges::count(ids, "ERR-012"), 0);
  EXPECT_EQ(std::ranges::count(ids, "ERR-010"), 1);
}

TEST(Err, Err010VersionErrorsOfAllVersions) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.SendBytes(kClient, Words({5, 9, 32, 0, 0, 0, 0}));
  c.script.SendBytes(kServer, Words({5, 9, 32, rpcrdma::kError, rpcrdma::kErrVers}));
  const Id ids = Later(c);
  EXPECT_EQ(std::ranges::count(ids, "ERR-010"), 1);
}

// rfc5666bis section 5.5: whoever finds a fault reports it.
TEST(Err, Err018RequestersReportFaultyReplies) {
  for (const Profile profile : {Profile::kRfc5666bis, Profile::kRfc8166}) {
    Checker c(profile);
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, Msg(5), GetattrCall(5));
    c.script.Send(kServer, WithReads(Msg(5), {{28, 7, 84}}), GetattrReply(5));
    c.script.Send(kClient, Error(5));
    EXPECT_EQ(Later(c), profile == Profile::kRfc5666bis ? Id{"RDLIST-001"} : (Id{"RDLIST-001", "ERR-009"}));
  }
}

TEST(Err, Err017TwoErrors) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(5), GetattrCall(5));
  c.script.Send(kServer, Error(5));
  c.script.Send(kServer, Error(5));
  ASSERT_EQ(Later(c), Id{"XID-004"});
  EXPECT_EQ(std::ranges::count(c.findings.all[0].see_also, "ERR-017"), 1);
}

TEST(Err, Err011TheSameCallAgain) {
  const auto ids = [](const Buffer& again) {
    Checker c;
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, Msg(5), GetattrCall(5));
    c.script.Send(kServer, Error(5));
    c.script.Send(kClient, Msg(5), again);
    return c.Ids(true);
  };
  EXPECT_EQ(ids(GetattrCall(5)), Id{"ERR-011"});
  EXPECT_EQ(ids(ReadlinkCall(5)), Id{});
}

// A WRITE of 4097 bytes with a chunk of `length`, and what is answered.
Id AfterWrite(uint32_t length, const rpcrdma::Header& header, const Buffer& reply, uint32_t position = WriteDataAt()) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReads(Msg(5), {{position, 7, length}}), WriteCall(5, 4097));
  c.script.Read(kServer, 7, 0x1000, Pattern(length));
  c.script.Send(kServer, header, reply);
  return c.Ids(true);
}

TEST(Err, Err013WrongArguments) {
  const Buffer garbage = MakeReply(5, {}, rpc::kGarbageArgs);
  EXPECT_EQ(AfterWrite(4000, Msg(5), garbage), Id{"PAD-004"});
  EXPECT_EQ(AfterWrite(4000, Error(5), {}), (Id{"PAD-004", "ERR-013"}));
  EXPECT_EQ(AfterWrite(4108, Error(5), {}), (Id{"PAD-003", "ERR-013"}));
  EXPECT_EQ(AfterWrite(4097, Error(5), {}, 4000), (Id{"RDLIST-004", "ERR-013"}));
  // Nothing wrong with the Call.
  EXPECT_EQ(AfterWrite(4097, Error(5), {}), Id{});
}

TEST(Err, Err013LongGarbageArgs) {
  Checker c(Profile::kRfc8166, {"ERR"});
  c.script.Open();
  Greet(c);
  rpcrdma::Header call = Msg(5);
  SetReplyChunk(call, {{8, 1000, 0}});
  c.script.Send(kClient, call, GetattrCall(5));
  const Buffer garbage = MakeReply(5, {}, rpc::kGarbageArgs);
  c.script.Write(kServer, 8, 0, garbage);
  rpcrdma::Header reply = Nomsg(5);
  SetReplyChunk(reply, {{8, static_cast<uint32_t>(garbage.size()), 0}});
  c.script.Send(kServer, reply);
  EXPECT_EQ(c.Ids(true), Id{"ERR-013"});
}

TEST(Err, Err014FaultyHeaderSucceeds) {
  const auto answered = [](Profile profile, const rpcrdma::Header& header, const Buffer& reply) {
    Checker c(profile, {"ERR"});
    c.script.Open();
    Greet(c);
    Buffer call = Words({5, 1, 32, 0, 2, 0, 0});  // a discriminator of 2
    c.script.SendBytes(kClient, Join({call, GetattrCall(5)}));
    c.script.Send(kServer, header, reply);
    return c.Ids(true);
  };
  const Buffer garbage = MakeReply(5, {}, rpc::kGarbageArgs);
  EXPECT_EQ(answered(Profile::kRfc8166, Msg(5), GetattrReply(5)), Id{"ERR-014"});
  EXPECT_EQ(answered(Profile::kRfc8166, Msg(5), garbage), Id{"ERR-008"});  // a note
  EXPECT_EQ(answered(Profile::kRfc8166, Error(5), {}), Id{});
  EXPECT_EQ(answered(Profile::kRfc5666, Msg(5), GetattrReply(5)), Id{"ERR-014"});
  EXPECT_EQ(answered(Profile::kRfc5666, Msg(5), garbage), Id{});  // section 4.2: may be an RPC error
}

TEST(Err, Err014ChunksThatDoNotFitSucceed) {
  EXPECT_EQ(AfterWrite(4000, Msg(5), WriteReply(5, 4000)), (Id{"PAD-004", "ERR-014"}));
  EXPECT_EQ(AfterWrite(4097, Msg(5), WriteReply(5, 4097), 4000), (Id{"RDLIST-004", "ERR-014"}));
  EXPECT_EQ(AfterWrite(4108, Msg(5), WriteReply(5, 4097)), Id{"PAD-003"});  // may be tolerated
  EXPECT_EQ(AfterWrite(4000, Msg(5), FailedWriteReply(5, 5)), Id{"PAD-004"});
  // The receiver may ignore the inner xid.
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(5), GetattrCall(6));
  c.script.Send(kServer, Msg(5), GetattrReply(5));
  EXPECT_EQ(c.Ids(true), Id{"XID-001"});
}

TEST(Err, Err008WrongCode) {
  Checker c(Profile::kRfc8166, {"ERR-008"});
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(5));  // nothing after the header
  c.script.Send(kServer, Error(5, rpcrdma::kErrVers));
  EXPECT_EQ(c.Ids(), Id{"ERR-008"});
}

Buffer ProtectedCall(uint32_t xid) {
  rpc::CallHeader header;
  header.xid = xid;
  header.rpc_version = 2;
  header.program = kNfs;
  header.version = 3;
  header.procedure = kReaddir;
  Buffer credential, out;
  rpc::EncodeGssCredential(rpc::kGssData, 1, rpc::kGssPrivacy, Pattern(8), credential);
  header.credential = {rpc::kRpcsecGss, credential};
  rpc::Encode(header, out);
  return Join({out, Opaque(Pattern(64))});
}

TEST(Gss, Gss004NoReplyChunk) {
  const auto ids = [](bool reply_chunk, const rpcrdma::Header& answer, const Buffer& reply) {
    Checker c(Profile::kRfc8166, {"GSS", "THRESH-002"});
    c.script.Open();
    Greet(c);
    rpcrdma::Header call = Msg(5);
    if (reply_chunk) SetReplyChunk(call, {{8, 8192, 0}});
    c.script.Send(kClient, call, ProtectedCall(5));
    c.script.Send(kServer, answer, reply);
    return c.Ids(true);
  };
  EXPECT_EQ(ids(false, Error(5), {}), Id{"GSS-004"});
  EXPECT_EQ(ids(true, Error(5), {}), Id{});
  EXPECT_EQ(ids(false, Msg(5), MakeReply(5, Opaque(Pattern(64)))), Id{});
  EXPECT_EQ(ids(false, Msg(5), MakeReply(5, Opaque(Pattern(5000)))), Id{"THRESH-002"});
}

TEST(Gss, Gss003ControlMessageInALongCall) {
  rpc::CallHeader header;
  header.xid = 5;
  header.rpc_version = 2;
  header.program = kNfs;
  header.version = 3;
  Buffer credential, out;
  rpc::EncodeGssCredential(rpc::kGssInit, 1, rpc::kGssNone, {}, credential);
  header.credential = {rpc::kRpcsecGss, credential};
  rpc::Encode(header, out);
  const Buffer call = Join({out, Words({1000})});
  for (const bool reduced : {false, true}) {
    Checker c;
    c.script.Open();
    Greet(c);
    std::vector<ReadSeg> reads = {{0, 7, static_cast<uint32_t>(call.size())}};
    if (reduced) reads.push_back({static_cast<uint32_t>(call.size()), 8, 1000});
    c.script.Send(kClient, WithReads(Nomsg(5), reads));
    c.script.Read(kServer, 7, 0x1000, call);
    if (reduced) c.script.Read(kServer, 8, 0x1000, Pattern(1000));
    EXPECT_EQ(c.Ids(), reduced ? Id{"GSS-003"} : Id{});
  }
}

}  // namespace
}  // namespace stag::test
