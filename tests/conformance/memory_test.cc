// SPDX-License-Identifier: GPL-2.0-or-later
//
// MEM: what segments of one Call say together, and what handles show over many Calls.
#include "tests/conformance/checker.h"
#include "tests/conformance/chunks.h"

namespace stag::test {
namespace {

using rpcrdma::Segment;

Id AfterCall(const rpcrdma::Header& header) {
  Checker c(Profile::kRfc8166, {"MEM"}, {"MEM-008"});
  c.script.Open();
  Greet(c);
  c.script.Send(kClient, header, ReadCall(header.xid, 100));
  return c.Ids();
}

TEST(Mem, Mem005InsideACall) {
  const auto chunks = [](const Segment& a, const Segment& b) { return AfterCall(WithChunks(Msg(5), {{a}, {b}})); };
  EXPECT_EQ(chunks({7, 4096, 0x1000}, {7, 4096, 0x2000}), Id{});
  EXPECT_EQ(chunks({7, 4096, 0x1000}, {7, 4096, 0x1fff}), Id{"MEM-005"});
  EXPECT_EQ(chunks({7, 4096, 0x1fff}, {7, 4096, 0x1000}), Id{"MEM-005"});
  EXPECT_EQ(chunks({7, 4096, 0x1000}, {8, 4096, 0x1000}), Id{});  // other memory
  EXPECT_EQ(chunks({7, 0, 0x1800}, {7, 4096, 0x1000}), Id{});     // nothing to share
  // Read chunks alone may share; with something that is written they may not.
  rpcrdma::Header reads = WithReads(Msg(5), {{100, 7, 4096}, {200, 7, 4096}});
  EXPECT_EQ(AfterCall(reads), Id{});
  AddWriteChunk(reads, {{7, 100, 0x1000 + 4095}});
  EXPECT_EQ(AfterCall(reads), Id{"MEM-005"});
  // Of one chunk they may.
  EXPECT_EQ(AfterCall(WithChunks(Msg(5), {{{7, 4096, 0x1000}, {7, 4096, 0x1000}}})), Id{});
  // A long segment in front hides none.
  EXPECT_EQ(AfterCall(WithChunks(Msg(5), {{{7, 0x10000, 0}}, {{8, 16, 0}}, {{7, 16, 0x8000}}})), Id{"MEM-005"});
}

TEST(Mem, Mem006MoreThanACountCanSay) {
  const Segment most{7, 0xffffffffu, 0};
  EXPECT_EQ(AfterCall(WithChunks(Msg(5), {{most}})), Id{});
  EXPECT_EQ(AfterCall(WithChunks(Msg(5), {{most, {8, 1, 0}}})), Id{"MEM-006"});
}

// Ids of `calls` Calls whose Write chunk has the handle that `handle` gives for its number.
template <typename Fn>
Id Over(uint32_t calls, Fn handle, Profile profile = Profile::kRfc8166) {
  Checker c(profile, {"MEM-008"});
  c.script.Open();
  Greet(c);
  for (uint32_t i = 0; i < calls; ++i) {
    c.script.Send(kClient, WithChunks(Msg(0x1000 + i), {{{handle(i), 100, 0}}}), ReadCall(0x1000 + i, 100));
    c.script.Send(kServer, WithChunks(Msg(0x1000 + i), {{{handle(i), 0, 0}}}), FailedReply(0x1000 + i, 70));
  }
  return c.Ids(true);
}

TEST(Mem, Mem008OneHandle) {
  const auto same = [](uint32_t) { return 0x200u; };
  EXPECT_EQ(Over(99, same), Id{});
  EXPECT_EQ(Over(250, same), Id{"MEM-008"});  // told once
  EXPECT_EQ(Over(100, same, Profile::kRfc5666), Id{});
  const auto mostly = [](uint32_t other) {
    return [other](uint32_t i) { return i % other == 0 ? 0x900u + 0x9e3779b9u * i : 0x200u; };
  };
  EXPECT_EQ(Over(100, mostly(20)), Id{"MEM-008"});  // five of a hundred differ
  EXPECT_EQ(Over(250, mostly(5)), Id{});
}

TEST(Mem, Mem008HandlesThatCountUp) {
  const auto up = [](uint32_t i) { return 0x1280u + i; };
  EXPECT_EQ(Over(100, up), Id{});
  EXPECT_EQ(Over(400, up), Id{"MEM-008"});
  // A fast registration changes the low eight bits: four regions in turn.
  EXPECT_EQ(Over(400, [](uint32_t i) { return (0x5000u + 0x1700 * (i % 4)) | ((i / 4) & 0xff); }), Id{});
  EXPECT_EQ(Over(400, [](uint32_t i) { return 0x4200u | (i & 0xff); }), Id{});
}

}  // namespace
}  // namespace stag::test
