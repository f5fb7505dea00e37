// SPDX-License-Identifier: GPL-2.0-or-later
//
// HDR and FRAME: for each rule what breaks it and what is near but fine.
#include "tests/conformance/checker.h"

namespace stag::test {
namespace {

Buffer Bytes32(std::initializer_list<uint32_t> words) { return Words(words); }

// Ids after one Send of the client on a proven connection.
Id AfterSend(const Buffer& bytes, Profile profile = Profile::kRfc8166) {
  Checker c(profile);
  c.script.Open();
  Greet(c);
  c.script.SendBytes(kClient, bytes);
  return c.Ids();
}

Buffer WithRpc(const Buffer& header, uint32_t xid) { return Join({header, GetattrCall(xid)}); }

TEST(Hdr, Hdr001ByteSwapped) {
  EXPECT_EQ(AfterSend(Bytes32({0x78563412, 0x01000000, 0x20000000, 0, 0, 0, 0})), Id{"HDR-001"});
  EXPECT_EQ(AfterSend(Bytes32({0x12345678, 1, 32, 0x01000000, 0, 0, 0})), Id{"HDR-001"});
}

TEST(Hdr, Hdr002And005ShortMessages) {
  EXPECT_EQ(AfterSend(Bytes32({5, 1, 32})), Id{"HDR-005"});
  EXPECT_EQ(AfterSend(Bytes32({5, 1, 32}), Profile::kRfc5666bis), Id{"HDR-002"});
  EXPECT_EQ(AfterSend(Bytes32({5, 1, 32, 0, 0, 0})), Id{"HDR-005"});  // one list word missing
  EXPECT_EQ(AfterSend(Bytes32({5, 1, 32, 0, 0, 0}), Profile::kRfc5666bis), Id{"HDR-006"});
  EXPECT_EQ(AfterSend(Bytes32({5, 1, 32, 3}), Profile::kRfc5666), Id{});  // RDMA_DONE has 16 bytes
}

TEST(Hdr, Hdr005AnswerToAShortMessage) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.SendBytes(kClient, Bytes32({5, 1, 32, 0, 0, 0}));
  rpcrdma::Header error = MakeHeader(rpcrdma::kError, 5);
  error.err = rpcrdma::kErrChunk;
  c.script.Send(kServer, error);
  EXPECT_EQ(c.Ids(), (Id{"HDR-005", "HDR-005"}));
  EXPECT_FALSE(c.findings.all[1].client_to_server);
  // An error of 20 bytes for a Call is what the protocol wants.
  Checker fine;
  fine.script.Open();
  Greet(fine);
  fine.script.Send(kClient, Msg(6), GetattrCall(6));
  error.xid = 6;
  fine.script.Send(kServer, error);
  EXPECT_EQ(fine.Ids(), Id{});
}

TEST(Hdr, Hdr003Version) {
  EXPECT_EQ(AfterSend(Bytes32({5, 2, 32, 0, 0, 0, 0})), Id{"HDR-003"});
  // A peer that speaks another version from the start breaks nothing, until the other side says that it doesn't know
  // it.
  Checker c;
  c.script.Open();
  c.script.SendBytes(kClient, Bytes32({5, 2, 32, 0, 0, 0, 0}));
  EXPECT_EQ(c.Ids(), Id{});
  const uint64_t call = c.script.frame();
  c.script.SendBytes(kServer, Bytes32({5, 2, 32, 4, 1, 1, 1}));
  ASSERT_EQ(c.Ids(), Id{"HDR-003"});
  EXPECT_EQ(c.findings.all[0].frame.number, call);
  EXPECT_TRUE(c.findings.all[0].client_to_server);
}

TEST(Hdr, Hdr004Procedure) { EXPECT_EQ(AfterSend(Bytes32({5, 1, 32, 7, 0, 0, 0})), Id{"HDR-004"}); }

TEST(Hdr, Hdr006ListsEndOutside) {
  // A Read list of one entry, then nothing: the word that should go on is missing.
  EXPECT_EQ(AfterSend(Bytes32({5, 1, 32, 0, 1, 100, 7, 512, 0, 0})), Id{"HDR-006"});
  // No Reply chunk word.
  EXPECT_EQ(AfterSend(Bytes32({5, 1, 32, 0, 1, 100, 7, 512, 0, 0, 0, 0})), Id{"HDR-006"});
}

TEST(Hdr, Hdr007And011Discriminators) {
  const Id reply_chunk = AfterSend(WithRpc(Bytes32({5, 1, 32, 0, 0, 0, 2}), 5));
  EXPECT_EQ(reply_chunk, Id{"HDR-007"});
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.SendBytes(kClient, WithRpc(Bytes32({5, 1, 32, 0, 0, 0}), 5));  // a list word missing
  ASSERT_EQ(c.Ids(), Id{"HDR-007"});
  EXPECT_EQ(c.findings.all[0].see_also, (std::vector<std::string_view>{"HDR-011"}));
}

TEST(Hdr, Hdr008ReadEntry) {
  EXPECT_EQ(AfterSend(Bytes32({5, 1, 32, 0, 1, 100, 7})), Id{"HDR-008"});
  // 20-byte entries: what follows is no continuation word.
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.SendBytes(kClient, Bytes32({5, 1, 32, 0, 1, 100, 7, 512, 0x1000, 0, 99, 0, 0}));
  ASSERT_EQ(c.Ids(), Id{"HDR-007"});
  EXPECT_EQ(c.findings.all[0].see_also, (std::vector<std::string_view>{"HDR-008"}));
}

TEST(Hdr, Hdr009WriteList) {
  EXPECT_EQ(AfterSend(Bytes32({5, 1, 32, 0, 0, 1, 0x10000000, 7, 512, 0, 0, 0, 0})), Id{"HDR-009"});
  // An empty Write chunk: only rfc5666bis wants a segment.
  rpcrdma::Header header = Msg(5);
  AddWriteChunk(header, {});
  Buffer bytes;
  rpcrdma::Encode(header, bytes);
  bytes = Join({bytes, ReadCall(5, 100)});
  EXPECT_EQ(AfterSend(bytes), Id{});
  EXPECT_EQ(AfterSend(bytes, Profile::kRfc5666bis), Id{"HDR-009"});
  EXPECT_EQ(AfterSend(bytes, Profile::kRfc5666), Id{});
}

TEST(Hdr, Hdr010ReplyChunk) {
  EXPECT_EQ(AfterSend(Bytes32({5, 1, 32, 0, 0, 0, 1, 2, 7, 512, 0, 0})), Id{"HDR-010"});
  Checker c;
  c.script.Open();
  Greet(c);
  rpcrdma::Header header = Msg(5);
  SetReplyChunk(header, {});
  c.script.Send(kClient, header, GetattrCall(5));
  ASSERT_NE(c.Find("HDR-010"), nullptr);
  EXPECT_EQ(c.Find("HDR-010")->severity, Severity::kNote);
}

TEST(Hdr, Hdr012NoPayload) { EXPECT_EQ(AfterSend(Bytes32({5, 1, 32, 0, 0, 0, 0})), Id{"HDR-012"}); }

TEST(Hdr, Hdr013TwoMessages) {
  EXPECT_EQ(AfterSend(Join({Bytes32({5, 1, 32, 0, 0, 0, 0}), GetattrCall(5), GetattrCall(6)})), Id{"HDR-013"});
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(5), GetattrCall(5));
  c.script.Send(kServer, Msg(5), Join({GetattrReply(5), Words({1, 2})}));
  EXPECT_EQ(c.Ids(), Id{"HDR-013"});
}

