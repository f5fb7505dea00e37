// SPDX-License-Identifier: GPL-2.0-or-later
//
// Checks of the groups MODEL, MEM, ERR, GSS and BC.
#include "tests/conformance/checker.h"

namespace stag::test {
namespace {

rpcrdma::Header Error(uint32_t xid, uint32_t err, uint32_t vers = 1, uint32_t low = 1, uint32_t high = 1) {
  rpcrdma::Header header = MakeHeader(rpcrdma::kError, xid);
  header.vers = vers;
  header.err = err;
  header.vers_low = low;
  header.vers_high = high;
  return header;
}

TEST(Model, ClientMovesData) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.ReadRequest(kClient, 7, 0x1000, 100);
  c.script.Write(kClient, 7, 0x1000, Pattern(10));
  EXPECT_EQ(c.Ids(), (Id{"MODEL-001", "MODEL-002"}));
}

TEST(Mem, OutsideAndAfter) {
  Checker c;
  c.script.Open();
  Greet(c);
  rpcrdma::Header header = Msg(5);
  AddWriteChunk(header, {{7, 100, 0x1000}});
  c.script.Send(kClient, header, ReadCall(5, 100));
  c.script.Write(kServer, 7, 0x1000, Pattern(104));
  EXPECT_EQ(c.Ids(), Id{"MEM-003"});
  c.script.Write(kServer, 9, 0, Pattern(4));
  c.script.Send(kClient, Msg(6), GetattrCall(6));
  EXPECT_EQ(c.Ids(), (Id{"MEM-003", "MEM-003"}));
}

TEST(Mem, Overlap) {
  Checker c(Profile::kRfc8166, {"MEM"});
  c.script.Open();
  Greet(c);
  for (const auto& [xid, offset] : {std::pair{5u, 0x1000u}, {6u, 0x2000u}, {7u, 0x1800u}}) {
    rpcrdma::Header header = Msg(xid);
    AddWriteChunk(header, {{7, 4096, offset}});
    c.script.Send(kClient, header, ReadCall(xid, 4096));
  }
  // Only the answers prove that the earlier Calls were outstanding.
  EXPECT_EQ(c.Ids(), Id{});
  c.script.Send(kServer, Msg(7), MakeReply(7, Words({70, 0})));
  EXPECT_EQ(c.Ids(), Id{});
  c.script.Send(kServer, Msg(5), MakeReply(5, Words({70, 0})));
  EXPECT_EQ(c.Ids(), Id{"MEM-005"});
}

TEST(Mem, Wrap) {
  for (const uint32_t length : {0x100u, 0x101u}) {
    Checker c;
    c.script.Open();
    Greet(c);
    rpcrdma::Header header = Msg(5);
    AddWriteChunk(header, {{7, length, 0xffffffffffffff00u}});
    c.script.Send(kClient, header, ReadCall(5, 10));
    EXPECT_EQ(c.Ids(), length == 0x100 ? Id{} : Id{"MEM-006"});
  }
}

TEST(Err, FormOfErrors) {
  const auto ids = [](const rpcrdma::Header& error, const Buffer& more = {}, bool notes = false) {
    Checker c;
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, Msg(5), GetattrCall(5));
    c.script.Send(kServer, error, more);
    return c.Ids(notes);
  };
  EXPECT_EQ(ids(Error(5, rpcrdma::kErrChunk)), Id{});
  EXPECT_EQ(ids(Error(5, rpcrdma::kErrChunk, 2)), Id{"ERR-004"});
  EXPECT_EQ(ids(Error(5, 7)), Id{"ERR-005"});
  EXPECT_EQ(ids(Error(5, rpcrdma::kErrVers, 1, 2, 3)), Id{});
  EXPECT_EQ(ids(Error(5, rpcrdma::kErrVers, 1, 2, 1)), Id{"ERR-006"});
  EXPECT_EQ(ids(Error(5, rpcrdma::kErrVers, 1, 1, 1)), Id{"ERR-006"});
  EXPECT_EQ(ids(Error(5, rpcrdma::kErrChunk), Words({1})), Id{"ERR-010"});
  EXPECT_EQ(ids(Error(5, rpcrdma::kErrChunk), Words({0, 0, 0}), true), Id{"ERR-010"});
}

