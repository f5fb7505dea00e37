// SPDX-License-Identifier: GPL-2.0-or-later
//
// RDLIST, and what goes with it of PAD and DDP.
#include "tests/conformance/checker.h"
#include "tests/conformance/chunks.h"

namespace stag::test {
namespace {

// Ids after a WRITE of `count` bytes whose data went into these segments.
Id AfterWrite(uint32_t count, std::initializer_list<ReadSeg> reads, Profile profile = Profile::kRfc8166,
              bool notes = false) {
  Checker c(profile);
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReads(Msg(5), reads), WriteCall(5, count));
  return c.Ids(notes);
}

const uint32_t kAt = WriteDataAt();

TEST(Rdlist, GoodWrites) {
  EXPECT_EQ(AfterWrite(1001, {{kAt, 7, 1001}}), Id{});
  EXPECT_EQ(AfterWrite(1001, {{kAt, 7, 1004}}), Id{});                             // with padding
  EXPECT_EQ(AfterWrite(1001, {{kAt, 7, 501}, {kAt, 8, 500}, {kAt, 9, 3}}), Id{});  // odd segments, padding of its own
}

TEST(Rdlist, Rdlist001ReadListInReply) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(5), GetattrCall(5));
  c.script.Send(kServer, WithReads(Msg(5), {{28, 7, 84}}), GetattrReply(5));
  EXPECT_NE(c.Find("RDLIST-001"), nullptr);
  EXPECT_FALSE(c.Find("RDLIST-001")->client_to_server);
}

TEST(Rdlist, Rdlist002Alignment) {
  const Id ids = AfterWrite(1000, {{kAt + 1, 7, 1000}});
  EXPECT_TRUE(std::ranges::count(ids, "RDLIST-002") == 1);
  Checker legacy(Profile::kRfc5666);
  legacy.script.Open();
  legacy.script.Send(kClient, WithReads(Msg(5), {{kAt + 1, 7, 1000}}), WriteCall(5, 1000));
  ASSERT_NE(legacy.Find("RDLIST-002"), nullptr);
  EXPECT_EQ(legacy.Find("RDLIST-002")->severity, Severity::kWarning);
}

TEST(Rdlist, Rdlist003Interleaved) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReads(Nomsg(5), {{0, 7, 40}, {400, 8, 100}, {0, 9, 40}}));
  EXPECT_EQ(c.Ids(), Id{"RDLIST-003"});
  Checker fine;
  fine.script.Open();
  Greet(fine);
  fine.script.Send(kClient, WithReads(Nomsg(5), {{0, 7, 40}, {0, 9, 40}, {400, 8, 100}}));
  EXPECT_EQ(fine.Ids(), Id{});
}

TEST(Rdlist, Rdlist004Outside) { EXPECT_EQ(AfterWrite(1000, {{4000, 7, 1000}}), Id{"RDLIST-004"}); }

// Two WRITEs in one COMPOUND: the second Position counts the first item in.
Buffer TwoWrites(uint32_t xid, uint32_t count, uint32_t& first, uint32_t& second) {
  const auto write = [&] { return Join({Words({38}), Pattern(16), Words({0, 0, 2, count})}); };
  Buffer body = Join({Opaque({}), Words({0, 2}), write()});
  first = static_cast<uint32_t>(MakeCall(xid, kNfs, 4, 1, body).size());
  body = Join({body, write()});
  const Buffer call = MakeCall(xid, kNfs, 4, 1, body);
  second = static_cast<uint32_t>(call.size()) + count;
  return call;
}

TEST(Rdlist, Rdlist004PositionOfTheSecondChunk) {
  uint32_t first = 0, second = 0;
  const Buffer call = TwoWrites(5, 4096, first, second);
  for (const uint32_t wrong : {0u, 4096u}) {
    Checker c;
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, WithReads(Msg(5), {{first, 7, 4096}, {second - wrong, 8, 4096}}), call);
    if (wrong == 0) {
      EXPECT_EQ(c.Ids(), Id{});
      continue;
    }
    ASSERT_EQ(c.Ids(), Id{"RDLIST-004"});
    EXPECT_NE(c.findings.all[0].message.find("reduced stream"), std::string::npos);
  }
}

TEST(Rdlist, Rdlist004InALongCall) {
  Checker c;
  c.script.Open();
  Greet(c);
  const Buffer rpc = WriteCall(5, 1000);
  c.script.Send(kClient, WithReads(Nomsg(5), {{0, 7, static_cast<uint32_t>(rpc.size())}, {kAt + 8, 8, 1000}}));
  EXPECT_EQ(c.Ids(), Id{});
  c.script.Read(kServer, 7, 0x1000, rpc);
  c.script.Read(kServer, 8, 0x1000, Pattern(1000));
  ASSERT_EQ(c.Ids(), Id{"RDLIST-004"});
  EXPECT_EQ(c.findings.all[0].see_also, (std::vector<std::string_view>{"LONG-007"}));
}

