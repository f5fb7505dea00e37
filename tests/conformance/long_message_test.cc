// SPDX-License-Identifier: GPL-2.0-or-later
//
// LONG: RDMA_NOMSG.
#include "tests/conformance/checker.h"

namespace stag::test {
namespace {

struct ReadSeg {
  uint32_t position, handle;
  Buffer content;
};

// Ids of a Long Call with these Read segments, all of them read.
Id After(rpcrdma::Header header, const std::vector<ReadSeg>& reads) {
  Checker c;
  c.script.Open();
  Greet(c);
  for (const ReadSeg& read : reads)
    AddRead(header, read.position, {read.handle, static_cast<uint32_t>(read.content.size()), 0x1000});
  c.script.Send(kClient, header);
  for (const ReadSeg& read : reads) c.script.Read(kServer, read.handle, 0x1000, read.content);
  return c.Ids();
}

TEST(Long, GoodCalls) {
  EXPECT_EQ(After(Nomsg(5), {{0, 7, GetattrCall(5)}}), Id{});
  const Buffer rpc = WriteCall(5, 1000);
  // The item starts where the Position-zero content ends.
  EXPECT_EQ(After(Nomsg(5), {{0, 7, rpc}, {static_cast<uint32_t>(rpc.size()), 8, Pattern(1000)}}), Id{});
}

TEST(Long, Long001And002NoHolder) {
  EXPECT_EQ(After(Nomsg(5), {}), Id{"LONG-001"});
  EXPECT_EQ(After(Nomsg(5), {{120, 7, Pattern(100)}}), Id{"LONG-002"});
  rpcrdma::Header header = Nomsg(5);
  SetReplyChunk(header, {{7, 100, 0}});
  EXPECT_EQ(After(header, {}), Id{"LONG-002"});
}

TEST(Long, Long002NotFlaggedMidstream) {
  Checker c;
  c.script.OpenMidstream();
  Greet(c);
  rpcrdma::Header header = Nomsg(5);
  SetReplyChunk(header, {{7, 100, 0}});
  c.script.Send(kServer, header);
  EXPECT_EQ(c.Ids(), Id{});
}

TEST(Long, Long003Fragments) {
  const Buffer rpc = MakeCall(5, 300000, 1, 1, Pattern(200));
  const Buffer first(rpc.begin(), rpc.begin() + 128), second(rpc.begin() + 128, rpc.end());
  const Id ids = After(Nomsg(5), {{0, 7, first}, {128, 8, second}});
  EXPECT_EQ(std::ranges::count(ids, "LONG-003"), 1);
  EXPECT_EQ(After(Nomsg(5), {{0, 7, first}, {0, 8, second}}), Id{});
}

TEST(Long, Long003TooSmall) { EXPECT_EQ(After(Nomsg(5), {{0, 7, Words({5, 0, 2, 3})}}).front(), "LONG-003"); }

TEST(Long, Long004PositionZeroInMsg) {
  Checker c;
  c.script.Open();
  Greet(c);
  rpcrdma::Header header = Msg(5);
  AddRead(header, 0, {7, 100, 0});
  c.script.Send(kClient, header, GetattrCall(5));
  EXPECT_EQ(c.Ids(), Id{"LONG-004"});
}

TEST(Long, Long005Content) {
  EXPECT_EQ(After(Nomsg(5), {{0, 7, Join({GetattrReply(5)})}}), Id{"LONG-005"});
  Buffer call = GetattrCall(5);
  call.erase(call.begin(), call.begin() + 4);  // starts with the message type
  EXPECT_EQ(After(Nomsg(5), {{0, 7, call}}), Id{"XID-001"});
}

}  // namespace
}  // namespace stag::test
