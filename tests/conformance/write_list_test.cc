// SPDX-License-Identifier: GPL-2.0-or-later
//
// WRLIST: what Replies do with Write chunks.
#include "tests/conformance/checker.h"
#include "tests/conformance/chunks.h"
#include "tests/conformance/compounds.h"

namespace stag::test {
namespace {

using rpcrdma::Segment;

struct ReadCase {
  uint32_t count = 1000;  // asked for and returned
  Chunks offered = {{{7, 1000, 0x1000}}};
  Chunks returned = {{{7, 1000, 0x1000}}};
  bool reduced = true;                                                         // the Reply holds the count only
  std::vector<std::pair<Segment, bool>> writes = {{{7, 1000, 0x1000}, true}};  // and whether before the Reply
  Profile profile = Profile::kRfc8166;
};

// Ids of an NFSv3 READ done in this way.
Id After(const ReadCase& read, bool notes = false) {
  Checker c(read.profile);
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithChunks(Msg(5), read.offered), ReadCall(5, read.count));
  for (const auto& [segment, before] : read.writes)
    if (before) c.script.Write(kServer, segment.handle, segment.offset, Pattern(segment.length));
  c.script.Send(kServer, WithChunks(Msg(5), read.returned), ReadReply(5, read.count, read.reduced));
  for (const auto& [segment, before] : read.writes)
    if (!before) c.script.Write(kServer, segment.handle, segment.offset, Pattern(segment.length));
  return c.Ids(notes);
}

TEST(Wrlist, GoodReads) {
  EXPECT_EQ(After({}), Id{});
  // Two segments, the second half used, in two operations.
  EXPECT_EQ(After({.offered = {{{7, 600, 0x1000}, {8, 600, 0}}},
                   .returned = {{{7, 600, 0x1000}, {8, 400, 0}}},
                   .writes = {{{7, 600, 0x1000}, true}, {{8, 100, 0}, true}, {{8, 300, 100}, true}}}),
            Id{});
  // No Write list: inline.
  EXPECT_EQ(After({.offered = {}, .returned = {}, .reduced = false, .writes = {}}), Id{});
  // An empty chunk asks for inline data, and comes back empty.
  EXPECT_EQ(After({.offered = {{}}, .returned = {{}}, .reduced = false, .writes = {}}), Id{});
}

TEST(Wrlist, Wrlist001NotReturned) {
  const Id ids = After({.returned = {}, .reduced = false, .writes = {}});
  EXPECT_EQ(ids, Id{"WRLIST-001"});
}

TEST(Wrlist, Wrlist002SegmentCount) {
  EXPECT_EQ(After({.offered = {{{7, 1000, 0x1000}, {8, 1000, 0}}}}), Id{"WRLIST-002"});
}

TEST(Wrlist, Wrlist003Handles) {
  EXPECT_EQ(After({.returned = {{{7, 1000, 0x1004}}}}), Id{"WRLIST-003"});
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithChunks(Msg(5), {{{7, 1000, 0x1000}}}), ReadCall(5, 1000));
  c.script.Send(kServer, WithChunks(Msg(5), {{{0, 0, 0}}}), MakeReply(5, Words({70, 0})));
  ASSERT_EQ(c.Ids(), Id{"WRLIST-003"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
}

TEST(Wrlist, Wrlist004TooLong) {
  const Id ids = After({.offered = {{{7, 1000, 0x1000}}}, .returned = {{{7, 2000, 0x1000}}}});
  EXPECT_EQ(std::ranges::count(ids, "WRLIST-004"), 1);
}

TEST(Wrlist, Wrlist005Order) {
  EXPECT_EQ(After({.offered = {{{7, 600, 0x1000}, {8, 1000, 0}}},
                   .returned = {{{7, 100, 0x1000}, {8, 900, 0}}},
                   .writes = {{{7, 100, 0x1000}, true}, {{8, 900, 0}, true}}}),
            Id{"WRLIST-005"});
}

TEST(Wrlist, Wrlist006Length) {
  EXPECT_EQ(After({.count = 1001,
                   .offered = {{{7, 1004, 0x1000}}},
                   .returned = {{{7, 1004, 0x1000}}},
                   .writes = {{{7, 1001, 0x1000}, true}}})
                .front(),
            "WRLIST-006");
  // draft-08 counts the padding in.
  EXPECT_EQ(After({.count = 1001,
                   .offered = {{{7, 1004, 0x1000}}},
                   .returned = {{{7, 1004, 0x1000}}},
                   .writes = {{{7, 1001, 0x1000}, true}},
                   .profile = Profile::kRfc5666}),
            Id{});
}

TEST(Wrlist, Wrlist007PaddingWritten) {
  EXPECT_EQ(After({.count = 1001,
                   .offered = {{{7, 1004, 0x1000}}},
                   .returned = {{{7, 1001, 0x1000}}},
                   .writes = {{{7, 1004, 0x1000}, true}}}),
            Id{"WRLIST-007"});
}

TEST(Wrlist, Wrlist008DataWithAnError) {
  for (const uint32_t length : {0u, 1000u}) {
    Checker c;
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, WithChunks(Msg(5), {{{7, 1000, 0x1000}}}), ReadCall(5, 1000));
    c.script.Write(kServer, 7, 0x1000, Pattern(1000));  // allowed: unused chunks may be dirty
    c.script.Send(kServer, WithChunks(Msg(5), {{{7, length, 0x1000}}}), MakeReply(5, Words({5, 0})));  // NFS3ERR_IO
    EXPECT_EQ(c.Ids(), length == 0 ? Id{} : Id{"WRLIST-008"});
  }
  Checker garbage;
  garbage.script.Open();
  Greet(garbage);
  garbage.script.Send(kClient, WithChunks(Msg(5), {{{7, 1000, 0x1000}}}), ReadCall(5, 1000));
  garbage.script.Write(kServer, 7, 0x1000, Pattern(1000));
  garbage.script.Send(kServer, WithChunks(Msg(5), {{{7, 1000, 0x1000}}}), MakeReply(5, {}, rpc::kGarbageArgs));
  EXPECT_EQ(garbage.Ids(), Id{"WRLIST-008"});
}

TEST(Wrlist, Wrlist009And018NotWritten) {
  EXPECT_EQ(After({.writes = {}}), Id{"WRLIST-009"});
  EXPECT_EQ(After({.writes = {{{7, 500, 0x1000}, true}}}), Id{"WRLIST-018"});
}

TEST(Wrlist, LossHidesWhatWasWritten) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithChunks(Msg(5), {{{7, 1000, 0x1000}}}), ReadCall(5, 1000));
  c.script.Gap(kServer);
  c.script.Send(kServer, WithChunks(Msg(5), {{{7, 1000, 0x1000}}}), ReadReply(5, 1000, true));
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Wrlist, Wrlist010InlineDespiteChunk) {
  EXPECT_EQ(After({.returned = {{{7, 0, 0x1000}}}, .reduced = false, .writes = {}}), Id{"WRLIST-010"});
  // No data at the end of the file: the chunk is used though it looks unused.
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithChunks(Msg(5), {{{7, 1000, 0x1000}}}), ReadCall(5, 1000));
  c.script.Send(kServer, WithChunks(Msg(5), {{{7, 0, 0x1000}}}), ReadReply(5, 0, false));
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Wrlist, Reply009DataInTheReplyChunk) {
  Checker c;
  c.script.Open();
  Greet(c);
  rpcrdma::Header call = WithChunks(Msg(5), {{{7, 1000, 0x1000}}});
  SetReplyChunk(call, {{8, 4096, 0}});
  c.script.Send(kClient, call, ReadCall(5, 1000));
  const Buffer rpc = ReadReply(5, 1000, false);
  c.script.Write(kServer, 8, 0, rpc);
  rpcrdma::Header reply = WithChunks(Nomsg(5), {{{7, 0, 0x1000}}});
  SetReplyChunk(reply, {{8, static_cast<uint32_t>(rpc.size()), 0}});
  c.script.Send(kServer, reply);
  ASSERT_EQ(c.Ids(), Id{"WRLIST-010"});
  EXPECT_EQ(c.findings.all[0].see_also, (std::vector<std::string_view>{"REPLY-009"}));
}