TEST(Hdr, Hdr014MessageType) {
  EXPECT_EQ(AfterSend(Join({Bytes32({5, 1, 32, 0, 0, 0, 0}), Words({5, 2, 2, kNfs, 3, 1})})), Id{"HDR-014"});
}

TEST(Hdr, Hdr015InlinePayloadOfNomsg) {
  Checker c;
  c.script.Open();
  Greet(c);
  rpcrdma::Header header = Nomsg(5);
  AddRead(header, 0, {7, 100, 0});
  c.script.Send(kClient, header, GetattrCall(5));
  ASSERT_EQ(c.Ids(), Id{"LONG-008"});
  EXPECT_EQ(c.findings.all[0].see_also, (std::vector<std::string_view>{"HDR-015"}));
}

TEST(Frame, Frame002ChangeOfFraming) {
  struct Case {
    bool after, within;
    uint32_t unanswered;
    Id found;
  };
  for (const Case& k : {Case{false, false, 0, {}}, Case{true, false, 0, {}}, Case{true, true, 0, {"FRAME-002"}},
                        Case{true, false, 2, {"FRAME-002"}}}) {
    Checker c;
    fabric::Setup setup;
    setup.after_records = k.after;
    setup.within_record = k.within;
    setup.unanswered_records = k.unanswered;
    c.session.OnEvent({c.script.info(), 0, {}, {}, setup});
    EXPECT_EQ(c.Ids(), k.found);
  }
}

TEST(Frame, Frame001RecordMark) {
  const Buffer call = GetattrCall(5);
  const auto mark = static_cast<uint32_t>(0x80000000u | call.size());
  EXPECT_EQ(AfterSend(Join({Bytes32({5, 1, 32, 0, 0, 0, 0}), Words({mark}), call})), Id{"FRAME-001"});
  // Another word in front is a wrong xid, not a record mark.
  EXPECT_EQ(AfterSend(Join({Bytes32({5, 1, 32, 0, 0, 0, 0}), Words({mark + 1}), call})), Id{"XID-001"});
}

TEST(Frame, Frame001InAPositionZeroChunk) {
  Checker c;
  c.script.Open();
  Greet(c);
  const Buffer call = GetattrCall(5);
  const Buffer content = Join({Words({static_cast<uint32_t>(0x80000000u | call.size())}), call});
  rpcrdma::Header header = Nomsg(5);
  AddRead(header, 0, {7, static_cast<uint32_t>(content.size()), 0x1000});
  c.script.Send(kClient, header);
  EXPECT_EQ(c.Ids(), Id{});
  c.script.Read(kServer, 7, 0x1000, content);
  EXPECT_EQ(c.Ids(), Id{"FRAME-001"});
}

// What the capture cut off is not judged.
TEST(Hdr, TruncatedIsNotMalformed) {
  rpcrdma::Header header = Msg(5);
  AddWriteChunk(header, {{1, 100, 0}, {2, 100, 0}});
  SetReplyChunk(header, {{3, 100, 0}});
  const Buffer rpc = ReadCall(5, 100);
  Buffer whole;
  rpcrdma::Encode(header, whole);
  for (size_t captured = 0; captured <= whole.size() + rpc.size(); ++captured) {
    Checker c;
    c.script.Open();
    Greet(c);
    c.script.SendTruncated(kClient, header, rpc, captured);
    for (const std::string& id : c.Ids()) EXPECT_EQ(id, "WRLIST-016") << captured;
  }
}

}  // namespace
}  // namespace stag::test