TEST(Rdlist, Rdlist005AndPad) {
  EXPECT_EQ(AfterWrite(1001, {{kAt, 7, 1008}}), Id{"PAD-003"});
  EXPECT_EQ(AfterWrite(4096, {{kAt, 7, 4000}}), Id{"PAD-004"});
  // A program that is not known: only the count speaks, a warning.
  Checker c;
  c.script.Open();
  Greet(c);
  const Buffer call = MakeCall(5, 300000, 1, 1, Words({8192}));
  c.script.Send(kClient, WithReads(Msg(5), {{static_cast<uint32_t>(call.size()), 7, 4096}}), call);
  ASSERT_EQ(c.Ids(), Id{"RDLIST-005"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
}

TEST(Rdlist, Rdlist006AndDdp001) {
  Checker c;
  c.script.Open();
  Greet(c);
  // GETATTR with its file handle in a chunk.
  const Buffer call = MakeCall(5, kNfs, 3, kGetattr, Words({32}));
  c.script.Send(kClient, WithReads(Msg(5), {{static_cast<uint32_t>(call.size()), 7, 32}}), call);
  ASSERT_EQ(c.Ids(), Id{"DDP-001"});
  EXPECT_EQ(c.findings.all[0].see_also.front(), "RDLIST-006");
  Checker alone(Profile::kRfc8166, {"RDLIST"});
  alone.script.Open();
  alone.script.Send(kClient, WithReads(Msg(5), {{static_cast<uint32_t>(call.size()), 7, 32}}), call);
  EXPECT_EQ(alone.Ids(), Id{"RDLIST-006"});
}

TEST(Rdlist, Ddp001InACompound) {
  // PUTFH with its handle in a chunk, before a WRITE: the procedure has an eligible argument, the place is not it.
  Checker c;
  c.script.Open();
  Greet(c);
  const Buffer head = MakeCall(5, kNfs, 4, 1, Join({Opaque({}), Words({0, 2, 22, 32})}));
  const Buffer call = Join({head, Words({38}), Pattern(16), Words({0, 0, 2}), Opaque(Pattern(8))});
  c.script.Send(kClient, WithReads(Msg(5), {{static_cast<uint32_t>(head.size()), 7, 32}}), call);
  EXPECT_EQ(c.Ids(), Id{"DDP-001"});
}

TEST(Rdlist, Ddp012InsideTheHeader) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReads(Msg(5), {{32, 7, 16}}), WriteCall(5, 16));
  EXPECT_EQ(c.Ids(), Id{"DDP-012"});
}

TEST(Rdlist, Rdlist007NotRead) {
  for (const uint32_t read : {0u, 100u, 1000u}) {
    Checker c;
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, WithReads(Msg(5), {{kAt, 7, 1000}}), WriteCall(5, 1000));
    if (read > 0) c.script.Read(kServer, 7, 0x1000, Pattern(read));
    c.script.Send(kServer, Msg(5), WriteReply(5, 1000));
    EXPECT_EQ(c.Ids(), read == 1000 ? Id{} : Id{"RDLIST-007"}) << read;
  }
}

TEST(Rdlist, Rdlist007ErrorsAndLossProveNothing) {
  Checker error;
  error.script.Open();
  Greet(error);
  error.script.Send(kClient, WithReads(Msg(5), {{kAt, 7, 1000}}), WriteCall(5, 1000));
  error.script.Send(kServer, Msg(5), MakeReply(5, Words({70, 0, 0})));  // NFS3ERR_STALE
  EXPECT_EQ(error.Ids(), Id{});
  Checker lossy;
  lossy.script.Open();
  Greet(lossy);
  lossy.script.Send(kClient, WithReads(Msg(5), {{kAt, 7, 1000}}), WriteCall(5, 1000));
  lossy.script.Gap(kServer);
  lossy.script.Send(kServer, Msg(5), WriteReply(5, 1000));
  EXPECT_EQ(lossy.Ids(), Id{});
}

TEST(Rdlist, Rdlist009OnlyDraft08) {
  const auto ids = [](Profile profile) {
    Checker c(profile);
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, WithReads(Nomsg(5), {{400, 8, 100}, {0, 7, 80}}));
    return c.Ids(true);
  };
  EXPECT_EQ(ids(Profile::kRfc8166), Id{});
  EXPECT_EQ(ids(Profile::kRfc5666), (Id{"RDLIST-009", "LONG-006"}));
}

TEST(Rdlist, Rdlist010TwoChunks) {
  uint32_t first = 0, second = 0;
  const Buffer call = TwoWrites(5, 4096, first, second);
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReads(Msg(5), {{first, 7, 4096}, {second, 8, 4096}}), call);
  ASSERT_NE(c.Find("RDLIST-010"), nullptr);
  EXPECT_EQ(c.Find("RDLIST-010")->severity, Severity::kNote);
}

TEST(Rdlist, Rdlist008RefusedRead) {
  for (const bool inside : {true, false}) {
    Checker c(Profile::kRfc8166, {"RDLIST-008"});
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, WithReads(Msg(5), {{kAt, 7, 1000}}), WriteCall(5, 1000));
    c.script.ReadRequest(kServer, 7, 0x1000, inside ? 1000 : 2000);
    fabric::Nak nak;
    nak.kind = fabric::NakKind::kRemoteAccess;
    nak.refused.number = c.script.frame();
    const FrameRef now{c.script.frame() + 1, 0};
    c.session.OnEvent({c.script.info(), kClient, {}, now, nak});
    ASSERT_EQ(c.Ids(), inside ? Id{"RDLIST-008"} : Id{});
    if (inside) {
      EXPECT_TRUE(c.findings.all[0].client_to_server);
      EXPECT_EQ(c.findings.all[0].xid, 5u);
    }
  }
}

}  // namespace
}  // namespace stag::test