TEST(Wrlist, Wrlist011EmptyChunkFilled) {
  EXPECT_EQ(After({.offered = {{}}, .returned = {{{7, 0, 0}}}, .reduced = false, .writes = {}}).front(), "WRLIST-011");
}

TEST(Wrlist, Wrlist012Skipped) {
  const Id ids = After({.offered = {{{7, 1000, 0x1000}}, {{8, 1000, 0}}},
                        .returned = {{{7, 0, 0x1000}}, {{8, 1000, 0}}},
                        .writes = {{{8, 1000, 0}, true}}});
  EXPECT_EQ(ids, (Id{"WRLIST-014", "WRLIST-012"}));
}

TEST(Wrlist, Wrlist013And014Spare) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithChunks(Msg(5), {{{7, 1000, 0x1000}}}), GetattrCall(5));
  c.script.Send(kServer, WithChunks(Msg(5), {{{7, 0, 0x1000}}}), GetattrReply(5));
  EXPECT_EQ(c.Ids(), Id{"WRLIST-013"});
  EXPECT_EQ(After({.offered = {{{7, 1000, 0x1000}}, {{8, 1000, 0}}}, .returned = {{{7, 1000, 0x1000}}, {{8, 0, 0}}}}),
            Id{"WRLIST-014"});
}

