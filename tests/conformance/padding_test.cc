// SPDX-License-Identifier: GPL-2.0-or-later
//
// PAD: where the padding of reduced items goes.
#include "tests/conformance/checker.h"
#include "tests/conformance/chunks.h"
#include "tests/conformance/compounds.h"

namespace stag::test {
namespace {

const Buffer kThreeZeros(3);

// Ids after one Call with Read chunks.
Id AfterCall(const std::vector<ReadSeg>& reads, const Buffer& call, Profile profile = Profile::kRfc8166,
             bool notes = false) {
  Checker c(profile);
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReads(Msg(5), reads), call);
  return c.Ids(notes);
}
Id AfterWrite(uint32_t count, const std::vector<ReadSeg>& reads, Profile profile = Profile::kRfc8166) {
  return AfterCall(reads, WriteCall(5, count), profile, true);
}

TEST(Pad, Pad001InCalls) {
  const uint32_t at = WriteDataAt();
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReads(Msg(5), {{at, 7, 1001}}), Join({WriteCall(5, 1001), kThreeZeros}));
  ASSERT_EQ(c.Ids(), Id{"PAD-001"});
  EXPECT_EQ(c.findings.all[0].severity, Severity::kError);
  EXPECT_EQ(c.findings.all[0].see_also, (std::vector<std::string_view>{"PAD-008"}));
  // Before another operation.
  const uint32_t at4 = PositionAfter({PutFh()}, Write4(1001));
  EXPECT_EQ(AfterCall({{at4, 7, 1001}}, CompoundCall(5, {PutFh(), Join({Write4(1001), kThreeZeros}), Getattr4()})),
            Id{"PAD-001"});
  EXPECT_EQ(AfterCall({{at4, 7, 1001}}, CompoundCall(5, {PutFh(), Write4(1001), Getattr4()})), Id{});
}

TEST(Pad, Pad001IsNotEveryOddPayload) {
  const uint32_t at = WriteDataAt();
  EXPECT_EQ(AfterCall({{at, 7, 1001}}, WriteCall(5, 1001)), Id{});
  EXPECT_EQ(AfterCall({{at, 7, 1004}}, WriteCall(5, 1001)), Id{});  // in the chunk: PAD-002
  // Not padding: of an item that needs none, or with something in it.
  EXPECT_EQ(AfterCall({{at, 7, 1000}}, Join({WriteCall(5, 1000), kThreeZeros})), Id{"PAD-008"});
  EXPECT_EQ(AfterCall({{at, 7, 1001}}, Join({WriteCall(5, 1001), Pattern(3)})), Id{"PAD-008"});
  // The capture does not have the place.
  Checker cut;
  cut.script.Open();
  Greet(cut);
  cut.script.SendTruncated(kClient, WithReads(Msg(5), {{at, 7, 1001}}), Join({WriteCall(5, 1001), kThreeZeros}), 100);
  EXPECT_EQ(cut.Ids(), Id{"PAD-008"});
}

TEST(Pad, Pad001InALongCall) {
  Checker c(Profile::kRfc5666bis);  // RFC 8166 has REPLY-010 beside it
  c.script.Open();
  Greet(c);
  const Buffer call = Join({WriteCall(5, 1001), kThreeZeros});
  c.script.Send(kClient, WithReads(Nomsg(5), {{0, 7, static_cast<uint32_t>(call.size())}, {WriteDataAt(), 8, 1001}}));
  EXPECT_EQ(c.Ids(), Id{});
  c.script.Read(kServer, 7, 0x1000, call);
  c.script.Read(kServer, 8, 0x1000, Pattern(1001));
  EXPECT_EQ(c.Ids(), Id{"PAD-001"});
}

// Ids after a READ of 1001 bytes whose Write chunk came back with `returned` of them.
Id AfterRead(const Buffer& call, const Buffer& reply, uint32_t returned = 1001, Profile profile = Profile::kRfc8166) {
  Checker c(profile);
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithChunks(Msg(5), {{{7, 2000, 0x1000}}}), call);
  c.script.Write(kServer, 7, 0x1000, Pattern(1001));
  c.script.Send(kServer, WithChunks(Msg(5), {{{7, returned, 0x1000}}}), reply);
  return c.Ids();
}