TEST(Err, ShortErrorsAreErrors) {
  const auto severity = [](const Buffer& error) {
    Checker c;
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, Msg(5), GetattrCall(5));
    c.script.SendBytes(kServer, error);
    const Finding* found = c.Find("ERR-010");
    return found ? std::optional(found->severity) : std::nullopt;
  };
  EXPECT_EQ(severity(Words({5, 1, 32, 4})), Severity::kError);
  EXPECT_EQ(severity(Words({5, 1, 32, 4, rpcrdma::kErrChunk})), std::nullopt);
  EXPECT_EQ(severity(Words({5, 1, 32, 4, rpcrdma::kErrVers, 2})), Severity::kWarning);
}

// Whatever makes the header unusable: four later Calls that are answered, or one of them and the end, are enough.
TEST(Err, UnusableHeadersAreNotIgnored) {
  const Buffer call = GetattrCall(5);
  const std::vector<Buffer> unusable = {
      Join({Words({5, 1, 32, 7, 0, 0, 0}), call}),           // rdma_proc
      Join({Words({5, 1, 32, 0, 0, 0, 2}), call}),           // no boolean
      Words({5, 1, 32, 0, 1, 0, 7, 100}),                    // the Read list is cut
      Words({5, 1, 32, 0, 0, 1, 0xffffffff, 7, 100, 0, 0}),  // so is the Write list
      Words({5, 1, 32, 0, 0, 0, 0}),                         // no payload
      Words({5, 1, 32, 1, 0, 0, 0}),                         // nor chunks
      Join({Words({5, 1, 32, 0, 0, 0, 0}), GetattrCall(6)}),
  };
  for (const Buffer& bytes : unusable)
    for (const uint32_t later : {0u, 1u, 3u, 4u, 6u})
      for (const bool ends : {false, true}) {
        Checker c(Profile::kRfc8166, {"ERR-008"});
        c.script.Open();
        Greet(c);
        c.script.SendBytes(kClient, bytes);
        for (uint32_t i = 0; i < later; ++i) Greet(c, 0x200 + i);
        if (ends) c.script.Close();
        EXPECT_EQ(c.Ids(), later >= 4 || (later > 0 && ends) ? Id{"ERR-008"} : Id{}) << later << ends << bytes.size();
      }
}

// A responder with several threads answers the Calls of a window in any order. Only what was sent after an answer tells
// that time went by.
TEST(Err, AWindowIsAnsweredInAnyOrder) {
  constexpr uint32_t kWindow = 8;
  for (uint32_t answered = kWindow; answered < 5 * kWindow; ++answered) {
    Checker c(Profile::kRfc8166, {"ERR-008"});
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, Nomsg(6));
    uint32_t sent = 100;
    for (uint32_t i = 0; i < kWindow; ++i, ++sent) c.script.Send(kClient, Msg(sent), GetattrCall(sent));
    for (uint32_t i = 0; i < answered; ++i, ++sent) {
      c.script.Send(kServer, Msg(100 + i), GetattrReply(100 + i));
      c.script.Send(kClient, Msg(sent), GetattrCall(sent));
    }
    c.script.Send(kServer, Error(6, rpcrdma::kErrChunk));
    EXPECT_EQ(c.Ids(), answered > 3 * kWindow ? Id{"ERR-008"} : Id{}) << answered;
  }
}