TEST(Wrlist, Wrlist015TooSmall) {
  const Id ids = After({.count = 2000});
  EXPECT_EQ(ids.front(), "WRLIST-015");
}

TEST(Wrlist, Wrlist016RoomForPadding) {
  EXPECT_EQ(After({.count = 1001,
                   .offered = {{{7, 1004, 0x1000}}},
                   .returned = {{{7, 1001, 0x1000}}},
                   .writes = {{{7, 1001, 0x1000}, true}}},
                  true),
            Id{"WRLIST-016"});
  EXPECT_EQ(After({.count = 1001,
                   .offered = {{{7, 4096, 0x1000}}},
                   .returned = {{{7, 1001, 0x1000}}},
                   .writes = {{{7, 1001, 0x1000}, true}}},
                  true),
            Id{});
}

TEST(Wrlist, Wrlist017WriteAfterReply) {
  const Id ids = After({.writes = {{{7, 1000, 0x1000}, true}, {{7, 1000, 0x1000}, false}}});
  EXPECT_EQ(ids, Id{"WRLIST-017"});
}

TEST(Wrlist, Wrlist017HandleAdvertisedAgain) {
  Checker c;
  c.script.Open();
  Greet(c);
  for (uint32_t xid = 5; xid < 8; ++xid) {
    c.script.Send(kClient, WithChunks(Msg(xid), {{{7, 1000, 0x1000}}}), ReadCall(xid, 1000));
    c.script.Write(kServer, 7, 0x1000, Pattern(1000));
    c.script.Send(kServer, WithChunks(Msg(xid), {{{7, 1000, 0x1000}}}), ReadReply(xid, 1000, true));
  }
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Wrlist, Wrlist020Invented) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(5), GetattrCall(5));
  c.script.Send(kServer, WithChunks(Msg(5), {{{7, 0, 0x1000}}}), GetattrReply(5));
  EXPECT_EQ(c.Ids(), Id{"WRLIST-020"});
}

