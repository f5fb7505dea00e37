// SPDX-License-Identifier: GPL-2.0-or-later
//
// DDP and ULB: what of an item is reduced, that the rest decodes, and the bindings of NFS.
#include "tests/conformance/checker.h"
#include "tests/conformance/chunks.h"
#include "tests/conformance/compounds.h"

namespace stag::test {
namespace {

Buffer WithoutEnd(Buffer bytes, size_t n) {
  bytes.resize(bytes.size() - n);
  return bytes;
}
uint32_t SizeOf(const Buffer& bytes) { return static_cast<uint32_t>(bytes.size()); }

// After one Call with Read chunks.
std::unique_ptr<Checker> Call(const std::vector<ReadSeg>& reads, const Buffer& call,
                              Profile profile = Profile::kRfc8166) {
  auto c = std::make_unique<Checker>(profile);
  c->script.Open();
  Greet(*c);
  c->script.Send(kClient, WithReads(Msg(5), reads), call);
  return c;
}
Id AfterCall(const std::vector<ReadSeg>& reads, const Buffer& call, Profile profile = Profile::kRfc8166) {
  return Call(reads, call, profile)->Ids();
}
// The same with the payload in a Position-zero chunk, all of it read.
Id AfterLongCall(std::vector<ReadSeg> reads, const Buffer& call) {
  Checker c;
  c.script.Open();
  Greet(c);
  reads.insert(reads.begin(), {0, 99, SizeOf(call)});
  c.script.Send(kClient, WithReads(Nomsg(5), reads));
  for (const ReadSeg& read : reads)
    c.script.Read(kServer, read.handle, 0x1000, read.handle == 99 ? call : Pattern(read.length));
  return c.Ids();
}
bool SeesAlso(const Finding& finding, std::string_view id) { return std::ranges::count(finding.see_also, id) > 0; }

TEST(Ddp, Ddp003CountInTheChunkOfACall) {
  // The last word of WriteCall is the count.
  const Buffer write = WithoutEnd(WriteCall(5, 1001), 4);
  const uint32_t at = WriteDataAt() - 4;
  const auto c = Call({{at, 7, 1005}}, write);
  ASSERT_EQ(c->Ids(), Id{"DDP-003"});
  EXPECT_EQ(c->findings.all[0].severity, Severity::kError);
  EXPECT_TRUE(SeesAlso(c->findings.all[0], "DDP-001"));
  EXPECT_EQ(AfterCall({{at, 7, 1008}}, write), Id{"DDP-003"});
  EXPECT_EQ(AfterLongCall({{at, 7, 1005}}, write), Id{"DDP-003"});
  // Before another operation.
  const uint32_t at4 = PositionAfter({PutFh()}, Write4Head());
  EXPECT_EQ(AfterCall({{at4, 7, 1004}}, CompoundCall(5, {PutFh(), Write4Head(), Getattr4()})), Id{"DDP-003"});
}

TEST(Ddp, Ddp003CountStays) {
  EXPECT_EQ(AfterCall({{WriteDataAt(), 7, 1001}}, WriteCall(5, 1001)), Id{});
  // The count inline and in the chunk: the chunk is too long.
  EXPECT_EQ(AfterCall({{WriteDataAt(), 7, 1005}}, WriteCall(5, 1001)), Id{"PAD-003"});
  // Another word's place.
  EXPECT_EQ(AfterCall({{WriteDataAt() - 8, 7, 1009}}, WithoutEnd(WriteCall(5, 1001), 8)), Id{"DDP-001"});
}

// Ids after a READ whose chunk came back with `returned` bytes.
Id AfterRead(const Buffer& call, const Buffer& reply, uint32_t returned) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithChunks(Msg(5), {{{7, 2000, 0x1000}}}), call);
  if (returned > 0) c.script.Write(kServer, 7, 0x1000, Pattern(returned));
  c.script.Send(kServer, WithChunks(Msg(5), {{{7, returned, 0x1000}}}), reply);
  return c.Ids();
}