TEST(Pad, Pad001InReplies) {
  const Buffer call = ReadCall(5, 1001);
  EXPECT_EQ(AfterRead(call, ReadReply(5, 1001, true)), Id{});
  EXPECT_EQ(AfterRead(call, Join({ReadReply(5, 1001, true), kThreeZeros})), Id{"PAD-001"});
  EXPECT_EQ(AfterRead(call, Join({ReadReply(5, 1001, true), Pattern(3)})), Id{"PAD-008"});
  const Buffer compound = CompoundCall(5, {PutFh(), Read4(1001), Getattr4()});
  const Buffer padded = Join({Read4Result(1001, true), kThreeZeros});
  EXPECT_EQ(AfterRead(compound, CompoundReply(5, {PutFhResult(), padded, Getattr4Result()})), Id{"PAD-001"});
  EXPECT_EQ(AfterRead(compound, CompoundReply(5, {PutFhResult(), Read4Result(1001, true), Getattr4Result()})), Id{});
}

TEST(Pad, Pad002AndPad007PaddingInTheChunk) {
  const uint32_t at = WriteDataAt();
  EXPECT_EQ(AfterWrite(1001, {{at, 7, 1001}}), Id{});
  EXPECT_EQ(AfterWrite(1001, {{at, 7, 1004}}), Id{"PAD-002"});
  EXPECT_EQ(AfterWrite(1001, {{at, 7, 1001}, {at, 8, 3}}), Id{"PAD-002"});
  EXPECT_EQ(AfterWrite(1000, {{at, 7, 1000}}), Id{});
  // draft-08: a segment of its own only. Small segments alone are the requester's choice.
  EXPECT_EQ(AfterWrite(1001, {{at, 7, 1004}}, Profile::kRfc5666), Id{});
  EXPECT_EQ(AfterWrite(1001, {{at, 7, 998}, {at, 8, 6}}, Profile::kRfc5666), Id{});
  EXPECT_EQ(AfterWrite(1000, {{at, 7, 997}, {at, 8, 3}}, Profile::kRfc5666), Id{});
  EXPECT_EQ(AfterWrite(1001, {{at, 7, 1001}, {at, 8, 3}}, Profile::kRfc5666), Id{"PAD-007"});
}

// draft-08 section 3.7 speaks of an additional chunk, too: at the odd Position where the padding would stand.
TEST(Pad, Pad007ChunkOfItsOwn) {
  const uint32_t at = WriteDataAt();
  const Id ids = AfterWrite(1001, {{at, 7, 1001}, {at + 1001, 8, 3}}, Profile::kRfc5666);
  EXPECT_EQ(std::ranges::count(ids, "PAD-007"), 1);
  EXPECT_EQ(std::ranges::count(ids, "RDLIST-004"), 0);
  EXPECT_EQ(std::ranges::count(ids, "RDLIST-002"), 1);
}

// draft-08 sections 3.4 and 5.1: results without a Write chunk, and Long Replies, may come by Read chunk.
TEST(Pad, Reply012LongReplyByReadChunk) {
  for (const Profile profile : {Profile::kRfc5666, Profile::kRfc8166}) {
    Checker c(profile);
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, Msg(5), ReadlinkCall(5));
    const Buffer reply = ReadlinkReply(5, 4000);
    c.script.Send(kServer, WithReads(Nomsg(5), {{0, 7, static_cast<uint32_t>(reply.size())}}));
    c.script.Read(kClient, 7, 0x1000, reply);
    c.script.Send(kClient, MakeHeader(rpcrdma::kDone, 5));
    EXPECT_EQ(c.Ids(true), profile == Profile::kRfc5666 ? Id{} : (Id{"RDLIST-001", "MODEL-001", "DONE-001"}));
  }
}

TEST(Pad, Pad002NeverMoreThanANote) {
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReads(Msg(5), {{WriteDataAt(), 7, 1004}}), WriteCall(5, 1001));
  ASSERT_NE(c.Find("PAD-002"), nullptr);
  EXPECT_EQ(c.Find("PAD-002")->severity, Severity::kNote);
  EXPECT_TRUE(c.Find("PAD-002")->client_to_server);
}