TEST(Err, AnswersToFaultyCalls) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Nomsg(5));
  c.script.Send(kServer, Error(5, rpcrdma::kErrChunk));
  EXPECT_EQ(c.Ids(), Id{"LONG-001"});
  c.script.Send(kClient, Nomsg(6));
  const uint64_t faulty = c.script.frame();
  for (uint32_t xid = 10; xid < 15; ++xid) Greet(c, xid);
  ASSERT_EQ(c.Ids(), (Id{"LONG-001", "LONG-001", "ERR-008"}));
  EXPECT_EQ(c.Find("ERR-008")->frame.number, faulty);
}

// Each has its finding, although both are overdue with the same Reply.
TEST(Err, TwoFaultyCallsAreNotAnswered) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Nomsg(6));
  const uint64_t first = c.script.frame();
  c.script.Send(kClient, Nomsg(7));
  const uint64_t second = c.script.frame();
  for (uint32_t xid = 10; xid < 20; ++xid) Greet(c, xid);
  std::vector<uint64_t> frames;
  for (const Finding& finding : c.findings.all)
    if (finding.rule->id == "ERR-008") frames.push_back(finding.frame.number);
  EXPECT_EQ(frames, (std::vector<uint64_t>{first, second}));
}

TEST(Err, VersionMustBeAnswered) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.SendBytes(kClient, Words({5, 9, 32, 0, 0, 0, 0}));
  c.script.Send(kServer, Error(5, rpcrdma::kErrChunk, 9));
  EXPECT_EQ(c.Ids(), (Id{"HDR-003", "ERR-007"}));
}

TEST(Err, RequesterSendsError) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(5), GetattrCall(5));
  c.script.Send(kServer, Msg(5), GetattrReply(5));
  c.script.Send(kClient, Error(5, rpcrdma::kErrChunk));
  for (uint32_t xid = 10; xid < 20; ++xid) Greet(c, xid);
  ASSERT_EQ(c.Ids(), Id{"ERR-001"});
  EXPECT_TRUE(c.findings.all[0].client_to_server);
}

Buffer GssCall(uint32_t xid, uint32_t gss_proc, uint32_t service, const Buffer& body) {
  rpc::CallHeader header;
  header.xid = xid;
  header.rpc_version = 2;
  header.program = kNfs;
  header.version = 3;
  header.procedure = gss_proc == rpc::kGssData ? kWrite : 0;
  Buffer credential;
  rpc::EncodeGssCredential(gss_proc, 1, service, Pattern(8), credential);
  header.credential = {rpc::kRpcsecGss, credential};
  Buffer out;
  rpc::Encode(header, out);
  return Join({out, body});
}

TEST(Gss, NothingIsReduced) {
  const auto ids = [](uint32_t gss_proc, uint32_t service) {
    Checker c;
    c.script.Open();
    Greet(c);
    const Buffer call = GssCall(5, gss_proc, service, Words({1000}));
    rpcrdma::Header header = Msg(5);
    AddRead(header, static_cast<uint32_t>(call.size()), {7, 1000, 0});
    c.script.Send(kClient, header, call);
    return c.Ids();
  };
  EXPECT_EQ(ids(rpc::kGssData, rpc::kGssIntegrity), Id{"GSS-001"});
  EXPECT_EQ(ids(rpc::kGssData, rpc::kGssPrivacy), Id{"GSS-001"});
  EXPECT_EQ(ids(rpc::kGssInit, rpc::kGssNone), Id{"GSS-003"});
}

TEST(Bc, Backchannel) {
  Checker c;
  c.script.Open();
  Greet(c);
  rpcrdma::Header header = Msg(5);
  AddWriteChunk(header, {{7, 100, 0}});
  c.script.Send(kServer, header, MakeCall(5, 0x40000000, 1, 0));
  EXPECT_NE(c.Find("BC-003"), nullptr);
  Greet(c, 9);
  EXPECT_NE(c.Find("BC-005"), nullptr);
  EXPECT_EQ(c.Find("BC-003")->client_to_server, false);
}

}  // namespace
}  // namespace stag::test