TEST(Ddp, Ddp003CountInTheChunkOfAReply) {
  const Buffer call = ReadCall(5, 1000);
  EXPECT_EQ(AfterRead(call, WithoutEnd(ReadReply(5, 1000, true), 4), 1004), Id{"DDP-003"});
  const Buffer compound = CompoundCall(5, {PutFh(), Read4(1000), Getattr4()});
  const Buffer without = WithoutEnd(Read4Result(1000, true), 4);
  EXPECT_EQ(AfterRead(compound, CompoundReply(5, {PutFhResult(), without, Getattr4Result()}), 1004), Id{"DDP-003"});
  EXPECT_EQ(AfterRead(call, ReadReply(5, 1000, true), 1000), Id{});
  EXPECT_EQ(AfterRead(call, ReadReply(5, 1000, true), 1004), Id{"WRLIST-006"});  // too long, the count is there
}

TEST(Ddp, Ddp005WholeUnion) {
  const Buffer op = Words({6});  // CREATE
  const auto whole =
      Call({{PositionAfter({PutFh()}, op), 7, 12}}, CompoundCall(5, {PutFh(), Join({op, CreateTail()})}));
  ASSERT_EQ(whole->Ids(), Id{"DDP-001"});
  EXPECT_TRUE(SeesAlso(whole->findings.all[0], "DDP-005"));
  // The text of its link arm may go.
  const Buffer arm = Words({6, 5, 4});
  EXPECT_EQ(AfterCall({{PositionAfter({PutFh()}, arm), 7, 4}}, CompoundCall(5, {PutFh(), Join({arm, CreateTail()})})),
            Id{});
}

TEST(Ddp, Ddp007MoreThanOneItem) {
  const uint32_t at = PositionAfter({PutFh()}, Write4(1000));
  const Buffer getattr = Getattr4();
  // The chunk covers GETATTR, too.
  Buffer swallowed = CompoundCall(5, {PutFh(), Write4(1000), getattr});
  swallowed = WithoutEnd(swallowed, getattr.size());
  const auto c = Call({{at, 7, 1000 + SizeOf(getattr)}}, swallowed);
  ASSERT_EQ(c->Ids(), Id{"DDP-007"});
  EXPECT_TRUE(SeesAlso(c->findings.all[0], "PAD-003"));
  // Two items at one Position.
  EXPECT_EQ(AfterCall({{at, 7, 1000}, {at, 8, 500}}, CompoundCall(5, {PutFh(), Write4(1000), Write4(500)})),
            Id{"DDP-007"});
  // Too long, and nothing missing.
  EXPECT_EQ(AfterCall({{at, 7, 1012}}, CompoundCall(5, {PutFh(), Write4(1000), getattr})), Id{"PAD-003"});
  EXPECT_EQ(AfterCall({{at, 7, 997}, {at, 8, 3}}, CompoundCall(5, {PutFh(), Write4(1000), getattr})), Id{});
}

TEST(Ddp, Ddp007InReplies) {
  Checker c(Profile::kRfc8166, {"DDP-007"});
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithChunks(Msg(5), {{{7, 400, 0}}, {{8, 400, 0}}}), CompoundCall(5, {Read4(400), Read4(400)}));
  c.script.Send(kServer, WithChunks(Msg(5), {{{7, 300, 0}}, {{8, 0, 0}}}),
                CompoundReply(5, {Read4Result(100, true), Read4Result(200, true)}));
  EXPECT_EQ(c.Ids(), Id{"DDP-007"});
}