// A COMPOUND of two READs, with these returned lengths for items of 100 and 200 bytes.
Id TwoReads(uint32_t first, uint32_t second) {
  Checker c(Profile::kRfc8166, {"WRLIST", "ULB"}, {"WRLIST-009", "WRLIST-018"});
  c.script.Open();
  Greet(c);
  const auto read = [](uint32_t count) { return Join({Words({25}), Pattern(16), Words({0, 0, count})}); };
  const Buffer call = MakeCall(5, kNfs, 4, 1, Join({Opaque({}), Words({0, 2}), read(400), read(400)}));
  c.script.Send(kClient, WithChunks(Msg(5), {{{7, 400, 0}}, {{8, 400, 0}}}), call);
  const auto result = [](uint32_t count) { return Words({25, 0, 1, count}); };
  const Buffer reply = MakeReply(5, Join({Words({0}), Opaque({}), Words({2}), result(100), result(200)}));
  c.script.Send(kServer, WithChunks(Msg(5), {{{7, first, 0}}, {{8, second, 0}}}), reply);
  return c.Ids();
}

TEST(Wrlist, Wrlist021And024TwoItems) {
  EXPECT_EQ(TwoReads(100, 200), Id{});
  EXPECT_EQ(TwoReads(300, 0), Id{"WRLIST-021"});
  EXPECT_EQ(TwoReads(200, 100).front(), "WRLIST-006");
}

// A COMPOUND whose WRITE is reduced, with a Write chunk beside it that returns `returned` bytes.
Id BesideAReducedWrite(const Buffer& second, const Buffer& result, uint32_t returned) {
  Checker c;
  c.script.Open();
  Greet(c);
  rpcrdma::Header header = WithChunks(Msg(5), {{{8, 500, 0x2000}}});
  AddRead(header, PositionAfter({PutFh()}, Write4(1001)), {7, 1001, 0x1000});
  c.script.Send(kClient, header, CompoundCall(5, {PutFh(), Write4(1001), second}));
  c.script.Read(kServer, 7, 0x1000, Pattern(1001));
  if (returned > 0) c.script.Write(kServer, 8, 0x2000, Pattern(returned));
  c.script.Send(kServer, WithChunks(Msg(5), {{{8, returned, 0x2000}}}),
                CompoundReply(5, {PutFhResult(), Write4Result(1001), result}));
  return c.Ids();
}

TEST(Wrlist, ReducedWritesHideNothing) {
  EXPECT_EQ(BesideAReducedWrite(Read4(500), Read4Result(400, true), 400), Id{});
  EXPECT_EQ(BesideAReducedWrite(Read4(500), Read4Result(400, true), 404), Id{"WRLIST-006"});
  EXPECT_EQ(BesideAReducedWrite(Read4(500), Read4Result(400, false), 0), Id{"WRLIST-010"});
  EXPECT_EQ(BesideAReducedWrite(Read4(501), Read4Result(400, true), 400), Id{"WRLIST-015"});
  EXPECT_EQ(BesideAReducedWrite(Getattr4(), Getattr4Result(), 0), Id{"WRLIST-013"});
  EXPECT_EQ(BesideAReducedWrite(Getattr4(), Getattr4Result(), 16), (Id{"WRLIST-013", "DDP-002"}));
}

// draft-08 section 3.4: a Reply may have a Read list where the Call has no Write chunk for the result.
TEST(Wrlist, Wrlist010ReadListInsteadOfTheChunk) {
  for (const bool offered : {false, true}) {
    Checker c(Profile::kRfc5666);
    c.script.Open();
    Greet(c);
    const Chunks chunks = offered ? Chunks{{{7, 1000, 0x1000}}} : Chunks{};
    c.script.Send(kClient, WithChunks(Msg(5), chunks), ReadCall(5, 1000));
    const Buffer reply = ReadReply(5, 1000, true);
    rpcrdma::Header header = WithChunks(Msg(5), offered ? Chunks{{{7, 0, 0x1000}}} : Chunks{});
    AddRead(header, static_cast<uint32_t>(reply.size()), {9, 1000, 0});
    c.script.Send(kServer, header, reply);
    c.script.Read(kClient, 9, 0, Pattern(1000));
    c.script.Send(kClient, MakeHeader(rpcrdma::kDone, 5));
    EXPECT_EQ(c.Ids(), offered ? Id{"WRLIST-010"} : Id{});
  }
}

}  // namespace
}  // namespace stag::test
