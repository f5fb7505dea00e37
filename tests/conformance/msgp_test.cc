// SPDX-License-Identifier: GPL-2.0-or-later
//
// MSGP: RDMA_MSGP, which only draft-08 speaks, and its padding.
#include "tests/conformance/legacy_checker.h"

namespace stag::test {
namespace {

TEST(Msgp, AllowedOnlyByDraft08) {
  for (const auto& [profile, wrong] : {std::pair{Profile::kRfc8166, true}, {Profile::kRfc5666, false}}) {
    Checker c(profile);
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, MakeHeader(rpcrdma::kMsgp, 5), GetattrCall(5));
    c.script.Send(kServer, Msg(5), GetattrReply(5));
    c.script.Send(kClient, MakeHeader(rpcrdma::kDone, 5));
    EXPECT_EQ(c.Ids(), wrong ? (Id{"MSGP-001", "DONE-001"}) : Id{});
  }
}

TEST(Msgp002, AnsweredWithAReply) {
  for (const Profile profile : {Profile::kRfc8166, Profile::kRfc5666bis}) {
    LegacyChecker c(profile, {"MSGP-002"});
    c.Start();
    c.Msgp(5);
    c.Reply(5);
    ASSERT_EQ(c.Ids(true), Id{"MSGP-002"});
    EXPECT_EQ(c.findings.all[0].severity, Severity::kNote);
    EXPECT_FALSE(c.findings.all[0].client_to_server);
  }
}

TEST(Msgp002, NotAnswered) {
  LegacyChecker c(Profile::kRfc8166, {"MSGP-002"});
  c.Start();
  c.Msgp(5);
  c.Exchanges(10, 12);
  EXPECT_EQ(c.Ids(true), Id{});
  c.Exchanges(13, 20);
  ASSERT_EQ(c.Ids(true), Id{"MSGP-002"});
  EXPECT_EQ(c.findings.all[0].xid, 5u);
}

TEST(Msgp002, ErrChunkAndLegacyPeersAreFine) {
  LegacyChecker answered(Profile::kRfc8166, {"MSGP-002"});
  answered.Start();
  answered.Msgp(5);
  answered.Error(5);
  answered.Exchanges(10, 20);
  EXPECT_EQ(answered.Ids(true), Id{});

  LegacyChecker legacy(Profile::kRfc5666, {"MSGP-002"});
  legacy.Start();
  legacy.Msgp(5);
  legacy.Reply(5);
  EXPECT_EQ(legacy.Ids(true), Id{});

  // The Reply proves that both peers speak it.
  LegacyChecker proven(Profile::kAuto, {"MSGP-002"});
  proven.script.Open(std::nullopt, std::nullopt);
  proven.Exchanges(1, 1);
  proven.Msgp(5);
  proven.Reply(5);
  EXPECT_EQ(proven.Ids(true), Id{});

  LegacyChecker lost(Profile::kRfc8166, {"MSGP-002"});
  lost.Start();
  lost.Msgp(5);
  lost.script.Gap(kServer);
  lost.Exchanges(10, 20);
  EXPECT_EQ(lost.Ids(true), Id{});
}

// WRITE3args of RFC 1813: file, offset, count, stable, data; `pad` bytes of padding before the data.
Buffer PaddedWrite(uint32_t xid, uint32_t count, size_t pad) {
  const Buffer head = MakeCall(xid, kNfs, 3, kWrite, Join({FileHandle(), Words({0, 0, count, 2, count})}));
  return Join({head, Buffer(pad), Pattern(count)});
}

TEST(Msgp005, PaddingIsWhereItIsAnnounced) {
  // The data begins at byte 40 + 36 + 20 = 96 of the RPC message; the header has 36 bytes.
  const auto ids = [](uint32_t align, uint32_t thresh, size_t pad) {
    LegacyChecker c(Profile::kRfc5666, {"MSGP-005"});
    c.Start();
    c.Msgp(5, align, thresh, PaddedWrite(5, 512, pad));
    return c.Ids(true);
  };
  EXPECT_EQ(ids(128, 256, 32), Id{});   // 96 + 32 = 128
  EXPECT_EQ(ids(128, 256, 124), Id{});  // 36 + 96 + 124 = 256: counted from the Send's start
  EXPECT_EQ(ids(128, 256, 16), Id{"MSGP-005"});
  EXPECT_EQ(ids(128, 256, 0), Id{"MSGP-005"});  // none at all
  EXPECT_EQ(ids(32, 256, 0), Id{});             // none is needed
  EXPECT_EQ(ids(128, 512, 0), Id{});            // "at or above" or "exceeds": either may be meant
  EXPECT_EQ(ids(128, 4096, 0), Id{});           // too short for padding
  EXPECT_EQ(ids(0, 0, 0), Id{});
}

TEST(Msgp005, NotWhereTheUpperLayerIsUnknownOrCut) {
  LegacyChecker c(Profile::kRfc5666, {"MSGP-005"});
  c.Start();
  c.Msgp(5, 128, 256, MakeCall(5, 400000, 1, 1, Pattern(600)));
  rpcrdma::Header header = MakeHeader(rpcrdma::kMsgp, 6);
  header.align = 128;
  header.thresh = 256;
  c.script.SendTruncated(kClient, header, PaddedWrite(6, 512, 16), 200);
  EXPECT_EQ(c.Ids(true), Id{});
}

TEST(Msgp006, TheAlignmentOfConfRdma) {
  const auto ids = [](bool configured, uint32_t align) {
    LegacyChecker c(Profile::kRfc5666, {"MSGP-006"});
    c.script.Open(std::nullopt, std::nullopt);
    if (configured) c.Configure(1, {4096, 4096, 4}, {4096, 4096, 4});
    if (!configured) c.Exchanges(1, 1);
    c.Msgp(5, align, 4096);
    return c.Ids(true);
  };
  EXPECT_EQ(ids(true, 512), Id{"MSGP-006"});
  EXPECT_EQ(ids(true, 4096), Id{});
  EXPECT_EQ(ids(false, 512), Id{});
}

}  // namespace
}  // namespace stag::test