// The padded length of a Write chunk: draft-08 section 3.7 has it, RFC 8166 section 3.4.6 forbids it.
TEST(Pad, Pad006PaddedWriteLength) {
  EXPECT_EQ(AfterRead(ReadCall(5, 1001), ReadReply(5, 1001, true), 1004, Profile::kRfc5666), Id{});
  const Id ids = AfterRead(ReadCall(5, 1001), ReadReply(5, 1001, true), 1004);
  EXPECT_EQ(std::ranges::count(ids, "WRLIST-006"), 1);
}

// A WRITE of 1001 bytes in a chunk of `length`, and what is answered.
Id Answered(uint32_t length, const rpcrdma::Header& header, const Buffer& reply,
            Profile profile = Profile::kRfc5666bis) {
  Checker c(profile);
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, WithReads(Msg(5), {{WriteDataAt(), 7, length}}), WriteCall(5, 1001));
  c.script.Read(kServer, 7, 0x1000, Pattern(length));
  c.script.Send(kServer, header, reply);
  return c.Ids();
}

TEST(Pad, Pad005MissingPaddingRefused) {
  const Buffer garbage = MakeReply(5, {}, rpc::kGarbageArgs);
  rpcrdma::Header error = MakeHeader(rpcrdma::kError, 5);
  error.err = rpcrdma::kErrChunk;
  EXPECT_EQ(Answered(1001, Msg(5), garbage), Id{"PAD-005"});
  EXPECT_EQ(Answered(1001, error, {}), Id{"PAD-005"});
  EXPECT_EQ(Answered(1001, Msg(5), garbage, Profile::kRfc5666), Id{"PAD-005"});
  EXPECT_EQ(Answered(1001, Msg(5), garbage, Profile::kRfc8166), Id{});  // it does not say it
  EXPECT_EQ(Answered(1001, Msg(5), WriteReply(5, 1001)), Id{});
  EXPECT_EQ(Answered(1004, Msg(5), garbage, Profile::kRfc5666), Id{});         // padding was there
  EXPECT_EQ(Answered(999, Msg(5), garbage), Id{"PAD-004"});                    // rightly refused
  EXPECT_EQ(Answered(1001, Msg(5), MakeReply(5, {}, rpc::kSystemErr)), Id{});  // for another reason
}

TEST(Pad, Pad008OddInlinePayload) {
  const auto ids = [](const rpcrdma::Header& header, const Buffer& call) {
    Checker c;
    c.script.Open();
    Greet(c);
    c.script.Send(kClient, header, call);
    return c.Ids();
  };
  EXPECT_EQ(ids(Msg(5), MakeCall(5, 300000, 1, 1, Pattern(8))), Id{});
  EXPECT_EQ(ids(Msg(5), MakeCall(5, 300000, 1, 1, Pattern(10))), Id{"PAD-008"});
  EXPECT_EQ(ids(Msg(5), Join({GetattrCall(5), Buffer(2)})), Id{"PAD-008"});
  Checker lost;
  lost.script.Open();
  Greet(lost);
  lost.script.SendLost(kClient, Msg(5), MakeCall(5, 300000, 1, 1, Pattern(10)), 70);
  EXPECT_EQ(lost.Ids(), Id{});
}

TEST(Pad, Pad009PaddingThatIsNotZero) {
  const auto lookup = [](std::byte padding) {
    Buffer call = MakeCall(5, kNfs, 3, 3, Join({FileHandle(), Opaque(Pattern(3))}));
    call.back() = padding;
    return call;
  };
  EXPECT_EQ(AfterCall({}, lookup(std::byte{0}), Profile::kRfc8166, true), Id{});
  EXPECT_EQ(AfterCall({}, lookup(std::byte{0xff})), Id{});
  EXPECT_EQ(AfterCall({}, lookup(std::byte{0xff}), Profile::kRfc8166, true), Id{"PAD-009"});
  // In a Reply, from the server.
  Checker c;
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, Msg(5), ReadCall(5, 1001));
  Buffer reply = ReadReply(5, 1001, false);
  reply.back() = std::byte{1};
  c.script.Send(kServer, Msg(5), reply);
  ASSERT_EQ(c.Ids(true), Id{"PAD-009"});
  EXPECT_FALSE(c.findings.all[0].client_to_server);
}

}  // namespace
}  // namespace stag::test