TEST(Ddp, Ddp008IneligibleCallSucceeds) {
  const auto ids = [](const rpcrdma::Header& header, const Buffer& reply) {
    Checker c;
    c.script.Open();
    Greet(c);
    const Buffer call = MakeCall(5, kNfs, 3, kGetattr, Words({32}));
    c.script.Send(kClient, WithReads(Msg(5), {{SizeOf(call), 7, 32}}), call);
    c.script.Read(kServer, 7, 0x1000, Pattern(32));
    c.script.Send(kServer, header, reply);
    return c.Ids();
  };
  rpcrdma::Header error = MakeHeader(rpcrdma::kError, 5);
  error.err = rpcrdma::kErrChunk;
  EXPECT_EQ(ids(Msg(5), GetattrReply(5)), (Id{"DDP-001", "DDP-008"}));
  EXPECT_EQ(ids(error, {}), Id{"DDP-001"});
  EXPECT_EQ(ids(Msg(5), MakeReply(5, {}, rpc::kGarbageArgs)), Id{"DDP-001"});
  EXPECT_EQ(ids(Msg(5), MakeReply(5, Words({70}))), Id{"DDP-001"});  // NFS3ERR_STALE
}

TEST(Ddp, Ddp008ProgramsWithoutABinding) {
  const Buffer call = MakeCall(5, 300000, 1, 1, Words({32}));
  const auto c = Call({{SizeOf(call), 7, 32}}, call);
  c->script.Read(kServer, 7, 0x1000, Pattern(32));
  c->script.Send(kServer, Msg(5), MakeReply(5, Words({0})));
  EXPECT_EQ(c->Ids(), Id{});
}

TEST(Ddp, Ddp010UnknownProgram) {
  Checker c;
  c.script.Open();
  Greet(c);
  const auto call = [&](uint32_t xid, uint32_t program, const Chunks& chunks) {
    c.script.Send(kClient, WithChunks(Msg(xid), chunks), MakeCall(xid, program, 1, 1, Words({0})));
    c.script.Send(kServer, WithChunks(Msg(xid), chunks), MakeReply(xid, {}, rpc::kProgUnavail));
  };
  const Chunks chunk = {{{7, 0, 0}}};
  call(1, 300000, {});
  EXPECT_EQ(c.Find("DDP-010"), nullptr);
  call(2, 300000, chunk);
  ASSERT_NE(c.Find("DDP-010"), nullptr);
  EXPECT_EQ(c.Find("DDP-010")->severity, Severity::kNote);
  const auto count = [&] {
    return std::ranges::count_if(c.findings.all, [](const Finding& f) { return f.rule->id == "DDP-010"; });
  };
  call(3, 300000, chunk);
  EXPECT_EQ(count(), 1);  // once for each program
  call(4, 300001, chunk);
  EXPECT_EQ(count(), 2);
  // A known program, and special chunks only.
  c.script.Send(kClient, WithChunks(Msg(5), chunk), ReadCall(5, 0));
  rpcrdma::Header reply_chunk = Msg(6);
  SetReplyChunk(reply_chunk, {{8, 1000, 0}});
  c.script.Send(kClient, reply_chunk, MakeCall(6, 300002, 1, 1, Words({0})));
  EXPECT_EQ(count(), 2);
}

TEST(Ddp, Ddp011CallsThatDoNotDecode) {
  const uint32_t at = PositionAfter({PutFh()}, Write4(1000));
  const Buffer whole = CompoundCall(5, {PutFh(), Write4(1000), Getattr4()});
  const auto cut = Call({{at, 7, 1000}}, WithoutEnd(whole, 4));  // in the middle of GETATTR
  ASSERT_EQ(cut->Ids(), Id{"DDP-011"});
  EXPECT_EQ(cut->findings.all[0].severity, Severity::kWarning);
  EXPECT_EQ(AfterCall({{at, 7, 1000}}, whole), Id{});
  // An operation that nobody knows, and no chunk at all.
  EXPECT_EQ(AfterCall({{at, 7, 1000}}, CompoundCall(5, {PutFh(), Write4(1000), Words({1000})})), Id{});
  EXPECT_EQ(AfterCall({}, WithoutEnd(CompoundCall(5, {PutFh(), Getattr4()}), 4)), Id{});
  // More than the arguments.
  Checker more;
  more.script.Open();
  Greet(more);
  more.script.Send(kClient, WithReads(Msg(5), {{at, 7, 1000}}), Join({whole, Words({0, 0})}));
  more.script.Read(kServer, 7, 0x1000, Pattern(1000));
  ASSERT_EQ(more.Ids(), Id{"DDP-011"});
  EXPECT_TRUE(SeesAlso(more.findings.all[0], "HDR-013"));
  EXPECT_EQ(AfterCall({}, Join({CompoundCall(5, {PutFh(), Getattr4()}), Words({0, 0})})), Id{"HDR-013"});
  EXPECT_EQ(AfterLongCall({{at, 7, 1000}}, Join({whole, Words({0, 0})})), Id{"DDP-011"});
  EXPECT_EQ(AfterLongCall({{at, 7, 1000}}, WithoutEnd(whole, 4)), Id{"DDP-011"});
  EXPECT_EQ(AfterLongCall({{at, 7, 1000}}, whole), Id{});
}

TEST(Ddp, Ddp011RepliesThatDoNotDecode) {
  const Buffer call = CompoundCall(5, {PutFh(), Read4(1000), Getattr4()});
  const Buffer whole = CompoundReply(5, {PutFhResult(), Read4Result(1000, true), Getattr4Result()});
  EXPECT_EQ(AfterRead(call, whole, 1000), Id{});
  EXPECT_EQ(AfterRead(call, WithoutEnd(whole, 4), 1000), Id{"DDP-011"});
  EXPECT_EQ(AfterRead(call, Join({whole, Words({0, 0})}), 1000), Id{"DDP-011"});
  const Buffer unknown = CompoundReply(5, {PutFhResult(), Read4Result(1000, true), Words({1000, 0})});
  EXPECT_EQ(AfterRead(call, unknown, 1000), Id{});
}

TEST(Ddp, Ddp011LongReplies) {
  for (const bool more : {false, true}) {
    Checker c;
    c.script.Open();
    Greet(c);
    rpcrdma::Header header = Nomsg(5);
    header.proc = rpcrdma::kMsg;
    SetReplyChunk(header, {{8, 2000, 0x1000}});
    c.script.Send(kClient, header, ReadlinkCall(5));
    const Buffer reply = Join({ReadlinkReply(5, 100), more ? Words({0, 0}) : Buffer{}});
    c.script.Write(kServer, 8, 0x1000, reply);
    rpcrdma::Header answer = Nomsg(5);
    SetReplyChunk(answer, {{8, SizeOf(reply), 0x1000}});
    c.script.Send(kServer, answer);
    EXPECT_EQ(c.Ids(), more ? Id{"DDP-011"} : Id{});
  }
}

TEST(Ddp, Ddp014CountIsTheSum) {
  const uint32_t at = WriteDataAt();
  const auto ids = [&](uint32_t length, Profile profile) {
    return AfterCall({{at, 7, length}}, WriteCall(5, 1001), profile);
  };
  EXPECT_EQ(ids(1001, Profile::kRfc5666bis), Id{});
  EXPECT_EQ(ids(1004, Profile::kRfc5666bis), Id{"DDP-014"});
  EXPECT_EQ(ids(1008, Profile::kRfc5666bis), Id{"DDP-014"});
  EXPECT_EQ(ids(1000, Profile::kRfc5666bis), Id{"PAD-004"});
  EXPECT_EQ(ids(1004, Profile::kRfc5666), Id{});  // section 3.7
  EXPECT_EQ(ids(1008, Profile::kRfc5666), Id{"DDP-014"});
  EXPECT_EQ(ids(1004, Profile::kRfc8166), Id{});
  EXPECT_EQ(ids(1008, Profile::kRfc8166), Id{"PAD-003"});
}

TEST(Ulb, Ulb003ReadPlus) {
  // Its contents: end of file, one segment of data at offset 0, of which the bytes are in the chunk or inline.
  const auto contents = [](const Buffer& data) { return Join({Words({68, 0, 1, 1, 0, 0, 0}), data}); };
  const Buffer call = CompoundCall(5, {PutFh(), ReadPlus(1000)});
  Checker c(Profile::kRfc8166, {"ULB", "DDP"});
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithChunks(Msg(5), {{{7, 1000, 0x1000}}}), call);
  c.script.Write(kServer, 7, 0x1000, Pattern(1000));
  c.script.Send(kServer, WithChunks(Msg(5), {{{7, 1000, 0x1000}}}),
                CompoundReply(5, {PutFhResult(), contents(Words({1000}))}));
  ASSERT_EQ(c.Ids(), Id{"ULB-003"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kWarning);
  EXPECT_TRUE(SeesAlso(c.findings.all[0], "DDP-002"));
  // Inline: the offered chunk was not needed, and comes back unused.
  EXPECT_EQ(AfterRead(call, CompoundReply(5, {PutFhResult(), contents(Opaque(Pattern(100)))}), 0), Id{"WRLIST-013"});
}

TEST(Ulb, Ulb003BesideARead) {
  const Buffer call = CompoundCall(5, {PutFh(), Read4(1000), ReadPlus(1000)});
  for (const uint32_t second : {0u, 100u}) {
    Checker c(Profile::kRfc8166, {"ULB-003"});
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, WithChunks(Msg(5), {{{7, 1000, 0}}, {{8, 1000, 0}}}), call);
    const Buffer plus = Join({Words({68, 0, 1, 1, 0, 0, 0}), second > 0 ? Words({second}) : Opaque(Pattern(100))});
    c.script.Send(kServer, WithChunks(Msg(5), {{{7, 1000, 0}}, {{8, second, 0}}}),
                  CompoundReply(5, {PutFhResult(), Read4Result(1000, true), plus}));
    EXPECT_EQ(c.Ids(), second > 0 ? Id{"ULB-003"} : Id{});
  }
}

// Ids, notes among them, after NFSv4 Calls with as many chunks, each answered with success.
Id AfterManyChunks(uint32_t calls, size_t reads, size_t writes, bool answer = true) {
  Checker c(Profile::kRfc8166, {"ULB-006"});
  c.script.Open();
  Greet(c);
  for (uint32_t xid = 1; xid <= calls; ++xid) {
    rpcrdma::Header header = Msg(xid), reply = Msg(xid);
    Buffer body = Words({0, 0, static_cast<uint32_t>(reads + writes)});
    Buffer results = Words({0, 0, static_cast<uint32_t>(reads + writes)});
    uint32_t shift = 0;
    for (size_t i = 0; i < reads; ++i, shift += 1000) {
      body = Join({body, Write4(1000)});
      results = Join({results, Write4Result(1000)});
      AddRead(header, SizeOf(MakeCall(xid, kNfs, 4, 1, body)) + shift, {7, 1000, 0});
    }
    for (size_t i = 0; i < writes; ++i) {
      body = Join({body, Read4(1000)});
      results = Join({results, Read4Result(1000, true)});
      AddWriteChunk(header, {{8, 1000, i * 4096}});
      AddWriteChunk(reply, {{8, 1000, i * 4096}});
    }
    c.script.Send(kClient, header, MakeCall(xid, kNfs, 4, 1, body));
    if (answer) c.script.Send(kServer, reply, MakeReply(xid, results));
  }
  return c.Ids(true);
}

TEST(Ulb, Ulb006ManyChunks) {
  EXPECT_EQ(AfterManyChunks(2, 1, 1), Id{});
  EXPECT_EQ(AfterManyChunks(1, 2, 0), Id{"ULB-006"});
  EXPECT_EQ(AfterManyChunks(1, 0, 2), Id{"ULB-006"});
  EXPECT_EQ(AfterManyChunks(3, 0, 3), Id{"ULB-006"});  // the first was answered: the server takes more
  EXPECT_EQ(AfterManyChunks(2, 0, 2, false), (Id{"ULB-006", "ULB-006"}));
}

}  // namespace
}  // namespace stag::test
